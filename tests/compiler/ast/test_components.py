"""noetlc.ast.dominators and components against networkx."""

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from noetlc.ast.components import components_of, terminal_components
from noetlc.ast.dominators import dominated_of, dominators_of

GRAPHS = st.integers(1, 9).flatmap(
    lambda size: st.lists(st.lists(st.integers(0, size - 1), max_size=4), min_size=size, max_size=size)
)


def oracle(after: list[list[int]]) -> "nx.DiGraph[int]":
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(after)))
    graph.add_edges_from((node, to) for node, row in enumerate(after) for to in row)
    return graph


@given(GRAPHS)
def test_dominators_are_those_of_networkx(after: list[list[int]]) -> None:
    expected = dict(nx.immediate_dominators(oracle(after), 0))
    expected.pop(0, None)
    assert dominators_of(0, dict(enumerate(after))) == expected


@given(GRAPHS)
def test_a_node_dominates_what_the_entry_does_not_lead_to_without_it(after: list[list[int]]) -> None:
    numbers = dominated_of(0, dominators_of(0, dict(enumerate(after))))
    graph = oracle(after)
    alive = {0, *nx.descendants(graph, 0)}
    assert numbers.keys() == alive
    for node in alive:
        without = graph.copy()
        without.remove_node(node)
        left = {0, *nx.descendants(without, 0)} if node else set()
        assert {other for other in alive if numbers[other].start in numbers[node]} == alive - left


@given(GRAPHS)
def test_components_are_those_of_networkx_innermost_first(after: list[list[int]]) -> None:
    found = list(components_of(after))
    expected = list(nx.strongly_connected_components(oracle(after)))
    assert {frozenset(each) for each in found} == {frozenset(each) for each in expected}
    place = {node: number for number, each in enumerate(found) for node in each}
    assert all(place[to] <= place[node] for node, row in enumerate(after) for to in row)
    closed = {frozenset(each) for each in expected if all(to in each for node in each for to in after[node])}
    assert {frozenset(each) for each in terminal_components(after)} == closed


def test_neither_recurses() -> None:
    after = [[node + 1] for node in range(20_000)] + [[]]
    assert len(dominators_of(0, dict(enumerate(after)))) == 20_000
    assert len(list(components_of(after))) == 20_001
