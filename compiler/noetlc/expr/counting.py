"""Counters of loops made of jumps: they live in `iter.__<label>`, so that they survive a resume (LANGUAGE §6)."""

from collections.abc import Iterator

from noetl_ir.expr import Binary, Const, Expr, Literal, Name, Native
from noetl_ir.kinds import seconds_of
from noetl_ir.span import Span
from noetlc.ast.playbook import Guard, Pairs, Rule, Task, Value
from noetlc.expr.generated import PREFIX, computed, constant, generated_name, guard, jump
from noetlc.expr.rewrite import Replace
from noetlc.expr.shorthand import both, compared, filtered, path
from noetlc.expr.templates import guard_with, task_with

ITERATION = "_iteration"


def counter(label: str) -> Expr:
    """The expression that reads how many passes were finished."""
    return path("iter", generated_name(label))


def first_values(label: str, deadline: Value | None, span: Span) -> Pairs:
    """The values to remember when the first pass begins: no pass is finished; the time, if there is a deadline."""
    pairs: Pairs = ((generated_name(label), constant(0, span)),)
    # `_elapsed` is recorded, so that a deadline comes out the same after a resume.
    if deadline is not None:
        pairs += ((generated_name(label, "since"), computed(Name("_elapsed"), span)),)
    return pairs


def again(label: str, target: str, span: Span, *, when: Guard | None = None, delay: Value | None = None) -> Rule:
    """A rule that counts one pass and begins the next at `target`."""
    counted = Binary("+", counter(label), Const(1))
    rule = jump(target, span, when=when, set_iter=((generated_name(label), computed(counted, span)),))
    return rule._replace(delay=delay)


def exhausted(
    label: str,
    most: Value | None,
    deadline: Value | None,
    *,
    code: str = "loop.exhausted",
    done: int = 0,
    when: Expr | None = None,
    unless: Expr | None = None,
) -> Iterator[Rule]:
    """Rules that fail with `code` when `most` passes are over or the deadline is.

    `done` is what the counter lacks of the passes that are finished; `when` and `unless` must be true besides, `unless`
    asked last.
    """
    first = () if when is None else (when,)
    more, name = () if unless is None else (unless,), label.removeprefix(PREFIX)
    if most is not None:
        count = Binary("+", counter(label), Const(done)) if done else counter(label)
        # The order of the parts is the order in which they are asked: one that may fail for what is missing comes
        # behind those that rule it out.
        over = both(*first, compared(count, ">=", whole(most)), *more)
        yield failing(over, code, f"`{name}` ran as often as it may", most.span)
    if deadline is not None:
        passed = Binary("-", Name("_elapsed"), path("iter", generated_name(label, "since")))
        over = both(*first, compared(passed, ">=", seconds(deadline)), *more)
        yield failing(over, code, f"`{name}` came to its deadline", deadline.span)


def failing(when: Expr, code: str, message: str, span: Span) -> Rule:
    """A rule that fails the task with a code."""
    return Rule(guard(when, span), "fail", span, code=constant(code, span), message=constant(message, span))


def whole(value: Value) -> Expr:
    """An expression for a whole number: a constant where it is written out, else the computed value made an integer."""
    match value.template:
        case Literal(value=bool() | int() | float() | str() | None as literal):
            return Const(literal)
        case Native(expr=expr):
            return filtered(expr, "int")
    return Const(None)


def seconds(value: Value) -> Expr:
    """An expression for a duration, in seconds; a computed one must be a number of seconds."""
    match value.template:
        case Literal(value=literal):
            # Whole seconds are written as an integer, so that a plan reads as the playbook does.
            found = seconds_of(literal)
            return Const(int(found) if found is not None and found == int(found) else found)
        case Native(expr=expr):
            return filtered(expr, "float")
    return Const(None)


def numbered(tasks: tuple[Task, ...], label: str) -> tuple[Task, ...]:
    """The tasks of a body, with `_iteration` read from the counter. Bodies inside have counters of their own."""
    return tuple(task_with(task, numbering(label)) for task in tasks)


def numbered_guard(when: Guard, label: str) -> Guard:
    """The guard of a loop, with `_iteration` read from the counter."""
    return guard_with(when, numbering(label))


def numbering(label: str) -> Replace:
    """A replacement that reads the counter in the place of `_iteration`."""
    here = counter(label)
    return lambda expr: here if isinstance(expr, Name) and expr.name == ITERATION else None
