"""Dependency order and circles, held to networkx."""

import networkx
from hypothesis import given
from hypothesis import strategies as st

from noetlc.ast.order import order_of
from noetlc.ast.workload import workload_needs, workload_order
from playbooks import playbook_of

graphs = st.integers(1, 8).flatmap(
    lambda size: st.fixed_dictionaries(
        {
            f"k{i}": st.lists(st.sampled_from([f"k{j}" for j in range(size)]), unique=True, max_size=3).map(tuple)
            for i in range(size)
        }
    )
)


@given(graphs)
def test_order_of_against_networkx(needs: dict[str, tuple[str, ...]]) -> None:
    graph = networkx.DiGraph([(name, need) for name, some in needs.items() for need in some])
    graph.add_nodes_from(needs)
    order, circles = order_of(needs)
    assert sorted(order) == sorted(needs)
    assert bool(circles) == (not networkx.is_directed_acyclic_graph(graph))
    for circle in circles:
        assert all(graph.has_edge(here, there) for here, there in zip(circle, (*circle[1:], circle[0]), strict=True))
    if not circles:
        place = {name: at for at, name in enumerate(order)}
        assert all(place[need] < place[name] for name, some in needs.items() for need in some)


def test_a_chain_of_any_length_needs_no_recursion() -> None:
    needs = {f"k{i}": (f"k{i + 1}",) for i in range(50_000)}
    order, circles = order_of(needs)
    assert order[0] == "k49999" and not circles


def test_workload_values_come_after_those_they_read() -> None:
    text = "workload: {a: '{{ workload.b }}', b: \"{{ workload['c'] }}-{{ d }}\", c: 1, d: '{{ execution_id }}'}\n"
    playbook = playbook_of(text + "workflow: [{step: start}]\n")
    assert workload_needs(playbook) == {"a": ("b",), "b": ("c", "d"), "c": (), "d": ()}
    assert workload_order(playbook) == ("c", "d", "b", "a")
