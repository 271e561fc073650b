"""Jinja2 itself as the judge of what an expression means, with the differences of LANGUAGE §2 built in."""

import json
from functools import wraps
from types import GeneratorType
from typing import Any

from jinja2 import ChainableUndefined
from jinja2.compiler import CodeGenerator
from jinja2.sandbox import ImmutableSandboxedEnvironment

from noetl_ir.scopes.vocabulary import METHODS


class Undefined(ChainableUndefined):
    """An ordering comparison with the undefined is false."""

    __slots__ = ()

    def _never(self, other: object) -> bool:
        return False

    __lt__ = __le__ = __gt__ = __ge__ = _never


class Generator(CodeGenerator):
    """An inline `if` without `else` gives the environment's undefined value, too."""

    def write_commons(self) -> None:
        super().write_commons()
        self.writeline("cond_expr_undefined = undefined")


class Environment(ImmutableSandboxedEnvironment):
    """Data is found by key before anything else, and nothing of Python is reachable but the closed list.

    Not optimised: constants mean what names mean.
    """

    code_generator_class = Generator

    def __init__(self) -> None:
        super().__init__(undefined=Undefined, optimized=False)

    def getattr(self, obj: Any, attribute: str) -> Any:
        found = self.getitem(obj, attribute)
        if isinstance(found, Undefined) and not isinstance(obj, Undefined) and attribute in METHODS:
            return getattr(obj, attribute, found)
        return found

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, Undefined):
            return obj
        try:
            return obj[argument]
        except (TypeError, LookupError, AttributeError):
            if isinstance(argument, str) and argument in ("grouper", "list") and isinstance(obj, tuple):
                return getattr(obj, argument, self.undefined(obj=obj, name=argument))
        return self.undefined(obj=obj, name=argument)


class Skip(Exception):
    """Jinja2 printed the address of a lazy value."""


class Lazy:
    """A generator that cannot be printed."""

    def __init__(self, inner: Any) -> None:
        self._inner = iter(inner)

    def __iter__(self) -> Any:
        return self._inner

    def __str__(self) -> str:
        raise Skip

    __repr__ = __str__


def _lazy(name: str, function: Any) -> Any:
    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        return made if isinstance(made, (str, list)) else Lazy(made)

    return wrapped


def _entries(value: Any) -> list[Any]:
    if isinstance(value, ChainableUndefined):
        raise TypeError("undefined")
    return list(value)


def environment() -> Environment:
    made = Environment()
    for name in ("escape", "e", "forceescape", "safe"):
        markup = made.filters[name]
        made.filters[name] = lambda value, markup=markup: str(markup(value))
    for name in ("map", "select", "reject", "selectattr", "rejectattr", "batch", "slice", "items", "unique", "reverse"):
        made.filters[name] = _lazy(name, made.filters[name])
    made.filters["tojson"] = lambda value, indent=None: json.dumps(
        value, indent=indent, allow_nan=False, default=_entries
    )
    return made


JINJA = environment()


def outcome(text: str, data: dict[str, Any]) -> tuple[str, Any]:
    """`("value", …)` with lists for what is lazy, or `("error", message)`."""
    try:
        return "value", settled(JINJA.compile_expression(text, undefined_to_none=False)(**data))
    except Skip:
        return "skip", None
    except Exception as error:
        if "is not callable" in str(error):
            # Data under the name of a method: to Jinja2 with key-first lookup it is called, to us the method is.
            return "skip", None
        return "error", f"{type(error).__name__}: {error}"


def settled(value: Any) -> Any:
    if isinstance(value, (ChainableUndefined,)):
        return "<undefined>"
    if isinstance(value, tuple):
        return tuple(settled(entry) for entry in value)
    if isinstance(value, (list, GeneratorType, Lazy)) or type(value).__name__.endswith("iterator"):
        return [settled(entry) for entry in value]
    if isinstance(value, dict):
        return {key: settled(entry) for key, entry in value.items()}
    if type(value).__name__ in ("dict_keys", "dict_values", "dict_items"):
        return [settled(entry) for entry in value]
    return value
