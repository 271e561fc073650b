"""Nodes that lowering makes: each keeps the span of the construct that it came from."""

from noetl_ir.expr import Expr, Literal
from noetl_ir.span import Span
from noetlc.ast.playbook import Arc, Guard, Router, Rule, Step, StepSpec, Task, Value
from noetlc.expr.templates import native
from noetlc.expr.unparse import unparse

PREFIX = "__"
"""What every generated name begins with (LANGUAGE §6)."""

Pairs = tuple[tuple[str, Value], ...]
PLAIN_SPEC = StepSpec(None, None, None, "any", None, None, "fail_fast", ())


def generated_name(*parts: str) -> str:
    """A name from those of the source: `__route__case0__merge`."""
    return PREFIX + PREFIX.join(part.removeprefix(PREFIX) for part in parts)


def guard(expr: Expr, span: Span) -> Guard:
    """A guard that asks for that expression."""
    return Guard(expr, unparse(expr), span, None, 0)


def computed(expr: Expr, span: Span) -> Value:
    """A value that is that expression."""
    return Value(native(expr), span, None)


def constant(value: bool | int | float | str | None, span: Span) -> Value:
    """A value that is written out."""
    return Value(Literal(value), span, None)


def jump(target: str, span: Span, *, when: Guard | None = None, set_iter: Pairs = ()) -> Rule:
    """A rule that jumps; `else` without a guard."""
    return Rule(when, "jump", span, to=target, to_span=span, set_iter=set_iter)


def noop(name: str, span: Span, rules: tuple[Rule, ...] = (), fields: Pairs = ()) -> Task:
    """A generated task that does nothing but carry rules or a result."""
    return Task(name, span, "noop", span, span, "", fields, None, (), None, rules, False, True)


def router_step(name: str, span: Span, mode: str, arcs: tuple[Arc, ...]) -> Step:
    """A generated step that only routes."""
    return Step(name, span, span, "", PLAIN_SPEC, None, (noop(f"{name}_task", span),), Router(mode, arcs, span))
