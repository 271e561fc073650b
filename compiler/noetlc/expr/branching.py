"""Arcs out of branches: one arc for a branch with one target, a generated router for a branch that forks."""

from collections.abc import Iterator

from noetl_ir.expr import Attribute, Const, Expr, Item, Literal, MapTemplate, Name, Template
from noetl_ir.span import Span
from noetlc.ast.playbook import Arc, Guard, Step, Value
from noetlc.expr.generated import computed, generated_name, router_step


def branch_arcs(name: str, arcs: tuple[Arc, ...], when: Guard | None, span: Span) -> tuple[Arc, Step | None]:
    """The arc that takes a branch, and the router step named `name` where the branch has several targets.

    What the targets are given is asked where the branch is taken, and the token of the router carries it by target:
    behind the router, `result`, `event` and `iter` would be those of the router.
    """
    if len(arcs) == 1:
        return arcs[0]._replace(when=when), None
    carried: list[tuple[str, Template]] = []
    behind: list[Arc] = []
    for arc in arcs:
        if arc.args is None or isinstance(arc.args.template, Literal):
            behind.append(arc)
        else:
            carried.append((arc.target, arc.args.template))
            behind.append(arc._replace(args=computed(_carried(arc.target), arc.args.span)))
    args = Value(MapTemplate(tuple(carried)), span, None) if carried else None
    fork = router_step(name, span, "inclusive", tuple(behind))
    return Arc(name, span, when, args, None, 0, span), fork


def _carried(target: str) -> Expr:
    return Attribute(Name("args"), target) if target.isidentifier() else Item(Name("args"), Const(target))


def branch_name(step: str, what: str, number: int) -> str:
    """The name of the router step of a branch."""
    return generated_name(step, f"{what}{number}")


def behind(steps: tuple[Step, ...], made: dict[str, list[Step]]) -> tuple[Step, ...]:
    """The steps, each followed by those that were made for it."""

    def all_of() -> Iterator[Step]:
        for step in steps:
            yield step
            yield from made.get(step.name, ())

    return tuple(all_of()) if made else steps
