"""The relation over pairs of places: never less than what the naive explorer sees, however its rounds are entered."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noetlc.analysis import concurrency
from noetlc.analysis.concurrency import concurrency_of, is_safe, transposed
from noetlc.analysis.petri import Petri
from petri_nets import nets, safe_like_nets, space_of

ROWS = st.integers(1, 70).flatmap(lambda size: st.lists(st.integers(0, (1 << size) - 1), min_size=size, max_size=size))


@given(ROWS)
def test_a_matrix_is_turned_over_bit_by_bit(rows: list[int]) -> None:
    count = len(rows)
    assert transposed(rows) == [sum((rows[p] >> q & 1) << p for p in range(count)) for q in range(count)]


@settings(max_examples=150, deadline=None)
@given(st.one_of(nets(), safe_like_nets()))
def test_what_is_marked_together_is_in_the_relation(net: Petri) -> None:
    space = space_of(net, 300)
    markings = [net.initial] if space is None else list(space.edges)
    relation = concurrency_of(net)
    for marking in markings:
        marked = [place for place, tokens in enumerate(marking) if tokens]
        assert relation.marked.issuperset(marked)
        assert all(relation.together(one, other) for one in marked for other in marked if one != other)
        assert all(relation.together(place, place) for place in marked if marking[place] > 1)


@settings(max_examples=100, deadline=None)
@given(st.one_of(nets(), safe_like_nets()))
def test_pairs_one_by_one_and_the_whole_matrix_give_the_same_relation(net: Petri) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(concurrency, "PAIRS", 0)
        turned = concurrency_of(net)
        patched.setattr(concurrency, "PAIRS", 1 << 30)
        assert concurrency_of(net) == turned


@settings(max_examples=100, deadline=None)
@given(st.one_of(nets(), safe_like_nets()))
def test_whether_a_net_is_safe_is_known_without_the_whole_relation(net: Petri) -> None:
    assert is_safe(net) == concurrency_of(net).is_safe


@settings(max_examples=50, deadline=None)
@given(st.one_of(nets(), safe_like_nets()))
def test_a_relation_that_costs_too_much_excludes_nothing(net: Petri) -> None:
    relation = concurrency_of(net)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(concurrency, "FIRINGS", 0)
        patched.setattr(concurrency, "FEWEST_FIRINGS", 0)
        cut = concurrency_of(net)
    assert cut.marked >= relation.marked
    assert all(one & other == one for one, other in zip(relation.rows, cut.rows, strict=True))
