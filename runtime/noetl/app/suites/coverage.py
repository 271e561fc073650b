"""Coverage against the net: which parts of a playbook that a run can reach were reached by some case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence

from noetl.app.suites.verdict import CaseVerdict
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple
from noetl_ir.suite import PARTS, PlaybookPart, Suite


class Coverage(NamedTuple):
    """The parts of the playbook of one or several suites, those that some case reached, how many cannot be reached, and
    in how many of the cases each transition of the net fired.
    """

    playbook: str
    parts: tuple[PlaybookPart, ...]
    reached: frozenset[int]
    never: int
    fired: Counter[str]
    cases: int

    @property
    def percent(self) -> float:
        """The share of the parts that were reached; of none at all it is 100."""
        return 100 * len(self.reached) / len(self.parts) if self.parts else 100.0

    def counts(self) -> list[tuple[str, int, int]]:
        """For each kind of part that there is: how many were reached, and how many there are."""
        rows = []
        for kind in PARTS:
            own = [number for number, part in enumerate(self.parts) if part.kind == kind]
            if own:
                rows.append((kind, len(self.reached.intersection(own)), len(own)))
        return rows

    def missing(self) -> list[PlaybookPart]:
        """The parts that no case reached, in the order of the file."""
        return [part for number, part in enumerate(self.parts) if number not in self.reached]


def coverage_of(suite: Suite, verdicts: Sequence[CaseVerdict]) -> Coverage:
    """The coverage of the playbook of a suite by its cases."""
    fired = Counter(name for verdict in verdicts for name in verdict.fired)
    rules = {rule for verdict in verdicts for rule in verdict.rules}
    reached = [number for number, part in enumerate(suite.parts) if is_reached(part, fired, rules)]
    return Coverage(suite.playbook, suite.parts, frozenset(reached), suite.never, fired, len(verdicts))


def is_reached(part: PlaybookPart, fired: Container[str], rules: Container[tuple[int, int]]) -> bool:
    """Whether a part was reached by what fired and which rules decided."""
    if part.rule >= 0:
        return (part.task, part.rule) in rules
    return any(name in fired for name in part.transitions)


def merged_coverage(rows: Sequence[Coverage]) -> list[Coverage]:
    """One coverage for each playbook: several files may test the same one."""
    found: dict[str, Coverage] = {}
    for row in rows:
        there = found.get(row.playbook)
        if there is None:
            found[row.playbook] = row
        else:
            found[row.playbook] = there._replace(
                reached=there.reached | row.reached, fired=there.fired + row.fired, cases=there.cases + row.cases
            )
    return list(found.values())


def coverage_document(coverage: Coverage) -> Json:
    """The document that `noetlc graph --coverage` paints: in how many of the cases each transition fired, and the parts
    that none reached.
    """
    missing: list[Json] = [
        {"kind": part.kind, "name": part.name, "transitions": [*part.transitions]} for part in coverage.missing()
    ]
    return {"cases": coverage.cases, "fired": dict(sorted(coverage.fired.items())), "missing": missing}
