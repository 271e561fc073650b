"""The names that python code of a task finds bound, by what the playbook says (LANGUAGE §7)."""

from collections.abc import Mapping

from noetl_ir.python_names import CONTEXT, INPUTS, STATE
from noetl_ir.records import NamedTuple
from noetlc.ast.playbook import Playbook, Step, Task, Value
from noetlc.ast.walk import loops_of
from noetlc.ast.workbook import pairs_of
from noetlc.ast.workload import workload_names

Arriving = Mapping[str, set[str] | None]
"""Step → the names in the args of arcs into it; None where an arc computes them."""

_CONTEXT = frozenset({*STATE, "args", "job", "steps", "_prev", "_task", "_attempt"})
_OF_LOOPS = frozenset({"loop_index", "index", "parent"})


class CodeNames(NamedTuple):
    """`args` are those of the task, `items` the iterators of its loops, `context` all names that `context` may have."""

    args: set[str]
    items: set[str]
    context: set[str]


def arriving_args(playbook: Playbook) -> Arriving:
    """The args that tokens may bring to each step that an arc with args leads to."""
    found: dict[str, set[str] | None] = {}
    for step in playbook.steps:
        for arc in step.router.arcs if step.router is not None else ():
            if arc.args is None:
                continue
            keys, before = _keys(arc.args), found.get(arc.target, set())
            # None once is None for good: one arc that computes its args may bring any name.
            found[arc.target] = None if keys is None or before is None else before | keys
    return found


def code_names(playbook: Playbook, step: Step, task: Task, arriving: Arriving) -> CodeNames | None:
    """The names for the code of a task; None where its args are not known before the run."""
    arrived, own = arriving.get(step.name, set()), _keys(task.args)
    # Without all args no name in the code can be said to be unbound.
    if arrived is None or own is None:
        return None
    args = arrived | own
    names = {*workload_names(playbook)} | {each.name for each in playbook.steps} | args | _CONTEXT
    names.update(each.name for each in step.tasks)
    items = {loop.iterator for loop in loops_of(step)}
    if items:
        names |= _OF_LOOPS | items
    for each in playbook.steps:
        for rule in (rule for task in each.tasks for rule in task.rules):
            names.update(key for key, _ in rule.set_ctx)
            names.update(key for key, _ in rule.set_iter if each is step)
    return CodeNames(args, items, names)


def of_ours(name: str) -> bool:
    """Whether code finds a name bound whatever the playbook says."""
    return name in INPUTS or name in STATE or name == CONTEXT


def _keys(args: Value | None) -> set[str] | None:
    if args is None:
        return set()
    pairs = pairs_of(args.template)
    return None if pairs is None else set(pairs)
