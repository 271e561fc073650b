"""Whether a circle of a run can be gone round for ever: a round that begins with the data that the one before began
with can be repeated, outcome by outcome.

Only the data count that the circle asks: what its guards read, and what that is computed from on the way round.
"""

from collections.abc import Iterator, Mapping, Sequence

from noetl_ir.expr import Attribute, Const, Item, Json, Name, expressions_of, walk
from noetl_ir.net import Transition
from noetl_ir.plan import Plan
from noetlc.analysis.outcomes import OUTCOMES
from noetlc.analysis.witness import witness_of

ALL = ""
"""Stands for all keys of a root that is read as a whole."""


def changed_by(plan: Plan, run: Sequence[str], first: int, last: int) -> tuple[str, ...] | None:
    """The names that the circle between two transitions of a run reads, and whose values differ behind the two.

    `run` are ids of transitions, `first` and `last` positions in it. None where no data were found for the run.
    """
    numbers = {each.id: each for each in plan.net.transitions}
    transitions = [numbers[id] for id in run]
    witness = witness_of(plan, transitions, (first, last))
    if witness is None:
        return None
    one, other = witness.known
    read = _read(plan, transitions[first:last])
    keys = sorted({*one.ctx, *other.ctx})
    found = [f"ctx.{key}" for key in keys if _asks(read, "ctx", key) and not _same(one.ctx, other.ctx, key)]
    # Each run of a step begins with an empty `iter`; a circle of jumps within one goes on with it.
    for step in sorted({*one.iters, *other.iters}):
        mine, theirs = one.iters.get(step, {}), other.iters.get(step, {})
        keys = sorted({*mine, *theirs})
        found += [f"iter.{key}" for key in keys if _asks(read, "iter", key) and not _same(mine, theirs, key)]
    for name in sorted({*one.results, *other.results}):
        if (("steps", ALL) in read or (name, ALL) in read) and not _same(one.results, other.results, name):
            found.append(name)
    return tuple(dict.fromkeys(found))


def _same(one: Mapping[str, Json], other: Mapping[str, Json], key: str) -> bool:
    # Types count: `1` and `true` are equal for Python, and two values of JSON.
    return (key in one) == (key in other) and repr(one.get(key)) == repr(other.get(key))


def _asks(read: set[tuple[str, str]], root: str, key: str) -> bool:
    return (root, key) in read or (root, ALL) in read or (bool(key) and (key, ALL) in read)


def _read(plan: Plan, circle: Sequence[Transition]) -> set[tuple[str, str]]:
    """(root, key) of what the circle asks; a name that stands alone is (name, ALL), since it may be any key."""
    found = {each for t in circle for row in _asked(plan, t) for each in _names(plan, row)}
    tasks = {t.task for t in circle if t.task >= 0}
    rules = [rule for task in sorted(tasks) for rule in plan.tasks[task].rules]
    writes = [("ctx", key, row) for rule in rules for key, row in rule.set_ctx]
    writes += [("iter", key, row) for rule in rules for key, row in rule.set_iter]
    more = True
    while more:
        fresh = {each for root, key, row in writes if _asks(found, root, key) for each in _names(plan, row)}
        more = not fresh <= found
        found |= fresh
    return found


def _asked(plan: Plan, t: Transition) -> Iterator[int]:
    """The templates that decide whether a transition fires."""
    if t.role in ("take", "pass", "admit", "deny"):
        yield from (each.guard for each in plan.net.transitions if (each.step, each.arc) == (t.step, t.arc))
    if t.role == "take":
        yield from (plan.arcs[t.arc].args, plan.arcs[t.arc].delay)
    if t.role in ("expand", "empty"):
        yield from (row.items for row in plan.steps[t.step].loops)
    if t.role in OUTCOMES:
        yield from (rule.when for rule in plan.tasks[t.task].rules)


def _names(plan: Plan, row: int) -> Iterator[tuple[str, str]]:
    for expr in expressions_of(plan.templates[row]) if row >= 0 else ():
        below: set[int] = set()
        for part in walk(expr):  # what something is in comes before it
            match part:
                case (
                    Attribute(of=Name(name=root) as name, name=key)
                    | Item(of=Name(name=root) as name, key=Const(value=str(key)))
                ):
                    below.add(id(name))
                    yield root, key
                    # `ctx.n` may be the field `n` of something that is named `ctx`, and `page.n` is one of `page`.
                    if root not in ("ctx", "iter"):
                        yield root, ALL
                case Name(name=root) if id(part) not in below:
                    yield root, ALL
                case _:
                    pass
