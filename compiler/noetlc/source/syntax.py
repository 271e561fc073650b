"""YAML syntax errors: libyaml's words and mark turned into what is wrong, where, and what to write."""

import re

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.diag.codes import finding
from noetlc.diag.diagnostic import Diagnostic, Fix, Related
from noetlc.source.nodes import Mark
from noetlc.source.text import Source

_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TEMPLATE_VALUE = re.compile(r"(?:^|[:\-,\[{]\s+|\[|^\s*)(\{\{.*)")
_GLUED_COLON = re.compile(r"^\s*(?:-\s+)?([A-Za-z_][\w.-]*):(?=[^\s:/])")
_UNQUOTED_COLON = re.compile(r"^(\s*(?:-\s+)?[^\s:#'\"][^:#]*:\s+)([^'\"\[{|>&*!%@`\s].*:(?:\s.*)?)$")
_NO_COLON = re.compile(r"^(\s*(?:-\s+)?)([A-Za-z_][\w-]*)(\s+[^\s:#'\"\[{|>&*!%@`-][^:#]*)?$")
_PLAIN_IN_FLOW = re.compile(r"(?:[{\[,]\s*|:\s+)([^\s{}\[\],:\"'#&*!|>%@`][^{}\[\],\"']*)$")
_ABOVE, _LONG = 1_000, 2_000
"""How many lines above a closing quote its opening one is looked for, and how long a line is looked at."""

_DEEP = "build deep values in a step"
_NOUNS = (
    ("flow mapping", "mapping in braces"),
    ("flow sequence", "list in brackets"),
    ("block scalar", "text block"),
    ("block mapping", "mapping"),
    ("block collection", "list"),
)
QUOTE_TEMPLATE = 'put the template in quotes: "{{ … }}"'


class Trouble(NamedTuple):
    """An error of the parser: `problem` at `place`, while doing `context` since `since`."""

    problem: str
    place: Mark | None
    context: str
    since: Mark | None


def character_finding(source: Source) -> Diagnostic | None:
    """The finding about the first character that YAML does not allow in a file."""
    match = _FORBIDDEN.search(source.text)
    if match is None:
        return None
    char = match[0]
    # Every second byte of UTF-16 with Latin text is zero, so that the first such character stands near the beginning.
    if "\x00" in source.text[:4]:
        help = "the file looks like UTF-16 or UTF-32 without a byte order mark: save it as UTF-8"
    elif ord(char) < 0x10000:
        help = f'remove it, or write it in double quotes as "\\u{ord(char):04X}"'
    else:
        help = "remove it"
    message = f"the character U+{ord(char):04X} is not allowed in a YAML file"
    return finding("NL002", message, source.span_of(match.start(), match.end()), help=help)


def syntax_finding(source: Source, trouble: Trouble) -> Diagnostic:
    """The finding about the place where the parser gave up."""
    offset = len(source.text) if trouble.place is None else min(trouble.place.index, len(source.text))
    since = trouble.since
    span = _here(source, offset)
    # From the surest to the vaguest: each sees one habit of authors in the line, and libyaml's own words are the last
    # resort.
    for explain in (_quotes, _template, _tab, _quoted_open, _reserved, _colon, _indentation, _flow, _words):
        found = explain(source, trouble, offset, span)
        if found is not None:
            break
    else:
        found = finding("NL003", _plain(trouble), span)
    # Explanations that know more than the parser have moved away from its place, and its context says nothing about
    # theirs.
    if since is None or found.related or since.index >= offset or found.code != "NL003":
        return found
    place = _here(source, since.index)
    noun = next((noun for words, noun in _NOUNS if words in trouble.context), "")
    if not noun or place.line == found.span.line:
        return found
    related = (Related(place, f"the {noun} begins here"),)
    return finding(found.code, found.message, found.span, help=found.help, related=related, fix=found.fix)


def _here(source: Source, offset: int) -> Span:
    """One character; at the end of the file the place after its last visible one."""
    text = source.text
    if not text[offset:].strip():
        end = len(text.rstrip())
        return source.span_of(end, end)
    return source.span_of(offset, offset + 1)


def _quotes(source: Source, trouble: Trouble, offset: int, span: Span) -> Diagnostic | None:
    """Text behind a closing quote: the quote was meant inside of a template, or to close one of a line above."""
    text = source.line_text(span.line)
    before = text[: span.column - 1].rstrip()
    quote = before[-1:]
    # libyaml stops behind a quote that ended the value too soon, so what is wrong stands before its mark.
    if quote not in ("'", '"') or not trouble.problem.startswith("did not find expected"):
        return None
    whole = rf"{quote}(\{{\{{[^{quote}]*{quote}.*?\}}\}}[^{quote}]*){quote}"
    # The pattern has three open stretches: on a long line of quotes its search would cost the cube of the length.
    inside = None if len(text) > _LONG else re.search(whole, text)
    if before.rfind("{{") > before.rfind("}}") and inside is not None and inside.start() < span.column:
        other = "'" if quote == '"' else '"'
        place = Span(span.line, inside.start() + 1, span.line, inside.end() + 1)
        mended = f"{quote}{inside[1].replace(quote, other)}{quote}"
        # A fix is unsafe wherever the meaning of text was guessed; and with both quotes inside there is nothing
        # simple to write.
        fix = Fix(place, mended, f"write {other} inside", safe=False) if other not in inside[1] else None
        message = f"the quote {quote} inside of the template ends the value"
        name = "single" if other == "'" else "double"
        return finding("NL003", message, span, help=f"use {name} quotes inside: {mended}", fix=fix)
    # An even number of quotes before the place closes all that this line opened: then no line above is to blame.
    if before.count(quote) % 2 == 0:
        return None
    # Upwards, since the nearest odd quote is the one that is still open, and only so far: each line costs a count.
    for line in range(span.line - 1, max(span.line - _ABOVE, 0), -1):
        above = source.line_text(line)
        if above.count(quote) % 2 and (opened := re.search(rf"(?:^\s*|[:\-,\[{{]\s+|\[){quote}", above)):
            message = f"the quote {quote} that opens here is not closed before line {span.line}"
            place = Span(line, opened.end(), line, opened.end() + 1)
            return finding("NL003", message, place, help=f"close it with {quote} where its text ends")
    return None


def _template(source: Source, trouble: Trouble, offset: int, span: Span) -> Diagnostic | None:
    """`url: {{ base }}/x` and `x: {{ "a" if b }}`: a template that YAML takes for a mapping."""
    lines = [span.line]
    if trouble.since is not None and "flow" in trouble.context:
        # A template that was cut at the end of its line is missed in a later one; its braces opened where the context
        # began.
        lines.append(trouble.since.line + 1)
    for line in lines:
        text = source.line_text(line)
        match = _TEMPLATE_VALUE.search(text)
        if match is None:
            continue
        start = match.start(1) + 1
        place = Span(line, start, line, start + len(match[1].rstrip()))
        # A template behind the place where the parser stopped cannot be what stopped it.
        if (place.line, place.column) > (span.line, span.column):
            continue
        message = "`{{` without quotes starts a YAML mapping, not a template"
        value = match[1].rstrip()
        fix = Fix(place, "'" + value.replace("'", "''") + "'", "put the template in quotes", safe=False)
        return finding(
            "NL020",
            message,
            place,
            help=QUOTE_TEMPLATE,
            # With several templates and commas the end of the value is a guess, and quotes in the wrong place hide
            # the rest.
            fix=None if text.count("{{") > 1 and "," in value else fix,
        )
    return None


def _tab(source: Source, trouble: Trouble, offset: int, span: Span) -> Diagnostic | None:
    text = source.line_text(span.line)
    margin = text[: len(text) - len(text.lstrip(" \t"))]
    # Tabs behind the first word are legal, and are not what the parser means.
    if "\t" not in margin or span.column > len(margin) + 1:
        return None
    column = margin.index("\t") + 1
    place = Span(span.line, column, span.line, len(margin) + 1)
    fix = _untabbed(source, span.line)
    return finding("NL021", "a tab in the indentation", place, help="YAML is indented with spaces only", fix=fix)


def _untabbed(source: Source, first: int) -> Fix | None:
    """Spaces for the margins of the lines with tabs from `first` on, up to the first without any: what stands below a
    line that opens something is deeper than it, and equal margins are equally deep. None where that does not tell.
    """
    above = next((line for line in range(first - 1, 0, -1) if _content(source.line_text(line))), 0)
    text = source.line_text(above)
    depths, before, at = {_margin(text): len(_margin(text))}, text, len(_margin(text))
    edits: list[tuple[Span, str]] = []
    for line in range(first, min(first + _ABOVE, source.line_count + 1)):
        text = source.line_text(line)
        margin = _margin(text)
        if _content(text):
            if "\t" not in margin:
                break
            # How wide a tab was shown is unknown: two margins are compared as texts, and never measured.
            depth = depths.get(margin, _below(before, at, text))
            if depth is None:
                break
            before, at, depths[margin] = text, depth, depth
            edits.append((Span(line, 1, line, len(margin) + 1), " " * depth))
    if not edits:
        return None
    (place, spaces), *rest = edits
    return Fix(place, spaces, "indent with spaces", False, tuple(rest))


def _margin(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" \t"))]


def _content(text: str) -> str:
    """The text that a line holds besides its comment, as far as its beginning tells."""
    return "" if text.lstrip(" \t").startswith("#") else text.strip()


def _below(above: str, at: int, text: str) -> int | None:
    """Where a line with a new margin begins, below one that begins in column `at`, from 0: deeper if that ends with a
    key; if that begins an item of a list, beside its first key, as another item beside it; None where neither is so.
    """
    dashes = len(above) - len(above.lstrip(" \t-")) - len(_margin(above))
    if not above:
        return 0
    if above.partition(" #")[0].rstrip().endswith((":", "|", ">")):
        return at + dashes + 2
    if dashes:
        return at if _content(text).startswith("-") else at + dashes
    return None


def _quoted_open(source: Source, trouble: Trouble, offset: int, span: Span) -> Diagnostic | None:
    if trouble.since is None or "quoted scalar" not in trouble.context:
        return None
    if "escape" in trouble.problem:
        at = source.text.rfind("\\", 0, offset + 1)
        escape = source.text[at : at + 2]
        message = f"`{escape}` is no escape of a YAML double-quoted text"
        if "Unicode" in trouble.problem or "hexdecimal" in trouble.problem:
            message = f"`{escape}` needs the hexadecimal digits of a Unicode character"
        help = "write the backslash twice, or use single quotes"
        return finding("NL003", message, source.span_of(at, at + 2), help=help)
    start = trouble.since.index
    quote = source.text[start : start + 1]
    message = f"the quote {quote} that begins here is never closed"
    return finding("NL003", message, source.span_of(start, start + 1), help=f"close it with {quote}")


def _reserved(source: Source, trouble: Trouble, offset: int, span: Span) -> Diagnostic | None:
    char = source.text[offset : offset + 1]
    if trouble.problem == "found character that cannot start any token" and char in ("@", "`", "%", "\t"):
        shown = "a tab" if char == "\t" else f"the character {char}"
        return finding("NL003", f"{shown} cannot begin a value", span, help='put the value in quotes: "…"')
    if "alphabetic or numeric" in trouble.problem and trouble.since is not None:
        start = trouble.since.index
        char = source.text[start : start + 1]
        what = "alias" if char == "*" else "anchor"
        message = f"`{char}` begins an {what}, and no name follows"
        return finding("NL003", message, source.span_of(start, start + 1), help='put the value in quotes: "…"')
    # Nobody writes tags in playbooks: text that begins with `!` was meant, as `!=` or a loud word.
    if "tag" in trouble.context or "tag" in trouble.problem:
        message = f"`!` begins a tag, and this is none: {trouble.problem}"
        return finding("NL003", message, span, help='put the value in quotes: "…"')
    return None


def _colon(source: Source, trouble: Trouble, offset: int, span: Span) -> Diagnostic | None:
    """`a: b: c`, `key:value`, and a line that should have been `key: value`."""
    if trouble.problem.startswith("could not find expected ':'") and trouble.since is not None:
        line = trouble.since.line + 1
        text = source.line_text(line)
        place = _whole(text, line)
        if match := _GLUED_COLON.match(text):
            # `key:value` is a plain text for YAML, and the parser complains about the line below.
            return _glued(line, match)
        if match := _NO_COLON.match(text.rstrip()):
            return _no_colon(line, match)
        help = "write `key: value`, or indent the line if it goes on with the text above"
        return finding("NL003", "a line in a mapping without `key:`", place, help=help)
    if not trouble.problem.startswith("mapping values are not allowed"):
        return None
    text = source.line_text(span.line)
    above = source.line_text(span.line - 1)
    if match := _GLUED_COLON.match(above):
        return _glued(span.line - 1, match)
    if match := _UNQUOTED_COLON.match(text):
        start = len(match[1]) + 1
        place = Span(span.line, start, span.line, start + len(match[2].rstrip()))
        value = match[2].rstrip().replace("'", "''")
        fix = Fix(place, f"'{value}'", "put the value in quotes", safe=False)
        message = "a `: ` inside of a value that is not quoted"
        return finding("NL003", message, place, help='put the value in quotes: "…"', fix=fix)
    # A line that stands as deep as the one above is its neighbour, so that one lacks its colon; a deeper one goes on
    # with it.
    margin = len(text) - len(text.lstrip())
    if (match := _NO_COLON.match(above.rstrip())) and margin == len(match[1]):
        return _no_colon(span.line - 1, match)
    if span.line > 1 and margin > len(above) - len(above.lstrip()):
        message = "this line is indented deeper than the one above, which already has a value"
        help = "give both lines the same indentation"
        return finding("NL003", message, _whole(text, span.line), help=help)
    return finding("NL003", "a `:` where no key can stand", span, help='put text with a `: ` in quotes: "…"')


def _glued(line: int, match: re.Match[str]) -> Diagnostic:
    colon = match.end()
    place = Span(line, match.start(1) + 1, line, colon + 1)
    fix = Fix(Span(line, colon + 1, line, colon + 1), " ", "put a space after the colon", safe=False)
    message = f"no space after the colon of `{match[1]}:`"
    return finding("NL003", message, place, help=f"write `{match[1]}: …`", fix=fix)


def _no_colon(line: int, match: re.Match[str]) -> Diagnostic:
    start, key, value = len(match[1]) + 1, match[2], (match[3] or "").strip()
    end = start + len(key)
    fix = Fix(Span(line, end, line, end), ":", "put the colon", safe=False)
    place = Span(line, start, line, match.end() + 1)
    return finding("NL003", f"no colon behind `{key}`", place, help=f"write `{f'{key}: {value}'.strip()}`", fix=fix)


def _indentation(source: Source, trouble: Trouble, offset: int, span: Span) -> Diagnostic | None:
    if trouble.since is None or not trouble.context.startswith("while parsing a block"):
        return None
    # Other problems in blocks say by themselves what is wrong (`_WORDS`).
    if trouble.problem not in ("did not find expected key", "did not find expected '-' indicator"):
        return None
    text = source.line_text(span.line)
    before = text[: span.column - 1].rstrip()
    if before and before[-1] in "\"']}":
        message = f"text after the closing {before[-1]} of a value"
        return finding("NL003", message, span, help="put the whole value into one pair of quotes")
    column = trouble.since.column + 1
    what = "list items" if "collection" in trouble.context else "keys"
    is_dash = text[span.column - 1 : span.column] == "-"
    # Right column, wrong sort: a list beside keys, or a key beside list items.
    if span.column == column and is_dash is (what == "keys"):
        message = "a list item where a key is expected" if is_dash else "a key where a list item is expected"
        help = "a mapping and a list cannot stand side by side; indent what belongs to the line above"
        opened = re.search(r"([\w-]+):$", source.line_text(span.line - 1).partition(" #")[0].rstrip())
        if not is_dash and opened:
            help = f"indent it under `{opened[1]}`"
        elif not is_dash:
            help = f"begin it with a dash, `- {text.strip()}`, or indent it if it belongs to the item above"
    else:
        message = f"the indentation fits nothing above; the {what} around it begin in column {column}"
        help = f"begin the line in column {column}, or deeper if it belongs to the line above"
    related = (Related(_here(source, trouble.since.index), f"the {what} around it begin here"),)
    return finding("NL003", message, span, help=help, related=related)


def _flow(source: Source, trouble: Trouble, offset: int, span: Span) -> Diagnostic | None:
    """The text behind an entry in braces or brackets where a comma or the closing one is expected."""
    if not trouble.problem.startswith("did not find expected ',' or"):
        return None
    # Cut, since the patterns look from many places of the line.
    text, at = source.line_text(span.line)[:_LONG], span.column - 1
    before, char = text[:at].rstrip(), text[at : at + 1]
    # The parser stops at the bracket, as in `{url: a[0]}`; the value that lacks quotes began before it.
    if char in ("{", "[") and (plain := _PLAIN_IN_FLOW.search(text[:at])):
        colon = text.rfind(": ", plain.start(1), at)
        start = plain.start(1) if colon < 0 else colon + 2
        value = text[start : _end_in_flow(text, at)].strip()
        place = Span(span.line, start + 1, span.line, start + len(value) + 1)
        quoted = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        fix = Fix(place, quoted, "put the value in quotes", safe=False)
        message = f"`{char}` in a value without quotes, inside of braces or brackets"
        return finding("NL003", message, place, help=f"put the value in quotes: {quoted}", fix=fix)
    if before.endswith(('"', "'")) and char not in ('"', "'", ":", ""):
        help = "put the whole value into one pair of quotes, or a comma between two"
        return finding("NL003", f"text after the closing {before[-1]} of a value", span, help=help)
    if (char == ":" and re.search(r"[{\[,]", before)) or (char and before.endswith(("}", "]"))):
        return finding("NL003", "no comma between two entries", span, help="put a `,` between them")
    return None


def _end_in_flow(text: str, at: int) -> int:
    """Where a value ends that has brackets of its own from `at` on: at the comma or the bracket that is not its own."""
    depth = 0
    for place in range(at, len(text)):
        if text[place] in "{[":
            depth += 1
        elif depth == 0 and text[place] in ",}]":
            return place
        elif text[place] in "}]":
            depth -= 1
    return len(text)


_WORDS = (
    ("did not find expected ',' or '}'", "no `,` or `}` after an entry in braces", "close the brace"),
    ("did not find expected ',' or ']'", "no `,` or `]` after an item in brackets", "close the bracket"),
    ("did not find expected comment", "text after `|` or `>`", "begin the text in the next line"),
    ("block sequence entries are not allowed", "a list item where none can stand", "begin the list below"),
    ("did not find expected <document start>", "text after the end of the document", "begin one by `---`"),
    ("did not find expected node content", "a value is missing here", "write one, or quote the character"),
    ("found incompatible YAML document", "this `%YAML` version is not read", "remove the line"),
    ("found a tab character", "a tab where indentation is expected", "YAML is indented with spaces only"),
    ("found unexpected document indicator", "`---` or `...` inside of a value", "indent it"),
    ("found duplicate", "a directive is given twice", "keep one of the two"),
    ("found undefined tag handle", "the tag's handle is not declared", 'is `!` text? Put it in quotes: "!…"'),
)  # fmt: skip


def _words(source: Source, trouble: Trouble, offset: int, span: Span) -> Diagnostic | None:
    if "nesting" in trouble.problem:
        return finding("NL006", "too many lists and mappings inside each other", span, help=_DEEP)
    for begin, message, help in _WORDS:
        if trouble.problem.startswith(begin):
            return finding("NL003", message, span, help=help)
    return None


def _plain(trouble: Trouble) -> str:
    words = trouble.problem or "this is no YAML"
    return f"{words} {trouble.context}".strip()


def _whole(text: str, line: int) -> Span:
    """A line without its margins."""
    return Span(line, len(text) - len(text.lstrip()) + 1, line, len(text.rstrip()) + 1)
