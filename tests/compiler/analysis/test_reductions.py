"""Each reduced net answers what the unreduced one does: thousands of random nets, one question a test."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.samples import shares
from noetlc.analysis import reductions
from noetlc.analysis.goals import Never, Reached, coverable
from noetlc.analysis.origin import (
    Also,
    Either,
    Leaf,
    Nothing,
    Then,
    TooLong,
    ValueOrigin,
    covered,
    firings,
    has_loop,
    run_of,
)
from noetlc.analysis.petri import Petri
from noetlc.analysis.reachability import graph_of
from noetlc.analysis.reductions import reduced, reduced_for_bounds
from noetlc.analysis.stubborn import terminals_of
from noetlc.analysis.together import together_of
from petri_nets import net_of, nets, safe_like_nets, space_of

MOST = 150
MANY = shares(500)


LEAVES = st.integers(0, 5).map(Leaf) | st.just(Nothing())
ORIGINS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(Then, inner, inner, st.integers(0, 3)), st.builds(Either, inner, inner), st.builds(Also, inner, inner)
    ),
    max_leaves=12,
)


def told(origin: ValueOrigin) -> list[int]:
    """The run of an origin, by its definition."""
    match origin:
        case Leaf(transition=transition):
            return [transition]
        case Then(first=first, second=second, times=times):
            return told(first) + told(second) * times
        case Either(one=one) | Also(one=one):
            return told(one)
        case _:
            return []


@MANY
@given(st.lists(ORIGINS, max_size=3))
def test_a_run_is_told_and_its_firings_are_counted_as_their_definition_says(
    share: int, origins: list[ValueOrigin]
) -> None:
    run = [transition for origin in origins for transition in told(origin)]
    assert run_of(origins) == tuple(run)
    assert firings(origins) == Counter(run)


def test_a_tree_that_is_shared_sixty_times_over_is_counted_at_once_and_not_told() -> None:
    origin: ValueOrigin = Leaf(3)
    for _ in range(60):
        origin = Then(origin, origin, 1)
    assert firings([origin]) == {3: 2**60}
    assert not has_loop(origin)
    with pytest.raises(TooLong):
        run_of([origin])


@st.composite
def implied_nets(draw: st.DrawFn) -> Petri:
    """Any net with one place more, which has the tokens of one or two others, and perhaps some to spare."""
    net = draw(st.one_of(safe_like_nets(), nets(most_places=4)))
    chosen = draw(st.frozensets(st.integers(0, len(net.places) - 1), min_size=1, max_size=2))
    more = draw(st.integers(0, 1))
    loops = draw(st.frozensets(st.integers(0, len(net.transitions) - 1), max_size=1))

    def widened(side: tuple[tuple[tuple[int, int], ...], ...]) -> tuple[tuple[tuple[int, int], ...], ...]:
        found = []
        for number, arcs in enumerate(side):
            weight = sum(count for place, count in arcs if place in chosen) + (more and number in loops)
            found.append((*arcs, (len(net.places), weight)) if weight else arcs)
        return tuple(found)

    return Petri(
        "implied",
        (*net.places, "implied"),
        net.transitions,
        widened(net.inputs),
        widened(net.outputs),
        (*net.initial, sum(net.initial[place] for place in chosen) + more),
    )


WIDTHS = st.sampled_from((1, 16))
"""From how many arcs on a transition is joined as a wide one is: small nets have no others."""


@contextmanager
def width(wide: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reductions, "WIDE", wide)
        yield


ANY_NETS = st.one_of(safe_like_nets(), nets(most_places=5), implied_nets())


@MANY
@given(ANY_NETS, WIDTHS)
def test_terminal_components_stay(share: int, net: Petri, wide: int) -> None:
    space = space_of(net, MOST)
    assume(space is not None)
    assert space is not None
    with width(wide):
        small = reduced(net)
    ends = terminals_of(small.net, 1_000)
    assert ends.complete
    assert {played(net, small.run(ends.graph.path_to(state))) for state in ends.dead} == space.dead()
    components = [component for component in space.terminal() if component.isdisjoint(space.dead())]
    assert len(ends.circles) == len(components)
    for circle in ends.circles:
        marking = played(net, small.run(ends.graph.path_to(circle[0])))
        assert any(marking in component for component in components)


@MANY
@given(ANY_NETS, WIDTHS)
def test_the_transitions_that_can_fire_stay(share: int, net: Petri, wide: int) -> None:
    space = space_of(net, MOST)
    assume(space is not None)
    assert space is not None
    with width(wide):
        small = reduced(net)
    less = space_of(small.net, 10 * MOST)
    assert less is not None
    assert covered([small.origins[number] for number in less.fired()]) == space.fired()
    assert small.dead.isdisjoint(space.fired())


@MANY
@given(ANY_NETS, WIDTHS, st.data())
def test_what_is_marked_at_once_among_kept_places_stays(share: int, net: Petri, wide: int, data: st.DataObject) -> None:
    space = space_of(net, MOST)
    assume(space is not None)
    assert space is not None
    kept = data.draw(st.frozensets(st.integers(0, len(net.places) - 1), min_size=1, max_size=2))
    target = tuple((place, data.draw(st.integers(1, 2))) for place in sorted(kept))
    expected = any(all(marking[place] >= weight for place, weight in target) for marking in space.edges)
    with width(wide):
        found = coverable(net, target, 10 * MOST)
    assert isinstance(found, Reached if expected else Never)
    if isinstance(found, Reached):
        marking = played(net, found.run)
        assert all(marking[place] >= weight for place, weight in target)


@MANY
@given(ANY_NETS, WIDTHS)
def test_a_net_is_bounded_exactly_when_the_net_reduced_for_that_is(share: int, net: Petri, wide: int) -> None:
    from noetlc.analysis.coverability import coverability_of

    with width(wide):
        small = reduced_for_bounds(net)
    tree, less = coverability_of(net, 2_000), coverability_of(small.net, 2_000)
    assume(tree.complete and less.complete)
    assert (tree.pump is None) == (less.pump is None)


def test_a_place_that_two_others_imply_is_gone() -> None:
    loop = (
        "start → loop + todo + slot; todo → fin; todo + slot → fin + slot; loop + slot + fin → done; done + x → x + y"
    )
    small = reduced(net_of(loop, "start + x"))
    assert not {"slot", "loop"} <= set(small.net.places)


def test_a_place_that_is_always_marked_is_gone_where_something_else_is_asked_for_too() -> None:
    small = reduced(net_of("a + b → b + c + d; c + d → a", "a + b"))
    assert "b" not in small.net.places
    assert "b" in reduced(net_of("b → b + c; c + d → d; c + d → ", "b + 2·d")).net.places


def test_a_pipeline_becomes_nothing() -> None:
    small = reduced(net_of("a → b; b → c; c → a; c → ", "a"))
    assert (len(small.net.places), len(small.net.transitions)) == (2, 3) or len(small.net.places) == 1
    assert small.run((0,))


def test_twins_are_one_transition_and_both_can_fire() -> None:
    small = reduced(net_of("a → b; a → b; b + c → ", "a + c"))
    assert covered(list(small.origins)) == {0, 1, 2}


def test_a_place_in_front_of_an_end_stays_for_bounds() -> None:
    net = net_of("a → a + b; b → ", "a")
    assert "b" in reduced_for_bounds(net).net.places
    assert "b" not in reduced(net).net.places


@MANY
@given(ANY_NETS, st.data())
def test_what_is_together_is_what_the_markings_say(share: int, net: Petri, data: st.DataObject) -> None:
    space = space_of(net, MOST)
    assume(space is not None)
    assert space is not None
    asked = data.draw(st.frozensets(st.integers(0, len(net.places) - 1), min_size=1, max_size=3))
    found = together_of(net, asked, data.draw(st.sampled_from([1, 10 * MOST])))
    for place in asked:
        most = max(marking[place] for marking in space.edges)
        beside = {
            other for other in asked - {place} if any(marking[place] and marking[other] for marking in space.edges)
        }
        assert found.beside[place] >= beside and (not found.exact or found.beside[place] == beside)
        assert found.most[place] in (most, None) or (not found.exact and found.most[place] == 1 > most)


def played(net: Petri, run: tuple[int, ...]) -> tuple[int, ...]:
    """The marking after a run, which must be one."""
    marking = list(net.initial)
    for transition in run:
        for place, weight in net.inputs[transition]:
            marking[place] -= weight
        assert min(marking) >= 0
        for place, weight in net.outputs[transition]:
            marking[place] += weight
    return tuple(marking)


@pytest.mark.parametrize("kept", [frozenset[int](), frozenset({3, 20})])
def test_a_wide_fork_has_the_ends_of_its_net(kept: frozenset[int]) -> None:
    """24 branches of two steps, of which one may lose its token; they meet in pairs, so that all is small enough."""
    rows = ["s → " + " + ".join(f"a{n}" for n in range(24))]
    rows += [f"a{n} → b{n}" for n in range(24)]
    rows += [f"b{n} + b{n + 1} → m{n // 2}" for n in range(0, 24, 2)]
    rows += [" + ".join(f"m{n}" for n in range(12)) + " → end", "b5 → "]
    net = net_of("; ".join(rows), "s")
    small = reduced(net, kept)
    assert len(small.net.transitions) < 30
    ends = set()
    for state, able in enumerate((graph := graph_of(small.net, 100_000)).enabled):
        if not able:
            marking = played(net, small.run(graph.path_to(state)))
            ends.add(frozenset(net.places[place] for place, tokens in enumerate(marking) if tokens))
    assert graph.complete
    assert ends == {frozenset({"end"}), frozenset({"b4", *(f"m{n}" for n in range(12) if n != 2)})}


def test_a_chain_of_choices_is_joined_in_pairs_and_not_each_to_all_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A router of 256 guards: each choice leads to a place of its own or on to the next one."""
    count, joined = 256, reductions._joined
    rows = [f"c{n} → a{n}; c{n} → c{n + 1}; a{n} → " for n in range(count)]
    made: list[int] = []
    monkeypatch.setattr(reductions, "_joined", lambda *each: (made.append(1), joined(*each))[1])
    net = net_of(f"{'; '.join(rows)}; c{count} → ", "c0")
    small = reduced(net, frozenset(place for place, name in enumerate(net.places) if name.startswith("a")))
    assert len(small.net.transitions) > count
    # One by one they would be some 32,000.
    assert len(made) < 16 * count
