"""Which workload values read which others (LANGUAGE §1: rendered once, as a graph without cycles)."""

from noetl_ir.expr import Attribute, Const, Expr, Item, Name, children, expressions_of
from noetlc.ast.order import order_of
from noetlc.ast.playbook import Playbook

SCOPE = "workload"


def workload_names(playbook: Playbook) -> frozenset[str]:
    """The keys that a workload has when a run begins: those of `workload`, and all inputs, null where not given."""
    return frozenset([key for key, _ in playbook.workload] + [one.name for one in playbook.executor.inputs or ()])


def workload_needs(playbook: Playbook) -> dict[str, tuple[str, ...]]:
    """Key → the other keys that its value reads, in file order; a key that reads itself reads the payload."""
    keys = {key: None for key, _ in playbook.workload}
    needs: dict[str, tuple[str, ...]] = {}
    for key, value in playbook.workload:
        found: set[str] = set()
        for expr in expressions_of(value.template):
            found |= _reads(expr, key, keys)
        needs[key] = tuple(name for name in keys if name in found and name != key)
    return needs


def workload_order(playbook: Playbook) -> tuple[str, ...]:
    """All keys, each after those it reads."""
    return order_of(workload_needs(playbook))[0]


def _reads(expr: Expr, own: str, keys: dict[str, None]) -> set[str]:
    """The keys that an expression reads, as `workload.x`, `workload['x']` or a bare name; the whole reads all
    others.
    """
    found: set[str] = set()
    waiting = [expr]
    while waiting:
        here = waiting.pop()
        match here:
            case Attribute(of=Name(name="workload"), name=str(name)):
                found.add(name)
            case Item(of=Name(name="workload"), key=Const(value=str(name))):
                found.add(name)
            # The mapping as a whole needs all its values first, but for the one that is being rendered.
            case Name(name="workload"):
                found.update(name for name in keys if name != own)
            case Name(name=name):
                found.add(name)
            case _:
                waiting.extend(children(here))
    return found
