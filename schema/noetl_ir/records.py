"""Classes of records: `NamedTuple` as `typing` has it, at a tenth of what its classes cost to define.

A command that looks at one small file defines more than a hundred of them, and half of those never have an instance.
`typing` checks and compiles each annotation and each constructor, 0.2 ms a class; here a constructor is compiled when
one is called by names or with fewer values than fields, or has been called so often that it has cost as much to do
without. Instances are the same: tuples without a dictionary.
"""

from collections import namedtuple
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    _OFTEN = 1_000
    """Instances: a call of what is not compiled takes 0.2 µs more."""

    _Field = type(namedtuple("_One", "at").at)
    """The descriptor, written in C, behind a field of a named tuple."""

    def _written(cls):
        """The class of the same fields that `collections` writes."""
        return namedtuple(cls.__name__, cls._fields, defaults=cls._field_defaults.values())

    class _Defined(type):
        """Makes a class of named tuples out of annotations and defaults."""

        def __new__(mcs, name, bases, space):
            if bases == (tuple,) or bases[0]._fields:  # the base itself, or what derives from a class with fields
                return super().__new__(mcs, name, bases, space)
            fields = tuple(space.get("__annotations__", ()))
            defaults = {field: space.pop(field) for field in fields if field in space}
            # Fields are read through the descriptors of `collections`, which are as fast as its own classes'.
            space.update({field: _Field(at, "") for at, field in enumerate(fields)})
            space.update(_fields=fields, _field_defaults=defaults, __match_args__=fields, __slots__=())
            # `next` of a counter is one step in C, so that threads cannot come between.
            space["_calls"] = count()
            return super().__new__(mcs, name, bases, space)

    class NamedTuple(tuple, metaclass=_Defined):
        """The base of named tuples, with the methods that `collections.namedtuple` gives one.

        What derives from a class without fields has its own annotations as fields, as `noetlc.ast.sugar` needs it.
        """

        __slots__ = ()
        _fields = ()

        def __new__(cls, /, *args, **named):
            """An instance; `namedtuple` has the constructor for what is not plainly one value for each field."""
            if len(args) == len(cls._fields) and not named and next(cls._calls) < _OFTEN:
                return tuple.__new__(cls, args)
            # From here on calls go straight to the compiled constructor, and this one is gone.
            cls.__new__ = staticmethod(_written(cls).__new__)
            return cls.__new__(cls, *args, **named)

        @classmethod
        def _make(cls, values):
            """An instance of what an iterable gives."""
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **changes):
            """A copy with other values in some fields."""
            made = self._make(map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"Got unexpected field names: {list(changes)!r}")
            return made

        def _asdict(self):
            """Field → value."""
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            shown = ", ".join(f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({shown})"

        def __getnewargs__(self):
            return tuple(self)
