"""Jinja2 itself as the judge of what an expression means, with the differences of LANGUAGE §2 built in."""

import json
from functools import wraps
from types import GeneratorType
from typing import Any

from jinja2 import ChainableUndefined
from jinja2.compiler import CodeGenerator
from jinja2.sandbox import ImmutableSandboxedEnvironment

from noetl_ir.expr import Conditional, Expr, Logic, Not
from noetl_ir.scopes.vocabulary import METHODS
from noetlc.expr.unparse import unparse


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


def _listed(function: Any) -> Any:
    """A filter that gives a list where Jinja2's gives an iterator (LANGUAGE §2): an empty one is false."""

    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        return made if isinstance(made, (str, list)) else list(made)

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
        made.filters[name] = _listed(made.filters[name])
    made.filters["tojson"] = lambda value, indent=None: json.dumps(
        value, indent=indent, allow_nan=False, default=_entries
    )
    made.globals["holds"] = holds
    return made


def holds(value: Any) -> bool:
    """The truth of what `not`, `and`, `or` and `if` connect in a guard: the text `false` is false (LANGUAGE §2)."""
    return bool(value) and not (isinstance(value, str) and value.lower() == "false")


def guard_text(expr: Expr) -> str:
    """The text of an expression that is to Jinja2 what the expression is to us as a guard."""
    match expr:
        case Not(of=of):
            return f"not ({guard_text(of)})"
        case Logic(op=op, left=left, right=right):
            return f"({guard_text(left)}) {op} ({guard_text(right)})"
        case Conditional(test=test, then=then, otherwise=otherwise):
            last = "false" if otherwise is None else guard_text(otherwise)
            return f"({guard_text(then)}) if ({guard_text(test)}) else ({last})"
        case _:
            return f"holds({unparse(expr)})"


JINJA = environment()


def outcome(text: str, data: dict[str, Any]) -> tuple[str, Any]:
    """`("value", …)` with lists for what is lazy, or `("error", message)`."""
    try:
        return "value", settled(JINJA.compile_expression(text, undefined_to_none=False)(**data))
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
    if isinstance(value, (list, GeneratorType)) or type(value).__name__.endswith("iterator"):
        return [settled(entry) for entry in value]
    if isinstance(value, dict):
        return {key: settled(entry) for key, entry in value.items()}
    if type(value).__name__ in ("dict_keys", "dict_values", "dict_items"):
        return [settled(entry) for entry in value]
    return value
