"""The form to write: the canonical form of constructs that are old, or written in another shape than they have."""

_RETRY = "rules: [{when: \"{{ outcome.status == 'error' }}\", then: {do: retry, attempts: 3}}]"
_SET = "rules: [{when: \"{{ outcome.status == 'ok' }}\", then: {do: continue, set_ctx: {key: …}}}]"
_SET_ITER = "rules: [{else: {then: {do: continue, set_iter: {key: …}}}}]"
_NEXT = "next: {arcs: [{step: name}]}"
_GUARDED = 'next: {arcs: [{step: a, when: "{{ … }}"}, {step: b}]}'
_STORE = "tool: [{name: work, kind: …}, {name: store, kind: postgres, table: …}]"
_TOOL = "tool: {kind: …}"
_ARGS = "args: {name: …}"
_LOOP = 'loop: {in: "{{ … }}", iterator: item}'
_UNTIL = 'until: {when: "{{ … }}", then: [{name: …, kind: …}], max_iterations: 60}'
_FAILED = "next: {arcs: [{step: mend, when: \"{{ event.name == 'step.failed' }}\"}]}"
_ALWAYS = "next: {arcs: [{step: name}, {step: name, when: \"{{ event.name == 'step.failed' }}\"}]}"
_WHEN = 'when: "{{ … }}"'

LEGACY_KEYS: dict[str, dict[str, str]] = {
    "document": {
        "steps": "workflow: [{step: start, tool: {kind: …}}]",
        "tasks": "workflow: [{step: start, tool: {kind: …}}]", "environment": "keychain: [{name: …, kind: env}]",
        "context": "workload: {key: value}",
    },
    "step": {
        "run": _TOOL, "task": _TOOL, "with": _ARGS, "data": _ARGS, "set_iter": _SET_ITER, "eval": _RETRY, "expr": _WHEN,
        "pipe": "tool: [{name: a, kind: …}, {name: b, kind: …}]", "next_step": _NEXT,
    },
    "loop": {"until": _UNTIL},
    "task": {"result": _SET, "pipe": "tool: [{name: a, kind: …}, {name: b, kind: …}]", "expr": _WHEN, "catch": _FAILED},
    "case": {"finally": _ALWAYS},
    "then": {
        "set_prev": _SET_ITER, "sink": _STORE, "vars": _SET, "collect": _SET_ITER,
        "retry": "then: {do: retry, attempts: 3}",
    },
    "rule": {"expr": _WHEN, "do": "then: {do: …}"},
    "arc": {
        "with": _ARGS, "data": _ARGS, "input": _ARGS, "condition": _WHEN, "cond": _WHEN, "then": _GUARDED,
        "else": _GUARDED,
    },
    "next": {"to": _NEXT, "policy": _GUARDED, "priority": _GUARDED},
}  # fmt: skip
"""Scope → key of an older dialect → its canonical form."""

_FORK = "next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}"

CONSTRUCTS: dict[str, str] = {
    "`next`": _NEXT, "`next` with conditions": _GUARDED, "`case`": _GUARDED, "`tool: <kind>`": _TOOL,
    "`type: <kind>`": _TOOL, "`call`": "tool: {kind: workbook, task: name, args: {…}}", "`sink`": _STORE,
    "`save`": _STORE, "`vars`": _SET, "`set`": _SET, "`retry`": _RETRY, "`with`": _ARGS, "`input`": _ARGS,
    "`data`": _ARGS, "`payload`": _ARGS,
    "`end_loop`": '{loop: {in: "{{ … }}", iterator: item}, tool: [{name: a_step_of_the_body, kind: …}, …]}',
}  # fmt: skip
"""What a note calls an older construct → its canonical form."""

SHAPES: dict[str, str] = {
    "`workflow`": "begin each step with `- `: `- step: start`", "a step": "write `- step: name`",
    "tool": "write `tool: {kind: …}`", "a task": "write `- {name: …, kind: …}`",
    "`arcs`": "begin each arc with `- `: `- step: name`", "an arc": "write `- {step: name}`",
    "`next`": f"write `{_NEXT}`", "`loop`": f"write `{_LOOP}`",
    "`rules`": "begin each rule with `- `: `- {when: …, then: {do: …}}`", "`then`": "write `then: {do: …}`",
    "`workload`": "write `workload: {name: value}`", "`metadata`": "write `metadata: {name: …, path: …}`",
    "`executor`": "write `executor: {spec: {…}}`", "`args`": f"write `{_ARGS}`",
    "`keychain`": "begin each entry with `- `: `- {name: …, kind: …}`", "`policy`": "write `policy: {rules: [ … ]}`",
    "`step.spec`": "write `spec: {policy: {…}}`", "`task.spec`": "write `spec: {policy: {rules: [ … ]}}`",
    "`admit`": 'write `admit: {rules: [{when: "{{ … }}", then: {allow: true}}]}`',
    "`set_ctx`": "write `set_ctx: {key: value}`", "`set_iter`": "write `set_iter: {key: value}`",
}  # fmt: skip
"""What a message calls a construct → how it is written."""


def form_of(scope: str, key: str) -> str:
    """The help for a key of an older dialect."""
    form = LEGACY_KEYS.get(scope, {}).get(key, "")
    return f"write `{form}`" if form else "`noetlc explain legacy-construct` shows a canonical form"


def rewriting(construct: str, became: str) -> str:
    """The help for an older construct that was read: its canonical form where there is one of a line."""
    form = _FORK if became == "inclusive arcs" else CONSTRUCTS.get(construct, "")
    by_itself = "`noetlc migrate` rewrites the file"
    return f"write `{form}`; {by_itself}" if form else by_itself
