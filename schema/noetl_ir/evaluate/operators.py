"""The operators, as Python defines them for data, within the limits of `noetl_ir.evaluate.limits`."""

import operator
import re
from collections.abc import Callable
from typing import Any, TypeAlias

from noetl_ir.evaluate.access import kind_of
from noetl_ir.evaluate.limits import check_bits, check_chars, check_items
from noetl_ir.evaluate.settle import settled
from noetl_ir.scopes.values import Fault, Undefined

Operand: TypeAlias = Any
"""Whatever an expression can hold; Python's own operators decide what goes together."""
Operator: TypeAlias = Callable[[Operand, Operand], object]

MAX_WIDTH = 10_000
"""The largest width or precision in a `%` format."""

_NUMBERS = (int, float, bool)
_WIDTH = re.compile(r"%(?:\([^)]*\))?[-+ #0]*(\*|\d*)(?:\.(\*|\d*))?")


def add(left: Operand, right: Operand) -> object:
    """`left + right`: numbers, or two texts, or two lists."""
    if isinstance(left, str) and isinstance(right, str):
        check_chars(len(left) + len(right))
    elif isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        check_items(len(left) + len(right))
    return left + right


def subtract(left: Operand, right: Operand) -> object:
    """`left - right`, of numbers."""
    _numbers("-", left, right)
    return left - right


def multiply(left: Operand, right: Operand) -> object:
    """`left * right`: numbers, or a text or list repeated."""
    if isinstance(left, int) and isinstance(right, int):
        check_bits(left.bit_length() + right.bit_length())
    for repeated, times in ((left, right), (right, left)):
        if isinstance(times, int):
            if isinstance(repeated, str):
                check_chars(len(repeated) * times)
            elif isinstance(repeated, (list, tuple)):
                check_items(len(repeated) * times)
    return left * right


def divide(left: Operand, right: Operand) -> object:
    """`left / right`, of numbers."""
    return left / right


def floor_divide(left: Operand, right: Operand) -> object:
    """`left // right`, of numbers."""
    return left // right


def modulo(left: Operand, right: Operand) -> object:
    """`left % right`: of numbers, or a text formatted."""
    return formatted(left, right) if isinstance(left, str) else left % right


def power(left: Operand, right: Operand) -> object:
    """`left ** right`, of numbers."""
    _numbers("**", left, right)
    if isinstance(left, int) and isinstance(right, int) and right > 0:
        check_bits(left.bit_length() * right if abs(left) > 1 else 1)
    result = left**right
    if isinstance(result, complex):
        raise Fault("template.error", "a root of a negative number is no number")
    return result


def formatted(text: str, values: Operand) -> str:
    """`text % values`."""
    values = settled(values)
    widths = [width for pair in _WIDTH.findall(text) for width in pair if width]
    if "*" in widths:
        given = values if isinstance(values, tuple) else (values,)
        widths += [str(abs(value)) for value in given if isinstance(value, int)]
    if any(width != "*" and (len(width) > 5 or int(width) > MAX_WIDTH) for width in widths):
        raise Fault("template.error", f"a width above {MAX_WIDTH:,} in the format")
    result: str = text % values
    check_chars(len(result))
    return result


def negative(value: Operand) -> object:
    """`-value`, of a number."""
    return -value


def positive(value: Operand) -> object:
    """`+value`, of a number."""
    return +value


def within(value: Operand, container: Operand) -> object:
    """`value in container`."""
    return value in container


def not_within(value: Operand, container: Operand) -> object:
    """`value not in container`."""
    return value not in container


def _numbers(word: str, left: Operand, right: Operand) -> None:
    for value in (left, right):
        if isinstance(value, Undefined):
            raise value.fault()
    if not (isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS)):
        raise TypeError(f"`{word}` takes numbers")


def failure(word: str, error: Exception, *values: object) -> Fault:
    """The fault of an operator that raised, in words about the values."""
    if isinstance(error, Fault):
        return error
    if isinstance(error, ZeroDivisionError):
        return Fault("template.error", f"`{word}` divides by zero")
    if isinstance(error, TypeError) and word != "%":
        kinds = " and ".join(kind_of(value) for value in values)
        return Fault("template.error", f"`{word}` does not go with {kinds}")
    return Fault("template.error", f"`{word}` failed: {error}")


BINARY: dict[str, Operator] = {
    "+": add, "-": subtract, "*": multiply, "/": divide, "//": floor_divide, "%": modulo, "**": power,
}  # fmt: skip
UNARY: dict[str, Callable[[Operand], object]] = {"-": negative, "+": positive}
COMPARE: dict[str, Operator] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "in": within, "not in": not_within,
}  # fmt: skip
