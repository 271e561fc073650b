"""A plan and the plans that it embeds."""

from collections.abc import Iterator

from noetl_ir.plan import Plan
from noetl_ir.plan_format import read_plan


def family_of(plan: Plan) -> Iterator[Plan]:
    """The plan, its children and theirs, each once."""
    waiting, seen = [plan], set[str]()
    while waiting:
        here = waiting.pop()
        yield here
        # One child may be embedded in many others.
        fresh = [child for child in here.children if child.digest not in seen]
        seen.update(child.digest for child in fresh)
        waiting += [read_plan(child.data) for child in fresh]
