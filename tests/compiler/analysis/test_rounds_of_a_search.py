"""A search by stubborn sets goes round again for what a circle ignores, and ends however often there is more of it."""

from noetlc.analysis.petri import Petri
from noetlc.analysis.stubborn import terminals_of, terminals_within

# (a) and (b) go round; beside them (p) makes one token of (q) after the other, which the circle never needs.
PUMPING = Petri(
    "pumping",
    ("a", "b", "p", "q"),
    ("there", "back", "more"),
    (((0, 1),), ((1, 1),), ((2, 1),)),
    (((1, 1),), ((0, 1),), ((2, 1), (3, 1))),
    (1, 0, 1, 0),
)


def test_a_place_that_fills_up_in_such_a_round_ends_it() -> None:
    found = terminals_of(PUMPING, 300)
    assert (found.complete, found.dead, found.circles) == (False, (), ())
    assert len(found.graph.markings) >= 300


def test_rounds_cost_no_more_than_a_part_of_the_states() -> None:
    found, steps = terminals_within(PUMPING, 20_000, None)
    assert len(found.graph.markings) >= 20_000
    # A round for each new state would be some 10,000 rounds of 10,000 states on an average.
    assert steps < 30 * len(found.graph.markings)


def test_a_search_stops_after_the_steps_that_it_may_take() -> None:
    found, steps = terminals_within(PUMPING, 20_000, 5_000)
    assert not found.complete and 5_000 < steps < 10_000
