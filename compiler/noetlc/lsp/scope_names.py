"""The names that an expression may use where it stands, each with its shape (`noetl_ir.scopes`)."""

from noetl_ir.scopes import LOOP_COUNTS, LOOP_EVENT_NAMES, PLACES, SIGNAL_NAMES, Site
from noetlc.ast.playbook import Step, Task
from noetlc.ast.walk import loops_of
from noetlc.ast.workbook import own_args
from noetlc.expr.check import Names
from noetlc.lsp.known import PlaybookView
from noetlc.lsp.results_there import ResultsThere
from noetlc.lsp.shapes import (
    ERROR,
    ValueShape,
    iter_of,
    outcome_of,
    result_of_step,
    result_of_task,
    shape_of_input,
    shape_of_value,
)

WORDS = {
    "workload": "the inputs of the execution, the same from start to end",
    "ctx": "what rules set for all steps (`set_ctx`)",
    "args": "what the token brought: the args of the arc it came by",
    "iter": "what rules set for this run or iteration (`set_iter`), and the item of the loop",
    "event": "the event that is routed: how the step ended, or a signal from outside",
    "outcome": "the outcome of the attempt",
    "keychain": "the secrets that the playbook declares, by name",
    "execution_id": "the id of the execution",
    "steps": "the results of steps, by name: `steps['a-b']`",
    "loop_index": "the number of the item, from 0",
    "action_id": "the id of the attempt, the same for each delivery of it",
    "env": "variables of the environment of whoever starts the run, as far as that is allowed",
    "_prev": "the result of the task before this one",
    "_task": "the name of this task",
    "_attempt": "the number of the attempt, from 1",
    "_iteration": "the number of the iteration, from 0",
    "_elapsed": "the seconds since the first attempt",
}
"""What each reserved name stands for."""

_EVENT = {
    "name": "the name of the event: `step.done`, `step.failed`, `loop.done`, …",
    "status": "`ok` or `error`",
    "step": "the name of the step",
    "step_run_id": "the id of the run of the step",
    "ts": "when it was",
    "result": "the result of the step",
    "error": "the error, null after a success",
    "outcome": "the outcome of the last task, without its result",
    "total": "how many items the loop had",
    "ok": "how many succeeded",
    "failed": "how many failed",
    "skipped": "how many were left out",
    "errors": "the errors of those that failed",
    "done": "how many have ended, well or not",
    "data": "what the signal brought",
}


def site_of(path: tuple[str | int, ...]) -> Site:
    """The sort of place that a path of keys leads to."""
    head, rest = path[0] if path else "", path[2:]
    if head == "workload":
        return Site.WORKLOAD
    if head == "keychain":
        return Site.KEYCHAIN
    if head == "executor":
        return {"result": Site.RESULT, "search": Site.SEARCH}.get(str(path[2]) if len(path) > 2 else "", Site.WORKLOAD)
    if rest[:1] == ("next",):
        return Site.LOOP if "delay" in rest else Site.ARC
    if rest[:3] == ("spec", "policy", "admit"):
        return Site.ADMIT
    if rest[:3] == ("spec", "policy", "lifecycle"):
        return Site.LOOP
    if rest[:1] == ("loop",):
        return Site.ENOUGH if "enough" in rest else Site.LOOP
    is_rule = "rules" in rest and "policy" in rest
    return Site.RULE if is_rule or rest[-1:] == ("when",) else Site.TASK


def names_at(
    view: PlaybookView,
    site: Site,
    step: Step | None,
    task: Task | None,
    *,
    is_arg: bool,
    there: ResultsThere | None = None,
) -> dict[str, ValueShape]:
    """The names that are known in a place of a playbook, the author's own first; functions are not among them.

    `is_arg` says that the place is in the args of the task, `there` whose results are known, None for those of all.
    """
    row = PLACES[site]
    names = view.around.names(step) if step is not None else view.around.outside()
    found: dict[str, ValueShape] = {}
    # The order of these blocks is that of the evaluator: a name that is found stays, whatever has it further down. Only
    # reserved words, which no author may take, come over all.
    if row.tasks and step is not None:
        tasks = [one for one in step.tasks if not one.name.startswith("__")]
        found |= {one.name: result_of_task(one) for one in tasks if there is None or one.name in there.tasks}
        found |= {name: ValueShape("the current item of the loop") for name in names.iterators if name}
    # The args are made before the fields, and of each other they know nothing.
    own = task if site is Site.TASK and not is_arg else None
    layers = _layers(view, step, own, names)
    results = {name: shape for name, shape in view.results.items() if there is None or name in there.steps}
    for layer, keys in layers.items():
        if layer in row.names:
            found |= {key: shape for key, shape in keys.items() if key not in found}
    if row.results:
        found |= {name: shape for name, shape in results.items() if name not in found and name.isidentifier()}
    found |= {word: _reserved(word, view, site, step, task, layers) for word in sorted(row.names)}
    if "steps" in found:
        found["steps"] = ValueShape(WORDS["steps"], results)
    loops = loops_of(step)[: -1 if site in (Site.LOOP, Site.ENOUGH) else None] if step is not None else ()
    return found if loops else {name: shape for name, shape in found.items() if not _needs_loop(name, site)}


def _needs_loop(name: str, site: Site) -> bool:
    """Whether a reserved name means something only within a loop: within another one, where a loop itself is made."""
    return name == "loop_index" or (name == "iter" and site in (Site.LOOP, Site.ENOUGH))


def _layers(view: PlaybookView, step: Step | None, task: Task | None, names: Names) -> dict[str, dict[str, ValueShape]]:
    playbook = view.playbook
    declared = {one.name: shape_of_input(one.schema, "an input") for one in playbook.executor.inputs or ()}
    workload = {key: shape_of_value(value, "a key of the workload") for key, value in playbook.workload}
    args = {key: ValueShape("brought by an arc") for key in sorted(names.args) if key != "*"}
    if task is not None:
        own = own_args(task)
        args |= {key: shape for key, shape in shape_of_value(task.args, "").keys.items() if key in own}
    scratch = iter_of(step) if step is not None else {}
    return {"args": args, "ctx": view.ctx, "iter": scratch, "workload": {**declared, **workload}}


def _reserved(
    word: str,
    view: PlaybookView,
    site: Site,
    step: Step | None,
    task: Task | None,
    layers: dict[str, dict[str, ValueShape]],
) -> ValueShape:
    what = WORDS.get(word, "")
    if word in layers:
        keys = layers[word]
        if word == "iter" and step is not None and step.loop is not None:
            items = {loop.iterator: ValueShape("the current item") for loop in loops_of(step)}
            keys = {
                **keys,
                **items,
                "index": ValueShape("the number of the item, from 0"),
                "parent": ValueShape("`iter` of the outer loop"),
            }
        return ValueShape(what, keys)
    match word:
        case "event":
            return ValueShape(what, _event_keys(site, step))
        case "outcome":
            return ValueShape(what, outcome_of(task).keys)
        case "keychain":
            return ValueShape(
                what, {one.name: ValueShape(f"a secret of kind `{one.kind}`") for one in view.playbook.keychain}
            )
        case _:
            return ValueShape(what)


def _event_keys(site: Site, step: Step | None) -> dict[str, ValueShape]:
    """The keys of `event`: of a loop's end those of loops too, and what a signal brings."""
    if site is Site.ENOUGH:
        return {name: ValueShape(_EVENT[name]) for name in sorted(LOOP_COUNTS)}
    # Without a loop the counts are undefined: to offer them would lead into a guard that is never true.
    left_out = set() if step is None or step.loop is not None else LOOP_EVENT_NAMES
    found = {name: ValueShape(what) for name, what in _EVENT.items() if name not in left_out and name != "done"}
    if site is not Site.ADMIT:
        found = {name: shape for name, shape in found.items() if name not in SIGNAL_NAMES}
    if step is not None:
        found["result"] = result_of_step(step) if site is Site.ARC else found["result"]
    return found | {"error": ValueShape(_EVENT["error"], ERROR.keys)}
