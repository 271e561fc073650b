"""`x-budget`: how much one execution may do, as the author promises it; held against the bounds.

    x-budget: {attempts: 500, tokens: 20, events: 4000, sizes: {items: 100}}

`sizes` says how many items there are at most of what is looped over, by the names that `noetlc analyze` shows.
"""

from collections.abc import Iterator, Mapping

from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple
from noetlc.analysis.bounds import Bounds
from noetlc.analysis.formulas import Formula
from noetlc.analysis.verdict import Status, Verdict

BUDGET = "x-budget"
COUNTED = ("attempts", "tokens", "events")
SIZES = "sizes"


class BudgetError(Exception):
    """A budget that cannot be read."""


class DeclaredBudget(NamedTuple):
    """Limits by what is counted, and the sizes that are promised."""

    limits: Mapping[str, int]
    sizes: Mapping[str, int]


def budget_of(value: Json) -> DeclaredBudget:
    """The budget that an extension's value is; raises BudgetError."""
    if not isinstance(value, dict):
        raise BudgetError(f"`{BUDGET}` is a mapping with {', '.join(f'`{key}`' for key in (*COUNTED, SIZES))}")
    for key in value:
        if key not in (*COUNTED, SIZES):
            raise BudgetError(f"`{BUDGET}` has no key `{key}`; there are {', '.join((*COUNTED, SIZES))}")
    sizes = value.get(SIZES, {})
    if not isinstance(sizes, dict):
        raise BudgetError(f"`{BUDGET}.{SIZES}` is a mapping of names to numbers")
    limits = {key: _count(f"{BUDGET}.{key}", value[key]) for key in COUNTED if key in value}
    return DeclaredBudget(limits, {name: _count(f"{BUDGET}.{SIZES}.{name}", most) for name, most in sizes.items()})


def check_budget(bounds: Bounds, budget: DeclaredBudget) -> Iterator[Verdict]:
    """A verdict on each limit: proved where the bound lies within; else unknown, for no run may come up to it."""
    formulas: dict[str, Formula] = {"attempts": bounds.attempts, "tokens": bounds.tokens, "events": bounds.events}
    for key, limit in budget.limits.items():
        formula = formulas[key]
        lowest = 1 if key == "tokens" else 0
        # Formulas for tokens are right from one item on (`widest`). A promise of none is read as one there.
        sizes = {name: max(most, lowest) for name, most in budget.sizes.items()}
        most = formula.value(sizes)
        question = f"at most {limit:,} {key}"
        missing = [name for name in formula.sizes if name not in sizes]
        if most is not None:
            # The bound lies above every run. That it is larger than the limit does not show a run that is.
            status = Status.PROVED if most <= limit else Status.UNKNOWN
            shown = f"{formula} = {most:,}" if formula.sizes else f"{most:,}"
            yield Verdict(question, status, f"the bound is {shown}")
        elif missing:
            more = ", ".join(f"`{name}`" for name in missing)
            yield Verdict(question, Status.UNKNOWN, f"the bound is {formula}, and `{SIZES}` has no {more}")
        else:
            yield Verdict(question, Status.UNKNOWN, str(formula))


def _count(where: str, value: Json) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BudgetError(f"`{where}` is a whole number, zero or more")
    return value
