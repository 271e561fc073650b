"""Arcs out of branches: one arc for a branch with one target, a generated router for a branch that forks."""

from collections.abc import Iterator

from noetl_ir.expr import Literal, Name
from noetl_ir.span import Span
from noetlc.ast.playbook import Arc, Guard, Step
from noetlc.expr.generated import computed, generated_name, router_step


def branch_arcs(name: str, arcs: tuple[Arc, ...], when: Guard | None, span: Span) -> tuple[Arc, Step | None]:
    """The arc that takes a branch, and the router step named `name` where the branch has several targets."""
    if len(arcs) == 1:
        return arcs[0]._replace(when=when), None
    fork = router_step(name, span, "inclusive", arcs)
    reads = any(arc.args is not None and not isinstance(arc.args.template, Literal) for arc in arcs)
    args = computed(Name("args"), span) if reads else None  # the targets' args are asked behind the router
    return Arc(name, span, when, args, None, 0, span), fork


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
