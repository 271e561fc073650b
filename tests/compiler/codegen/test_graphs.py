"""noetlc.codegen.dominators and components against networkx."""

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from noetlc.codegen.components import components_of
from noetlc.codegen.dominators import dominators_of

GRAPHS = st.integers(1, 9).flatmap(
    lambda size: st.lists(st.lists(st.integers(0, size - 1), max_size=4), min_size=size, max_size=size).map(
        lambda rows: {str(node): [str(to) for to in row] for node, row in enumerate(rows)}
    )
)


def oracle(after: dict[str, list[str]]) -> "nx.DiGraph[str]":
    graph = nx.DiGraph()
    graph.add_nodes_from(after)
    graph.add_edges_from((node, to) for node, row in after.items() for to in row)
    return graph


@given(GRAPHS)
def test_dominators_are_those_of_networkx(after: dict[str, list[str]]) -> None:
    expected = dict(nx.immediate_dominators(oracle(after), "0"))
    expected.pop("0", None)
    assert dominators_of("0", after) == expected


@given(GRAPHS)
def test_components_are_those_of_networkx_innermost_first(after: dict[str, list[str]]) -> None:
    found = list(components_of(after))
    expected = nx.strongly_connected_components(oracle(after))
    assert {frozenset(each) for each in found} == {frozenset(each) for each in expected}
    place = {node: number for number, each in enumerate(found) for node in each}
    assert all(place[to] <= place[node] for node, row in after.items() for to in row)


def test_neither_recurses() -> None:
    after = {str(node): [str(node + 1)] for node in range(20_000)} | {"20000": []}
    assert len(dominators_of("0", after)) == 20_000
    assert len(list(components_of(after))) == 20_001
