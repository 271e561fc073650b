"""Comparisons and `in`, as Python defines them for data, within the budget of `noetl_ir.evaluate.work`."""

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from noetl_ir.evaluate.work import LONG, VIEW_TYPES, spend, spend_entries, spend_hash, spend_pair, spend_search, weigh
from noetl_ir.scopes.values import Sealed

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
    elif isinstance(container, range):
        if type(value) is not int:
            spend(2 * len(container))
    elif isinstance(container, VIEW_TYPES[2]):
        if isinstance(value, tuple):
            spend_hash(value[:1])
            weigh(value[1:])  # what is under the key is compared
    else:
        spend_hash(value)


COMPARISONS: dict[str, Comparison] = {
    "==": _counted(operator.eq), "!=": _counted(operator.ne), "<": _counted(operator.lt),
    "<=": _counted(operator.le), ">": _counted(operator.gt), ">=": _counted(operator.ge),
    "in": within, "not in": not_within,
}  # fmt: skip
