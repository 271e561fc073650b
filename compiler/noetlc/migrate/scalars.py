"""Scalars rewritten in their own style: a template is compared token by token, and only what differs is replaced."""

from difflib import SequenceMatcher
from re import compile as pattern

from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple
from noetlc.ast.yaml_text import inline_text, scalar_text
from noetlc.expr.errors import TemplateError
from noetlc.expr.parser import parse_template
from noetlc.expr.tokens import tokens_until_braces
from noetlc.source.inside import inside
from noetlc.source.nodes import Scalar

_STRING = pattern(r"'([^'\"\\]*)'")
_UNFIT_PLAIN = pattern(r": |:$| #|^\W|\n")
"""What no plain scalar has; one with a template in it stands outside of brackets."""


class TemplateToken(NamedTuple):
    """A token of a template: what it is, and where it stands in the text."""

    what: tuple[str, object]
    start: int
    end: int


class Edit(NamedTuple):
    """The text between two offsets is to become `text`."""

    start: int
    end: int
    text: str


def replaced_scalar(source: str, scalar: Scalar, value: Json) -> str | None:
    """The text for `value` in the place of a scalar; None where it has to stand on lines of its own."""
    start, end = scalar.source
    if isinstance(value, str):
        changed = _edited(source[start:end], scalar, value)
        if changed is not None:
            return changed
        if "\n" in value:
            return None
        return _in_style(scalar.style, value)
    return inline_text(value) if value is None or not isinstance(value, dict | list) or not value else None


def with_edits(text: str, start: int, end: int, edits: list[Edit]) -> str:
    """The text between two offsets with its edits made."""
    parts, at = [], start
    for edit in sorted(edits):
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*parts, text[at:end]])


def _in_style(style: str, value: str) -> str:
    """A value in the quotes of the scalar before it."""
    # Single quotes know no escapes, so that what is invisible goes into double ones.
    if style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if style == '"' and value.isprintable():
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return scalar_text(value)


def _edited(written: str, scalar: Scalar, value: str) -> str | None:
    """The scalar with only those tokens replaced that differ; None where that is not possible."""
    old, new = _parts(scalar.text), _parts(value)
    # Without sure places nothing is edited: the whole value is written anew.
    place = inside(written, scalar.style, scalar.text) if old and new else None
    if place is None or old is None or new is None:
        return None
    edits = _differences(old, scalar.text, new, value)
    choices = [edits]
    if scalar.style == "'":  # other quotes inside read better
        choices.insert(0, [edit._replace(text=_STRING.sub(r'"\1"', edit.text)) for edit in edits])
    for chosen in choices:
        wanted = with_edits(scalar.text, 0, len(scalar.text), chosen)
        placed = [Edit(*place.place(e.start, e.end), _escaped(scalar.style, e.text)) for e in chosen]
        changed = with_edits(written, 0, len(written), placed)
        # Each edit is proved: it means what was wanted, and YAML reads it as what was edited.
        if parse_template(wanted) == parse_template(value) and _reads_as(changed, scalar.style, wanted):
            return changed
    return None


def _reads_as(written: str, style: str, text: str) -> bool:
    # A plain scalar with these would be another thing to YAML, or end early.
    if style == "" and _UNFIT_PLAIN.search(written):
        return False
    return inside(written, style, text) is not None


def _escaped(style: str, text: str) -> str:
    if style == "'":
        return text.replace("'", "''")
    return text.replace("\\", "\\\\").replace('"', '\\"') if style == '"' else text


def _differences(old: list[TemplateToken], was: str, new: list[TemplateToken], text: str) -> list[Edit]:
    """Edits on the text `was`, which has the tokens `old`, that give it the tokens of another text."""
    # `autojunk` would take tokens that are frequent in a long template for noise.
    matcher = SequenceMatcher(None, [part.what for part in old], [part.what for part in new], autojunk=False)
    edits = []
    for verb, i, j, m, n in matcher.get_opcodes():
        if verb == "replace":
            edits.append(Edit(old[i].start, old[j - 1].end, text[new[m].start : new[n - 1].end]))
        elif verb != "equal":
            # The author's own spacing, where the new text has any at all.
            before = _gap(new, m, text) and (_gap(old, i, was) or " ")
            added = text[new[m].start : new[n - 1].end] + _gap(new, n, text) if n > m else ""
            edits.append(Edit(_end_before(old, i), _start_of(old, j, was), before + added))
    return edits


def _gap(parts: list[TemplateToken], number: int, text: str) -> str:
    """The space before a token."""
    return text[_end_before(parts, number) : _start_of(parts, number, text)]


def _end_before(parts: list[TemplateToken], number: int) -> int:
    return parts[number - 1].end if number else 0


def _start_of(parts: list[TemplateToken], number: int, text: str) -> int:
    return parts[number].start if number < len(parts) else len(text)


def _parts(text: str) -> list[TemplateToken] | None:
    """The tokens of a template; None where it has blocks, or none at all."""
    if "{{" not in text or "{%" in text or "{#" in text:
        return None
    found, at = list[TemplateToken](), 0
    while (start := text.find("{{", at)) >= 0:
        if start > at:
            found.append(TemplateToken(("", text[at:start]), at, start))
        try:
            run = tokens_until_braces(text, start + 2)
        except TemplateError:
            return None
        found.append(TemplateToken(("{{", ""), start, start + 2))
        found += [TemplateToken((kind, value), first, last) for kind, value, first, last in run.tokens[:-1]]
        found.append(TemplateToken(("}}", ""), run.end - len(run.closed), run.end))
        at = run.end
    if at < len(text):
        found.append(TemplateToken(("", text[at:]), at, len(text)))
    return found
