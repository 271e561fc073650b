"""Sugar: nodes of the tree that some pass removes.

A sugar node is a final class that derives from `Sugar`, or from `Guess`. It stands in the `extras` of the node that its
construct was written in; an entry of a task list that is no task (`choose`, a `sink` between two tasks) is a generated
noop that carries it. `removes` in a row of `noetlc.older.passes` names the classes that a pass lowers, and
`noetlc.ast.walk` finds what is left of them.
"""

from collections import namedtuple
from typing import TYPE_CHECKING, Self, dataclass_transform

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span


@dataclass_transform(frozen_default=True)
class _Tuple(type):
    """Makes a tuple with named fields out of annotations, as `NamedTuple` does, that may have a base.

    A tuple, so that a walk over a tree of tuples finds what is inside.
    """

    def __new__(mcs, name: str, bases: tuple[type, ...], space: dict[str, object]) -> "_Tuple":
        fields: dict[str, object] = space.get("__annotations__", {})  # type: ignore[assignment]
        if fields:
            defaults = [space.pop(field) for field in fields if field in space]
            bases = (namedtuple(name, list(fields), defaults=defaults), *bases)
        space["__slots__"] = ()
        return super().__new__(mcs, name, bases, space)


class Sugar(metaclass=_Tuple):
    """A construct that is no part of the canonical form."""

    if TYPE_CHECKING:  # the tuple has it

        def _replace(self, **changes: object) -> Self: ...


class Guess(Sugar):
    """A form that may be an older one: only lowering tells whether the file has it."""


class DeclaredName(NamedTuple):
    """A name, or a path with dots, and where it stands."""

    name: str
    span: Span


class Declared(Sugar):
    """`assert: {expects: […], returns: […]}` (REAL.md, flow)."""

    expects: tuple[DeclaredName, ...]
    returns: tuple[DeclaredName, ...]
    span: Span
