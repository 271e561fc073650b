"""Constructs of the old dialects side by side: what is compiled, and what is migrated, does what the interpreter does.

Every pair of constructs of a step, and triples at random; the short run has an eighth of the cases. As many of each
kind as `TRANSLATION_CASES` says, other ones each time, has a run that asks for them. A difference is reported as the
smallest playbook that shows it.
"""

import os
from collections.abc import Iterator
from itertools import islice
from random import Random, SystemRandom

import pytest
import yaml

from harness.samples import first
from translation.crossing import Crossed, combinations_of, crossed
from translation.engine_runs import Refused, migrated, run_of, text_of
from translation.known_differences import KNOWN
from translation.older_playbooks import Open, Seen, seen_in
from translation.shrinking import smallest

_ASKED = int(os.environ.get("TRANSLATION_CASES", "0"))
_SEED = SystemRandom().randrange(1 << 32) if _ASKED else 0
PARTS = range(8)
"""Cases are shared out over so many tests."""


def cases_of(size: int, usual: int, part: int) -> Iterator[Crossed]:
    """A part of the cases with so many constructs each, every combination in turn."""
    names = combinations_of(size)
    Random(size).shuffle(names)
    for number in range(part, _ASKED or usual, len(PARTS)):
        yield crossed(Random(f"{_SEED} {size} {number}"), names[number % len(names)])


def difference(case: Crossed, *, migrate: bool) -> tuple[str, Seen, Seen | str] | None:
    """The views of the two sides where they differ: of the playbook, or of what is migrated without a review."""
    try:
        expected = seen_in(case.playbook, case.outcomes)
    except Open:
        return None
    try:
        text = text_of(case.playbook)
        if migrate and (text := migrated(text)) is None:
            return None
        found: Seen | str = run_of(text, case.outcomes)
    except Refused as refusal:
        found = str(refusal)
    return None if found == expected else (text or "", expected, found)


def differs(case: Crossed, refusal: str, *, migrate: bool) -> bool:
    """Whether a smaller playbook differs, too, or is refused for the same; one that is no playbook does not."""
    try:
        found = difference(case, migrate=migrate)
    except Exception:
        return False
    return found is not None and (found[2][:5] if isinstance(found[2], str) else "") == refusal


def agree(case: Crossed, *, migrate: bool) -> None:
    """Both sides see the same, or it is known why they do not."""
    if any(known.holds(case) for known in KNOWN):
        return
    found = difference(case, migrate=migrate)
    if found is None:
        return
    refusal = found[2][:5] if isinstance(found[2], str) else ""
    small = smallest(case, lambda less: differs(less, refusal, migrate=migrate))
    shown = difference(small, migrate=migrate)
    assert shown is not None
    playbook = yaml.safe_dump(small.playbook, sort_keys=False, default_flow_style=None, width=120)
    pytest.fail(
        f"{playbook}\n{shown[0] if migrate else ''}\nanswers {small.outcomes}\nexpected {shown[1]}\nfound    {shown[2]}"
    )


@pytest.mark.parametrize("part", first(1, PARTS))
def test_pairs(part: int) -> None:
    for case in cases_of(2, 2400, part):
        agree(case, migrate=False)


@pytest.mark.parametrize("part", first(1, PARTS))
def test_triples(part: int) -> None:
    for case in cases_of(3, 2400, part):
        agree(case, migrate=False)


@pytest.mark.parametrize("part", first(1, PARTS))
def test_migrated_pairs(part: int) -> None:
    for case in islice(cases_of(2, 600, part), None):
        agree(case, migrate=True)


def test_every_pair_is_met() -> None:
    met = set(combinations_of(2))
    assert len(met) > 120 and ("retry map", "case exclusive") in met and ("poll", "case inclusive") in met
