"""Refusals as the audit has them: what was asked, of which subject, and why not, without a value that was sent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from starlette.requests import Request

from noetl.api.problems import BadRequest, Faulty, Forbidden, OutOfScope, Rejected
from noetl.ports.audit import LONGEST_REASON
from noetl_ir.expr import Json

HIDDEN = "…"
"""Stands for what a request has sent."""

_IN_PATHS = ("execution_id", "name", "worker", "number", "path", "digest", "code", "user_id", "group")
_IN_BODIES = ("path", "playbook_id", "playbook", "key")
# What names something, and is no value: at the top of a body and of the two mappings of a document.
_NAMES = {
    "accept", "apiVersion", "before", "cron", "dry_run", "every", "executions", "from", "ids", "key", "kind", "name",
    "older_than", "path", "playbook", "playbook_id", "since", "status", "timezone", "until", "version",
}  # fmt: skip
_MAPPINGS = ("metadata", "spec")

_SHORTEST = 4
"""Characters that a sentence and a text of a request have to share, so that these are hidden: fewer are shared by
chance, and hidden only where they are the whole text.
"""
_MOST = 1 << 16
"""Characters of values that a sentence is compared with; one about more is not recorded."""
_WORD = re.compile(r"[^\s`'\",;:()]+")
_FINDING = re.compile(r"^[^\n]*?:(\d+):(\d+): error\[(\w+)\]", re.MULTILINE)
_MOST_FINDINGS = 5


def is_barred(error: Exception) -> bool:
    """Whether a request was refused for who asked, and not for what."""
    if isinstance(error, BadRequest):
        return error.status in (401, 403, 429)
    return isinstance(error, (Forbidden, OutOfScope))


def reason_of(request: Request, error: Exception) -> str:
    """Why a request was refused, in the words of its problem, but for what it has sent: values may be secret, and a row
    of the audit outlives them.
    """
    if isinstance(error, OutOfScope):
        return "out of the scope of the token, or not there"
    if isinstance(error, Faulty):  # its text shows lines of the playbook
        return _findings_of(str(error))
    text = (isinstance(error, Rejected) and error.recorded) or str(error)
    if is_barred(error):  # it is about the token
        return text
    return without(text[:LONGEST_REASON], _values_of(_body_of(request))) or "it has too many values to tell why"


def subject_of(request: Request) -> str:
    """The name in the path of a request, else the one in its body, empty for none."""
    for name in _IN_PATHS:
        if name in request.path_params:
            return str(request.path_params[name])
    body = _body_of(request)
    named = body if isinstance(body, dict) else {}
    for name in _IN_BODIES:
        if isinstance(text := named.get(name), str) and text:
            version = named.get("version") if name == "path" else None
            at = f"@{version}" if isinstance(version, int) else ""
            return f"key {text}" if name == "key" else f"{text}{at}"
    ids = named.get("ids") or named.get("executions")
    if isinstance(ids, list) and len(ids) == 1 and isinstance(ids[0], str):
        return ids[0]
    return request.query_params.get("name", "")


def without(text: str, values: Iterable[str]) -> str:
    """A sentence in which all that it shares with some texts is hidden; empty where these are too long to tell."""
    kept, size = list[str](), 0
    for value in values:
        kept.append(value)
        if (size := size + len(value) + 1) > _MOST:
            return ""
    whole = {*kept}
    return _WORD.sub(lambda word: HIDDEN if word[0] in whole else word[0], _without_runs(text, "\0".join(kept)))


def _without_runs(text: str, values: str) -> str:
    """A sentence without the longest runs of characters that it shares with a text."""
    parts, at = list[str](), 0
    while at < len(text):
        end = at + _SHORTEST
        if end > len(text) or text[at:end] not in values:
            parts.append(text[at])
            at += 1
            continue
        while end < len(text) and text[at : end + 1] in values:
            end += 1
        parts.append(HIDDEN)
        at = end
    return "".join(parts)


def _values_of(body: Json) -> Iterator[str]:
    """The texts of what a body has as values."""
    if not isinstance(body, dict):
        return
    for name, value in body.items():
        if name in _MAPPINGS and isinstance(value, dict):
            yield from (text for key, one in value.items() if key not in _NAMES for text in _leaves(one))
        elif name not in _NAMES:
            yield from _leaves(value)


def _leaves(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for one in value.values():
            yield from _leaves(one)
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _body_of(request: Request) -> Json:
    """The body of a request as far as it was read, None without one."""
    body: Json = getattr(request.state, "body", None)
    return body


def _findings_of(text: str) -> str:
    """The codes of findings, with their places."""
    found = [f"{code} at {line}:{column}" for line, column, code in _FINDING.findall(text)]
    more = f" and {len(found) - _MOST_FINDINGS} more" if len(found) > _MOST_FINDINGS else ""
    return f"it does not compile: {', '.join(found[:_MOST_FINDINGS])}{more}" if found else "it cannot be read"
