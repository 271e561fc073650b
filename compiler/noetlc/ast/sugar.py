"""Sugar: nodes of the tree that some pass removes.

A sugar node is a final class that derives from `Sugar`, or from `Guess`. It stands in the `extras` of the node that its
construct was written in; an entry of a task list that is no task (`choose`, a `sink` between two tasks) is a generated
noop that carries it. `removes` in a row of `noetlc.older.passes` names the classes that a pass lowers, and
`noetlc.ast.walk` finds what is left of them.
"""

from typing import TYPE_CHECKING, Self, dataclass_transform

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.source.nodes import Node

if TYPE_CHECKING:

    @dataclass_transform(frozen_default=True)
    class _Fields(type):
        """Tells type checkers that annotations of a class are its fields, those of classes below `Guess` too."""

    class Sugar(metaclass=_Fields):
        """A construct that is no part of the canonical form."""

        def _replace(self, **changes: object) -> Self: ...

else:

    class Sugar(NamedTuple):
        """A construct that is no part of the canonical form: a tuple, so that a walk over a tree of tuples finds what
        is inside.
        """


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
    node: Node
