"""Proofs by ranks about random nets, held against the naive explorer; and nets about which ranks prove something."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.samples import shares
from noetlc.analysis.petri import Petri
from noetlc.analysis.ranks import an_end_is_always_near, every_run_ends
from petri_nets import net_of, nets, safe_like_nets, space_of

MANY = shares(500)


@MANY
@given(st.one_of(nets(most_places=4), safe_like_nets()))
def test_runs_that_end_by_rank_never_come_back(share: int, net: Petri) -> None:
    if every_run_ends(net) and (space := space_of(net, 2_000)) is not None:
        assert not any(here in space.from_(after) for here, row in space.edges.items() for _, after in row)


@MANY
@given(st.one_of(nets(most_places=4), safe_like_nets()))
def test_where_an_end_is_near_every_terminal_component_is_one_dead_marking(share: int, net: Petri) -> None:
    space = space_of(net, 300)
    if space is not None and an_end_is_always_near(net):
        assert all(component <= space.dead() for component in space.terminal())


@pytest.mark.parametrize(
    ("arcs", "ends", "near"),
    [
        ("s → a + b; a → c; b → d; c + d → e", True, True),
        ("s → a; a → s; a → e", False, True),
        ("s → a; a → s", False, False),
        ("s + idle → got + met; got + met → idle", True, True),  # what is put back lies below what was taken
        ("s → a + x; a + x → s; a → e", False, True),
        ("s → a; a + x → s", True, True),  # each round takes an x, and nothing makes one
        ("s → a; a + x → s + x; a + y → e", False, False),  # whether there is a y, nobody knows
    ],
)
def test_what_is_proved(arcs: str, ends: bool, near: bool) -> None:
    net = net_of(arcs, "s")
    assert (every_run_ends(net), an_end_is_always_near(net)) == (ends, near)
