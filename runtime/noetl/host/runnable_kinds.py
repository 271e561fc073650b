"""Which kinds of tasks can run here: what is asked before the first event, as the secrets are.

Else a run goes on until it comes to such a task, whose error a loop or a rule may swallow. Where a script stands in for
tools, nothing is asked.
"""

from collections.abc import Iterator
from functools import cache

from noetl_ir.kinds import Kind
from noetl_ir.plan import Plan
from noetl_ir.plan_format import open_plan
from noetl_ir.registry import MissingPart, can_import, load

ENGINES = ("podman", "docker", "nerdctl")
"""Programs that run containers, in the order in which they are looked for."""


@cache
def lacking(kind: str) -> str:
    """Why tasks of a kind cannot run here, as the end of a sentence about the kind; empty where they can."""
    try:
        known = load("noetl_ir.kinds", kind, "KIND", Kind)
    except MissingPart:
        return "is not known here: what brings it is not installed"
    if not known.available:
        return "is not run by this version"
    if known.module and not can_import(known.module):
        return f"needs the extra: pip install 'noetlc[{kind}]'"
    if kind == "container" and not _has_engine():
        return f"needs a container engine: none of {', '.join(ENGINES)} is on PATH"
    return ""


def unable(plan: Plan) -> tuple[str, ...]:
    """A sentence for each kind that a plan, or a child in it, needs and that cannot run here."""
    return tuple(dict.fromkeys(_unable(plan)))


def _unable(plan: Plan) -> Iterator[str]:
    for kind in plan.kinds:
        if why := lacking(kind):
            step = next((plan.steps[task.step].name for task in plan.tasks if task.kind == kind), "")
            where = f" of step `{step}`" if step else ""
            yield f"the kind `{kind}`{where} in `{plan.path or plan.name}` {why}"
    # Children too: a run that fails in its child for want of a program could have been refused at its start.
    for child in plan.children:
        yield from _unable(open_plan(child.data))


def _has_engine() -> bool:
    from shutil import which  # few runs ask

    return any(map(which, ENGINES))
