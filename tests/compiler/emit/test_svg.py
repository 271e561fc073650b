"""SVG and HTML: well-formed for any text, each step and arc once, text inside its box."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nets import HEAD, compiled, plan_of, steps
from noetlc.emit.pictures import html, mermaid, png, svg
from noetlc.emit.pictures.drawing import drawing_of
from noetlc.emit.pictures.json import document_of
from noetlc.emit.pictures.metrics import bold_width_of, clipped, width_of, wrapped
from noetlc.emit.pictures.net import net_of
from noetlc.emit.pictures.picture import Box, Edge, Paint, Picture, Shape
from noetlc.emit.pictures.states import states_of
from noetlc.emit.pictures.steps import steps_of, tasks_of
from noetlc.pipeline import compile_source
from noetlc.source.text import Source

EXAMPLES = sorted(
    path for path in Path("examples").glob("*.yaml") if not path.name.endswith((".script.yaml", ".test.yaml"))
)
SVG = "{http://www.w3.org/2000/svg}"
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&]]>\x00\ud800{{ }}"
texts = st.text(st.characters(exclude_categories=()), max_size=30)


def picture_with(text: str) -> Picture:
    nodes = (
        Box(text, Shape.ENTRY, text, (text, text), mark=Paint.BAD, facts=(text,), remarks=(text,)),
        Box("x", Shape.LOOP, text, inner=Picture(text, "tasks", (Box(text, Shape.TASK, text),), ())),
    )
    return Picture(text, "steps", nodes, (Edge("e", 0, 1, text=text, facts=(text,), remarks=(text,)),), (text,))


def picture_of(path: Path) -> Picture:
    playbook = compile_source(path.name, path.read_bytes()).documents[0].playbook
    assert playbook is not None
    return steps_of(playbook)


@given(texts)
def test_svg_is_well_formed_whatever_is_written(text: str) -> None:
    root = ElementTree.fromstring(svg.emitted(picture_with(text)).encode("utf-8"))
    assert root.tag == f"{SVG}svg"
    assert {each.tag for each in root.iter()} <= {
        f"{SVG}{name}" for name in ("svg", "title", "style", "rect", "text", "g", "path", "circle")
    }


@given(texts)
def test_no_text_becomes_markup_in_html(text: str) -> None:
    page = html.emitted([picture_with(text)], Source("a.yaml", text))
    plain = html.emitted([picture_with("x")], Source("a.yaml", "x"))
    page.encode("utf-8")
    assert tags(page) == tags(plain) or len(text.split()) != 1  # other text breaks into other lines


@pytest.mark.parametrize("text", [EVIL, "</style>", "<!--", "]]>", "\u2028"])
def test_hostile_text_stays_text(text: str) -> None:
    page = html.emitted([picture_with(text)], Source(text, text))
    found = tags(page)
    assert found.count("script") == 2 and found.count("img") == 0 and found.count("style") == 1
    data = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    assert json.loads(data[1])["pictures"][0]["nodes"][0]["title"] == text


def tags(page: str) -> list[str]:
    found: list[str] = []

    class Parser(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            found.append(tag)

    Parser().feed(page)
    return found


def test_html_loads_nothing_and_runs_one_script() -> None:
    page = html.emitted([picture_with("x")], Source("a.yaml", "x"))
    assert "default-src 'none'" in page and "script-src 'sha256-" in page
    assert not re.search(r"(src|href)=", page)
    assert "innerHTML" not in page and "eval(" not in page
    assert "prefers-color-scheme" in page


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_step_and_every_arc_is_drawn_once(path: Path) -> None:
    picture = picture_of(path)
    root = ElementTree.fromstring(svg.emitted(picture).encode())
    boxes = [each.get("data-n") for each in root.iter() if each.get("data-n")]
    arrows = [each.get("data-e") for each in root.iter() if each.get("data-e")]
    assert sorted(boxes, key=str) == sorted(map(str, range(len(picture.nodes))))
    assert sorted(arrows, key=str) == sorted(map(str, range(len(picture.edges))))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_text_stands_inside_its_box(path: Path) -> None:
    playbook = compile_source(path.name, path.read_bytes()).documents[0].playbook
    assert playbook is not None
    for picture in (steps_of(playbook), tasks_of(playbook)):
        drawing = drawing_of(picture)
        for face in drawing.faces:
            widths = [bold_width_of(face.title, 13), *(width_of(line, 11) for line in face.lines)]
            assert max(widths) <= face.size.width
            assert 15 * (1 + len(face.lines) + len(face.facts)) <= face.text_height
        for face, inner in zip(drawing.faces, drawing.inner, strict=True):
            if inner is not None:
                assert inner.layout.size.width <= face.size.width
                assert inner.layout.size.height + face.text_height <= face.size.height


def test_the_same_picture_gives_the_same_bytes() -> None:
    for path in EXAMPLES[:3]:
        assert svg.emitted(picture_of(path)) == svg.emitted(picture_of(path))


def test_png_is_a_picture() -> None:
    data = png.emitted(picture_with("ä"))
    assert data[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_net_has_its_places_its_transitions_and_their_arcs() -> None:
    plan = plan_of(steps("step: start, next: {arcs: [{step: b}]}", "step: b"))
    picture = net_of(plan)
    assert len(picture.nodes) == len(plan.net.places) + len(plan.net.transitions)
    assert len(picture.edges) == sum(len(each.inputs) + len(each.outputs) for each in plan.net.transitions)
    assert [node.title for node in picture.nodes if node.facts] == [
        plan.net.places[place].id for place, _ in plan.net.initial
    ]


def test_states_stop_at_the_limit_and_say_so() -> None:
    plan = plan_of(steps("step: start, next: {arcs: [{step: b}]}", "step: b"))
    small, whole = states_of(plan, 3), states_of(plan, 1_000)
    assert len(small.nodes) == 3 and "there are more" in small.captions[0]
    assert not whole.captions and len(whole.nodes) > 3


def test_mermaid_keeps_its_limits_and_says_what_it_left_out() -> None:
    chain = "".join(f"  - {{step: s{n}, next: {{arcs: [{{step: s{n + 1}}}]}}}}\n" for n in range(700))
    body = f"executor: {{spec: {{entry_step: s0}}}}\nworkflow:\n{chain}  - {{step: s700}}\n"
    playbook = compiled(body).documents[0].playbook
    assert playbook is not None
    text = mermaid.emitted(steps_of(playbook))
    assert text.count("-->") <= mermaid.MAX_EDGES and len(text) <= mermaid.MAX_CHARACTERS
    assert "701 boxes in all" in text
    full = [Edge(f"{a} {b}", a, b) for a in range(40) for b in range(40)]
    tangle = Picture("t", "steps", tuple(Box(str(n), Shape.STEP, str(n)) for n in range(40)), tuple(full))
    text = mermaid.emitted(tangle)
    assert text.count("-->") <= mermaid.MAX_EDGES and "too large for Mermaid" in text


def test_json_names_nodes_by_id() -> None:
    playbook = compile_source("t.yaml", (HEAD + steps("step: start, next: {arcs: [{step: b}]}", "step: b")).encode())
    assert playbook.documents[0].playbook is not None
    document = document_of(steps_of(playbook.documents[0].playbook))
    assert (document["format"], document["version"], document["level"]) == ("noetl-graph", 1, "steps")
    assert document["edges"] == [
        {
            "id": "arc start 0",
            "source": "step start",
            "target": "step b",
            "kind": "ok",
            "text": "",
            "facts": [],
            "notes": [],
            "mark": "",
            "span": [5, 33, 5, 42],
        }
    ]


def test_lines_of_text() -> None:
    assert clipped("a  b\nc", 9) == "a b c"
    assert clipped("abcdef", 4) == "abc…"
    assert wrapped("one two three four", 8, 3) == ("one two", "three", "four")
    assert wrapped("one two three four", 8, 2) == ("one two", "three f…")
    assert wrapped("event.result.needs_approval", 20, 3) == ("event.result.", "needs_approval")
    assert wrapped("total>=limits.maximum", 12, 3) == ("total>=", "limits.", "maximum")
    assert wrapped("abcdefghij" * 3, 10, 2) == ("abcdefghi…",)
    assert width_of("漢", 10) > width_of("m", 10) > width_of("i", 10)
