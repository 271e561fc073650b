"""The report of runs: how many end how, which are not as known, which versions of one path end differently."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from corpora.compiling import cause_of
from corpora.files import File
from corpora.known import Expected, Known, misses
from corpora.outcomes import Outcome, differences, verdicts
from noetl_ir.expr import Json


class Run(NamedTuple):
    """A playbook, how its run ended, and what is known of it."""

    file: File
    outcome: Outcome
    expected: Expected | None

    @property
    def is_run(self) -> bool:
        """Whether it ran at all."""
        return self.outcome.status not in ("offline", "refused")

    def as_json(self) -> dict[str, Json]:
        """The row of a run for the file of `--save`."""
        outcome = self.outcome
        return {
            "path": self.file.path, "day": self.file.day, "digest": self.file.digest, "status": outcome.status,
            "code": outcome.code, "step": outcome.step, "message": outcome.message, "seconds": outcome.seconds,
            "done": dict(outcome.done), "failed": dict(outcome.failed), "results": dict(outcome.results),
            "tables": dict(outcome.tables),
        }  # fmt: skip


_CHANCE = b"random"


def told(runs: list[Run], known: Known, examples: int) -> Iterator[str]:
    """The report; of each cause so many examples."""
    ran = [run for run in runs if run.is_run]
    counts = Counter(run.outcome.status for run in runs)
    yield f"{len(runs)} playbooks: " + ", ".join(f"{count} {status}" for status, count in counts.most_common())
    offline: dict[str, list[str]] = {}
    for run in runs:
        if run.outcome.status == "offline":
            offline.setdefault(run.outcome.message[:100], []).append(run.file.name)
    yield "not runnable offline:"
    yield from _listed(offline, examples)
    for status in ("refused", "failed", "blocked", "unfinished", "broken"):
        causes: dict[str, list[str]] = {}
        for run in runs:
            if run.outcome.status == status:
                causes.setdefault(cause_of(run.outcome.code or "-", run.outcome.message), []).append(_line(run))
        yield f"{status}:"
        yield from _listed(causes, examples)
    yield from _known(runs, examples)
    yield "completed, yet a step of the playbook says that something is wrong:"
    for run in ran:
        if run.outcome.status == "completed" and (said := list(verdicts(run.outcome.results))):
            yield f"  {run.file.name}: {'; '.join(said[:4])}"
    yield from _versions(ran)


def _line(run: Run) -> str:
    outcome = run.outcome
    return f"{run.file.name} at {outcome.step or '-'}: {outcome.code} {outcome.message[:160]}"


def _listed(causes: dict[str, list[str]], examples: int) -> Iterator[str]:
    for cause, places in sorted(causes.items(), key=lambda item: (-len(item[1]), item[0])):
        yield f"  {len(places):4} {cause}"
        yield from (f"         {' '.join(place.split())}" for place in places[:examples])


def _known(runs: list[Run], examples: int) -> Iterator[str]:
    judged = [
        (run, list(misses(run.expected, run.outcome)))
        for run in runs
        # What could not run is neither right nor wrong.
        if run.expected and run.expected.is_outcome and run.outcome.status != "offline"
    ]
    right = sum(not missed for _, missed in judged)
    yield f"known outcomes: {right} of {len(judged)} right"
    for run, missed in judged:
        if missed:
            yield f"  {run.file.name}: {'; '.join(missed[:4])}"


def is_by_chance(*runs: Run) -> bool:
    """Whether one of some playbooks asks for random numbers."""
    return any(_CHANCE in run.file.data for run in runs)


def _versions(ran: list[Run]) -> Iterator[str]:
    """Versions of one path against its newest."""
    same = apart = 0
    lines = []
    for _, group in groupby(
        sorted(ran, key=lambda run: run.file.name.partition("/")[2]), key=lambda run: run.file.path
    ):
        # Authors mend what they run, so that the newest version is what the older ones are held against.
        *older, newest = sorted(group, key=lambda run: run.file.day)
        for run in older:
            found = list(differences(run.outcome, newest.outcome, by_chance=is_by_chance(run, newest)))
            same, apart = same + (not found), apart + bool(found)
            if found:
                lines.append(f"  {run.file.name} → {newest.file.day}: {'; '.join(found[:4])}")
    yield f"versions of one path: {same} end as the newest, {apart} do not"
    yield from lines
