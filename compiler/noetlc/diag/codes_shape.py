"""NL1yy: what a construct is made of: unknown keys, wrong shapes, missing parts; NL9yy: legacy constructs."""

from noetlc.diag.diagnostic import Code, Severity

_NOTE, _WARNING, _ERROR = Severity.NOTE, Severity.WARNING, Severity.ERROR

SHAPE_CODES: dict[str, Code] = {
    "NL101": Code(
        "unknown-key", _ERROR, "A key that its construct does not have",
        "A misspelt key would switch a feature off without a word.",
        "loop: {in: \"{{ workload.items }}\", iterater: item}",
        "Write the key as it is spelt: `iterator`. Keys that begin with `x-` may stand anywhere.",
    ),
    "NL102": Code(
        "wrong-shape", _ERROR, "A value of another shape than its key takes",
        "The value cannot be understood, and guessing would run something that was not meant.",
        "next: {arcs: {step: b}}",
        "next: {arcs: [{step: b}]}",
    ),
    "NL103": Code(
        "missing-part", _ERROR, "A required key is not there",
        "The construct means nothing without it.",
        "loop: {in: \"{{ workload.items }}\"}",
        "loop: {in: \"{{ workload.items }}\", iterator: item}",
    ),
    "NL104": Code(
        "bad-value", _ERROR, "A value that is not one of those allowed",
        "No value silently becomes a default.",
        "next: {spec: {mode: parallel}, arcs: [{step: b}]}",
        "next: {spec: {mode: inclusive}, arcs: [{step: b}]}",
    ),
    "NL105": Code(
        "unknown-version", _ERROR, "An `apiVersion` that is not read here",
        "Another version may mean something else by the same words.",
        "apiVersion: noetl.io/v3",
        "apiVersion: noetl.io/v2",
    ),
    "NL106": Code(
        "not-a-playbook", _ERROR, "The document is no playbook",
        "Only documents of kind `Playbook` can be compiled.",
        "kind: Deployment",
        "kind: Playbook",
    ),
    "NL107": Code(
        "unknown-kind", _ERROR, "A tool or keychain kind that does not exist",
        "No worker could run it.",
        "tool: {kind: htpp, url: \"https://example.com\"}",
        "tool: {kind: http, url: \"https://example.com\"}",
    ),
    "NL108": Code(
        "unknown-field", _ERROR, "A field that the tool kind does not have",
        "The tool would never see it.",
        "tool: {kind: http, url: \"https://example.com\", metod: POST}",
        "tool: {kind: http, url: \"https://example.com\", method: POST}",
    ),
    "NL109": Code(
        "one-of-several", _ERROR, "Two keys that exclude each other",
        "It is not clear which of them is meant.",
        "- {when: \"{{ true }}\", else: {then: {do: fail}}, then: {do: continue}}",
        "Keep one of them; make two rules of a rule with `when` and `else`.",
    ),
    "NL110": Code(
        "without-effect", _NOTE, "A key that is accepted and does nothing",
        "It is part of the specifications and reserved there; nothing here acts on it.",
        "spec: {policy: {tracing: {level: debug}}}",
        "Leave it out, or keep it for another runtime.",
        "Where the playbook also runs elsewhere, and the key acts there.",
    ),
    "NL111": Code(
        "outside-metadata", _NOTE, "`name` or `path` at the root",
        "They belong to the metadata and are read as if they stood there.",
        "name: hello",
        "metadata: {name: hello}",
        "Where other programs read the name or the path at the root.",
    ),
    "NL112": Code(
        "short-else", _NOTE, "An `else` in a short form",
        "It is read as `else: {then: …}`, which is the only form of the specification.",
        "- else: {do: continue}",
        "- else: {then: {do: continue}}",
        "Where files are kept as they were written; the meaning is the same.",
    ),
    "NL114": Code(
        "reserved-hook", _ERROR, "`before`, `after` or `finally` with something in it",
        "The hooks are reserved: what stands there would never run.",
        "policy: {finally: [cleanup], rules: [{else: {then: {do: continue}}}]}",
        "Make tasks of them, or a step that an arc on `step.failed` leads to.",
    ),
    "NL115": Code(
        "unavailable-kind", _WARNING, "A known tool kind, or a backend of one, that is not run here",
        "The playbook compiles; a task of this kind gives the error outcome `kind.unavailable`, and one of "
        "this backend the error of its kind.",
        "tool: {kind: rhai, code: \"40 + 2\"}",
        "Use another kind, or install one through the entry points `noetl.kinds` and `noetl.tools`.",
        "Where the playbook is written for a worker that has the kind, and none here runs it.",
    ),
    "NL117": Code(
        "control-outside-task", _ERROR, "A control action outside a task's policy",
        "Only a task's policy may retry, jump, break, continue or fail; anywhere else it would be ignored.",
        "spec: {policy: {do: retry, attempts: 3}}",
        "spec: {policy: {rules: [{when: \"{{ outcome.status == 'error' }}\", then: {do: retry}}]}}",
    ),
    "NL118": Code(
        "policy-starts-step", _ERROR, "A task's policy that names a step",
        "Steps are started by `next.arcs` only, on the server; a worker never starts one.",
        "then: {do: continue, next: [{step: cleanup}]}",
        "then: {do: continue, set_ctx: {needs_cleanup: true}}   # and an arc guarded by `ctx.needs_cleanup`",
    ),
    "NL119": Code(
        "bad-duration", _ERROR, "Something that is no duration",
        "Nothing guesses units.",
        "then: {do: retry, delay: soon}",
        "then: {do: retry, delay: 1.5s}",
    ),
    "NL120": Code(
        "bad-name", _ERROR, "A name with characters that names do not have",
        "Names appear in element ids, events and expressions.",
        "- {step: \"fetch all\"}",
        "- {step: fetch_all}",
    ),
    "NL901": Code(
        "legacy-construct", _ERROR, "A construct of an older dialect",
        "Most are read and lowered; this one was recognised by its name and no reader takes it.",
        "loop: {in: \"{{ workload.urls }}\", iterator: url, until: \"{{ url.done }}\"}",
        "tool: [{name: ready, until: {when: \"{{ iter.done }}\", then: [{name: ask, kind: noop}]}}]",
    ),
}  # fmt: skip
