"""A report of the analysis as text for people and as JSON."""

import json
from collections.abc import Iterator

from noetl_cli.excerpts import printable
from noetl_ir.expr import Json
from noetl_ir.span import Span
from noetlc.analysis.bounds import Bounds
from noetlc.analysis.census import Census
from noetlc.analysis.extents import MOST, Extent
from noetlc.analysis.formulas import Formula
from noetlc.analysis.report import AnalysisReport
from noetlc.analysis.verdict import Status, StoryLine, Verdict

MAX_LINES = 40
"""Lines of a story that are shown as text; a longer one is cut in the middle."""

# Of one width, so that the questions stand under each other.
MARKS = {Status.PROVED: "proved ", Status.REFUTED: "refuted", Status.UNKNOWN: "unknown"}


def text_of(report: AnalysisReport, file: str) -> str:
    """The report as lines of text."""
    return "\n".join(_lines(report, file)) + "\n"


def json_of(report: AnalysisReport, file: str) -> dict[str, Json]:
    """The report as a JSON object: `{file name verdicts assumptions steps bounds}`, and numbers that were asked for."""
    return {
        "file": file,
        "name": report.name,
        "verdicts": [_verdict_json(verdict) for verdict in report.verdicts],
        "assumptions": list(report.assumptions),
        "steps": [_extent_json(extent) for extent in report.extents],
        **({} if report.bounds is None else {"bounds": _bounds_json(report.bounds)}),
        **({} if report.census is None else _census_json(report.census)),
    }


def _lines(report: AnalysisReport, file: str) -> Iterator[str]:
    yield f"{printable(file)}: {printable(report.name)}"
    for verdict in report.verdicts:
        detail = f": {printable(verdict.detail)}" if verdict.detail else ""
        yield f"  {MARKS[verdict.status]}  {printable(verdict.question)}{detail}{_place(file, verdict.span)}"
        yield from _told(verdict, file)
    if report.extents:
        yield "  how often a step can run, and beside which others"
        width = max(len(extent.step) for extent in report.extents)
        yield from (f"    {printable(extent.step):{width}}  {_extent(extent)}" for extent in report.extents)
    if report.bounds is not None:
        yield "  the most that a run does"
        for key, formula in _formulas(report.bounds):
            yield f"    {key + ':':9} {printable(str(formula))}"
        yield from (f"      {printable(caveat)}" for caveat in report.bounds.caveats)
    if report.census is not None:
        # The words of the contest of model checkers (MCC), by which other programs say the same.
        numbers = _census_json(report.census)
        yield "  the whole space"
        yield from (f"    {key}: {'unknown' if value is None else value}" for key, value in numbers.items())
        if report.census.why:
            yield f"      {report.census.why}"
    if report.assumptions:
        yield "  assumed"
        yield from (f"    {printable(text)}" for text in report.assumptions)


def _told(verdict: Verdict, file: str) -> Iterator[str]:
    if verdict.story is None or verdict.status is Status.PROVED:
        return
    lines = [f"{printable(line.text)}{_place(file, line.span)}" for line in verdict.story.lines]
    # The beginning says how a run came about, the end what is wrong with it: the middle is what can be spared.
    if len(lines) > MAX_LINES:
        half = MAX_LINES // 2
        lines = [*lines[:half], f"… {len(lines) - MAX_LINES} more …", *lines[-half:]]
    yield from (f"      {line}" for line in lines)
    yield f"      ⇒ {printable(verdict.story.end)}"
    for line in verdict.story.related:
        # The end of a story often names the related place in its own words; told twice, it would look like two facts.
        if line.text not in verdict.story.end:
            yield f"        {printable(line.text)}{_place(file, line.span)}"
    if verdict.script is not None:
        yield f"      script: {json.dumps(verdict.script.document, ensure_ascii=False)}"
        if verdict.script.payload:
            yield f"      payload: {json.dumps(verdict.script.payload, ensure_ascii=False)}"


def _extent(extent: Extent) -> str:
    if extent.runs == 0:
        return "never"
    runs = "any number of runs" if extent.runs is None else _times(extent.runs)
    at_once = ""
    if extent.at_once != 1:
        at_once = f", {'many' if extent.at_once is None else extent.at_once} at once"
    beside = f", beside {', '.join(map(printable, extent.beside[:8]))}" if extent.beside else ""
    more = f" and {len(extent.beside) - 8} more" if len(extent.beside) > 8 else ""
    return f"{runs}{at_once}{beside}{more}"


def _times(runs: int) -> str:
    if runs > MOST:
        return f"at most {runs} runs"
    return "one run" if runs == 1 else f"{runs} runs"


def _place(file: str, span: Span | None) -> str:
    return "" if span is None or span.line == 0 else f"  {printable(file)}:{span}"


def _verdict_json(verdict: Verdict) -> dict[str, Json]:
    story, script = verdict.story, verdict.script
    return {
        "question": verdict.question,
        "status": verdict.status.value,
        "detail": verdict.detail,
        "about": list(verdict.about),
        "assumptions": list(verdict.assumptions),
        "span": _span_json(verdict.span),
        "story": None
        if story is None
        else {
            "lines": [_line_json(line) for line in story.lines],
            "end": story.end,
            "related": [_line_json(line) for line in story.related],
            "run": list(story.run),
        },
        "script": None if script is None else script.document,
        "payload": None if script is None else script.payload,
    }


def _line_json(line: StoryLine) -> dict[str, Json]:
    return {"text": line.text, "span": _span_json(line.span)}


def _span_json(span: Span | None) -> Json:
    return None if span is None else {"line": span.line, "column": span.column}


def _extent_json(extent: Extent) -> dict[str, Json]:
    return {
        "step": extent.step,
        "runs": extent.runs,
        "at_once": extent.at_once,
        "beside": list(extent.beside),
    }


def _formulas(bounds: Bounds) -> tuple[tuple[str, Formula], ...]:
    return ("attempts", bounds.attempts), ("tokens", bounds.tokens), ("events", bounds.events)


def _bounds_json(bounds: Bounds) -> dict[str, Json]:
    """Each formula as text and as terms; `unbounded` is why it has none, null where it has."""
    found: dict[str, Json] = {
        key: {
            "formula": str(formula),
            "terms": [{"number": number, "sizes": list(product)} for product, number in formula.terms],
            "unbounded": formula.why or None,
        }
        for key, formula in _formulas(bounds)
    }
    return {**found, "notes": list(bounds.caveats)}


def _census_json(census: Census) -> dict[str, Json]:
    """`states` is a number, `inf`, or null when a limit was hit."""
    return {
        # JSON has no infinity, and null means that nobody knows.
        "states": "inf" if census.pump is not None else census.states,
        "edges": "inf" if census.pump is not None else census.edges,
        "max_token_in_place": "inf" if census.pump is not None else census.max_token_in_place,
        "max_token_per_marking": "inf" if census.pump is not None else census.max_token_per_marking,
    }
