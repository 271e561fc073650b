"""Pictures as JSON, for programs that draw themselves.

    {format: "noetl-graph", version: 1, title, level, nodes: […], edges: […], captions: […]}

A node has `id`, `shape`, `title`, `lines`, `facts`, `notes`, `mark`, `joins`, `forks`, `span` and `inner`; an edge has
`id`, `source` and `target` (ids of nodes), `kind`, `text`, `facts`, `notes`, `mark` and `span`. A span is
`[line, column, end line, end column]`, from 1, or null; `inner` is a picture's `nodes` and `edges`, or null.
"""

from noetl_ir.expr import Json
from noetl_ir.span import Span
from noetlc.emit.pictures.picture import Box, Edge, Picture

FORMAT, VERSION = "noetl-graph", 1


def document_of(picture: Picture) -> dict[str, Json]:
    """The whole document."""
    head: dict[str, Json] = {"format": FORMAT, "version": VERSION, "title": picture.title, "level": picture.level}
    return {**head, **_graph(picture), "captions": list(picture.captions)}


def _graph(picture: Picture) -> dict[str, Json]:
    ids = [node.id for node in picture.nodes]
    return {
        "nodes": [_node(node) for node in picture.nodes],
        "edges": [_edge(edge, ids) for edge in picture.edges],
    }


def _node(node: Box) -> dict[str, Json]:
    return {
        "id": node.id,
        "shape": node.shape.value,
        "title": node.title,
        "lines": list(node.lines),
        "facts": list(node.facts),
        "notes": list(node.remarks),
        "mark": node.mark.value,
        "joins": node.joins,
        "forks": node.forks,
        "span": _span(node.span),
        "inner": None if node.inner is None else _graph(node.inner),
    }


def _edge(edge: Edge, ids: list[str]) -> dict[str, Json]:
    return {
        "id": edge.id,
        "source": ids[edge.source],
        "target": ids[edge.target],
        "kind": edge.kind.value,
        "text": edge.text,
        "facts": list(edge.facts),
        "notes": list(edge.remarks),
        "mark": edge.mark.value,
        "span": _span(edge.span),
    }


def _span(span: Span | None) -> Json:
    return None if span is None else list(span)
