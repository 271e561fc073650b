"""Bytes from outside as a value that the log can hold: JSON where they are JSON, else text, else base64 text."""

import json

from noetl_ir.expr import Json


def value_of(data: bytes) -> tuple[Json, str]:
    """The value that some bytes stand for, and how they were read: `json`, `text`, `base64`, or `none` for no bytes."""
    if not data:
        return None, "none"
    try:
        return json_of(data), "json"
    except ValueError:
        return text_of(data)


class _NoNumber(ValueError):
    """A number that cannot be kept."""


def json_of(data: bytes | str) -> Json:
    """The value of a JSON text. Raises ValueError: it is none, too deep, or has a number that cannot be kept."""
    try:
        found: Json = json.loads(data, parse_constant=_refused, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except (json.JSONDecodeError, _NoNumber):
        raise
    except ValueError:  # what Python says of it is how to have it read such a number
        raise ValueError("a number has too many digits") from None
    return found


def text_of(data: bytes, charset: str | None = None) -> tuple[str, str]:
    """The text of some bytes in a charset, UTF-8 when none is said, else their base64 text; and which it is."""
    try:
        return data.decode(charset or "utf-8"), "text"
    except (UnicodeDecodeError, LookupError):
        from base64 import b64encode

        return b64encode(data).decode("ascii"), "base64"


def bytes_of(value: Json) -> bytes:
    """A value as bytes that `value_of` reads as the same value: text as it is unless it looks like JSON, else JSON."""
    if isinstance(value, str) and value:
        data = value.encode("utf-8", "surrogatepass")
        # The text `123` would be read back as a number. It is tried, since to know what looks like JSON is to read it
        # as JSON.
        if value_of(data) == (value, "text"):
            return data
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _refused(constant: str) -> Json:
    raise _NoNumber(f"{constant} is no number")


def _finite(word: str) -> float:
    number = float(word)
    if number in (float("inf"), float("-inf")):
        raise _NoNumber(f"{word} is too large a number")
    return number
