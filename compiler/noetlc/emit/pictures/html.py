"""Pictures as one HTML page: pan, zoom, search, folding, and the source of what is clicked.

Nothing is loaded from anywhere, and a content policy forbids it: only the one script, by its digest, may run. Text of
the playbook gets into the page as escaped SVG and as JSON in which no markup can begin; the script only ever sets text.

The script is `page.js`; the style of the page is `page.css`, of what is drawn in it `style`.
"""

import json
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pkgutil import get_data

from noetl_ir.expr import Json
from noetl_ir.span import Span
from noetlc.emit.pictures.boxes import body_of
from noetlc.emit.pictures.drawing import Drawing, drawing_of, label_size
from noetlc.emit.pictures.legend import legend_of
from noetlc.emit.pictures.picture import Box, Picture, Shape
from noetlc.emit.pictures.regions import folded_picture, leaves_of
from noetlc.emit.pictures.style import sheet
from noetlc.emit.pictures.xml import escaped_xml
from noetlc.source.text import Source, lines_of

BOXES = 80
"""How many boxes are unfolded when the page opens."""
LEAST_FOLDED, SIDE = 6, 350.0


def emitted(pictures: Sequence[Picture], source: Source, boxes: int | None = None) -> str:
    """The page. A picture with more than `boxes` boxes opens folded; 0 folds nothing."""
    drawings = [drawing_of(picture) for picture in pictures]
    most = BOXES if boxes is None else boxes
    data: Json = {
        "pictures": [_data(drawing, most) for drawing in drawings],
        "source": list[Json](line.rstrip("\r\n") for line in lines_of(source.text)),
        "name": source.name,
    }
    # The digest is over the very text between the tags, the line break before it included.
    script = f"\n{_file('page.js')}"
    digest = b64encode(sha256(script.encode()).digest()).decode()
    # The policy lets nothing be loaded and only this script run: a page about an untrusted playbook is safe to open
    # even if an escape were missing.
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    title = ", ".join(picture.title for picture in pictures)
    views = "\n".join(_view(number, drawing) for number, drawing in enumerate(drawings))
    keys = "\n".join(_key(number, picture) for number, picture in enumerate(pictures))
    options = "".join(f'<option value="{n}">{escaped_xml(each.title)}</option>' for n, each in enumerate(pictures))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escaped_xml(title)}</title>
<style>{sheet("media")}
{_file("page.css")}</style>
</head>
<body>
<header>
<h1>{escaped_xml(pictures[0].title if len(pictures) == 1 else source.name)}</h1>
<select id="which" aria-label="Playbook"{" hidden" if len(pictures) == 1 else ""}>{options}</select>
<input id="search" type="search" placeholder="Search ( / )" aria-label="Search boxes" autocomplete="off">
<span id="count" role="status"></span>
<button id="fold" title="Fold every part">Fold all</button>
<button id="unfold" title="Unfold every part">Unfold all</button>
<button id="out" title="Smaller ( - )" aria-label="Smaller">−</button>
<button id="in" title="Larger ( + )" aria-label="Larger">+</button>
<button id="fit" title="All of it ( 0 )">Fit</button>
</header>
<main>
<div id="stage">
{views}
</div>
<aside id="side" aria-live="polite"></aside>
</main>
<div class="keys" hidden>
{keys}
</div>
<noscript><p>The picture is here; folding, search and source need the script of this page.</p></noscript>
<script id="data" type="application/json">{_json(data)}</script>
<script>{script}</script>
</body>
</html>
"""


@cache
def _file(name: str) -> str:
    """A file that stands beside this module, wherever that was installed to."""
    data = get_data("noetlc.emit.pictures", name)
    assert data is not None, name
    return data.decode()


def _view(number: int, drawing: Drawing) -> str:
    size, hidden = drawing.layout.size, ' style="display:none"' if number else ""
    body = "\n".join(body_of(drawing))
    box = f"-20 -20 {size.width + 40:.0f} {size.height + 40:.0f}"
    name = escaped_xml(drawing.picture.title)
    return (
        f'<svg class="view" viewBox="{box}" role="img" aria-label="{name}"{hidden}><g class="root">\n{body}\n</g></svg>'
    )


def _key(number: int, picture: Picture) -> str:
    """The legend, which the script shows beside the picture."""
    legend = legend_of(picture, SIDE)
    box = f"0 -6 {legend.width:.0f} {legend.height:.0f}"
    size = f'width="{legend.width:.0f}" height="{legend.height:.0f}"'
    return f'<svg class="key" id="legend{number}" viewBox="{box}" {size}>{"".join(legend.marks)}</svg>'


def _data(drawing: Drawing, most: int) -> Json:
    picture, layout = drawing.picture, drawing.layout
    return {
        "title": picture.title,
        "captions": list(picture.captions),
        "size": [round(layout.size.width, 1), round(layout.size.height, 1)],
        "nodes": [_node(drawing, number) for number in range(len(picture.nodes))],
        "edges": [_edge(drawing, number) for number in range(len(picture.edges))],
        "stems": [[_flat(stem.points), stem.kind] for stem in layout.stems],
        "folds": _folds(picture, most),
    }


def _node(drawing: Drawing, number: int) -> Json:
    node, (x, y), size = drawing.picture.nodes[number], drawing.layout.middles[number], drawing.faces[number].size
    inner: list[Json] = []
    if node.inner is not None:
        inner = [_text(each, each.span) for each in node.inner.nodes]
    box: list[Json] = [round(x, 1), round(y, 1), round(size.width, 1), round(size.height, 1)]
    return {**_text(node, node.span), "box": box, "inner": inner}


def _text(node: Box, span: Span | None) -> dict[str, Json]:
    where: Json = None if span is None else list(span)
    says: list[Json] = [*node.lines, *node.facts]
    return {"title": node.title, "says": says, "notes": list(node.remarks), "span": where}


def _edge(drawing: Drawing, number: int) -> Json:
    edge, route = drawing.picture.edges[number], drawing.layout.routes[number]
    label: Json = None
    if route.label is not None:
        size = label_size(drawing.labels[number])
        label = [round(value, 1) for value in (*route.label, *size)]
    says: list[Json] = [*([edge.text] if edge.text else []), *edge.facts]
    return {
        "ends": [edge.source, edge.target],
        "kind": edge.kind.value,
        "points": _flat(route.points),
        "form": route.form,
        "stem": route.stem,
        "join": route.join,
        "label": label,
        "says": says,
        "notes": list(edge.remarks),
        "span": None if edge.span is None else list(edge.span),
    }


def _flat(points: Sequence[tuple[float, float]]) -> list[Json]:
    return [round(value, 1) for point in points for value in point]


def _folds(picture: Picture, most: int) -> list[Json]:
    """Every part that can be folded, those inside others after them; some are closed at first in a large picture."""
    # The page opens with as many boxes as can be read. The smaller parts below come from folding on, so that each
    # fold of the opening is one of theirs.
    opening = folded_picture(picture, most) if most and len(picture.nodes) > most else picture
    closed = {node.id for node in opening.nodes if node.shape is Shape.FOLD}
    whole = folded_picture(opening, max(LEAST_FOLDED, len(opening.nodes) // 5))
    index = {node.id: number for number, node in enumerate(picture.nodes)}
    found: list[Json] = []
    waiting = [(node, False) for node in reversed(whole.nodes) if node.shape is Shape.FOLD]
    while waiting:
        fold, inside = waiting.pop()
        shut = inside or fold.id in closed
        # The page knows boxes by their position in the whole picture, so that a fold is told by the boxes that it
        # stands for.
        members: list[Json] = [index[leaf.id] for leaf in leaves_of(fold)]
        found.append({"title": fold.title, "members": members, "closed": shut})
        if fold.inner is not None:
            waiting += [(node, shut) for node in reversed(fold.inner.nodes) if node.shape is Shape.FOLD]
    return found


def _json(data: Json) -> str:
    """JSON that no markup can end or begin in, and that ASCII can hold: lone surrogates and all."""
    # No `<`, `>` or `&` is left in the data, or a text of the playbook could end the element and begin a script.
    return (
        json.dumps(data, separators=(",", ":")).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    )
