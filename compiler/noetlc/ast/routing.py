"""When an arc is asked at all."""

from noetl_ir.expr import Attribute, Const, Item, Name, walk
from noetlc.ast.playbook import Arc

_FAILURE = frozenset({"name", "status", "error"})


def takes_part_on_failure(arc: Arc) -> bool:
    """Whether its guard reads `event.name`, `event.status` or `event.error` (LANGUAGE §3)."""
    if arc.when is None:
        return False
    for part in walk(arc.when.expr):
        match part:
            case Attribute(of=Name(name="event"), name=name) if name in _FAILURE:
                return True
            case Item(of=Name(name="event"), key=Const(value=str(name))) if name in _FAILURE:
                return True
    return False
