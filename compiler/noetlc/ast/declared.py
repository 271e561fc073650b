"""The declarations of a step, a task or an entry of the workbook: which names it expects, and which its result has."""

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.sugar import Sugar


class DeclaredName(NamedTuple):
    """A name, or a path with dots, and where it stands."""

    name: str
    span: Span


class Declared(Sugar):
    """`assert: {expects: […], returns: […]}` (REAL.md, flow)."""

    expects: tuple[DeclaredName, ...]
    returns: tuple[DeclaredName, ...]
    span: Span
