"""The runs of steps that a log tells of, in their order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from noetl_ir.events import Event
from noetl_ir.plan import Plan


def steps_of(plan: Plan, log: Iterable[Event]) -> list[str]:
    """The steps that ran; without those that stand for sugar."""
    return [plan.steps[event.step].name for event in _begun(log)]


def numbers_of(log: Iterable[Event]) -> dict[str, int]:
    """Which run of its step each step run is, as the entries of scripts count: from 1."""
    counts: Counter[int] = Counter()
    numbers = {}
    for event in _begun(log):
        counts[event.step] += 1
        numbers[event.run] = counts[event.step]
    return numbers


def _begun(log: Iterable[Event]) -> Iterator[Event]:
    return (event for event in log if event.event_type == "step.scheduled")
