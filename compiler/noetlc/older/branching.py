"""Arcs out of branches: one arc for a branch with one target, a generated router for a branch that forks."""

from collections.abc import Iterator

from noetl_ir.expr import Attribute, Const, Expr, Item, Literal, MapTemplate, Name, Template
from noetl_ir.span import Span
from noetlc.ast.playbook import Arc, Guard, Step, Value
from noetlc.expr.generated import computed, generated_name, guard, router_step
from noetlc.expr.shorthand import both


def branch_arcs(
    name: str, arcs: tuple[Arc, ...], when: Guard | None, span: Span
) -> tuple[tuple[Arc, ...], tuple[Step, ...]]:
    """The arcs that take a branch with the guard `when`, and the steps made for it.

    A branch that forks needs a router step, named `name`. Arcs with guards of their own are alternatives and need none.
    The args of a fork's arcs are evaluated where the branch is taken, and the token of the router carries them by
    target: in the router, `result`, `event` and `iter` would be its own. What these arcs set is set there as well.
    """
    if any(arc.when is not None for arc in arcs):
        return tuple(arc._replace(when=_also(when, arc.when)) for arc in arcs), ()
    if len(arcs) == 1:
        return (arcs[0]._replace(when=when),), ()
    carried: dict[str, Template] = {}
    behind: list[Arc] = []
    for number, arc in enumerate(one._replace(extras=()) for one in arcs):
        if arc.args is None or isinstance(arc.args.template, Literal):
            behind.append(arc)
        else:
            key = arc.target if arc.target not in carried else f"{arc.target}__{number}"
            carried[key] = arc.args.template
            behind.append(arc._replace(args=computed(_carried(key), arc.args.span)))
    args = Value(MapTemplate(tuple(carried.items())), span, None) if carried else None
    fork = router_step(name, span, "inclusive", tuple(behind))
    sets = tuple(extra for arc in arcs for extra in arc.extras)
    return (Arc(name, span, when, args, None, 0, span, sets),), (fork,)


def _also(when: Guard | None, own: Guard | None) -> Guard | None:
    if when is None or own is None:
        return when or own
    return guard(both(when.expr, own.expr), own.span)


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
