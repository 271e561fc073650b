"""The place in its source of the template that failed.

A plan has the place of each task, rule, arc and loop, and each of their templates as it is written. Where in its task a
template stands is looked for in the source that is kept beside the plan, so that plans have no table of it. What cannot
be told for sure, as of a template that is written twice, is not told: then the place is that of the task.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from noetl_ir.expr import Block, ListTemplate, MapTemplate, Native, Template, Text
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span

_BREAK = re.compile("\r\n|[\n\r]")
_BRACES = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_INSIDE = re.compile(r"\{\{[-+]?\s*(.*?)\s*[-+]?\}\}", re.DOTALL)
_QUOTED = re.compile("`([^`]+)`")
_KEY = re.compile(r"(?:^|(?<=[\s{,]))[\"']?([\w.-]+)[\"']?\s*:(?=\s|$)")

LEAST = 3
"""Characters of what is looked for: less than that stands anywhere."""

MOST_LINES = 5_000
"""Lines of a task in which it is looked for."""


class FailedTemplate(NamedTuple):
    """A template that failed: `template` as the plan has it, with the key that it stands under, "" where it is an item
    of a list; `part` is the number of its expression that failed, from 0, -1 where that is not known; `message` are the
    words of the fault.
    """

    template: Template
    key: str
    part: int
    message: str


def lines_in(source: bytes) -> list[str]:
    """The lines of a source, without their breaks."""
    return _BREAK.split(source.decode("utf-8-sig", "replace"))


def template_under(template: Template, path: str) -> tuple[Template, str] | None:
    """The template under a path (`rows[0].id`) of a template, and the last key of the path; None where it has none."""
    key = ""
    while path:
        if isinstance(template, MapTemplate):
            # Keys may hold dots themselves: the longest one that fits is meant.
            names = [name for name, _ in template.items if _begins(path, name)]
            if not names:
                return None
            key = max(names, key=len)
            template, path = dict(template.items)[key], path[len(key) :].removeprefix(".")
        elif isinstance(template, ListTemplate) and (found := re.match(r"\[(\d+)\]\.?", path)):
            if int(found[1]) >= len(template.items):
                return None
            template, path = template.items[int(found[1])], path[found.end() :]
        else:
            return None
    return template, key


def _begins(path: str, name: str) -> bool:
    return path.startswith(name) and path[len(name) : len(name) + 1] in ("", ".", "[")


def span_within(lines: Sequence[str], around: Span, failed: FailedTemplate) -> Span | None:
    """The place of a failed template in the part of its source that a span is: of the name or operator in it that the
    message is about, of the expression that failed, or of the value of its key; None where it cannot be told.
    """
    region = list(_region(lines, around))
    written = _expression_of(failed)
    name = _told_in(written, failed.message)
    # A template of several lines is looked for by one of them: the source has them with its own indentation.
    row = next((row.strip() for row in written.splitlines() if (name or row.strip()) and name in row), "")
    found = list(_places(region, row)) if len(row) >= LEAST else []
    if len(found) > 1:
        found = [place for place in found if _key_before(region, place) == failed.key]
    if len(found) != 1:
        return _value_under(region, failed.key) if failed.key and not found else None
    line, column, text = found[0]
    start, end = _marked(text, name)
    return Span(line, column + start, line, column + end)


def span_of_row(lines: Sequence[str], around: Span, row: str) -> Span | None:
    """The place of a line of a text in the part of its source that a span is; None where it stands there twice."""
    found = [place for place in _places([*_region(lines, around)], row) if len(row) >= LEAST]
    return Span(*found[0][:2], found[0][0], found[0][1] + len(found[0][2])) if len(found) == 1 else None


def _region(lines: Sequence[str], around: Span) -> Iterator[tuple[int, str]]:
    """The lines of a span with their numbers, blank where they are not in it."""
    last = min(around.end_line, len(lines), around.line + MOST_LINES)
    for number in range(around.line, last + 1):
        text = lines[number - 1]
        if number == around.end_line:
            text = text[: around.end_column - 1]
        if number == around.line:
            text = " " * (around.column - 1) + text[around.column - 1 :]
        yield number, text


def _expression_of(failed: FailedTemplate) -> str:
    """The text of the expression that failed, with its braces where it has some; of a text with several all of it where
    it is not known which one.
    """
    template = failed.template
    if isinstance(template, Text):
        pieces = _BRACES.findall(template.text)
        several = sum(not isinstance(part, str) for part in template.parts)
        return pieces[failed.part] if len(pieces) == several and 0 <= failed.part < several else template.text
    return template.text if isinstance(template, Native | Block) else ""


def _told_in(text: str, message: str) -> str:
    """The name or operator that a message is about, where it stands in a text just once; else ""."""
    for name in _QUOTED.findall(message):
        if len(re.findall(_whole(name), text)) == 1:
            return str(name)
    return ""


def _whole(name: str) -> str:
    return rf"(?<![\w.]){re.escape(name)}(?!\w)"


def _places(region: Sequence[tuple[int, str]], row: str) -> Iterator[tuple[int, int, str]]:
    """The places of a text, as it is or as quotes of YAML make it: line, column, and the text as it stands there."""
    forms = dict.fromkeys((row, row.replace("'", "''"), row.replace("\\", "\\\\").replace('"', '\\"')))
    for number, text in region:
        for form in forms:
            at = text.find(form)
            while at >= 0:
                yield number, at + 1, form
                at = text.find(form, at + 1)


def _key_before(region: Sequence[tuple[int, str]], place: tuple[int, int, str]) -> str:
    """The key that a place stands under: the last one before it in its line, else of the nearest line above that is
    indented less.
    """
    line, column, _ = place
    rows = [(number, text) for number, text in region if number <= line]
    own = rows[-1][1]
    if keys := _KEY.findall(own[: column - 1]):
        return str(keys[-1])
    indent = len(own) - len(own.lstrip())
    for _, text in reversed(rows[:-1]):
        if text.strip() and len(text) - len(text.lstrip()) < indent:
            keys = _KEY.findall(text)
            return str(keys[-1]) if keys else ""
    return ""


def _value_under(region: Sequence[tuple[int, str]], key: str) -> Span | None:
    """The value of a key that stands there once, as far as its line has it; the key where that has none of it."""
    found = [(number, text, one) for number, text in region for one in _KEY.finditer(text) if one[1] == key]
    if len(found) != 1:
        return None
    number, text, one = found[0]
    value = text[one.end() :]
    start = one.end() + len(value) - len(value.lstrip())
    if not value.strip() or value.lstrip().startswith(("|", ">", "#")):
        return Span(number, one.start(1) + 1, number, one.end(1) + 1)
    return Span(number, start + 1, number, len(text.rstrip()) + 1)


def _marked(text: str, name: str) -> tuple[int, int]:
    """The part of a text that is meant: a name in it, else what its braces hold."""
    if name and (found := re.search(_whole(name), text)):
        return found.span()
    inside = _INSIDE.fullmatch(text)
    return inside.span(1) if inside else (0, len(text))
