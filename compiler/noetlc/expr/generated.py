"""Nodes and expressions that lowering makes: each node keeps the span of the construct that it came from."""

from noetl_ir.expr import (
    Compare,
    Concat,
    Conditional,
    Const,
    Expr,
    Filter,
    Json,
    ListOf,
    ListTemplate,
    Literal,
    Logic,
    MapOf,
    MapTemplate,
    Native,
    Not,
    Template,
    Test,
    Text,
)
from noetl_ir.span import Span
from noetlc.ast.playbook import Arc, Guard, Pairs, Router, Rule, Step, StepSpec, Task, Value
from noetlc.expr.templates import native
from noetlc.expr.unparse import unparse

PREFIX = "__"
"""What every generated name begins with (LANGUAGE §6)."""

PLAIN_SPEC = StepSpec(None, None, None, "any", None, None, "fail_fast", ())


def generated_name(*parts: str) -> str:
    """A name from those of the source: `__route__case0__merge`."""
    # Parts that were generated themselves lose their own prefix, or names would grow an underscore pair with each
    # pass.
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


def expression_of(template: Template) -> Expr:
    """The expression that gives what the template gives; a block template has none and stays text."""
    match template:
        case Literal(value=value):
            return constant_of(value)
        case Native(expr=expr):
            return expr
        case Text(parts=parts):
            return Concat(tuple(Const(part) if isinstance(part, str) else part for part in parts))
        case MapTemplate(items=pairs):
            return MapOf(tuple((Const(key), expression_of(value)) for key, value in pairs))
        case ListTemplate(items=items):
            return ListOf(tuple(expression_of(item) for item in items))
        case _:
            return Const(template.text)


def constant_of(value: Json) -> Expr:
    """A constant, list or mapping of them."""
    match value:
        case dict():
            return MapOf(tuple((Const(key), constant_of(item)) for key, item in value.items()))
        case list():
            return ListOf(tuple(constant_of(item) for item in value))
        case _:
            return Const(value)


def guard_as_value(guard: Expr) -> Expr:
    """An expression that is true as a value where `guard` is true as a guard (LANGUAGE §2).

    As a value the text `false` is true to Jinja2, in a guard it is false.
    """
    match guard:
        case Not(of=of):
            return Not(guard_as_value(of))
        case Logic(op=op, left=left, right=right):
            return Logic(op, guard_as_value(left), guard_as_value(right))
        case Conditional(test=test, then=then, otherwise=otherwise):
            return Conditional(
                guard_as_value(test),
                guard_as_value(then),
                Const(False) if otherwise is None else guard_as_value(otherwise),
            )
        case Compare() | Test() | Const(value=bool() | int() | None):
            return guard
        case Const(value=str(text)):
            # Decided now: a constant guard would else become filters and a comparison in the plan.
            return Const(text != "" and text.lower() != "false")
        case _:
            lowered = Filter(Filter(guard, "string", (), ()), "lower", (), ())
            return Logic("and", guard, Compare(lowered, (("!=", Const("false")),)))
