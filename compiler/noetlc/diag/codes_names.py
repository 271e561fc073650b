"""NL2yy: names of steps, tasks and other things, and references to them."""

from noetlc.diag.diagnostic import Code, Severity

_WARNING, _ERROR = Severity.WARNING, Severity.ERROR

NAME_CODES: dict[str, Code] = {
    "NL201": Code(
        "duplicate-step", _ERROR, "Two steps of one name",
        "An arc to that name could mean either of them.",
        "workflow: [{step: start}, {step: load}, {step: load}]",
        "Give every step of the workflow its own name.",
    ),
    "NL202": Code(
        "missing-entry", _ERROR, "No step to begin with",
        "The workflow begins at `executor.spec.entry_step`, else at the step named `start`.",
        "workflow: [{step: begin}]",
        "executor: {spec: {entry_step: begin}}",
    ),
    "NL203": Code(
        "unknown-step", _ERROR, "An arc leads to a step that does not exist",
        "The token would have nowhere to go.",
        "next: {arcs: [{step: clean_up}]}        # the step is called `cleanup`",
        "next: {arcs: [{step: cleanup}]}",
    ),
    "NL204": Code(
        "duplicate-task", _ERROR, "Two tasks of one name in a step",
        "A jump to that name, and a result read by it, could mean either of them.",
        "tool: [{name: a, kind: noop}, {name: a, kind: noop}]",
        "Give every task of a step its own name.",
    ),
    "NL205": Code(
        "unknown-task", _ERROR, "A jump to a task that does not exist",
        "The pipeline could not go on.",
        "then: {do: jump, to: fecth}",
        "then: {do: jump, to: fetch}",
    ),
    "NL206": Code(
        "jump-out-of-step", _ERROR, "A jump to a task of another step",
        "A jump stays in its step; only arcs lead from step to step.",
        "then: {do: jump, to: task_of_another_step}",
        "Record what was found with `set_ctx` and route with a guarded arc.",
    ),
    "NL207": Code(
        "unknown-workbook-task", _ERROR, "A task that the workbook does not have",
        "There is nothing to put in its place.",
        "tool: {kind: workbook, task: lod_data}",
        "tool: {kind: workbook, task: load_data}",
    ),
    "NL208": Code(
        "workbook-cycle", _ERROR, "Workbook tasks that stand for each other in a circle",
        "There is no task at the end of it.",
        "workbook: [{name: a, kind: workbook, task: b}, {name: b, kind: workbook, task: a}]",
        "Let one of them be a task of another kind.",
    ),
    "NL209": Code(
        "join-above-sources", _ERROR, "A join that waits for more tokens than can come",
        "The step would never start.",
        "spec: {policy: {join: 3}}               # two steps lead here",
        "spec: {policy: {join: 2}}, or `all`",
    ),
    "NL210": Code(
        "iterator-is-task", _ERROR, "An iterator and a task of one name",
        "The bare name in an expression could mean either of them.",
        "loop: {in: \"{{ workload.items }}\", iterator: load}   # and a task `load`",
        "Rename one of them.",
    ),
    "NL211": Code(
        "duplicate-credential", _ERROR, "Two keychain entries of one name",
        "It is not clear which of them is meant.",
        "keychain: [{name: pg, kind: env}, {name: pg, kind: file}]",
        "Give every entry its own name.",
    ),
    "NL212": Code(
        "reserved-name", _ERROR, "A step, task or iterator named like a scope of expressions",
        "Its result could never be reached by that name; an iterator `index` or `parent` would lose its items to what\n"
        "the engine writes to `iter` under that name.",
        "- {step: ctx}",
        "- {step: context_step}",
    ),
    "NL213": Code(
        "undeclared-credential", _WARNING, "`keychain.<name>` without such an entry",
        "Nothing resolves it before the run.",
        "headers: {Authorization: \"Bearer {{ keychain.api_token }}\"}",
        "keychain: [{name: api_token, kind: env}]",
        "Where the entry is known to the credential store of every place that runs the playbook.",
    ),
}  # fmt: skip
