"""The proofs that lint asks for about a plan. Each is computed once and on demand, within limits that are short enough
for a linter that runs at every save; its modules are imported only then.

A net without a fork and without a waiting join never holds more than one token. The graph of its steps answers for it,
and no plan is made. Where a limit is hit, nothing is claimed.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from noetlc.analysis.verdict import STUCK, Defect, Status, Verdict
from noetlc.diag.internal import Bug

if TYPE_CHECKING:  # most playbooks are checked without
    from noetl_ir.plan import Plan
    from noetlc.analysis.crowding import Crowded
    from noetlc.analysis.effort import Effort
    from noetlc.analysis.locked import Locked
    from noetlc.analysis.regions import PhaseRegion
    from noetlc.analysis.stalls import Stalled
    from noetlc.analysis.starvation import Starved

_Found = TypeVar("_Found", "Crowded", "Stalled")

STATES, NODES = 2_000, 400
"""States of a search and nodes of a tree that lint pays for."""

WORK = 400_000
"""Units of work (`effort`) that lint pays for in all."""

SINGLY = 2
"""Parts of a large net that are searched for one by one."""

LARGE = 300
"""Transitions of a net of which every part is asked about."""

DENSE = 150
"""Transitions for each step, as for a hundred steps at least, of a net that lint looks at."""


class Proofs:
    """The answers about the plan that `plan` makes; `single` says that its net never holds two tokens."""

    def __init__(self, plan: "Callable[[], Plan]", single: bool) -> None:
        self._make = plan
        self.single = single
        self._query_verdicts: dict[str, Verdict | None] = {}
        self.failed: dict[str, Bug] = {}
        """Questions that a mistake of ours left open."""

    @cached_property
    def plan(self) -> "Plan":
        """The plan, made when it is asked for."""
        return self._make()

    @cached_property
    def starved(self) -> "tuple[Starved, ...]":
        """The joins that can starve, each with its cause."""
        if not self.claims(STUCK):
            return ()
        from noetlc.analysis.starvation import starved_of

        found = [starved_of(plan, _claims(verdicts, STUCK)) for plan, verdicts in self._judged]
        return tuple([each for starved in found for each in starved])

    @cached_property
    def locked(self) -> "tuple[Locked, ...]":
        """The gates at which tokens may wait for ever for a lock."""
        if not self.claims(STUCK):
            return ()
        from noetlc.analysis.locked import locked_of

        return tuple([each for plan, verdicts in self._judged for each in locked_of(plan, _claims(verdicts, STUCK))])

    @cached_property
    def contended(self) -> frozenset[str] | None:
        """The locks that a token may wait for, as far as the arcs tell; None of a net that is too dense."""
        if self._too_dense:
            return None
        from noetlc.analysis.locked import contended_in

        return frozenset().union(*(contended_in(region.plan) for region in self._regions))

    @cached_property
    def crowded(self) -> "tuple[Crowded, ...]":
        """The joins at which two tokens of one source can lie."""
        # One token cannot meet another, so that no plan has to be made.
        if self.single or self._too_dense:
            return ()
        from noetlc.analysis.crowding import crowded_of

        return self._of_regions(crowded_of)

    @cached_property
    def stalled(self) -> "tuple[Stalled, ...]":
        """The settled joins that may start because nothing else can move."""
        if self.single or self._too_dense:
            return ()
        from noetlc.analysis.stalls import stalled_of

        return self._of_regions(stalled_of)

    @cached_property
    def dead(self) -> tuple[Verdict, ...]:
        """The steps that can never run, with what guards have shown; nothing of a plan that is large."""
        from noetlc.analysis.knowledge import informed
        from noetlc.analysis.skeleton import whole_skeleton
        from noetlc.analysis.soundness import dead_parts
        from noetlc.analysis.waves import folded_joins

        # The knowledge of guards multiplies transitions. Lint runs at each save and leaves large plans to `noetlc
        # analyze`.
        if len(self.plan.net.transitions) > LARGE:
            return ()
        found = [
            each
            for region in self._regions
            for each in dead_parts(informed(folded_joins(whole_skeleton(region.plan))), set(), self._effort.part(0.3))
        ]
        return tuple(each for each in found if each.status is Status.REFUTED)

    @cached_property
    def beside(self) -> dict[str, frozenset[str]]:
        """Step → the steps that may run beside it, with what guards have shown; nothing of a net that is too dense."""
        if self._too_dense:
            return {}
        from noetlc.analysis.crowding import beside_of

        found: dict[str, frozenset[str]] = {}
        for region in self._regions:
            beside = beside_of(region.plan, self._effort.part(0.3))
            found.update({self.plan.steps[at].name: beside[self.plan.steps[at].name] for at in sorted(region.steps)})
        return found

    def claims(self, question: str) -> tuple[Defect, ...]:
        """The fault by one of the questions of `soundness`."""
        return tuple([claim for _, verdicts in self._judged for claim in _claims(verdicts, question)])

    def verdict_of(self, text: str) -> Verdict | None:
        """The verdict on a query, None where it is none or names what is not there. Whoever asks may wait for it."""
        from noetlc.analysis.effort import STANDARD, Effort
        from noetlc.analysis.queries import QueryError, query_of
        from noetlc.analysis.report import query_verdict

        if text not in self._query_verdicts:
            try:
                [self._query_verdicts[text]] = self._with_bugs(
                    [query_verdict(self.plan, query_of(text), text, Effort(STANDARD))]
                )
            except QueryError:
                self._query_verdicts[text] = None
        return self._query_verdicts[text]

    @cached_property
    def _regions(self) -> "tuple[PhaseRegion, ...]":
        from noetlc.analysis.regions import regions_of

        return regions_of(self.plan)

    def _of_regions(self, find: "Callable[[Plan, Effort], tuple[_Found, ...]]") -> "tuple[_Found, ...]":
        """Findings of each region; those behind main are not sure, as nothing says how main comes there."""
        found = [find(region.plan, self._effort.part(0.2)) for region in self._regions]
        return tuple([each if at == 0 else each._replace(sure=False) for at, rows in enumerate(found) for each in rows])

    @cached_property
    def _judged(self) -> "tuple[tuple[Plan, tuple[Verdict, ...]], ...]":
        """The plan of each region, with the verdicts on it."""
        if self.single or self._too_dense:
            return ()
        from noetlc.analysis.regions import told_of

        return tuple(
            [(one.plan, told_of(one.phase, self._with_bugs(self._verdicts(one.plan)))) for one in self._regions]
        )

    def _verdicts(self, plan: "Plan") -> list[Verdict]:
        from noetlc.analysis.report import on_free_choices, with_guards

        found = on_free_choices(plan, self._effort.part(0.5))
        if any(
            each.status is Status.UNKNOWN and each.story for each in found
        ):  # else a limit was hit, and no claim is made
            found = with_guards(plan, found, self._effort.part(0.5))
        return found

    @cached_property
    def _too_dense(self) -> bool:
        return bool(self._effort.refuses(self.plan, DENSE))

    def _with_bugs(self, found: Sequence[Verdict]) -> tuple[Verdict, ...]:
        self.failed.update({each.question: each.bug for each in found if each.bug is not None})
        return tuple(found)

    @cached_property
    def _effort(self) -> "Effort":
        from noetlc.analysis.effort import Budget, Effort

        return Effort(Budget(STATES, NODES, SINGLY, WORK))


def _claims(verdicts: Sequence[Verdict], question: str) -> tuple[Defect, ...]:
    return tuple(
        Defect(verdict, verdict.status is Status.REFUTED)
        for verdict in verdicts
        if verdict.question == question and (verdict.status is Status.REFUTED or verdict.story)
    )
