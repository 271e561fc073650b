"""Responses of HTTP servers, as the tool and scripted outcomes read them and tell of them."""

from noetl_ir.expr import Json
from noetl_ir.kinds import MAX_SECONDS
from noetl_ir.outcome import Outcome, with_kind

STATUS = "http.status"
"""The code of an answer that is no success."""

LETTERS = 240
"""Letters of a body, and of a query, that an error tells: it is written several times into a log."""

_SECRET = "key|token|secret|sig|pass|pwd|auth|cred|session|jwt"


def refused_with(status: Json) -> str:
    """The message about a status that is no success."""
    return f"the server answered with status {status}"


def shown_url(url: str) -> str:
    """An address as a message may show it: without user, password, query and fragment, where secrets stand."""
    import re

    text = re.sub(r"^([^/?#]*//)?[^/?#]*@", r"\1", re.split(r"[?#]", url, maxsplit=1)[0])
    return text if len(text) <= 200 else f"{text[:200]}…"


def whole_error(outcome: Outcome) -> dict[str, Json] | None:
    """The error of an outcome as rules and the log have it: it says its kind, and the response where there was one.

    Its secrets are hidden already: of a body that is cut they would not be known.
    """
    if outcome.error is None:
        return None
    error, response = with_kind(outcome.error, outcome.extras), outcome.extras.get("http")
    if not isinstance(response, dict) or response.get("status") is None or "response" in error:
        return error
    return {**error, "response": shown_response(response["status"], outcome.result)}


def shown_response(status: Json, result: Json) -> dict[str, Json]:
    """The response behind an error in few words: `status`, the `url` with its query, the `body` cut where it is long.

    `result` is that of the outcome.
    """
    whole = result if isinstance(result, dict) else {}
    found: dict[str, Json] = {"status": status}
    if isinstance(url := whole.get("url"), str):
        found["url"] = _with_query(url)
    if (body := whole.get("data", whole.get("body"))) is not None:
        found["body"] = _brief(body)
    return found


def _with_query(url: str) -> str:
    """An address with its query, in which stars stand for the values whose names say that they are secrets."""
    import re

    query = url.partition("#")[0].partition("?")[2]
    shown = re.sub(rf"(?i)((?:^|&)[^=&]*(?:{_SECRET})[^=&]*=)[^&]*", r"\1***", query)
    return f"{shown_url(url)}{f'?{shown[:LETTERS]}' if shown else ''}"


def _brief(body: Json) -> str:
    """The beginning of a body, in one line."""
    import json

    # A text is cut before it is put in one line, and of a long list no more is written than is shown.
    pieces = [body[: 4 * LETTERS]] if isinstance(body, str) else json.JSONEncoder(ensure_ascii=False).iterencode(body)
    text = ""
    for piece in pieces:
        text += piece
        if len(text) > 4 * LETTERS:
            break
    text = " ".join(text.split())
    return text if len(text) <= LETTERS else f"{text[:LETTERS]}…"


def retry_after_of(headers: Json, now: float) -> float | None:
    """How many seconds a response asks to wait, by its headers (names in any case); None where it does not say.

    A date counts from the response's own `Date`, so that two clocks that disagree do not matter, and from `now`
    (seconds since the epoch) where it has none. A date that is past is 0.
    """
    if not isinstance(headers, dict):
        return None
    named = {str(name).lower(): value for name, value in headers.items()}
    said = named.get("retry-after")
    # A script may say it as a number.
    if isinstance(said, int) and not isinstance(said, bool):
        return float(said) if 0 <= said <= MAX_SECONDS else None
    if not isinstance(said, str):
        return None
    text = said.strip()
    if text.isascii() and text.isdigit():
        # A number of a million digits is no time to wait, and takes a while to read.
        return float(text) if len(text) < 12 and float(text) <= MAX_SECONDS else None
    due = _time(text)
    if due is None:
        return None
    sent = _time(named.get("date"))
    return min(max(due - (now if sent is None else sent), 0.0), MAX_SECONDS)


def _time(text: Json) -> float | None:
    """An HTTP date in any of its three forms, as seconds since the epoch."""
    if not isinstance(text, str) or len(text) > 64:
        return None
    from calendar import timegm  # both import what a run starts sooner without
    from email.utils import parsedate_to_datetime

    try:
        # One without a zone is in UTC, and so is what this makes of one that has a zone.
        return float(timegm(parsedate_to_datetime(text.strip()).utctimetuple()))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
