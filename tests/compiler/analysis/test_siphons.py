"""Siphons and traps against the naive explorer, on thousands of random nets of each class, sound ones and mutants."""

from hypothesis import assume, given
from hypothesis import strategies as st

from block_playbooks import BLOCKS, Block, playbook_text, steps_of
from harness.samples import shares
from noetlc.analysis.effort import STANDARD
from noetlc.analysis.petri import Petri
from noetlc.analysis.properties import structure_of
from noetlc.analysis.report import net_report, proved_net
from noetlc.analysis.siphons import SiphonResult, is_proved_sound, siphons_of, theory_of
from noetlc.analysis.soundness import soundness_of
from noetlc.analysis.verdict import Status
from noetlc.pipeline import compile_source
from petri_nets import net_of, nets, safe_like_nets, space_of

MOST = 120
MANY = shares(1000)


@st.composite
def free_choice_nets(draw: st.DrawFn) -> Petri:
    """Clusters of places; a transition takes all places of its cluster, as every other one of that cluster does."""
    clusters, groups = draw(st.integers(1, 4)), list[list[int]]()
    places = 0
    for _ in range(clusters):
        size = draw(st.sampled_from([1, 1, 1, 2]))
        groups.append(list(range(places, places + size)))
        places += size
    rows = []
    for group in groups:
        for _ in range(draw(st.sampled_from([1, 1, 2]))):
            rows.append((group, sorted(draw(st.frozensets(st.integers(0, places - 1), min_size=1, max_size=2)))))
    return Petri(
        "free choice",
        tuple(f"p{number}" for number in range(places)),
        tuple(f"t{number}" for number in range(len(rows))),
        tuple(tuple((place, 1) for place in takes) for takes, _ in rows),
        tuple(tuple((place, 1) for place in makes) for _, makes in rows),
        tuple(draw(st.lists(st.integers(0, 1), min_size=places, max_size=places))),
    )


@MANY
@given(free_choice_nets())
def test_a_free_choice_net_is_live_exactly_when_its_siphons_say_so(share: int, net: Petri) -> None:
    assert structure_of(net).extended_free_choice
    theory = theory_of(net)
    assert theory.live is not None
    space = space_of(net, MOST)
    assume(space is not None)
    assert space is not None
    assert theory.live == space.is_live()


@MANY
@given(st.one_of(safe_like_nets(), nets(most_weight=1)))
def test_what_siphons_prove_about_any_net_is_so(share: int, net: Petri) -> None:
    space = space_of(net, MOST)
    assume(space is not None)
    assert space is not None
    theory = theory_of(net)
    assert theory.deadlock_free in (None, not space.dead())
    assert theory.live in (None, space.is_live())


def net_of_block(block: Block) -> Petri:
    """The net of a block between a place `i` and an end: sound by construction, and free choice."""
    rows: list[str] = []
    waiting = [(block, "i", "o")]
    while waiting:
        here, before, after = waiting.pop()
        name = f"p{len(rows)}_{len(waiting)}"
        match here.kind:
            case "row":
                inner = [before, *(f"{name}r{n}" for n in range(len(here.parts) - 1)), after]
                waiting += zip(here.parts, inner, inner[1:], strict=False)
            case "fork":
                rows.append(f"{before} → " + " + ".join(f"{name}f{n}" for n in range(len(here.parts))))
                rows.append(" + ".join(f"{name}g{n}" for n in range(len(here.parts))) + f" → {after}")
                waiting += [(part, f"{name}f{n}", f"{name}g{n}") for n, part in enumerate(here.parts)]
            case "choice":
                waiting += [(part, before, after) for part in here.parts]
            case "cycle":
                rows += [f"{before} → {name}a", f"{name}b → {name}a", f"{name}b → {after}"]
                waiting.append((here.parts[0], f"{name}a", f"{name}b"))
            case _:
                rows.append(f"{before} → {after}")
    return net_of("; ".join([*rows, "o → "]), "i")


@MANY
@given(BLOCKS)
def test_blocks_inside_each_other_are_proved_sound(share: int, block: Block) -> None:
    assert is_proved_sound(net_of_block(block))


@MANY
@given(BLOCKS, st.data())
def test_what_is_proved_sound_ends_from_everywhere_with_nothing_left(
    share: int, block: Block, data: st.DataObject
) -> None:
    net = net_of_block(block)
    mutated = data.draw(st.integers(0, len(net.transitions) - 1))
    sides = [list(net.inputs), list(net.outputs)]
    side = data.draw(st.sampled_from(sides))
    place = data.draw(st.integers(0, len(net.places) - 1))
    side[mutated] = data.draw(st.sampled_from([side[mutated][1:], tuple(sorted({(place, 1), *side[mutated]}))]))
    net = net._replace(inputs=tuple(sides[0]), outputs=tuple(sides[1]))
    if not is_proved_sound(net):
        return
    space = space_of(net, 2_000)
    if space is None:
        return
    nothing = tuple(0 for _ in net.places)
    assert space.dead() == {nothing}
    assert space.terminal() == {frozenset({nothing})}
    assert space.fired() == set(range(len(net.transitions)))


def test_a_workflow_net_is_proved_and_each_mutant_is_not() -> None:
    sound = "i → a + b; a → c; b → d; b → d; c + d → e; e → i; e → "
    assert is_proved_sound(net_of(sound, "i"))
    assert not is_proved_sound(net_of(sound.replace("c + d → e", "c → e"), "i"))
    assert not is_proved_sound(net_of(sound.replace("i → a + b", "i → a; i → b"), "i"))
    assert not is_proved_sound(net_of(sound.replace("e → i; e → ", "e → i"), "i"))


def test_the_siphon_without_a_marked_trap_is_named() -> None:
    net = net_of("a + b → c; c → a", "a + b")
    found = siphons_of(net)
    assert found.found is SiphonResult.BARE and {net.places[place] for place in found.bare} == {"b"}
    assert "the siphon b has no marked trap" in theory_of(net).why
    assert siphons_of(net_of("a → b; b → a", "a"), 0).found is SiphonResult.OPEN


def test_an_asymmetric_choice_net_and_one_that_is_not() -> None:
    assert structure_of(net_of("a → c; a + b → c; c → a + b", "a")).asymmetric_choice
    assert not structure_of(net_of("a → c; a + b → c; b → c", "a")).asymmetric_choice


def test_a_net_without_end_whose_siphons_are_marked_is_proved_alive() -> None:
    wide = "; ".join(f"a{n} → b{n}; b{n} → a{n}" for n in range(300))
    net = net_of(wide, " + ".join(f"a{n}" for n in range(300)))
    report = proved_net(net)
    assert report is not None and {verdict.status for verdict in report.verdicts} == {Status.PROVED}
    growing = net_report(net_of("a → a + b", "a"))
    assert [verdict.status for verdict in growing.verdicts] == [Status.REFUTED, *[Status.PROVED] * 3]


def test_a_successful_skeleton_is_proved_where_the_search_hits_its_limit() -> None:
    written = {name: step._replace(loops=False) for name, step in steps_of(FORKS).items()}
    plan = compile_source("t.yaml", playbook_text(written).encode()).plans[0]
    tight = STANDARD._replace(states=1)
    [stuck] = [each for each in soundness_of(plan, tight) if each.question == "nothing can get stuck"]
    assert stuck.status is Status.PROVED


FORKS = Block("fork", (Block("cycle", (Block("step"),)), Block("cycle", (Block("step"),)), Block("step")))
