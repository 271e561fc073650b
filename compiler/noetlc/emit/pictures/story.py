"""Findings and runs of the analysis painted on a picture."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from noetl_ir.net import Transition
from noetl_ir.plan import Plan
from noetl_ir.span import Span
from noetlc.analysis.extents import MOST, Extent
from noetlc.analysis.verdict import Status, Verdict
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.emit.pictures.net import transition_id
from noetlc.emit.pictures.picture import Box, Edge, Paint, Picture, worse
from noetlc.emit.pictures.states import state_id
from noetlc.emit.pictures.steps import arc_id, step_id, task_id
from noetlc.emit.pictures.task_flow import fires_in, fires_of


def with_findings(picture: Picture, plan: Plan, found: Sequence[Diagnostic]) -> Picture:
    """Each finding on the smallest box or arrow that it is in, its other places told; the rest as captions. Of a few
    findings the first run is painted, too: several would lie over each other.
    """
    # Runs of different findings would number the same arrows.
    if len({one.code for one in found}) == 1:
        picture = _told(picture, plan, next((one.run for one in found if one.run), ()))
    for one in found:
        mark = Paint.BAD if one.severity is Severity.ERROR else Paint.WARNED
        remark = f"{one.code}: {one.message}"
        picture = _remarked(picture, one.span, mark, remark)
        for related in one.related:
            picture = _remarked(picture, related.span, Paint.TOLD, f"{one.code}: {related.message}")
        picture = picture.saying(remark)
    return picture


def with_verdict(picture: Picture, plan: Plan | None, verdict: Verdict) -> Picture:
    """The picture with a verdict: its question and answer as captions, marks at what it is about, and its run, if it
    has one, numbered on the arrows and told in captions. `plan` is None for a net that belongs to no plan.
    """
    picture = picture.saying(
        f"{verdict.question}: {verdict.status}" + (f", {verdict.detail}" if verdict.detail else "")
    )
    if verdict.status is not Status.PROVED:
        mark = Paint.BAD if verdict.status is Status.REFUTED else Paint.WARNED
        picture = _marked(picture, {step_id(name): mark for name in verdict.about})
        if verdict.span is not None:
            picture = _remarked(picture, verdict.span, mark, verdict.detail)
    story = verdict.story
    if story is None:
        return picture
    picture = _told(picture, plan, story.run)
    return picture.saying(*_numbered(line.text for line in story.lines), f"⇒ {story.end}")


def _numbered(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a story, those about an arc with the number that is painted on it."""
    number = 0
    for line in lines:
        is_taken = " takes the arc to `" in line
        # The numbers of the lines must be those that `_told` paints on the arrows, which counts arcs alone.
        number += is_taken
        yield f"({number}) {line}" if is_taken else f"· {line}"


def with_extents(picture: Picture, extents: Sequence[Extent]) -> Picture:
    """How often each step can run and how many of its runs at once, where it is not just once."""
    facts = {step_id(extent.step): _facts(extent) for extent in extents}
    dead = {step_id(extent.step): Paint.BAD for extent in extents if extent.runs == 0}
    nodes = tuple([node._replace(facts=(*node.facts, *facts.get(node.id, ()))) for node in picture.nodes])
    return _marked(picture._replace(nodes=nodes), dead)


def _facts(extent: Extent) -> tuple[str, ...]:
    if extent.runs == 0:
        return ("never runs",)
    runs = "any number of runs" if extent.runs is None else f"up to {extent.runs} runs" if extent.runs > 1 else ""
    if extent.runs is not None and extent.runs > MOST:
        runs = f"at most {extent.runs} runs"
    at_once = "many at once" if extent.at_once is None else f"{extent.at_once} at once" if extent.at_once > 1 else ""
    return tuple(filter(None, (runs, at_once)))


def _told(picture: Picture, plan: Plan | None, run: Sequence[str]) -> Picture:
    """The boxes and arrows that a run passes, with the numbers of its turns on arrows."""
    if picture.level == "states":
        return _marked(picture, _walked(picture, run))
    # A net that is no plan's has transitions and nothing else that a run could be seen at.
    if plan is None:
        return _marked(picture, {transition_id(id): Paint.TOLD for id in run})
    by_id = {each.id: each for each in plan.net.transitions}
    ways = {
        fires: edge.id
        for node in picture.nodes
        if node.inner
        for edge in node.inner.edges
        for fires in fires_in(edge.id)
    }
    passed: dict[str, list[int]] = {}
    number = 0
    for id in run:
        each = by_id[id]
        name = _element(picture.level, plan, each, ways)
        if name:
            number += name.startswith("arc ")
            passed.setdefault(name, []).append(number)
    edges = tuple(
        [
            edge._replace(facts=(*edge.facts, f"({', '.join(map(str, passed[edge.id]))})"))
            if edge.id in passed
            else edge
            for edge in picture.edges
        ]
    )
    return _marked(picture._replace(edges=edges), dict.fromkeys(passed, Paint.TOLD))


def _element(level: str, plan: Plan, each: Transition, ways: Mapping[str, str]) -> str:
    """The id of the box or arrow that a transition is seen at; empty where it is seen nowhere. `ways` has the arrows
    between tasks by what their ways fire."""
    if level == "net":
        return transition_id(each.id)
    step = plan.steps[each.step]
    match each.role:
        case "take":
            return arc_id(step.name, step.arcs.index(each.arc))
        # A run begins, expands, finds nothing or is refused once: by one of these a step is passed, whichever way it
        # goes on.
        case "begin" | "expand" | "empty" | "empty_failed" | "deny":
            return step_id(step.name)
        case "start" if level == "tasks":
            return task_id(step.name, plan.tasks[each.task].name)
        case "continue" | "jump" | "jump_later":
            return ways.get(fires_of(each.id), "")
        case _:
            return ""


def _walked(picture: Picture, run: Sequence[str]) -> dict[str, Paint]:
    """The states that a run passes, as far as they are drawn."""
    leaving = {(edge.source, edge.text): edge for edge in picture.edges}
    state, found = 0, {state_id(0): Paint.TOLD}
    for id in run:
        edge = leaving.get((state, id))
        if edge is None:
            break
        state = edge.target
        found[edge.id] = found[state_id(state)] = Paint.TOLD
    return found


def _marked(picture: Picture, marks: Mapping[str, Paint]) -> Picture:
    """The picture with more marks, by the ids of boxes and arrows, those inside boxes too."""
    nodes = []
    for node in picture.nodes:
        inner = None if node.inner is None else _marked(node.inner, marks)
        nodes.append(node._replace(mark=worse(node.mark, marks.get(node.id, Paint.NONE)), inner=inner))
    edges = [edge._replace(mark=worse(edge.mark, marks.get(edge.id, Paint.NONE))) for edge in picture.edges]
    return picture._replace(nodes=tuple(nodes), edges=tuple(edges))


def _remarked(picture: Picture, span: Span, mark: Paint, remark: str) -> Picture:
    """The picture with a note on the smallest element that a place in the file is in."""
    elements: list[Box | Edge] = [*picture.nodes, *picture.edges]
    elements += [part for node in picture.nodes if node.inner for part in (*node.inner.nodes, *node.inner.edges)]
    around = [each for each in elements if each.span is not None and _holds(each.span, span)]
    if not around:
        return picture
    # Boxes are nested, and so are their places: the smallest is the one that the finding is about.
    best = min(around, key=lambda each: _extent(each.span))
    return _annotated(_marked(picture, {best.id: mark}), best.id, remark)


def _annotated(picture: Picture, id: str, remark: str) -> Picture:
    nodes = []
    for node in picture.nodes:
        inner = None if node.inner is None else _annotated(node.inner, id, remark)
        nodes.append(node._replace(inner=inner, remarks=(*node.remarks, remark) if node.id == id else node.remarks))
    edges = [edge._replace(remarks=(*edge.remarks, remark)) if edge.id == id else edge for edge in picture.edges]
    return picture._replace(nodes=tuple(nodes), edges=tuple(edges))


def _holds(outer: Span, inner: Span) -> bool:
    return outer[:2] <= inner[:2] and inner[2:] <= outer[2:]


def _extent(span: Span | None) -> tuple[int, int]:
    assert span is not None
    return (span.end_line - span.line, span.end_column - span.column)
