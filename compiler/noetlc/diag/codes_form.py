"""Codes of what stands in a file: its text (NL0yy) and its constructs (NL1yy). Lint rules hold their own codes."""

from noetlc.diag.diagnostic import Code, Severity

# One letter each: the tables below are read as pages, four texts to a code.
E, W, N = Severity.ERROR, Severity.WARNING, Severity.NOTE

FORM_CODES: dict[str, Code] = {
    # NL0yy: what a file of bytes can be before it is a playbook.
    "NL000": Code(
        "internal-error", E, "A part of `noetlc` failed",
        "The mistake is one of `noetlc`, not of the playbook. The findings of this part are not known; all other\n"
        "parts were asked. The exit code is 3. The number stands for the mistake and is the same in every file.",
        "noetlc lint orders.yaml",
        "Please report the number with the playbook, or with as much of it as still shows the message.",
    ),
    "NL001": Code(
        "not-utf-8", E, "The file is not text in UTF-8",
        "Editors guess encodings, each its own way; a wrong guess changes names and values without a word.",
        "a file saved as Latin-1: the byte E9 for é",
        "Save the file as UTF-8. UTF-16 is read too when it begins with a byte order mark.",
    ),
    "NL002": Code(
        "control-character", E, "A character that YAML does not allow",
        "Control characters, U+0000 among them, cannot be seen; stores and terminals disagree about them.",
        "name: a<U+0000>b",
        'Remove it, or write it as an escape in double quotes: name: "a\\x00b"',
    ),
    "NL003": Code(
        "yaml-syntax", E, "The file is no YAML",
        "Nothing after the place can be understood, so nothing after it is checked.",
        "next: {arcs: [{step: b}]\n\ndesc: stage: two",
        'next: {arcs: [{step: b}]}\n\ndesc: "stage: two"',
    ),
    "NL004": Code(
        "duplicate-key", E, "A key is written twice in one mapping",
        "YAML readers keep one of the two, most of them the second: the first is lost without a word.",
        "step: pay\nnext: {arcs: [{step: approve}]}\nnext: {arcs: [{step: reject}]}",
        "step: pay\nnext: {arcs: [{step: approve}, {step: reject}]}\n\n"
        "A key beside a merge key `<<` overrides what is merged and is no duplicate.",
    ),
    "NL005": Code(
        "file-too-large", E, "The file is larger than the limits allow",
        "A playbook is read as a whole; without a limit one file can fill the memory of who compiles it.",
        "workload: {rows: [ … a million rows … ]}",
        "Keep data in a file or a table of its own and read it in a step.\n"
        "At most 32 MiB, 4,000,000 parts and 1,000 documents are read.",
    ),
    "NL006": Code(
        "nested-too-deep", E, "Too many mappings and lists inside each other",
        "Depth is what makes readers of YAML and JSON overflow their stacks.",
        "workload: [[[[[[[[ … ]]]]]]]]",
        "At most 100 levels are read, aliases followed. Build deeper values in a step.",
    ),
    "NL007": Code(
        "alias-expansion", E, "Aliases expand to more than the limits allow",
        "A few lines of aliases of aliases stand for billions of nodes (the billion laughs).",
        "a: &a [x, x, x]\nb: &b [*a, *a, *a]\nc: [*b, *b, *b]        # and so on",
        "Aliases may add 250,000 nodes and 32 MiB of text to a file. Build larger values in a step.",
    ),
    "NL008": Code(
        "unknown-alias", E, "An alias without an anchor before it",
        "An alias stands for the node of an anchor earlier in the same document.",
        "then: *retry",
        "x-retry: &retry {do: retry, attempts: 3}   # earlier in the file\n\n"
        "A text that begins with `*` needs quotes.",
    ),
    "NL009": Code(
        "recursive-alias", E, "An alias inside of what it refers to",
        "The value would contain itself; plans, events and results are trees.",
        "a: &a {again: *a}",
        "Write out what is meant.",
    ),
    "NL010": Code(
        "key-not-text", E, "A key that is a list or a mapping",
        "Keys of playbooks and of JSON are text.",
        "? [a, b]\n: 1",
        '"a,b": 1',
    ),
    "NL011": Code(
        "refused-tag", E, "A YAML tag that is not read",
        "Tags make types that JSON has not (dates, bytes, sets), or call constructors.\n"
        "Plans and events carry JSON.",
        "at: !!timestamp 2026-01-02\nlogo: !!binary aGk=",
        'at: 2026-01-02            # dates stay text\nlogo: "{{ \'aGk=\' | b64decode }}"',
    ),
    "NL012": Code(
        "tag-misfit", E, "A value that does not fit its tag",
        "The tag promises a type that the text cannot be read as.",
        "count: !!int many",
        "count: many",
    ),
    "NL013": Code(
        "merge-not-mapping", E, "A merge key with something that is no mapping",
        "`<<` copies the entries of a mapping, or of each mapping of a list.",
        "retry: {<<: 3}",
        "retry: {<<: *defaults, attempts: 3}",
    ),
    "NL014": Code(
        "number-not-finite", E, "A number that JSON cannot carry",
        "Infinity and NaN have no JSON form: events, results and most tools would lose or refuse them.",
        "limit: .inf",
        'limit: ".inf"             # the text\nlimit: null               # no limit',
    ),
    "NL015": Code(
        "integer-too-long", E, "An integer with too many digits",
        "Integers are exact up to 1,000 characters; beyond, reading and printing them costs too much.",
        "id: 1000…                 # 2,000 digits",
        'id: "1000…"',
    ),
    "NL016": Code(
        "ambiguous-scalar", W, "Text that YAML 1.1 and YAML 1.2 read differently",
        "Playbooks are read as YAML 1.1: `yes` and `on` are true, a leading 0 means octal, a colon base 60.\n"
        "YAML 1.2 and many editors read text or another number. A name, as of a step, is taken as it is written.",
        "mode: 0644                # 420\nat: 22:30                 # 1350\n"
        "answer: no                # false",
        'mode: "0644"\nat: "22:30"\nanswer: "no"              # or: false',
        "Where nothing but YAML 1.1 readers ever see the file, and the value shown is the one that was meant.",
    ),
    "NL017": Code(
        "trailing-zero", N, "A number that loses a final zero",
        "A version looks like a number and is read as one: 1.10 is 1.1. Only keys that say so (`version`, `tag`,\n"
        "`image`, `python`, …) are looked at: of a price or a place the zero is nothing but writing.",
        "version: 1.10",
        'version: "1.10"',
        "Where a number is meant, and its last zero is nothing but writing.",
    ),
    "NL018": Code(
        "dash-without-space", W, "A key that begins with a dash",
        "`-step: a` is a mapping with the key `-step`, not a list item.",
        "workflow:\n  -step: start",
        "workflow:\n  - step: start",
        "Where the key really begins with a dash, as in a payload of another program.",
    ),
    "NL019": Code(
        "empty-file", E, "A file without a document",
        "There is nothing to compile.",
        "# only a comment",
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: hello}",
    ),
    "NL020": Code(
        "unquoted-template", E, "A template without quotes",
        "`{` begins a YAML mapping, so `{{ x }}` is a mapping in a mapping.",
        "url: {{ workload.base }}/users",
        'url: "{{ workload.base }}/users"',
    ),
    "NL021": Code(
        "tab-indentation", E, "A tab in the indentation",
        "YAML forbids it: how wide a tab is depends on who looks.",
        "step: a\ntool:\n<tab>kind: noop",
        "step: a\ntool:\n  kind: noop",
    ),
    "NL022": Code(
        "unused-ignore", W, "A comment that ignores what is not there",
        "The finding is gone, or the comment stands at the wrong line; left there, it will hide the next one.",
        "- step: start  # noetl: ignore[NL601] is started by hand     # and nothing is wrong with the step",
        "Delete the comment, or put it at the line of the finding or alone above it.",
        "Where the finding comes and goes, because the file is written by another program.",
    ),
    "NL023": Code(
        "ignore-without-reason", W, "A comment that ignores a finding and does not say why",
        "Who reads the file later cannot know whether the reason still holds.",
        "- step: repair  # noetl: ignore[NL601]",
        "- step: repair  # noetl: ignore[unreachable-step] operators start here with --from",
        "Where the reason stands in a comment beside it.",
    ),
    "NL024": Code(
        "ignore-of-nothing", W, "A comment that ignores no code, or one that does not exist",
        "The comment has no effect: the code is misspelt, or the finding is still reported.",
        "# noetl: ignore[unreachable-stop] started by hand",
        "# noetl: ignore[unreachable-step] started by hand",
        "Where the comment is for another version of `noetlc`, which has the code.",
    ),
    "NL025": Code(
        "stale-baseline", N, "An entry of the baseline that no finding matches any more",
        "The mistake is mended, or its place has moved. An entry that stays would hide the same mistake at the same\n"
        "place.",
        "an entry for `NL601 at workflow/step lonely/step`, and the step has an arc now",
        "Write the baseline anew: `noetlc lint PATH --write-baseline FILE`.",
        "Where the baseline is shared by branches of which one still has the finding.",
    ),
    "NL026": Code(
        "unusable-file", E, "A file that cannot be read, or not be written",
        "Nothing is known of a playbook that nobody could look at. The others under the same path are looked at.",
        "a link to a file that is gone, a file without permission to read, a write-protected one under --write",
        "Mend the link or the permissions, or name the files that are meant.",
    ),
    # NL1yy: what a construct is made of: unknown keys, wrong shapes, missing parts; NL9yy: older constructs.
    "NL101": Code(
        "unknown-key", E, "A key that its construct does not have",
        "A misspelt key would switch a feature off without a word.",
        "loop: {in: \"{{ workload.items }}\", iterater: item}",
        "Write the key as it is spelt: `iterator`. Keys that begin with `x-` may stand anywhere.",
    ),
    "NL102": Code(
        "wrong-shape", E, "A value of another shape than its key takes",
        "The value cannot be understood, and guessing would run something that was not meant.",
        "next: {arcs: {step: b}}",
        "next: {arcs: [{step: b}]}",
    ),
    "NL103": Code(
        "missing-part", E, "A required key is not there",
        "The construct means nothing without it.",
        "loop: {in: \"{{ workload.items }}\"}",
        "loop: {in: \"{{ workload.items }}\", iterator: item}",
    ),
    "NL104": Code(
        "bad-value", E, "A value that is not one of those allowed",
        "No value silently becomes a default.",
        "next: {spec: {mode: inklusive}, arcs: [{step: b}]}",
        "next: {spec: {mode: inclusive}, arcs: [{step: b}]}",
    ),
    "NL105": Code(
        "unknown-version", E, "An `apiVersion` that is not read here",
        "Another version may mean something else by the same words.",
        "apiVersion: noetl.io/v3",
        "apiVersion: noetl.io/v2",
    ),
    "NL106": Code(
        "not-a-playbook", E, "The document is no playbook",
        "Only documents of kind `Playbook` can be compiled.",
        "kind: Deployment",
        "kind: Playbook",
    ),
    "NL107": Code(
        "unknown-kind", E, "A tool or keychain kind that does not exist",
        "No worker could run it.",
        "tool: {kind: htpp, url: \"https://example.com\"}",
        "tool: {kind: http, url: \"https://example.com\"}",
    ),
    "NL108": Code(
        "unknown-field", E, "A field that the tool kind does not have",
        "The tool would never see it.",
        "tool: {kind: http, url: \"https://example.com\", metod: POST}",
        "tool: {kind: http, url: \"https://example.com\", method: POST}",
    ),
    "NL109": Code(
        "one-of-several", E, "Two keys that exclude each other",
        "Nothing says which of the two keys is meant.",
        "- {when: \"{{ true }}\", else: {then: {do: fail}}, then: {do: continue}}",
        "Keep one of them; make two rules of a rule with `when` and `else`.",
    ),
    "NL110": Code(
        "without-effect", N, "A key that is accepted and does nothing",
        "The specifications reserve the key; nothing here acts on it.",
        "spec: {policy: {tracing: {level: debug}}}",
        "Leave it out, or keep it for another runtime.",
        "Where the playbook also runs elsewhere, and the key acts there.",
    ),
    "NL111": Code(
        "outside-metadata", N, "`name` or `path` at the root",
        "Both keys belong to the metadata, and are read as if they stood there.",
        "name: hello",
        "metadata: {name: hello}",
        "Where other programs read the name or the path at the root.",
    ),
    "NL112": Code(
        "short-else", N, "An `else` in a short form",
        "The short form is read as `else: {then: …}`, which is the only form of the specification.",
        "- else: {do: continue}",
        "- else: {then: {do: continue}}",
        "Where files are kept as they were written; the meaning is the same.",
    ),
    "NL114": Code(
        "reserved-hook", E, "`before`, `after` or `finally` with something in it",
        "The hooks are reserved: what stands there would never run.",
        "policy: {finally: [cleanup], rules: [{else: {then: {do: continue}}}]}",
        "Make tasks of them, or a step that an arc on `step.failed` leads to.",
    ),
    "NL115": Code(
        "unavailable-kind", W, "A known tool kind, or a backend of one, that is not run here",
        "The playbook compiles; a task of this kind gives the error outcome `kind.unavailable`, and one of "
        "this backend the error of its kind.",
        "tool: {kind: rhai, code: \"40 + 2\"}",
        "Use another kind, or install one through the entry points `noetl.kinds` and `noetl.tools`.",
        "Where the playbook is written for a worker that has the kind, and none here runs it.",
    ),
    "NL117": Code(
        "control-outside-task", E, "A control action outside a task's policy",
        "Only a task's policy may retry, jump, break, continue or fail; anywhere else it would be ignored.",
        "- {step: load, tool: {kind: noop}, spec: {policy: {do: retry, attempts: 3}}}",
        "- {step: load, tool: {kind: noop, spec: {policy: {rules: [\n"
        "    {when: \"{{ outcome.status == 'error' }}\", then: {do: retry, attempts: 3}}]}}}}",
    ),
    "NL118": Code(
        "policy-starts-step", E, "A task's policy that names a step",
        "Steps are started by `next.arcs` only, on the server; a worker never starts one.",
        "then: {do: continue, next: [{step: cleanup}]}",
        "then: {do: continue, set_ctx: {needs_cleanup: true}}   # and an arc guarded by `ctx.needs_cleanup`",
    ),
    "NL119": Code(
        "bad-duration", E, "Something that is no duration",
        "Nothing guesses units.",
        "then: {do: retry, delay: soon}",
        "then: {do: retry, delay: 1.5s}",
    ),
    "NL120": Code(
        "bad-name", E, "A name with characters that names do not have",
        "Names appear in element ids, events and expressions.",
        "- {step: \"fetch all\"}",
        "- {step: fetch_all}",
    ),
    "NL121": Code(
        "bad-input-schema", E, "A declared input whose schema cannot be used",
        "The schema of an input is held against what a start brings. One that is misread would let anything through.\n"
        "Schemas are JSON Schema (draft 2020-12) beside `required: true`; `$ref` leads into the same schema, patterns\n"
        "neither look around nor back, and `format` has to hold.",
        "executor: {spec: {inputs: {day: text}}}",
        "executor: {spec: {inputs: {day: {type: string, format: date, required: true}}}}",
    ),
    "NL122": Code(
        "default-in-schema", E, "A default in the schema of an input",
        "A schema says what a value may be and fills in nothing. There is one place for defaults, and none is lost.",
        "executor: {spec: {inputs: {limit: {type: integer, default: 10}}}}",
        "executor: {spec: {inputs: {limit: {type: integer}}}}\nworkload: {limit: 10}",
    ),
    "NL901": Code(
        "legacy-construct", E, "A construct of an older dialect",
        "Most are read and lowered; this one was recognised by its name and no reader takes it.",
        "loop: {in: \"{{ workload.urls }}\", iterator: url, until: \"{{ url.done }}\"}",
        "tool: [{name: ready, until: {when: \"{{ iter.done }}\", then: [{name: ask, kind: noop}]}}]",
    ),
}  # fmt: skip
