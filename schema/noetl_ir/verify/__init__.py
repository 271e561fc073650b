"""The properties of every plan, asked after each pass and on every load (NET.md, VERIFY).

Indices name something; ids are unique; every element has a span or names its maker; arcs stand where the
net's order promises; choices are total; pipelines are state machines; the resources of joins and loops are
neither made nor lost; and the net is the one that the tables give. Linear in the plan.
"""

from collections.abc import Iterator

from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetl_ir.verify.fit import fit_problems
from noetl_ir.verify.net import net_problems
from noetl_ir.verify.tables import table_problems


class PlanProblem(NamedTuple):
    """A fault of a plan, and the id of the element that it is about."""

    at: str
    message: str

    def __str__(self) -> str:
        return f"{self.at}: {self.message}"


# A damaged plan has a fault in each of a million rows; a few say what it is.
MAX_PROBLEMS = 20


def verify(plan: Plan, *, assembled: bool = False) -> tuple[PlanProblem, ...]:
    """The first problems of a plan; none when it can be run. Each part relies on those before it.

    `assembled` says that the net was put together of these tables just now, so that it is not done again.
    """
    found: list[PlanProblem] = []
    for part in (table_problems, net_problems, *(() if assembled else (fit_problems,))):
        # In this order: the net is looked up in the tables, and the fit in both, by indices that have to be good.
        if not found:
            found += _first(part(plan))
    return tuple(found)


def _first(problems: Iterator[tuple[str, str]]) -> Iterator[PlanProblem]:
    for number, (at, message) in enumerate(problems):
        if number == MAX_PROBLEMS:
            return
        yield PlanProblem(at, message)
