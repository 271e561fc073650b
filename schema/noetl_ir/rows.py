"""`NamedTuple` as `typing` has it, at a tenth of what its classes cost to define.

A command that looks at one small file defines more than a hundred of them, and half of those never have an instance.
`typing` checks and compiles each annotation and each constructor, 0.2 ms a class; here nothing is compiled before the
first instance is made. Instances are the same: tuples without a dictionary, made and read as fast.
"""

from collections import namedtuple
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    _Field = type(namedtuple("_One", "at").at)
    """The descriptor, written in C, behind a field of a named tuple."""

    class _Defined(type):
        """Makes a class of named tuples out of annotations and defaults."""

        def __new__(mcs, name, bases, space):
            if bases[0].__bases__ != (tuple,):  # the base itself, or what derives from a class of named tuples
                return super().__new__(mcs, name, bases, space)
            fields = tuple(space.get("__annotations__", ()))
            defaults = {field: space.pop(field) for field in fields if field in space}
            space.update({field: _Field(at, "") for at, field in enumerate(fields)})
            space.update(_fields=fields, _field_defaults=defaults, __match_args__=fields, __slots__=())
            return super().__new__(mcs, name, bases, space)

    class NamedTuple(tuple, metaclass=_Defined):
        """The base of named tuples, with the methods that `collections.namedtuple` writes."""

        __slots__ = ()

        def __new__(cls, /, *given, **named):
            """The first instance of a class, whose constructor is compiled now."""
            arguments = ", ".join(("_cls", *cls._fields))
            values = "".join(f"{field}, " for field in cls._fields)
            made = eval(f"lambda {arguments}: _new(_cls, ({values}))", {"_new": tuple.__new__})
            made.__name__, made.__qualname__ = "__new__", f"{cls.__name__}.__new__"
            made.__defaults__ = tuple(cls._field_defaults.values())
            cls.__new__ = staticmethod(made)
            return made(cls, *given, **named)

        @classmethod
        def _make(cls, values):
            """An instance of what an iterable gives."""
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **changes):
            """The same with other values in some fields."""
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
