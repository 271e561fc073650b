"""PNML in and out: what tools write, what is refused, and round trips."""

import pytest
from hypothesis import given, settings

from nets import plan_of, steps
from noetlc.analysis.census import census_of
from noetlc.analysis.petri import Petri, petri_of
from noetlc.analysis.report import net_report
from noetlc.analysis.skeleton import whole_skeleton
from noetlc.analysis.soundness import Budget
from noetlc.analysis.verdict import Status
from noetlc.emit import pnml
from noetlc.source.pnml_reader import PnmlError, read_pnml
from petri_nets import nets

NET = '<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml"><net id="n" type="{kind}">{body}</net></pnml>'
PT = "http://www.pnml.org/version-2009/grammar/ptnet"


def read(body: str, kind: str = PT) -> Petri:
    return petri_of(read_pnml(NET.format(body=body, kind=kind).encode()))


def refused(body: str, kind: str = PT) -> str:
    with pytest.raises(PnmlError) as caught:
        read(body, kind)
    return str(caught.value)


SMALL = (
    '<place id="p"><name><text>P</text></name><initialMarking><text>2</text></initialMarking></place>'
    '<transition id="t"/><arc id="a" source="p" target="t"><inscription><text>2</text></inscription></arc>'
)


def test_places_transitions_weights_and_tokens_are_read() -> None:
    assert read(SMALL) == Petri("n", ("p",), ("t",), (((0, 2),),), ((),), (2,))


FINAL = '<finalmarkings><marking><place idref="p"><text>0</text></place></marking></finalmarkings>'


def test_final_markings_are_left_out_and_said_to_be() -> None:
    assert read(SMALL + FINAL) == read(SMALL)
    written = read_pnml(NET.format(body=SMALL + FINAL, kind=PT).encode())
    assert [part.partition(":")[0] for part in written.left_out] == ["its final markings"]
    assert read_pnml(NET.format(body=SMALL, kind=PT).encode()).left_out == ()


def test_pages_nest_and_reference_nodes_stand_for_nodes_of_other_pages() -> None:
    body = (
        f'<page id="one">{SMALL}</page><page id="two"><page id="in"><referencePlace id="r" ref="q"/>'
        '<referencePlace id="q" ref="p"/><transition id="u"/><arc id="b" source="u" target="r"/></page></page>'
    )
    assert read(body) == Petri("n", ("p",), ("t", "u"), (((0, 2),), ()), ((), ((0, 1),)), (2,))


@pytest.mark.parametrize(
    "body",
    [
        "<toolspecific tool='x' version='1'><place id='p'/><inhibitor/></toolspecific>" + SMALL,
        SMALL.replace("<text>P</text>", "<graphics><offset x='1' y='2'/></graphics><text>P</text>"),
        SMALL.replace("<text>2</text>", "<value>Default,2</value>"),
        SMALL.replace('target="t">', 'target="t"><type value="normal"/>'),
        SMALL.replace("<text>2</text>", "<text> 2\n</text>"),
    ],
)
def test_what_tools_write_is_read(body: str) -> None:
    assert read(body, kind="P/T net") == read(SMALL)


@pytest.mark.parametrize("prefix", ["", "pnml:"])
def test_any_namespace_or_none_will_do(prefix: str) -> None:
    declared = ' xmlns:pnml="urn:x"' if prefix else ""
    text = f"<{prefix}pnml{declared}><{prefix}net id='n'><{prefix}place id='p'/></{prefix}net></{prefix}pnml>"
    assert petri_of(read_pnml(text.encode())).places == ("p",)


@pytest.mark.parametrize(
    ("body", "kind", "word"),
    [
        (SMALL.replace('target="t">', 'target="t"><type value="inhibitor"/>'), PT, "inhibitor"),
        (SMALL.replace('target="t">', 'target="t" type="reset">'), PT, "reset"),
        (SMALL.replace('target="t">', 'target="t"><inhibitor/>'), PT, "inhibitor"),
        (SMALL.replace('target="t">', 'target="t"><arctype><text>inhibitor</text></arctype>'), PT, "inhibitor"),
        (SMALL.replace('target="t">', 'target="t"><arctype><text>reset</text></arctype>'), PT, "reset"),
        (SMALL.replace('target="t">', 'target="t"><toolspecific><arc type="resetArc"/></toolspecific>'), PT, "reset"),
        (SMALL, "http://www.pnml.org/version-2009/grammar/symmetricnet", "symmetricnet"),
        (SMALL.replace("<initialMarking>", "<hlinitialMarking/><initialMarking>"), PT, "coloured"),
        (SMALL.replace(">2<", ">many<"), PT, "no number"),
        (SMALL.replace(">2<", ">-1<"), PT, "no number"),
        (SMALL.replace(">2<", ">" + "9" * 5000 + "<"), PT, "no number"),
        (SMALL.replace(">2<", ">" + "0" * 5000 + "2<"), PT, "no number"),
        (SMALL + '<place id="t"/>', PT, "twice"),
        (SMALL + '<arc id="b" source="p" target="gone"/>', PT, "gone"),
        (SMALL + '<arc id="b" source="p" target="p"/>', PT, "not a place and a transition"),
        ('<referencePlace id="r" ref="r"/><transition id="t"/><arc id="a" source="r" target="t"/>', PT, "itself"),
        ("</net><net id='m'>", PT, "more than one"),
        ("<page>" * 300, PT, "nested"),
        ("<place id='p'>", PT, "mismatched"),
    ],
)
def test_what_would_change_the_meaning_is_refused_aloud(body: str, kind: str, word: str) -> None:
    assert word in refused(body, kind)


def test_xml_bombs_and_external_entities_are_refused() -> None:
    bomb = '<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><pnml><net id="&b;"/></pnml>'
    outside = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><pnml><net id="n"/></pnml>'
    for text in (bomb, outside):
        with pytest.raises(PnmlError, match="entit"):
            read_pnml(text.encode())


@pytest.mark.parametrize("data", [b"", b"<", b"<html/>", b"\x00\xff", b"<pnml/>"])
def test_anything_else_is_an_error_and_no_traceback(data: bytes) -> None:
    with pytest.raises(PnmlError):
        read_pnml(data)


@settings(max_examples=100, deadline=None)
@given(nets())
def test_a_net_that_is_written_reads_back(net: Petri) -> None:
    back = petri_of(read_pnml(pnml.document(net).encode()))
    assert (back.inputs, back.outputs, back.initial) == (net.inputs, net.outputs, net.initial)


def test_a_plan_is_written_as_a_page_for_each_step() -> None:
    plan = plan_of(steps("step: start, next: {arcs: [{step: ä}]}", "step: ä"))._replace(name='a<&"\x00')
    text = pnml.emitted(plan)
    back = petri_of(read_pnml(text.encode()))
    assert text.count("<page ") == 2 and "<referencePlace " in text
    assert census_of(back, 1_000).states == census_of(whole_skeleton(plan).net, 1_000).states


def test_a_net_with_too_many_markings_to_list_is_decided_where_its_arcs_say_enough() -> None:
    """p (1,000,000) → t → q: no firing adds a token, t can fire at once, and after 1,000,000 firings nothing can."""
    report = net_report(Petri("n", ("p", "q"), ("t",), (((0, 1),),), (((1, 1),),), (1_000_000, 0)), Budget(1_000))
    statuses = [verdict.status for verdict in report.verdicts]
    assert statuses == [Status.PROVED, Status.REFUTED, Status.PROVED, Status.REFUTED]
    assert report.census is not None
    assert report.census.states is None


def test_what_neither_markings_nor_arcs_decide_is_unknown() -> None:
    """p (1,000,000) ⇄ q, and q that needs 3,000,000 tokens for a way out that there never are."""
    net = Petri(
        "n",
        ("p", "q"),
        ("t", "u", "v"),
        (((0, 1),), ((1, 1),), ((1, 3_000_000),)),
        (((1, 1),), ((0, 1),), ()),
        (1_000_000, 0),
    )
    statuses = [verdict.status for verdict in net_report(net, Budget(1_000)).verdicts]
    assert statuses == [Status.PROVED, Status.UNKNOWN, Status.UNKNOWN, Status.UNKNOWN]


@pytest.mark.parametrize(("capacity", "refused"), [("0", False), ("2", True), ("Default,2", True)])
def test_a_place_with_a_capacity_is_refused(capacity: str, refused: bool) -> None:
    text = (
        f'<pnml><net id="n" type="P/T net"><place id="p"><capacity><value>{capacity}</value></capacity></place>'
        '<transition id="t"/><arc id="a" source="t" target="p"/></net></pnml>'
    )
    if refused:
        with pytest.raises(PnmlError, match="the place 'p' has a capacity"):
            read_pnml(text.encode())
    else:
        assert [place.id for place in read_pnml(text.encode()).places] == ["p"]
