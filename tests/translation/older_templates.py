"""Templates of the old dialects, by Jinja2 itself: no part of the compiler or of the engine is asked.

What the dialects add: a name is a key of data first; an old name that is absent is equal to None (REAL.md, values);
an ordering with what is undefined is false; a lone `{{ … }}` gives the value, other text gives text.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jinja2

ENVELOPE = ("status_code", "headers", "data", "body", "url", "elapsed")
"""The keys of an http result; any other name below it is the body's (REAL.md, values)."""
_LONE = re.compile(r"\s*\{\{((?:(?!\}\}|\{\{).)*)\}\}\s*", re.DOTALL)


class Fault(Exception):
    """A fault of the playbook: the code that the execution fails with."""


class Missing(jinja2.ChainableUndefined):
    """The undefined value."""

    def _never(self, other: object) -> bool:
        return False

    __lt__ = __le__ = __gt__ = __ge__ = _never


class Absent(Missing):
    """An old name that is absent now."""

    def __eq__(self, other: object) -> bool:
        return other is None or isinstance(other, jinja2.Undefined)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = Missing.__hash__


class Result(dict[str, Any]):
    """A result that is a mapping: `x.data` and `x.result` fall back on the whole, http falls through to the body."""

    def look(self, name: str) -> Any:
        """The value below the result under a name."""
        if set(ENVELOPE[:3]) <= set(self):
            if name == "result":
                return Result(self["data"])
            if name in ENVELOPE:
                return Result(self[name]) if isinstance(self[name], dict) else self[name]
            return self["data"].get(name, Missing(name=name)) if isinstance(self["data"], dict) else Missing(name=name)
        if name in self:
            return self[name]
        return self if name in ("data", "result") else Missing(name=name)


class Items(list[Any]):
    """The result of a loop."""

    def look(self, name: str) -> Any:
        """The list under its other names."""
        return self if name in ("results", "data", "result") else Missing(name=name)


class Gathered(list[Any]):
    """The results of all pages, as rules of `case` see them: a name below them is that of the last page."""

    def __init__(self, gathered: list[Any], last: Any) -> None:
        super().__init__(gathered)
        self.last = last

    def look(self, name: str) -> Any:
        """The value below the last page under a name."""
        return self.last.look(name) if isinstance(self.last, Result | Items) else Missing(name=name)


class Error(dict[str, Any]):
    """An error, which is compared with a text by its message (LANGUAGE §6: the bare `error` of `retry_when`)."""

    def __eq__(self, other: object) -> bool:
        return self["message"] == other if isinstance(other, str) else super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]


class _Environment(jinja2.Environment):
    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, Result | Items | Gathered):
            return obj.look(attribute)
        if isinstance(obj, dict):
            return obj[attribute] if attribute in obj else Missing(name=attribute)
        if isinstance(obj, jinja2.Undefined):
            return obj
        return Missing(name=attribute)


_jinja = _Environment(undefined=Missing, finalize=lambda value: "" if value is None else value)
_jinja.tests["none"] = lambda value: value is None or isinstance(value, Absent)


@lru_cache(maxsize=4096)
def _expression(text: str) -> Any:
    return _jinja.compile_expression(text, undefined_to_none=False)


def value_of(node: Any, names: Mapping[str, Any]) -> Any:
    """The value of a field. Raises Fault where a part of it is undefined."""
    if isinstance(node, dict):
        return {key: value_of(item, names) for key, item in node.items()}
    if isinstance(node, list):
        return [value_of(item, names) for item in node]
    if not isinstance(node, str) or "{{" not in node:
        return node
    lone = _LONE.fullmatch(node)
    try:
        found = _expression(lone.group(1).strip())(names) if lone else _jinja.from_string(node).render(names)
    except jinja2.UndefinedError as problem:
        raise Fault("template.undefined") from problem
    except TypeError as problem:
        raise Fault("template.error") from problem
    if isinstance(found, jinja2.Undefined):
        raise Fault("template.undefined")
    return plain(found)


def is_true(node: Any, names: Mapping[str, Any]) -> bool:
    """Whether a guard holds. Raises Fault where it raises."""
    if isinstance(node, bool):
        return node
    lone = _LONE.fullmatch(node)
    text = lone.group(1).strip() if lone else node
    try:
        found = _expression(text)(names)
    except (jinja2.UndefinedError, TypeError) as problem:
        raise Fault("guard.error") from problem
    return bool(found) and not (isinstance(found, str) and found.strip().lower() == "false")


def plain(value: Any) -> Any:
    """A value as JSON has it, without the views that templates have of it."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def reads(node: Any, words: re.Pattern[str]) -> bool:
    """Whether any template in a node has one of these words."""
    if isinstance(node, dict):
        return any(reads(item, words) for item in node.values())
    if isinstance(node, list):
        return any(reads(item, words) for item in node)
    return isinstance(node, str) and "{{" in node and words.search(node) is not None
