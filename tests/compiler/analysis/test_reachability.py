"""The explorer, the properties, the tree of Karp and Miller and the stubborn sets against the naive explorer."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from noetlc.analysis.census import census_of
from noetlc.analysis.concurrency import concurrency_of
from noetlc.analysis.coverability import coverability_of
from noetlc.analysis.packing import least_bits, packing_of
from noetlc.analysis.petri import Petri, PetriMarking, fired
from noetlc.analysis.properties import properties_of
from noetlc.analysis.reachability import graph_of
from noetlc.analysis.stubborn import Search, terminals_of
from petri_nets import is_enabled, net_of, nets, safe_like_nets, space_of

MOST = 300
MANY = settings(max_examples=120, deadline=None)


def after(net: Petri, run: tuple[int, ...]) -> PetriMarking:
    """The marking after a run, which must be one."""
    marking = net.initial
    for transition in run:
        assert is_enabled(net, marking, transition)
        marking = fired(net, marking, transition)
    return marking


@MANY
@given(nets())
def test_the_graph_has_the_markings_and_edges_of_the_naive_one(net: Petri) -> None:
    space = space_of(net, MOST)
    graph = graph_of(net, MOST)
    if space is None:
        assert not graph.complete
        return
    assert graph.complete and graph.pump is None
    markings = [graph.code.marking(each) for each in graph.markings]
    assert {
        (markings[state], transition, markings[to])
        for state, row in enumerate(graph.enabled)
        for transition, to in zip(row, graph.targets[state], strict=True)
    } == {(marking, transition, to) for marking, row in space.edges.items() for transition, to in row}
    assert len(markings) == len(space.edges) == len(set(markings))
    for state in range(len(markings)):
        assert after(net, graph.path_to(state)) == markings[state]


@MANY
@given(nets(most_places=5))
def test_properties_are_those_of_the_naive_space(net: Petri) -> None:
    space = space_of(net, 100)
    assume(space is not None)
    assert space is not None
    found = properties_of(graph_of(net, MOST))
    assert found.states == len(space.edges)
    assert found.edges == sum(map(len, space.edges.values()))
    assert found.bounds == tuple(max(column) for column in zip(*space.edges, strict=True))
    assert found.max_token_per_marking == max(map(sum, space.edges))
    assert (found.deadlock >= 0) == bool(space.dead())
    assert set(found.dead) == set(range(len(net.transitions))) - space.fired()
    assert found.live == space.is_live()
    assert found.stable == tuple(p for p in range(len(net.places)) if len({marking[p] for marking in space.edges}) == 1)


@MANY
@given(nets(most_places=5, most_transitions=5))
def test_the_coverability_tree_bounds_exactly_what_is_reached(net: Petri) -> None:
    tree = coverability_of(net, 2_000)
    space = space_of(net, MOST)
    if tree.pump is not None:
        before = after(net, tree.pump.path)
        later = after(net, tree.pump.path + tree.pump.cycle)
        assert all(low <= high for low, high in zip(before, later, strict=True))
        assert tuple(p for p in range(len(before)) if before[p] < later[p]) == tree.pump.places != ()
    if space is None:
        return
    assert tree.complete and tree.pump is None
    assert tree.fired == space.fired()
    assert tuple(tree.bound(p) for p in range(len(net.places))) == tuple(
        max(column) for column in zip(*space.edges, strict=True)
    )


@MANY
@given(nets(most_places=5))
def test_stubborn_sets_keep_every_dead_marking_and_terminal_component(net: Petri) -> None:
    space = space_of(net, 150)
    assume(space is not None)
    assert space is not None
    ends = terminals_of(net, MOST)
    assert ends.complete
    markings = [ends.graph.code.marking(each) for each in ends.graph.markings]
    assert {markings[state] for state in ends.dead} == space.dead()
    circles = {component for component in space.terminal() if next(iter(component)) not in space.dead()}
    found = [{markings[state] for state in circle} for circle in ends.circles]
    assert len(found) == len(circles)
    assert all(any(circle <= component for component in circles) for circle in found)
    for state in (*ends.dead, *(circle[0] for circle in ends.circles)):
        assert after(net, ends.graph.path_to(state)) == markings[state]


@MANY
@given(safe_like_nets())
def test_places_out_of_the_relation_are_never_marked_together(net: Petri) -> None:
    space = space_of(net, MOST)
    assume(space is not None)
    assert space is not None
    relation = concurrency_of(net)
    for marking in space.edges:
        marked = [place for place, tokens in enumerate(marking) if tokens]
        for one in marked:
            assert one in relation.marked
            assert all(relation.together(one, other) for other in marked if other != one or marking[one] > 1)


def test_a_marking_is_a_bit_set_where_places_hold_one_token_and_wider_where_more() -> None:
    net = net_of("a → b + 3·c; b → a", "a")
    code = packing_of(net, least_bits(net))
    assert code.bits == (1, 1, 2)
    assert code.marking(code.packed((1, 0, 3))) == (1, 0, 3)
    assert code.outgrown(code.packed((1, 0, 3)) + code.delta[0]) == [2]


def test_an_unbounded_net_is_told_with_a_pump() -> None:
    found = census_of(net_of("a → a + b; b → c", "a"), 1_000)
    assert found.states is None and found.pump is not None
    assert found.bounds == (1, None, None)
    assert found.deadlock is None and "deadlock" not in found.open
    assert found.live is None


def test_a_limit_that_was_hit_leaves_things_open() -> None:
    net = net_of("; ".join(f"a{n} → b{n}" for n in range(12)), " + ".join(f"2·a{n}" for n in range(12)))
    found = census_of(net, 100)
    assert found.states is None and found.pump is None
    assert {"states", "edges", "bounds"} <= found.open
    assert found.why == "100 states were seen; a place can hold two tokens"


def test_a_fork_of_many_branches_is_judged_by_its_branches_one_after_the_other() -> None:
    branches = range(64)
    forked = " + ".join(f"a{n}" for n in branches)
    net = net_of(f"s → {forked}; " + "; ".join(f"a{n} → b{n}" for n in branches), "s")
    ends = terminals_of(net, 1_000)
    assert ends.complete and len(ends.dead) == 1 and not ends.circles
    assert len(ends.graph.markings) == 66


def test_what_a_circle_ignores_is_fired_all_the_same() -> None:
    net = net_of("a → b; b → a; x → y", "a + x")
    ends = terminals_of(net, 100)
    markings = [ends.graph.code.marking(each) for each in ends.graph.markings]
    assert [{markings[state] for state in circle} for circle in ends.circles] == [{(1, 0, 0, 1), (0, 1, 0, 1)}]


@MANY
@given(st.one_of(nets(most_places=5), safe_like_nets()), st.integers(1, 60))
def test_dives_find_ends_and_leave_the_rest_to_be_found(net: Petri, firings: int) -> None:
    space = space_of(net, MOST)
    assume(space is not None)
    assert space is not None
    search = Search(net)
    search.dive(firings)
    first = search.terminals()
    assert {first.graph.code.marking(first.graph.markings[state]) for state in first.dead} <= space.dead()
    search.grow(10 * MOST)
    ends = search.terminals()
    assert ends.complete
    assert {ends.graph.code.marking(ends.graph.markings[state]) for state in ends.dead} == space.dead()
