"""A compile with all rules on trees takes work in proportion to the steps of a file, whatever they declare.

Calls are counted, not time: a walk over all steps for each step shows in their number, the same on every machine.
"""

from cProfile import Profile

import pytest

from noetlc.diag.diagnostic import Severity
from noetlc.pipeline import compile_source
from playbooks import HEAD


def _races(count: int) -> list[str]:
    """Forks one after the other; the first branch of each cancels both."""
    rows = []
    for i in range(0, count, 4):
        fork = f"next: {{spec: {{mode: inclusive}}, arcs: [{{step: s{i + 1}}}, {{step: s{i + 2}}}]}}"
        join = f"spec: {{policy: {{join: first, cancels: [s{i + 1}, s{i + 2}]}}}}"
        rows += [f"{{step: s{i}, {fork}}}", _step(i + 1, "", i + 3), _step(i + 2, "", i + 3), _step(i + 3, join, i + 4)]
    return [*rows, f"{{step: s{count}}}"]


def _step(number: int, declared: str, following: int) -> str:
    return f"{{step: s{number}, {declared and declared + ', '}next: {{arcs: [{{step: s{following}}}]}}}}"


def _chain(count: int, declared: str) -> list[str]:
    """Steps one after the other, which all declare the same; `@` stands for the number of the next one."""
    rows = [_step(number, declared.replace("@", str(number + 1)), number + 1) for number in range(count)]
    return [*rows, f"{{step: s{count}}}"]


def _undone(count: int) -> list[str]:
    """Steps one after the other, each with one that undoes it."""
    undoing = [f"{{step: u{number + 1}}}" for number in range(count // 2)]
    return [*_chain(count // 2, "spec: {policy: {compensate: u@}}"), *undoing]


LOOP = "loop: {in: [1, 2], iterator: it, spec: {mode: parallel, policy: {enough: 1}, complete: {events: [over@]}}}"
FORMS = {
    "races": _races,
    "cancels": lambda count: _chain(count, "spec: {policy: {cancels: [s@]}}"),
    "loops": lambda count: _chain(count, LOOP),
    "locks": lambda count: _chain(count, "spec: {policy: {lock: [lock@]}}"),
    "compensations": _undone,
}


@pytest.mark.parametrize("form", FORMS)
def test_work_grows_with_the_steps(form: str) -> None:
    _calls(form, 8)  # what is imported and made once
    assert _calls(form, 400) < 4.6 * _calls(form, 100)


def _calls(form: str, count: int) -> int:
    """The calls that a compile of so many steps makes."""
    rows = "".join(f"  - {row}\n" for row in FORMS[form](count))
    text = f"{HEAD}executor: {{spec: {{entry_step: s0}}}}\nworkflow:\n{rows}"
    profile = Profile()
    profile.enable()
    compiled = compile_source("t.yaml", text.encode(), at_least=min(Severity))
    profile.disable()
    assert compiled.count_of(Severity.ERROR) == 0, form
    return sum(entry.callcount for entry in profile.getstats())
