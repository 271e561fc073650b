"""Bytes of a file to text: UTF-8, or UTF-16 with a byte order mark (YAML 1.1 §5.2)."""

import codecs

from noetl_ir.span import Span
from noetlc.diag.codes import finding
from noetlc.diag.diagnostic import Diagnostic
from noetlc.source.text import Source

_MARKS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)


def decode(name: str, data: bytes) -> tuple[Source, Diagnostic | None]:
    """The file's text without byte order marks, and the finding when it could not be decoded.

    The source of a finding has U+FFFD for what is no text, so that its lines can still be shown.
    """
    mark, encoding, spoken = next((row for row in _MARKS if data.startswith(row[0])), (b"", "utf-8", "UTF-8"))
    body = data
    while mark and body.startswith(mark):  # joined files have several, and libyaml skips those without counting them
        body = body[len(mark) :]
    try:
        # The marks are gone before offsets are counted: every column would be one too far in the first line.
        return Source(name, body.decode(encoding)), None
    except UnicodeDecodeError as error:
        source = Source(name, body.decode(encoding, errors="replace"))
        # The decoder counts bytes; a span counts characters.
        before = len(body[: error.start].decode(encoding))
        wrong = " ".join(f"{byte:02X}" for byte in body[error.start : error.end][:4])
        at = len(data) - len(body) + error.start
        message = f"the file is not {spoken}: byte {at} ({wrong}) is no part of a character"
        help = "save the file as UTF-8"
        return source, finding("NL001", message, source.span_of(before, before + 1), help=help)


def encode(text: str, like: bytes) -> bytes:
    """The text as bytes, with the byte order mark and the encoding that `like` has."""
    # A file that was fixed or migrated keeps its mark and encoding: whoever wrote it that way reads it that way.
    mark, encoding = next((row[:2] for row in _MARKS if like.startswith(row[0])), (b"", "utf-8"))
    return mark + text.encode(encoding)


def bytes_of(text: str) -> bytes:
    """The text that an editor holds as a file; half characters, which JSON can carry, are found to be no UTF-8."""
    return text.encode("utf-8", "surrogatepass")


def size_finding(size: int, limit: int) -> Diagnostic:
    """The finding about a file of `size` bytes."""
    return finding("NL005", f"the file has {size:,} bytes; at most {limit:,} are read", Span(1, 1, 1, 1))
