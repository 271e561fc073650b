"""Jinja2's tests."""

from collections.abc import Callable
from typing import Any

from noetl_ir.evaluate.operators import COMPARE, modulo, within
from noetl_ir.evaluate.settle import text_of
from noetl_ir.evaluate.work import spend_hash, spend_pair, spend_text
from noetl_ir.scopes import vocabulary
from noetl_ir.scopes.values import Sealed, Undefined


def odd(value: Any) -> bool:
    return bool(modulo(value, 2) == 1)


def even(value: Any) -> bool:
    return bool(modulo(value, 2) == 0)


def divisibleby(value: Any, num: Any) -> bool:
    return bool(modulo(value, num) == 0)


def defined(value: object) -> bool:
    return not isinstance(value, Undefined)


def undefined(value: object) -> bool:
    return isinstance(value, Undefined)


def is_filter(value: object) -> bool:
    spend_hash(value)
    return value in vocabulary.FILTERS


def is_test(value: object) -> bool:
    spend_hash(value)
    return value in vocabulary.TESTS or value in vocabulary.OPERATOR_TESTS


def none(value: object) -> bool:
    return value is None


def boolean(value: object) -> bool:
    return isinstance(value, bool)


def false(value: object) -> bool:
    return value is False


def true(value: object) -> bool:
    return value is True


def integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_float(value: object) -> bool:
    return isinstance(value, float)


def number(value: object) -> bool:
    # True is a number here, as in Jinja2, though no integer.
    return isinstance(value, (int, float))


def lower(value: object) -> bool:
    text = text_of(value)
    spend_text(len(text))
    return text.islower()


def upper(value: object) -> bool:
    text = text_of(value)
    spend_text(len(text))
    return text.isupper()


def string(value: object) -> bool:
    return isinstance(value, str | Sealed)


def mapping(value: object) -> bool:
    return isinstance(value, dict)


def sequence(value: object) -> bool:
    return isinstance(value, (str, list, tuple, dict, range, Undefined, Sealed))


def iterable(value: object) -> bool:
    return hasattr(type(value), "__iter__")


def callable_(value: object) -> bool:
    # Data is never callable; Jinja2's undefined value has a `__call__`, if only to refuse.
    return isinstance(value, Undefined)


def sameas(value: object, other: object) -> bool:
    """Whether two values are the same null, boolean, number or text; a list or mapping is the same only as itself."""
    if value is other:
        return True
    if isinstance(value, Sealed) or isinstance(other, Sealed):
        return value == other
    spend_pair(value, other)
    return type(value) is type(other) and type(value) in (int, float, str) and value == other


def escaped(value: object) -> bool:
    # No text is HTML-safe here; Jinja2's chainable undefined value counts as such.
    return isinstance(value, Undefined)


TESTS: dict[str, Callable[..., object]] = {
    "odd": odd, "even": even, "divisibleby": divisibleby, "defined": defined, "undefined": undefined,
    "filter": is_filter, "test": is_test, "none": none, "boolean": boolean, "false": false, "true": true,
    "integer": integer, "float": is_float, "lower": lower, "upper": upper, "string": string,
    "mapping": mapping, "number": number, "sequence": sequence, "iterable": iterable, "callable": callable_,
    "sameas": sameas, "escaped": escaped, "in": within,
    **{
        name: COMPARE[word]
        for word, names in {
            "==": ("eq", "equalto"), "!=": ("ne",), ">": ("gt", "greaterthan"), ">=": ("ge",),
            "<": ("lt", "lessthan"), "<=": ("le",),
        }.items()
        for name in (word, *names)
    },
}  # fmt: skip
