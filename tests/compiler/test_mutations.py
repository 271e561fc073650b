"""From a correct playbook one thing at a time is broken, and a finding must name the line where it was.

Keys are misspelt one by one, then single values are spoilt; `BROKEN` lists what replaces what.
"""

import re
from pathlib import Path

import pytest

from noetlc.diag.diagnostic import Severity
from playbooks import linted

ROOT = Path(__file__).resolve().parents[2]
CANONICAL = (ROOT / "golden" / "read" / "everything.canon").read_text("utf-8")

FREE = frozenset({"seen", "page", "k", "m", '"n"', "url", "items", "X-Id", "path"})
"""Keys that name data, or that stand for themselves wherever they are."""

BROKEN = [
    ("apiVersion: noetl.io/v2", "apiVersion: noetl.io/v7"),
    ("kind: Playbook", "kind: Pod"),
    ("step: end", "step: ende"),
    ("kind: http", "kind: htpp"),
    ("to: last", "to: lst"),
    ("do: retry", "do: rety"),
    ("do: jump", "do: jmp"),
    ("attempts: 5", "attempts: 0"),
    ("backoff: exponential", "backoff: quadratic"),
    ('delay: "1.5s"', "delay: soon"),
    ("multiplier: 3.0", "multiplier: -1"),
    ("jitter: true", "jitter: maybe"),
    ("mode: parallel", "mode: paralel"),
    ("mode: inclusive", "mode: inclusiv"),
    ("on_deny: wait", "on_deny: wiat"),
    ("join: any", "join: anny"),
    ("allow: true", "allow: yes please"),
    ('when: "{{ ctx.a }}"', 'when: "ctx.a"'),
    ("{{ iter.bad }}", "{{ iter.bad"),
    ("{{ iter.bad }}", "{{ event.name }}"),
    ("{{ outcome.http.status == 404 }}", "{{ outcom.http.status == 404 }}"),
    ("{{ event.name == 'loop.done' }}", "{{ event.nam == 'loop.done' }}"),
    ("{{ event.name == 'loop.done' }}", "{{ event.name == 'step.done' }}"),
    ('max_in_flight: "{{ workload.n }}"', "max_in_flight: 0"),
    ('in: "{{ workload.items }}"', "in: 7"),
    ("iterator: outer", "iterator: 1a b"),
    ('"10m"', "tomorrow"),
    ("priority: 3", "priority: high"),
]


def lines_of(text: str) -> set[int]:
    """The lines that errors and warnings name."""
    return {finding.span.line for finding in linted(text) if finding.severity >= Severity.WARNING}


def keys() -> list[tuple[int, str]]:
    """(line, key) of every key of the canonical text whose misspelling must be found."""
    found = []
    for number, line in enumerate(CANONICAL.split("\n"), 1):
        match = re.match(r"\s*(?:- )?([\w\"-]+):", line)
        if match and match[1] not in FREE:
            found.append((number, match[1]))
    return found


def test_the_playbook_is_correct() -> None:
    """Apart from what it has for the sake of the key: no step sets the `ctx.a` and `ctx.n` that it reads, for one."""
    told = [finding.code for finding in linted(CANONICAL) if finding.severity > Severity.NOTE]
    assert told == ["NL406", "NL401", "NL404", "NL406"]


@pytest.mark.parametrize(("line", "key"), keys(), ids=lambda value: str(value))
def test_a_misspelt_key(line: int, key: str) -> None:
    lines = CANONICAL.split("\n")
    lines[line - 1] = lines[line - 1].replace(f"{key}:", f"{key}q:", 1)
    assert line in lines_of("\n".join(lines)), lines[line - 1]


@pytest.mark.parametrize(("before", "after"), BROKEN, ids=lambda value: value)
def test_a_spoilt_value(before: str, after: str) -> None:
    at = CANONICAL.index(before)
    line = CANONICAL.count("\n", 0, at) + 1
    assert line in lines_of(CANONICAL[:at] + after + CANONICAL[at + len(before) :])
