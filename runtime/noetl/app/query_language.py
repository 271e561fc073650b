"""The language in which executions are asked for: `status:failed playbook:'etl/*' label.team:data started:<7d`.

What stands side by side has to hold together; `or`, `not` (or a hyphen before it) and parentheses do what they say. The
words are those of `noetl.ports.queries`, and `runtime/README.md` says what each of them means.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from noetl.ports import STATUSES
from noetl.ports.queries import (
    DURATION,
    FIELDS,
    FLAGS,
    GROUPS,
    LABEL,
    SEARCH,
    TIMES,
    Condition,
    Junction,
    Negation,
    QueryTerm,
    canonical,
    is_name,
    literal_of,
    number_of,
    span_of_time,
    tokens_of,
)
from noetl_ir.kinds import seconds_of
from noetl_ir.nearest import nearest
from noetl_ir.plan import LONGEST_LABEL
from noetl_ir.records import NamedTuple

LONGEST = 2_000
"""Characters of a query."""

MOST_TERMS = 100
DEEPEST = 20

_COMPARED = re.compile(r"<=|>=|<|>")
_FIELD = re.compile(r"([A-Za-z_][\w./-]*):")
_FORMS = "write a date as 2026-11-01, a time as 2026-11-01T09:30, or an age as 7d or 36h"
_WORD = re.compile(r"(or|and|not)(?=[\s()]|$)", re.IGNORECASE)


class QueryProblem(Exception):
    """The fault of a query, at a column, from 1 on."""

    def __init__(self, column: int, why: str) -> None:
        super().__init__(f"column {column}: {why}")
        self.column = column
        self.why = why


def faulty_group(group: str) -> str:
    """Why executions cannot be counted by something, in words; empty where they can."""
    prefix, dot, name = group.partition(".")
    if group in GROUPS or (dot and f"{prefix}." in (LABEL, SEARCH) and is_name(name)):
        return ""
    known = [*GROUPS, f"{LABEL}NAME", f"{SEARCH}NAME"]
    near = nearest(group, GROUPS)
    meant = f"did you mean `{near}`? There are" if near else "there are"
    return f"nothing is counted by `{group}`: {meant} {', '.join(known)}"


class _Piece(NamedTuple):
    """A piece of a query: a parenthesis, `or`, `not`, or what is asked of a `field` (empty: free text)."""

    column: int
    sign: str
    field: str = ""
    comparison: str = ""
    values: tuple[str, ...] = ()


def read_query(text: str, now: int) -> Condition | None:
    """The condition that a query says at a time (microseconds since the epoch); None for an empty one. Raises
    QueryProblem.
    """
    if len(text) > LONGEST:
        raise QueryProblem(LONGEST + 1, f"a query has at most {LONGEST:,} characters")
    pieces = _pieces(text)
    terms = [piece for piece in pieces if piece.sign == "term"]
    if len(terms) > MOST_TERMS:
        raise QueryProblem(terms[MOST_TERMS].column, f"a query asks at most {MOST_TERMS} things")
    return _Reading(pieces, len(text) + 1, now).whole() if pieces else None


def _pieces(text: str) -> list[_Piece]:
    found, at = list[_Piece](), 0
    while at < len(text):
        sign, column = text[at], at + 1
        if sign.isspace():
            at += 1
        elif sign in "()":
            found.append(_Piece(column, sign))
            at += 1
        elif sign == "-" and at + 1 < len(text) and not text[at + 1].isspace():
            found.append(_Piece(column, "not"))
            at += 1
        elif (word := _WORD.match(text, at)) is not None:
            if word[1].lower() != "and":  # which says what is meant without it
                found.append(_Piece(column, word[1].lower()))
            at = word.end()
        else:
            piece, at = _term(text, at)
            found.append(piece)
    return found


def _term(text: str, at: int) -> tuple[_Piece, int]:
    """The term from a place on, and where it ends."""
    column, field, comparison = at + 1, "", ""
    if (named := _FIELD.match(text, at)) is not None:
        field, at = named[1], named.end()
        if (compared := _COMPARED.match(text, at)) is not None:
            comparison, at = compared[0], compared.end()
    values = list[str]()
    while True:
        begun = at
        value, at = _value(text, at, "()," if field else "()")
        if at == begun:
            raise QueryProblem(
                at + 1, f"`{field}:` has nothing behind it: write a value, in quotes where it has spaces"
            )
        values.append(canonical(value))
        if not field or at >= len(text) or text[at] != ",":
            return _Piece(column, "term", field, comparison or "=", tuple(values)), at
        at += 1


def _value(text: str, at: int, ends: str) -> tuple[str, int]:
    """A value as a pattern, and where it ends: behind its quote, else before a space and a sign of `ends`."""
    quote, begun = (text[at], at) if at < len(text) and text[at] in "'\"" else ("", at)
    at += bool(quote)
    found = ""
    while at < len(text) and (text[at] != quote if quote else not (text[at].isspace() or text[at] in ends)):
        size = 2 if text[at] == "\\" and at + 1 < len(text) else 1
        found += text[at : at + size]
        at += size
    if quote and at >= len(text):
        raise QueryProblem(begun + 1, f"the quote {quote} has no end")
    return found, at + bool(quote)


class _Reading:
    """Reads pieces from left to right; `end` is the column behind the last one."""

    def __init__(self, pieces: Sequence[_Piece], end: int, now: int) -> None:
        self._pieces = pieces
        self._end = end
        self._now = now
        self._at = 0

    def whole(self) -> Condition:
        found = self._either(0)
        if (piece := self._next()) is not None:
            raise QueryProblem(piece.column, "there is no `(` for this `)`")
        return found

    def _next(self) -> _Piece | None:
        return self._pieces[self._at] if self._at < len(self._pieces) else None

    def _either(self, depth: int) -> Condition:
        parts = [self._together(depth)]
        while (piece := self._next()) is not None and piece.sign == "or":
            self._at += 1
            parts.append(self._together(depth))
        return parts[0] if len(parts) == 1 else Junction(tuple(parts), any_of=True)

    def _together(self, depth: int) -> Condition:
        parts = [self._one(depth)]
        while (piece := self._next()) is not None and piece.sign not in ("or", ")"):
            parts.append(self._one(depth))
        return parts[0] if len(parts) == 1 else Junction(tuple(parts))

    def _one(self, depth: int) -> Condition:
        piece = self._next()
        if piece is None or piece.sign in ("or", ")"):
            raise QueryProblem(piece.column if piece else self._end, "something to look for is missing here")
        if depth >= DEEPEST:
            raise QueryProblem(piece.column, f"a query is at most {DEEPEST} parentheses and `not` deep")
        self._at += 1
        if piece.sign == "not":
            return Negation(self._one(depth + 1))
        if piece.sign == "(":
            inner = self._either(depth + 1)
            if self._next() is None:
                raise QueryProblem(piece.column, "this `(` has no `)`")
            self._at += 1
            return inner
        parts = tuple([_asked(piece, value, self._now) for value in piece.values])
        return parts[0] if len(parts) == 1 else Junction(parts, any_of=True)


def _asked(piece: _Piece, value: str, now: int) -> Condition:
    """The condition that a value of a field stands for. Raises QueryProblem."""
    field, is_equal = piece.field, piece.comparison == "="
    if not field:
        return QueryTerm("text", "=", "".join([token[-1] for token in tokens_of(value)]))
    if field == "label" or field == "search":
        raise _wrong(piece, f"write `{field}.NAME:`, as in `{field}.team:data`")
    if field.startswith((LABEL, SEARCH)):
        return _asked_attribute(piece, value, now)
    if field in TIMES:
        return _asked_time(piece, field, value, now)
    if field not in (*FIELDS, "label", "search") or field == "text":
        raise _unknown(piece)
    if field == DURATION:
        return _asked_duration(piece, value)
    if field == "version":
        return _asked_version(piece, value)
    if not is_equal:
        raise _wrong(piece, f"`{field}` is a text: write `{field}:` without `{piece.comparison}`")
    if field in ("is", "status"):
        _check_choice(piece, value, FLAGS if field == "is" else STATUSES)
    return QueryTerm(field, "=", value)


def _asked_attribute(piece: _Piece, value: str, now: int) -> Condition:
    prefix, _, name = piece.field.partition(".")
    if not is_name(name):
        raise _wrong(piece, f"`{prefix}.` has no such name: write letters, digits, and `_ - . /` behind the first one")
    if piece.comparison == "=":
        if len(value) > 2 * LONGEST_LABEL:
            raise _wrong(piece, f"a value has at most {LONGEST_LABEL} characters")
        span = span_of_time(literal_of(value) or "") if prefix == "search" else None
        as_text = QueryTerm(piece.field, "=", value)
        if span is None:
            return as_text
        parts = _within(piece.field, span)
        return Junction((as_text, Junction(parts)), any_of=True)
    if prefix == "label":
        raise _wrong(piece, f"a label is a text: write `{piece.field}:` without `{piece.comparison}`")
    if (number := number_of(value)) is not None:
        return QueryTerm(piece.field, piece.comparison, number, "number")
    return _asked_time(piece, piece.field, value, now)


def _asked_time(piece: _Piece, field: str, value: str, now: int) -> Condition:
    """A time or an age; an age says how long ago it was: `<7d` is within the last seven days."""
    span = span_of_time(literal_of(value) or "")
    if span is not None:
        first, behind = span
        match piece.comparison:
            case "=":
                return Junction(_within(field, span))
            case ">":
                return QueryTerm(field, ">=", behind, "time")
            case ">=":
                return QueryTerm(field, ">=", first, "time")
            case "<":
                return QueryTerm(field, "<", first, "time")
        return QueryTerm(field, "<", behind, "time")
    text = literal_of(value) or ""
    age = seconds_of(text) if text[-1:].isalpha() else None
    if age is None:
        what = "no number, time or age" if field.startswith(SEARCH) else "no time or age"
        raise _wrong(piece, f"`{value}` is {what}: {_FORMS}")
    if piece.comparison == "=":
        raise _wrong(piece, f"an age is compared: write `{field}:<{text}` for the last {text}, `>` for longer ago")
    at = now - round(age * 1_000_000)
    return QueryTerm(field, ">=" if piece.comparison[0] == "<" else "<", at, "time")


def _within(field: str, span: tuple[int, int]) -> tuple[Condition, ...]:
    return QueryTerm(field, ">=", span[0], "time"), QueryTerm(field, "<", span[1], "time")


def _asked_duration(piece: _Piece, value: str) -> Condition:
    text = literal_of(value) or ""
    seconds = seconds_of(text) if text[-1:].isalpha() else None
    if seconds is None:
        raise _wrong(piece, f"`{value}` is no duration: write it as 90s, 10m or 2h")
    if piece.comparison == "=":
        raise _wrong(piece, f"a duration is compared: write `{DURATION}:>{text}` or `{DURATION}:<{text}`")
    return QueryTerm(DURATION, piece.comparison, round(seconds * 1_000_000), "number")


def _asked_version(piece: _Piece, value: str) -> Condition:
    if not value.isascii() or not value.isdecimal() or len(value) > 9:
        raise _wrong(piece, f"`{value}` is no version: write a whole number, as in `version:3` or `version:>=3`")
    return QueryTerm("version", piece.comparison, int(value), "number")


def _check_choice(piece: _Piece, value: str, known: Sequence[str]) -> None:
    if value not in known:
        near = nearest(value, known)
        meant = f"did you mean `{near}`? There are" if near else "there are"
        raise _wrong(piece, f"there is no `{piece.field}:{value}`; {meant} {', '.join(known)}")


def _unknown(piece: _Piece) -> QueryProblem:
    field = piece.field
    if field == "input" or field.startswith(("input.", "workload.")):
        name = field.partition(".")[2] or "NAME"
        return _wrong(
            piece,
            f"an input is found by a search attribute: declare it in `executor.spec.search`, write `search.{name}:`",
        )
    known = [*(each for each in FIELDS if each != "text"), f"{LABEL}NAME", f"{SEARCH}NAME"]
    near = {"finished": "ended", "path": "playbook", "code": "error", "duration": DURATION}.get(field)
    near = near or nearest(field, [*known, "label", "search"])
    meant = f"did you mean `{near}`?" if near else f"there are {', '.join(known)}"
    return _wrong(piece, f"nothing is called `{field}`; {meant} A text with a colon stands in quotes")


def _wrong(piece: _Piece, why: str) -> QueryProblem:
    return QueryProblem(piece.column, why)
