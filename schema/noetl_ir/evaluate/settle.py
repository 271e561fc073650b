"""From what an expression computes to JSON, and to text: lazy values become lists, the undefined a fault."""

from collections.abc import Callable, Iterable
from types import GeneratorType
from typing import Any, TypeAlias

from noetl_ir.evaluate.limits import MAX_ITEMS, MAX_LEVELS, MAX_PARTS, check_chars
from noetl_ir.evaluate.work import SHORT_TEXT, VIEW_TYPES, spend, spend_text, weigh
from noetl_ir.expr import Json
from noetl_ir.scopes.values import Fault, ResultView, Sealed, Undefined

_SCALARS = frozenset({str, int, bool, type(None)})
_HOLDERS = frozenset({list, tuple, dict, *VIEW_TYPES})
_Take: TypeAlias = Callable[[object], object]


def json_of(value: object) -> Json:
    """The value as JSON. Raises Fault for the undefined anywhere in it, and for what JSON cannot say."""
    if type(value) in _SCALARS:
        return value  # type: ignore[return-value]
    # Always a copy: what an expression gives is kept in logs and scopes, where nothing may change it later.
    return _Walk(_strict).take(value, 0)  # type: ignore[return-value]


def settled_value(value: object) -> object:
    """The value with lists for all that is lazy; the undefined stays."""
    if type(value) in _SCALARS:
        return value
    return _Walk(_lenient).take(value, 0)


def text_of(value: object) -> str:
    """The value's text inside an expression, as Jinja2 (and Python) writes it: null is `None`."""
    if type(value) is str:
        return value
    # Weighed before it is written: the text of a small value may be long, as of one list that is in another a million
    # times.
    if isinstance(value, (list, tuple, dict, GeneratorType, *VIEW_TYPES)):
        weigh(value, as_text=True)
        text = str(_Walk(_lenient).take(value, 0))
        check_chars(len(text))
        return text
    if type(value) is int and value.bit_length() > SHORT_TEXT:
        weigh(value, as_text=True)
    return str(value)


def text_size(value: object) -> int:
    """An upper estimate of the length of a value's text, in characters; spends the work of finding it."""
    if type(value) is str:
        return len(value)
    return weigh(value, as_text=True) if type(value) not in _SCALARS else 0


def levels_of(value: object) -> int:
    """How deep lists and mappings are nested in a value, whose size was checked before."""
    # Level by level and without recursion, which a deep value would end.
    level: list[Any] = [value]
    depth = 0
    while level := [part for part in level if type(part) in _HOLDERS]:
        depth += 1
        level = [part for here in level for part in (here.values() if type(here) is dict else here)]
        spend(2 * len(level))
    return depth


def joined_texts(joint: object, values: Iterable[object]) -> object:
    """The values' texts, one behind the other, with another between; sealed where one of them is."""
    parts: list[object] = [joint, *values]
    sealed = next((part for part in parts if type(part) is Sealed), None)
    texts = [part.true if type(part) is Sealed else text_of(part) for part in parts]
    length = len(texts[0]) * (len(texts) - 1) + sum(map(len, texts[1:]))
    check_chars(length)
    spend_text(length)
    text = texts[0].join(texts[1:])
    return text if sealed is None else sealed.to(text)


def printed_value(value: object) -> str:
    """The value's text in a rendered text: null prints as nothing, and the undefined is a fault."""
    if type(value) is str:
        return value
    if value is None:
        return ""
    if type(value) is Sealed:
        return value.shown
    _Walk(_defined).take(value, 0)
    return text_of(value)


def bounded(value: Json) -> Json:
    """The value itself. Raises Fault where it nests too deeply or, with what it holds in several places counted for
    each, has too many parts: a run that puts a value into a new one again and again would else grow without end."""
    level: list[dict[str, Json] | list[Json]] = [value] if isinstance(value, dict | list) else []
    depth = count = 0
    while level:
        depth += 1
        if depth > MAX_LEVELS:
            raise Fault("template.error", f"the value nests deeper than {MAX_LEVELS} levels")
        count += sum(map(len, level))
        if count > MAX_PARTS:
            raise Fault("template.error", f"the value has more than {MAX_PARTS:,} parts")
        level = [
            part
            for here in level
            for part in (here.values() if type(here) is dict else here)
            if type(part) is dict or type(part) is list
        ]
    return value


def _strict(value: object) -> object:
    if isinstance(value, Sealed):
        return value.shown
    if isinstance(value, Undefined):
        raise value.fault()
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise Fault("template.error", f"the value is {value}, which JSON cannot say")
        return value
    raise Fault("template.error", f"a {type(value).__name__} cannot leave an expression")


def _lenient(value: object) -> object:
    return value


def _defined(value: object) -> object:
    if isinstance(value, Undefined):
        raise value.fault()
    return value


class _Walk:
    """One pass over a value that counts what it meets, so that sharing inside it cannot blow it up."""

    __slots__ = ("_left", "_other")

    def __init__(self, other: _Take) -> None:
        self._left = MAX_ITEMS
        self._other = other

    def take(self, value: object, level: int) -> object:
        kind = type(value)
        if kind in _SCALARS:
            if kind is str and len(value) > SHORT_TEXT:  # type: ignore[arg-type]
                spend(len(value) >> 6)  # type: ignore[arg-type]
            return value
        if level > MAX_LEVELS:
            raise Fault("template.error", f"the value nests deeper than {MAX_LEVELS} levels")
        # Inside an expression a pair stays a pair, as in Jinja2 (`%` takes a tuple apart); only on its way out it
        # becomes a list.
        if isinstance(value, tuple) and self._other is _lenient:
            self._count(len(value))
            return tuple([self.take(entry, level + 1) for entry in value])
        if isinstance(value, (list, tuple, range, GeneratorType, *VIEW_TYPES)):
            if self._other is _lenient and isinstance(value, (range, *VIEW_TYPES)):
                if not isinstance(value, range):
                    self.take(list(value), level + 1)  # type: ignore[call-overload]
                return value
            entries: list[object] = list(value)  # type: ignore[call-overload]
            self._count(len(entries))
            return [self.take(entry, level + 1) for entry in entries]
        if isinstance(value, dict):
            self._count(len(value))
            if self._other is _strict:
                for key in value:
                    # JSON has text keys only. Turning `1` into "1" would make two keys one, so it is refused.
                    if type(key) is not str:
                        raise Fault("template.error", f"the key {key!r} of a mapping is no text")
            return {key: self.take(entry, level + 1) for key, entry in value.items()}
        if isinstance(value, ResultView):
            return self.take(value.plain(), level)
        return self._other(value)

    def _count(self, size: int) -> None:
        self._left -= size
        spend(10 + 4 * size)
        if self._left < 0:
            raise Fault("template.error", f"the value has more than {MAX_ITEMS:,} parts")
