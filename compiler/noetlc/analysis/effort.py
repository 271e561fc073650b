"""Limits of what an analysis may cost: those of each search, and one account that all searches of a report share.

The account is kept in work, not in time, so that an answer is the same on every machine: a unit is about what a
microsecond was when this was measured. A search may take a share of what is left; what it does not need is there for
the next.
"""

from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetlc.analysis.petri import Petri

LIMIT = 100_000
"""States that a question may cost."""

SINGLY = 20
"""Parts that are asked about one by one."""

WORK = 1_000_000
"""Units that a report may cost, so that it is there within two seconds."""

FEWEST = 60
"""States of any search, however little is left."""

PLAIN, STUBBORN, COVERED = (8.0, 0.1), (10.0, 0.4), (10.0, 0.8)
"""Units of one state: a part of its own, and one for each transition of the net. Of an explicit graph, of one of
stubborn sets, and of a node of a coverability tree."""


class Budget(NamedTuple):
    """`states` bounds each search, `nodes` each coverability tree, `singly` the parts asked about one by one, `work`
    all of them together; None: nothing does.
    """

    states: int = LIMIT
    nodes: int = 2_000
    singly: int = SINGLY
    work: int | None = None


STANDARD = Budget(work=WORK)

DENSE = 250
"""Transitions for each step of a plan that is looked at, as for a hundred steps at least: where every step leads to
every other one by a guard, reading the net alone takes the time that a report may.
"""


class Effort:
    """The account of a budget while it is spent; a part of one charges the whole, too."""

    def __init__(self, budget: Budget, of: "Effort | None" = None) -> None:
        self.budget = budget
        self._left: float | None = budget.work
        self._of = of

    def part(self, share: float, states: int = LIMIT) -> "Effort":
        """An account with a share of what is left, for searches of so many states."""
        # Whole units, so that a share is rounded the same everywhere.
        work = None if self._left is None else int(share * self._left)
        return Effort(self.budget._replace(work=work, states=min(states, self.budget.states)), self)

    def states(self, net: Petri, cost: tuple[float, float] = PLAIN, most: int = LIMIT) -> int:
        """How many states a search on a net may see."""
        most = min(most, self.budget.states)
        if self._left is None:
            return most
        # Also an empty account pays for a few states: most questions are about nets that have no more, and would be
        # `unknown` only because others were asked before.
        return min(most, max(FEWEST, int(self._left / _of_one(net, cost))))

    def spend(self, net: Petri, states: int, cost: tuple[float, float] = PLAIN) -> None:
        """Count that so many states of a net were seen."""
        self.pay(states * _of_one(net, cost))

    def pay(self, work: float) -> None:
        """Count some work."""
        account: Effort | None = self
        # A part is not set aside: it charges its whole, so that all parts together cannot cost more than the report
        # may.
        while account is not None:
            if account._left is not None:
                account._left = max(0.0, account._left - work)
            account = account._of

    def refuses(self, plan: Plan, most: int = DENSE) -> str:
        """Why the net of a plan is not looked at, by its arcs; empty where it is, as with any where nothing bounds the
        work.
        """
        allowed, count, steps = most * max(100, len(plan.steps)), len(plan.net.transitions), len(plan.steps)
        if self.budget.work is None or count <= allowed:
            return ""
        return f"the net of {steps} steps has {count:,} transitions, more than the {allowed:,} that are looked at"

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self._left is not None and self._left <= 0


def _of_one(net: Petri, cost: tuple[float, float]) -> float:
    return cost[0] + cost[1] * len(net.transitions)
