"""The values that were set last: a table of so many values and no more."""

from collections import OrderedDict
from typing import TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


class BoundedTable(OrderedDict[_K, _V]):
    """At most `most` values by key, in the order in which they were set last; one more, and the oldest goes.

    A plain table has that order too, but walks over the places of all that went before to find its oldest.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: _K, value: _V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)
