"""Folding: parts with one way in and one way out, the smallest first, what is marked in sight."""

import networkx
from hypothesis import given
from hypothesis import strategies as st

from nets import plan_of, steps
from noetlc.emit.pictures.net import net_of
from noetlc.emit.pictures.picture import ArrowKind, Box, Edge, Paint, Picture, Shape
from noetlc.emit.pictures.regions import folded_picture, leaves_of


def picture(count: int, ends: list[tuple[int, int]], *, marked: int = -1) -> Picture:
    nodes = [Box(f"step {n}", Shape.STEP, f"s{n}", mark=Paint.BAD if n == marked else Paint.NONE) for n in range(count)]
    edges = [Edge(f"arc {number}", a, b) for number, (a, b) in enumerate(ends)]
    return Picture("t", "steps", tuple(nodes), tuple(edges))


def chain(count: int) -> list[tuple[int, int]]:
    return [(n, n + 1) for n in range(count - 1)]


def test_a_small_picture_stays_as_it_is() -> None:
    small = picture(4, chain(4))
    assert folded_picture(small, 10) is small


def test_a_fork_and_its_join_become_one_box() -> None:
    ends = [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5)]
    found = folded_picture(picture(6, ends), 3)
    assert [node.title for node in found.nodes] == ["s0", "s1 … s4", "s5"]
    assert [(edge.source, edge.target) for edge in found.edges] == [(0, 1), (1, 2)]
    assert "6 boxes in all: 4 of them are folded into 1" in found.captions[0]
    inner = found.nodes[1].inner
    assert inner is not None and len(inner.edges) == 4


def test_a_chain_is_cut_into_pieces() -> None:
    found = folded_picture(picture(200, chain(200)), 20)
    assert 5 <= len(found.nodes) <= 20
    assert sum(len(leaves_of(node)) for node in found.nodes) == 200


def test_what_is_marked_stays_in_sight() -> None:
    found = folded_picture(picture(60, chain(60), marked=30), 10)
    assert any(node.title == "s30" for node in found.nodes)


def test_a_wide_row_is_cut_into_pieces() -> None:
    count = 200
    ends = [end for n in range(1, count - 1) for end in ((0, n), (n, count - 1))]
    found = folded_picture(picture(count, ends), 50)
    assert [node.title for node in found.nodes][:2] == ["s0", "s1 … s25"] and len(found.nodes) == 10


def test_nothing_is_folded_that_is_entered_in_its_middle() -> None:
    ends = [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (0, 3)]
    assert [node.title for node in folded_picture(picture(6, ends), 4).nodes if node.shape is Shape.FOLD] != ["s1 … s4"]


def test_failures_may_leave_a_part() -> None:
    whole = picture(7, [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5)])
    fails = Edge("ko", 2, 6, ArrowKind.KO)
    found = folded_picture(whole._replace(edges=(*whole.edges, fails)), 4)
    assert "s1 … s4" in [node.title for node in found.nodes]
    assert [edge.kind for edge in found.edges if found.nodes[edge.target].title == "s6"] == [ArrowKind.KO]


@given(st.integers(3, 16), st.data())
def test_folding_keeps_every_box_once_and_every_way(count: int, data: st.DataObject) -> None:
    pair = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    whole = picture(count, [*chain(count), *data.draw(st.lists(pair, max_size=8))])
    found = folded_picture(whole, data.draw(st.integers(1, count)))
    leaves = [leaf.id for node in found.nodes for leaf in leaves_of(node)]
    assert sorted(leaves) == sorted(node.id for node in whole.nodes)
    owner = {leaf.id: number for number, node in enumerate(found.nodes) for leaf in leaves_of(node)}
    ways = {(edge.source, edge.target) for edge in found.edges}
    for edge in whole.edges:
        ends = owner[whole.nodes[edge.source].id], owner[whole.nodes[edge.target].id]
        assert ends[0] == ends[1] or ends in ways
    graph = networkx.DiGraph([(edge.source, edge.target) for edge in whole.edges])
    for number, node in enumerate(found.nodes):
        if node.shape is Shape.FOLD:  # one way in, by the oracle's own look at the whole
            inside = {int(leaf.id.removeprefix("step ")) for leaf in leaves_of(node)}
            entered = {b for a, b in graph.edges if a not in inside and b in inside}
            left = {a for a, b in graph.edges if a in inside and b not in inside}
            alike = {(frozenset(graph.pred[n]), frozenset(graph.succ[n])) for n in inside}
            assert (len(entered) <= 1 and len(left) <= 1) or len(alike) == 1, number


def test_the_parts_of_a_step_in_a_net_become_the_step() -> None:
    plan = plan_of(steps("step: start, next: {arcs: [{step: b}]}", "step: b"))
    found = folded_picture(net_of(plan), 3)
    assert [node.title for node in found.nodes] == ["start", "b"]
    assert [(edge.source, edge.target) for edge in found.edges] == [(0, 1)]
