"""When an arc is asked at all."""

from noetl_ir.expr import Attribute, Const, Expr, Item, Name, walk
from noetlc.ast.once import Once
from noetlc.ast.playbook import Arc

_FAILURE = frozenset({"name", "status", "error"})


def takes_part_on_failure(arc: Arc) -> bool:
    """Whether its guard reads `event.name`, `event.status` or `event.error` (LANGUAGE §3)."""
    return arc.when is not None and _reads_what_happened(arc.when.expr)


def _looks_at_event(expr: Expr) -> bool:
    for part in walk(expr):
        match part:
            case Attribute(of=Name(name="event"), name=name) if name in _FAILURE:
                return True
            case Item(of=Name(name="event"), key=Const(value=str(name))) if name in _FAILURE:
                return True
    return False


_reads_what_happened = Once(_looks_at_event)
