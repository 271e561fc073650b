"""Searches for what steps cancel, lock and wait for stop in time: lint keeps its bar where they do not end."""

from collections.abc import Callable

import pytest

from nets import HEAD, steps
from noetlc.analysis import resets, settling
from noetlc.analysis.petri import Petri
from noetlc.analysis.stubborn import Terminals, terminals_within
from noetlc.pipeline import check_source

MOST = 3_500_000
"""Transitions that lint may look at in all for this: some 0.9 s where its bar of 1 s for 100 steps was set."""


def racing() -> str:
    """A fork of 79, each of which cancels the next one: the order in which they begin is free."""
    names = [f"s{number}" for number in range(79)]
    arcs = ", ".join(f"{{step: {name}}}" for name in names)
    rest = [
        f"step: {name}, spec: {{policy: {{cancels: [{names[(number * 7 + 1) % 79]}]}}}}"
        for number, name in enumerate(names)
    ]
    return steps(f"step: start, next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}", *rest)


def piling() -> str:
    """Tokens pile up where two locks are held, by a loop that a signal ends."""
    loop = 'loop: {in: "{{ workload.xs }}", iterator: it, spec: {mode: parallel, complete: {events: [z]}}}'
    failed = "when: \"{{ event.name == 'step.failed' }}\""
    several = "next: {spec: {mode: inclusive}, arcs: [%s]}"
    first = f"{{step: s1, {failed}}}, {{step: s1, {failed}}}, {{step: s2, {failed}, spec: {{delay: 1s}}}}"
    return "workload: {g: 1, h: false, xs: [1]}\n" + steps(
        f"step: start, spec: {{policy: {{terminate: completed}}}}, {several % first}",
        f"step: s1, spec: {{policy: {{join: {{tokens: 2}}}}}}, {several % '{step: s1}'}",
        f"step: s2, {loop}, spec: {{policy: {{lock: [l, m]}}}}, "
        + several % '{step: s3, when: "{{ workload.h }}"}, {step: s2}',
        "step: s3, " + several % '{step: s2, when: "{{ workload.g }}"}, {step: s1}, {step: s2}',
    )


def circling() -> str:
    """Circles, in which every fifth step of 18 is a settled join."""
    rows = []
    for number in range(18):
        policy = "spec: {policy: {join: settled}}, " if number % 5 == 4 else ""
        back = f'{{step: s{(number + 2) % 18}, when: "{{{{ workload.a{number % 4} }}}}"}}'
        arcs = f"{back}, {{step: s{min(number + 3, 17)}}}"
        rows.append(f"step: s{number}, {policy}next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}")
    first = "step: start, next: {spec: {mode: inclusive}, arcs: [{step: s0}, {step: s1}]}"
    return "workload: {a0: 1, a1: 1, a2: 1, a3: 1}\n" + steps(first, *rows)


@pytest.mark.parametrize("made", [racing, piling, circling])
def test_lint_gives_up_in_time(made: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []

    def counted(net: Petri, limit: int, steps: int | None) -> tuple[Terminals, int]:
        found = terminals_within(net, limit, steps)
        taken.append(found[1])
        return found

    for module in (resets, settling):
        monkeypatch.setattr(module, "terminals_within", counted)
    check_source("t.yaml", (HEAD + made()).encode())
    assert taken and sum(taken) < MOST
