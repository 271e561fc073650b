"""The values that an expression meets besides JSON: the undefined value, the results of steps, and the fault it ends
in.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NoReturn, TypeAlias

from noetl_ir.expr import Json
from noetl_ir.patterns import LatePattern

_Fetch: TypeAlias = Callable[[], Json]


MAX_MESSAGE = 2_000
"""Characters of the message of a fault, and of the path of what is undefined: both may hold parts of long texts."""
_SHOWN_KEY = 100


class Fault(Exception):
    """A fault of the playbook (LANGUAGE §2): all that evaluation ever raises.

    `code` is `template.undefined`, `template.error`, `guard.error` or `ref.missing`; `path` names the
    undefined or lost value, where there is one. `where` are the keys that lead to what failed in the template of a
    mapping or list, and `part` numbers the expression of a text from 0, -1 where that is not known.
    """

    def __init__(self, code: str, message: str, path: str = "") -> None:
        if len(message) > MAX_MESSAGE:
            message = f"{message[:MAX_MESSAGE]}…"
        super().__init__(message)
        self.code = code
        self.message = message
        self.path = path
        self.where: tuple[str | int, ...] = ()
        self.part = -1

    def under(self, *keys: str | int) -> "Fault":
        """The fault itself, of what stands under these keys."""
        self.where = (*keys, *self.where)
        return self

    def place(self) -> dict[str, Json]:
        """The keys by which an error tells its place, as far as they are known: `key` (`args.rows[0].id`), `part`."""
        if not self.where:
            return {}
        key = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in self.where).removeprefix(".")
        return {"key": key[:MAX_MESSAGE], **({"part": self.part} if self.part >= 0 else {})}

    def __repr__(self) -> str:
        return f"Fault({self.code!r}, {self.message!r}, {self.path!r})"


class Undefined:
    """A value that is not there, as Jinja2's ChainableUndefined: empty, false, and undefined inside.

    Python finds the operators below by itself, so that filters written for data treat it as Jinja2's do. The
    one difference is LANGUAGE §2's: an ordering comparison with it is false. `path` is what the expression
    asked for, `hint` why there is nothing.
    """

    __slots__ = ("hint", "path")

    def __init__(self, path: str, hint: str = "") -> None:
        self.path = path
        self.hint = hint

    def inside(self, key: object) -> "Undefined":
        """The value under a key of this: undefined too, for the same reason."""
        # A template can go on below what is undefined for ever; the path in its message must end.
        path = self.path if len(self.path) > MAX_MESSAGE else f"{self.path}{key_text(key)}"
        return Undefined(path, self.hint or f"`{self.path}` is undefined")

    def fault(self) -> Fault:
        """The fault of using this where a value is needed."""
        what = f"`{self.path}` is undefined" if self.path else "the value is undefined"
        return Fault("template.undefined", f"{what}: {self.hint}" if self.hint else what, self.path)

    def _refuse(self, *_: object) -> NoReturn:
        raise self.fault()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _refuse
    __pos__ = __neg__ = __call__ = __int__ = __float__ = __complex__ = _refuse

    def _never(self, _: object) -> bool:
        return False

    # False and no fault: a guard that compares what is not there yet waits for another arc, and the run goes on.
    __lt__ = __le__ = __gt__ = __ge__ = _never

    def __eq__(self, other: object) -> bool:
        return type(other) is Undefined

    def __hash__(self) -> int:
        # All undefined values are equal, so they need one hash.
        return 0x5EED

    def __getitem__(self, key: object) -> "Undefined":
        return self.inside(key)

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[object]:
        return iter(())

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return ""

    def __repr__(self) -> str:
        return "Undefined"


class Sealed:
    """A text with a secret in it: it joins with texts, has a length and compares as what it stands for.

    `true` is the text; `hide` gives it with a marker for each secret, which is all that ever leaves an expression.
    Whatever else is done to it would be done to the marker, so it is the fault `template.error`.
    """

    __slots__ = ("hide", "true")
    # As a key it would be compared by what it stands for, and its place in a set would tell of that.
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, true: str, hide: Callable[[str], str]) -> None:
        self.true = true
        self.hide = hide

    @property
    def shown(self) -> str:
        """The text with its secrets hidden."""
        return self.hide(self.true)

    def to(self, true: str) -> "Sealed":
        """Another text that was made of this one, with the same secrets in it."""
        return Sealed(true, self.hide)

    def __add__(self, other: object) -> "Sealed":
        return self.to(self.true + revealed(other)) if isinstance(other, str | Sealed) else NotImplemented

    def __radd__(self, other: object) -> "Sealed":
        return self.to(revealed(other) + self.true) if isinstance(other, str | Sealed) else NotImplemented

    def __len__(self) -> int:
        return len(self.true)

    def __bool__(self) -> bool:
        return bool(self.true)

    def __contains__(self, other: object) -> bool:
        return revealed(other) in self.true

    def __eq__(self, other: object) -> bool:
        return self.true == (other.true if isinstance(other, Sealed) else other)

    def __lt__(self, other: object) -> bool:
        return self.true < revealed(other)

    def __le__(self, other: object) -> bool:
        return self.true <= revealed(other)

    def __gt__(self, other: object) -> bool:
        return self.true > revealed(other)

    def __ge__(self, other: object) -> bool:
        return self.true >= revealed(other)

    def _refuse(self, *_: object) -> NoReturn:
        raise Fault(
            "template.error",
            "this cannot be done to a secret: it can be joined with texts (`~`, `+`, `join`), compared, and given to"
            " `length`, `urlencode`, `b64encode` and `tojson`; have a tool do the rest",
        )

    __str__ = __repr__ = __int__ = __float__ = __index__ = __iter__ = __getitem__ = __mod__ = __rmod__ = _refuse


_MARKER = LatePattern(r"\[\[secret:[^\[\]]{1,1000}:[0-9a-f]{32}\]\]", re.ASCII)


def refuse_marker(value: object) -> None:
    """Raises Fault for a text that is nothing but the marker of a secret, which a result or `ctx` may hold."""
    # The beginning first: hardly any text begins so, and the pattern costs more.
    if type(value) is str and value.startswith("[[secret:") and _MARKER.fullmatch(value):
        raise Fault("template.error", "this is a secret that was hidden: have a tool do with it what is to be done")


def revealed(value: object) -> str:
    """The text that a text or a sealed one is. Raises TypeError for anything else, as a comparison with it does."""
    if isinstance(value, Sealed):
        return value.true
    if isinstance(value, str):
        return value
    raise TypeError("it takes texts")


def key_text(key: object) -> str:
    """A key as it would stand behind a path: `.name`, or `[…]`."""
    if isinstance(key, str) and len(key) > _SHOWN_KEY:
        key = f"{key[:_SHOWN_KEY]}…"
    if isinstance(key, str) and key.isidentifier():
        return f".{key}"
    return f"[{key!r}]" if isinstance(key, (str, int, float, bool)) or key is None else "[…]"


class Reference:
    """A result that is stored elsewhere: `record` says where, `fetch` gets it or raises Fault `ref.missing`."""

    __slots__ = ("fetch", "record")

    def __init__(self, record: Json, fetch: _Fetch) -> None:
        self.record = record
        self.fetch = fetch


class ResultView:
    """The meaning of a result's name while keys are taken from it; anything else sees its `plain` value."""

    __slots__ = ()

    def plain(self) -> object:
        """The JSON value."""
        raise NotImplementedError

    def under(self, key: object) -> object:
        """The value under a key, another view, or None when there is no such key of the view's own."""
        raise NotImplementedError

    def stored(self) -> object:
        """The `Reference` that this is, else the JSON value."""
        return self.plain()


class StepResult(ResultView):
    """The result of a step without a loop, or of a task (LANGUAGE §2).

    `x.data` and `x.result` are the key of that name if there is one, else the whole result.
    """

    __slots__ = ("_value",)

    def __init__(self, value: "Json | Reference") -> None:
        self._value = value

    def plain(self) -> object:
        return self._value.fetch() if isinstance(self._value, Reference) else self._value

    def stored(self) -> object:
        return self._value

    def under(self, key: object) -> object:
        if key == "data" or key == "result":
            value = self.plain()
            # The key wins: `x.data` of a result that has a key `data` is that key, as the author sees it in the
            # result.
            if not (isinstance(value, dict) and key in value):
                return self
        return None


class LoopResult(ResultView):
    """The result of a step with a loop: one entry per item in index order, and how the iterations ended."""

    __slots__ = ("_entries", "stats")

    def __init__(self, entries: "list[Json | Reference]", stats: "dict[str, Json]") -> None:
        self._entries = entries
        self.stats = stats

    def plain(self) -> object:
        if any(isinstance(entry, Reference) for entry in self._entries):
            # Kept, so that a second look at the list does not fetch it again.
            self._entries = [entry.fetch() if isinstance(entry, Reference) else entry for entry in self._entries]
        return self._entries

    def under(self, key: object) -> object:
        if key == "data" or key == "result" or key == "results":
            return self
        if key == "stats":
            return StepResult(self.stats)
        # `type`: true is 1 to Python, and no index to JSON.
        if type(key) is int and -len(self._entries) <= key < len(self._entries):
            # One entry of a long list is fetched alone.
            return StepResult(self._entries[key])
        return None


class Steps(ResultView):
    """The name `steps`: all results by step name, for names that are no identifiers."""

    __slots__ = ("_results",)

    def __init__(self, results: Mapping[str, object]) -> None:
        self._results = results

    def plain(self) -> object:
        return {name: plain(view_of(result)) for name, result in self._results.items()}

    def under(self, key: object) -> object:
        if not isinstance(key, str):
            return None
        if key in self._results:
            return view_of(self._results[key])
        return Undefined(f"steps{key_text(key)}", "the step has not run")


def view_of(result: object) -> ResultView:
    """A result as the name of its step sees it."""
    return result if isinstance(result, ResultView) else StepResult(result)  # type: ignore[arg-type]


def plain(value: object) -> object:
    """A value as everything but a key sees it."""
    return value.plain() if isinstance(value, ResultView) else value


def stored_value(value: object) -> object:
    """A value as `ref` sees it: a view is the `Reference` that it was made of, if it was."""
    return value.stored() if isinstance(value, ResultView) else value
