"""Which values are tried for what guards read, and how values by path become documents."""

from collections.abc import Iterable

from noetl_ir.expr import (
    Compare,
    Const,
    Expr,
    Json,
    Native,
    Template,
    walk,
)
from noetl_ir.paths import static_path
from noetl_ir.plan import Plan
from noetl_ir.shaping import USUAL

PLAIN: list[Json] = [True, False, "x", 1, 0, [1], []]
"""What is tried for any path."""

TrialPath = tuple[str | int, ...]
"""`('workload', …)`, or `('outcome', k, …)` for the k-th outcome of the run."""


class NoValue:
    """Stands for no value among those that are tried for a path."""


class Candidates:
    """For each name that some guard compares, the constants that it is compared with anywhere in the plan."""

    def __init__(self, plan: Plan) -> None:
        self._by_name: dict[str, list[Json]] = {}
        asked = [t.guard for t in plan.net.transitions if t.guard >= 0]
        asked += [rule.when for task in plan.tasks for rule in task.rules if rule.when >= 0]
        for row in dict.fromkeys(asked):
            for part in walk(guard_of(plan.templates[row])):
                if isinstance(part, Compare):
                    names = static_path(part.first)
                    if names:
                        self._by_name.setdefault(names[-1], []).extend(constants_in(part))

    def values_for(self, path: TrialPath, first: Iterable[Json]) -> "list[Json | NoValue]":
        """The values that are tried for a path: what its guard names, what others compare it with, some of each
        type, and last none, for where others of the same guard have one.
        """
        found: list[Json] = []
        usual = USUAL.get(str(path[-1]), ()) if path[0] == "outcome" else ()
        for value in (*first, *self._by_name.get(str(path[-1]), ()), *usual, *PLAIN):
            # `1`, `1.0` and `True` are equal for Python and three values of JSON, so that types count too.
            if not any(type(value) is type(other) and value == other for other in found):
                found.append(value)
        return [*found, NoValue()]


def guard_of(template: Template) -> Expr:
    return template.expr if isinstance(template, Native) else Const(True)


def constants_in(expr: Expr) -> list[Json]:
    """The constants of an expression, and beside each number its neighbours."""
    found: list[Json] = []
    for each in walk(expr):
        if isinstance(each, Const):
            found.append(each.value)
            if isinstance(each.value, int | float) and not isinstance(each.value, bool):
                # Beside a bound lie the values with which an ordering turns.
                found += [each.value + 1, each.value - 1]
    return found


def tree_of(values: dict[TrialPath, Json], under: TrialPath) -> dict[str, Json]:
    tree: dict[str, Json] = {}
    for path, value in values.items():
        if path[: len(under)] == under:
            here = tree
            for key in path[len(under) : -1]:
                inner = here.setdefault(str(key), {})
                assert isinstance(inner, dict)
                here = inner
            here[str(path[-1])] = value
    return tree


def merged_values(below: dict[str, Json], above: dict[str, Json]) -> dict[str, Json]:
    found = dict(below)
    waiting = [(found, above)]
    while waiting:
        under, over = waiting.pop()
        for key, value in over.items():
            old = under.get(key)
            if isinstance(old, dict) and isinstance(value, dict):
                copy = dict(old)
                under[key] = copy
                waiting.append((copy, value))
            else:
                under[key] = value
    return found
