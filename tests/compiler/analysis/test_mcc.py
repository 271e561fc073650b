"""Models of the Model Checking Contest 2023 with their published answers: an oracle that nobody here wrote."""

import json
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from noetlc.analysis.census import census_of
from noetlc.analysis.petri import Petri, fired, petri_of
from noetlc.analysis.properties import structure_of
from noetlc.analysis.symbolic import StateCounts, state_counts
from noetlc.source.pnml_reader import read_pnml
from petri_nets import is_enabled

MCC = Path(__file__).parent / "mcc"
PUBLISHED: list[dict[str, Any]] = json.loads((MCC / "answers.json").read_text(encoding="utf-8"))["nets"]
LIMIT = 100_000


@cache
def models() -> dict[str, bytes]:
    with tarfile.open(MCC / "models.tar.xz") as archive:
        files = [(member.name.rpartition("/")[2], archive.extractfile(member)) for member in archive]
        return {name: content.read() for name, content in files if content is not None}


def model(published: dict[str, Any]) -> Petri:
    return petri_of(read_pnml(models()[published["file"]]))


def named(published: dict[str, Any]) -> str:
    return str(published["name"])


@pytest.mark.parametrize("published", [each for each in PUBLISHED if each["bounded"]], ids=named)
def test_every_published_answer_about_a_bounded_net_is_reproduced(published: dict[str, Any]) -> None:
    net = model(published)
    found = census_of(net, LIMIT)
    assert {
        "places": len(net.places),
        "transitions": len(net.transitions),
        "arcs": sum(map(len, net.inputs + net.outputs)),
        "states": found.states,
        "edges": found.edges,
        "max_token_in_place": found.max_token_in_place,
        "max_token_per_marking": found.max_token_per_marking,
        "one_safe": found.max_token_in_place is not None and found.max_token_in_place <= 1,
        "quasi_live": not found.dead,
        "live": found.live,
        "stable_marking": bool(found.stable),
        "deadlock": found.deadlock is not None,
        "bounded": found.pump is None,
    } == {key: value for key, value in published.items() if key not in NOT_ASKED}
    structure = structure_of(net)
    assert {key: getattr(structure, key) for key in published["structure"]} == published["structure"]
    assert not found.open


SMALL = [each for each in PUBLISHED if each["one_safe"] and each["places"] <= 100]
"""Safe nets of which the diagrams take no seconds."""


@pytest.mark.parametrize("published", SMALL, ids=named)
def test_decision_diagrams_give_the_published_answers_about_safe_nets(published: dict[str, Any]) -> None:
    found = state_counts(model(published))
    assert isinstance(found, StateCounts)
    assert {
        "states": found.states,
        "edges": found.edges,
        "max_token_in_place": max(found.bounds),
        "max_token_per_marking": found.max_token_per_marking,
        "quasi_live": not found.dead,
        "live": found.live,
        "stable_marking": bool(found.stable),
        "deadlock": found.deadlock is not None,
    } == {key: published[key] for key in DIAGRAMS}


DIAGRAMS = (
    "states",
    "edges",
    "max_token_in_place",
    "max_token_per_marking",
    "quasi_live",
    "live",
    "stable_marking",
    "deadlock",
)
NOT_ASKED = {"name", "file", "structure", "confirmed_by_explicit_exploration"}


@pytest.mark.parametrize("published", [each for each in PUBLISHED if not each["bounded"]], ids=named)
def test_every_published_answer_about_an_unbounded_net_is_reproduced_with_a_witness(published: dict[str, Any]) -> None:
    net = model(published)
    found = census_of(net, LIMIT)
    assert found.states is None and found.pump is not None
    assert (found.deadlock is not None, not found.dead, found.live) == (
        published["deadlock"],
        published["quasi_live"],
        published["live"],
    )
    before = played(net, net.initial, found.pump.path)
    after = played(net, before, found.pump.cycle)
    assert all(low <= high for low, high in zip(before, after, strict=True))
    assert tuple(place for place in range(len(before)) if before[place] < after[place]) == found.pump.places != ()
    if found.deadlock is not None:
        end = played(net, net.initial, found.deadlock)
        assert not any(is_enabled(net, end, number) for number in range(len(net.transitions)))


def played(net: Petri, marking: tuple[int, ...], run: tuple[int, ...]) -> tuple[int, ...]:
    for transition in run:
        assert is_enabled(net, marking, transition)
        marking = fired(net, marking, transition)
    return marking
