"""Decision diagrams against published counts, those beyond any list included, and against the naive explorer."""

import pytest
from hypothesis import given, settings

from noetlc.analysis.census import census_of
from noetlc.analysis.petri import Petri, fired
from noetlc.analysis.symbolic import UNSAFE, CountingStopped, StateCounts, state_counts
from petri_nets import is_enabled, net_of, nets, safe_like_nets, space_of

NODES = 1 << 14


def philosophers(count: int) -> Petri:
    """The model `Philosophers-PT` of the Model Checking Contest for any number of them: forks in either order."""
    rows = []
    for here in range(count):
        other = (here + 1) % count
        rows += [
            f"think{here} + fork{here} → left{here}",
            f"think{here} + fork{other} → right{here}",
            f"left{here} + fork{other} → eat{here}",
            f"right{here} + fork{here} → eat{here}",
            f"eat{here} → think{here} + fork{here} + fork{other}",
        ]
    return net_of("; ".join(rows), " + ".join(f"think{n} + fork{n}" for n in range(count)))


@pytest.mark.parametrize("count", [5, 10, 20, 50])
def test_the_philosophers_of_the_contest_have_the_published_3_to_the_n_states(count: int) -> None:
    found = state_counts(philosophers(count))
    assert isinstance(found, StateCounts)
    assert found.states == 3**count
    assert found.deadlock is not None and len(found.deadlock) >= count
    assert (found.live, found.dead, set(found.bounds)) == (False, (), {1})


def test_sixty_independent_circles() -> None:
    net = net_of("; ".join(f"a{n} → b{n}; b{n} → a{n}" for n in range(60)), " + ".join(f"a{n}" for n in range(60)))
    found = state_counts(net)
    assert isinstance(found, StateCounts)
    assert (found.states, found.edges, found.max_token_per_marking, found.live) == (2**60, 60 * 2**60, 60, True)
    census = census_of(net, 1_000)
    assert (census.states, census.edges, census.open, census.live) == (2**60, 60 * 2**60, frozenset(), True)


@settings(max_examples=200, deadline=None)
@given(safe_like_nets())
def test_numbers_are_those_of_the_naive_explorer(net: Petri) -> None:
    check(net)


@settings(max_examples=100, deadline=None)
@given(nets(most_weight=1))
def test_numbers_of_any_ordinary_net(net: Petri) -> None:
    check(net)


def check(net: Petri) -> None:
    space = space_of(net, 400)
    found = state_counts(net, NODES)
    if space is None or max(tokens for marking in space.edges for tokens in marking) > 1:
        assert found == CountingStopped(UNSAFE)
        return
    assert isinstance(found, StateCounts)
    assert found.states == len(space.edges)
    assert found.edges == sum(map(len, space.edges.values()))
    assert found.bounds == tuple(max(row) for row in zip(*space.edges, strict=True))
    assert found.max_token_per_marking == max(map(sum, space.edges))
    assert found.stable == tuple(p for p, row in enumerate(zip(*space.edges, strict=True)) if len(set(row)) == 1)
    assert set(range(len(net.transitions))) - set(found.dead) == space.fired()
    assert found.live == space.is_live()
    assert (found.deadlock is None) == (not space.dead())
    if found.deadlock is not None:
        marking = net.initial
        for transition in found.deadlock:
            assert is_enabled(net, marking, transition)
            marking = fired(net, marking, transition)
        assert marking in space.dead()


def test_a_limit_of_nodes_leaves_the_count_open() -> None:
    found = state_counts(philosophers(60), 1 << 8)
    assert isinstance(found, CountingStopped) and "256 nodes" in found.why


def test_without_the_extra_the_count_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "oxidd.bdd", None)
    census = census_of(philosophers(12), 1_000)
    assert census.states is None and "pip install noetlc[symbolic]" in census.why


def test_the_diagram_of_a_fork_that_joins_grows_with_its_branches_and_not_with_its_states() -> None:
    def fork(branches: int) -> Petri:
        names = range(branches)
        rows = [f"a{n} → b{n}; b{n} → c{n}; b{n} → f{n}; f{n} → a{n}" for n in names]
        forked, joined = " + ".join(f"a{n}" for n in names), " + ".join(f"c{n}" for n in names)
        return net_of("; ".join([f"s → {forked}", *rows, f"{joined} → e"]), "s")

    found = state_counts(fork(30), 1 << 19)  # what is no longer needed goes when the collector comes to it
    assert isinstance(found, StateCounts)
    assert found.states == 4**30 + 2
