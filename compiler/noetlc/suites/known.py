"""The names that tests may use: of steps, tasks, kinds and events, with a finding for any other."""

from noetl_ir.plan import Plan
from noetl_ir.plan_family import family_of
from noetl_ir.plan_secrets import NamedSecrets, secrets_named
from noetl_ir.records import NamedTuple
from noetlc.reading.kinds import WORKBOOK, kind_names, kind_of
from noetlc.reading.reader import Reader, unknown
from noetlc.reading.shapes import reference_of, sequence_of
from noetlc.source.nodes import Node


class KnownSteps(NamedTuple):
    """Steps with the kinds of their tasks by name: those of the playbook itself in `own`, and in `all` those of its
    children, too, which a script stands in for as well. `events` are the names of events, `secrets` those that all of
    them ask for.
    """

    own: dict[str, dict[str, str]]
    all: dict[str, dict[str, str]]
    events: tuple[str, ...]
    secrets: NamedSecrets


def known_of(plan: Plan, events: tuple[str, ...]) -> KnownSteps:
    """The names in a plan and the children that it embeds."""
    every: dict[str, dict[str, str]] = {}
    family = tuple(family_of(plan))
    for each in family:
        for step, tasks in _steps(each).items():
            # Steps of one name in several playbooks are one here, as in a script: it answers by name.
            every.setdefault(step, {}).update(tasks)
    return KnownSteps(_steps(plan), every, events, secrets_named(family))


def _steps(plan: Plan) -> dict[str, dict[str, str]]:
    return {
        step.name: {plan.tasks[row].name: plan.tasks[row].kind for row in step.tasks if not plan.tasks[row].generated}
        for step in plan.steps
    }


def step_of(r: Reader, node: Node, steps: dict[str, dict[str, str]]) -> str | None:
    """The name of a step that there is."""
    name = reference_of(r, node, "`step`")
    if name is not None and name not in steps:
        told = tuple(steps)
        unknown(r, "NL104", f"there is no step `{name}` in the playbook", node.span, name=name, known=told, told=told)
        return None
    return name


def task_of(r: Reader, node: Node, steps: dict[str, dict[str, str]], step: str | None) -> str | None:
    """The name of a task that there is, in a step where one is given."""
    name = reference_of(r, node, "`task`")
    tasks = [steps[step]] if step is not None else [*steps.values()]
    if name is not None and not any(name in each for each in tasks):
        told = tuple(dict.fromkeys(task for each in tasks for task in each))
        where = f"step `{step}`" if step is not None else "the playbook"
        unknown(r, "NL104", f"there is no task `{name}` in {where}", node.span, name=name, known=told, told=told)
        return None
    return name


def kinds_of(r: Reader, node: Node) -> tuple[str, ...]:
    """A list of tool kinds."""
    rows = sequence_of(r, node, "`real`", "tool kinds")
    known = tuple(name for name in kind_names() if name != WORKBOOK.name)
    found = []
    for item in rows.items if rows is not None else ():
        name = reference_of(r, item, "a kind of `real`")
        if name is not None and name not in known:
            unknown(r, "NL107", f"there is no tool kind `{name}`", item.span, name=name, known=known)
        elif name is not None:
            found.append(name)
    return tuple(found)


def extras_of(kinds: set[str]) -> set[str]:
    """The keys that outcomes of some kinds have beside status, result and error."""
    found: set[str] = set()
    for name in kinds:
        kind = kind_of(name)
        if kind is not None:  # of a plugin that is not here nobody knows
            found |= kind.extras.keys()
    return found
