"""The playbook's state as code sees it: mappings that refuse to be written.

A write would reach nothing: code runs on a copy. `iter` is Python's own function too, and stays callable.
"""

from builtins import iter as _iter
from typing import NoReturn

from noetl_ir.expr import Json


class ReadOnly(dict[str, Json]):
    """A mapping of the playbook's state."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this mapping is read-only; write state with set_ctx or set_iter in a rule")

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _refuse


class Iteration(ReadOnly):
    """`iter`: the iteration's state, and the built-in function when it is called."""

    def __call__(self, *args: object) -> object:
        return _iter(*args)  # type: ignore[call-overload]


def readable(name: str, value: Json) -> object:
    """A value of the playbook's state, as the name that code reads it by."""
    if not isinstance(value, dict):
        return value
    return Iteration(value) if name == "iter" else ReadOnly(value)
