"""The operators, comparisons and `in` among them, as Python defines them for data, within `limits` and the budget of
`work`.
"""

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from noetl_ir.evaluate.access import kind_of
from noetl_ir.evaluate.limits import check_bits, check_chars, check_items
from noetl_ir.evaluate.settle import settled_value, text_size
from noetl_ir.evaluate.work import (
    LONG,
    VIEW_TYPES,
    spend,
    spend_entries,
    spend_hash,
    spend_numbers,
    spend_pair,
    spend_search,
    spend_text,
    weigh,
)
from noetl_ir.patterns import LatePattern
from noetl_ir.scopes.values import Fault, Sealed, Undefined

Operand: TypeAlias = Any
"""Whatever an expression can hold; Python's own operators decide what goes together."""
Operator: TypeAlias = Callable[[Operand, Operand], object]

MAX_WIDTH = 10_000
"""The largest width or precision in a `%` format."""

_NUMBERS = (int, float, bool)
_SPEC = LatePattern(r"%(\([^)]*\))?[-+ #0]*(\*|\d*)(?:\.(\*|\d*))?")
"""The name of a `%` conversion, its width and its precision."""


def add(left: Operand, right: Operand) -> object:
    """`left + right`: numbers, or two texts, or two lists."""
    if isinstance(left, str | Sealed) and isinstance(right, str | Sealed):
        check_chars(len(left) + len(right))
        spend_text(len(left) + len(right))
    elif isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        check_items(len(left) + len(right))
        spend(len(left) + len(right) >> 4)
    return left + right


def subtract(left: Operand, right: Operand) -> object:
    """`left - right`, of numbers."""
    _numbers("-", left, right)
    return left - right


def multiply(left: Operand, right: Operand) -> object:
    """`left * right`: numbers, or a text or list repeated."""
    # The bits of a product are known before it is made; a limit checked afterwards would have spent the memory.
    if isinstance(left, int) and isinstance(right, int):
        check_bits(left.bit_length() + right.bit_length())
        spend_numbers(left, right)
    for repeated, times in ((left, right), (right, left)):
        if isinstance(times, int):
            if isinstance(repeated, str):
                check_chars(len(repeated) * times)
                spend_text(len(repeated) * times)
            elif isinstance(repeated, (list, tuple)):
                check_items(len(repeated) * times)
                spend(max(len(repeated) * times, 0) >> 4)
    return left * right


def divide(left: Operand, right: Operand) -> object:
    """`left / right`, of numbers."""
    spend_numbers(left, right)
    return left / right


def floor_divide(left: Operand, right: Operand) -> object:
    """`left // right`, of numbers."""
    spend_numbers(left, right)
    return left // right


def modulo(left: Operand, right: Operand) -> object:
    """`left % right`: of numbers, or a text formatted."""
    if isinstance(left, str):
        return formatted(left, right)
    spend_numbers(left, right)
    return left % right


def power(left: Operand, right: Operand) -> object:
    """`left ** right`, of numbers."""
    _numbers("**", left, right)
    if isinstance(left, int) and isinstance(right, int) and right > 0:
        check_bits(left.bit_length() * right if abs(left) > 1 else 1)
        spend(100 + (left.bit_length() * right >> 3 if abs(left) > 1 else 0))
    result = left**right
    # Python gives `(-8) ** 0.5` as a complex number, which no playbook means and JSON cannot say.
    if isinstance(result, complex):
        raise Fault("template.error", "a root of a negative number is no number")
    return result


def formatted(text: str, values: Operand) -> str:
    """`text % values`."""
    values = settled_value(values)
    spend_text(len(text))
    spend(30 * text.count("%"))
    # Python finds the missing bracket only after it has formatted all that stands before it.
    if text.rfind("%(") > text.rfind(")"):
        raise ValueError("incomplete format key")
    specs = _SPEC.compiled.findall(text)
    parts = values if isinstance(values, tuple) else (values,)
    widths = [width for _, *pair in specs for width in pair if width]
    if "*" in widths:
        # `%*d` takes its width from the values, and which of them is a width is not known before it is formatted.
        widths += [str(abs(value)) for value in parts if isinstance(value, int)]
    if any(width != "*" and (len(width) > 5 or int(width) > MAX_WIDTH) for width in widths):
        raise Fault("template.error", f"a width above {MAX_WIDTH:,} in the format")
    # The length is estimated from above before anything is formatted: a width of a thousand digits would make the
    # text first and be refused after.
    length = len(text) + sum(MAX_WIDTH if width == "*" else int(width) for width in widths)
    if isinstance(values, dict):
        sizes = {key: text_size(value) for key, value in values.items()}
        most = max(sizes.values(), default=0)
        length += sum(sizes.get(name[1:-1], most) for name, *_ in specs if name)
    else:
        length += sum(map(text_size, parts))
    check_chars(length)
    spend_text(length)
    result: str = text % values
    check_chars(len(result))
    return result


def negative(value: Operand) -> object:
    """`-value`, of a number."""
    return -value


def positive(value: Operand) -> object:
    """`+value`, of a number."""
    return +value


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


Comparison: TypeAlias = Callable[[Any, Any], object]


def _counted(compare: Comparison) -> Comparison:
    def compared(left: Any, right: Any) -> object:
        if type(left) in LONG or isinstance(left, tuple):
            spend_pair(left, right)
        return compare(left, right)

    return compared


def within(value: Any, container: Any) -> object:
    """`value in container`."""
    value = _sought(value, container)
    _spend_within(value, container)
    return value in container


def not_within(value: Any, container: Any) -> object:
    """`value not in container`."""
    value = _sought(value, container)
    _spend_within(value, container)
    return value not in container


def _sought(value: Any, container: Any) -> Any:
    """The value that is looked for: in a text, the true text of a secret, as Python's texts know no others."""
    return value.true if isinstance(value, Sealed) and isinstance(container, str) else value


def _spend_within(value: Any, container: Any) -> None:
    if isinstance(container, str):
        if isinstance(value, str):
            spend_search(container, value)
    elif isinstance(container, (list, tuple, VIEW_TYPES[1])):
        spend_entries(container, 2)
        # Short texts and numbers compare at once and are paid for above. Long ones may agree with every entry up to
        # the last character.
        if (type(value) is str and len(value) > 16) or isinstance(value, (list, tuple, dict)):
            entries: Any = container
            for entry in entries:
                spend(8)
                spend_pair(value, entry)
    # Only of a whole number Python knows at once whether it is in a range; it goes through all for any other value.
    elif isinstance(container, range):
        if type(value) is not int:
            spend(2 * len(container))
    elif isinstance(container, VIEW_TYPES[2]):
        if isinstance(value, tuple):
            spend_hash(value[:1])
            weigh(value[1:])  # what is under the key is compared
    else:
        spend_hash(value)


COMPARE: dict[str, Comparison] = {
    "==": _counted(operator.eq), "!=": _counted(operator.ne), "<": _counted(operator.lt),
    "<=": _counted(operator.le), ">": _counted(operator.gt), ">=": _counted(operator.ge),
    "in": within, "not in": not_within,
}  # fmt: skip
