"""The truth of an expression that is a guard: as Jinja2 says, but that the text `false` is false (LANGUAGE §2).

It is false below `not`, `and`, `or` and in an inline `if`, too: exactly one of `x` and `not x` is taken. As a value
`x and y` is what Jinja2 makes of it.
"""

from collections.abc import Callable
from typing import TypeAlias

from noetl_ir.evaluate.closures import Scope, closure
from noetl_ir.expr import Conditional, Expr, Logic, Not

Truth: TypeAlias = Callable[[Scope], bool]


def truth(expr: Expr) -> Truth:
    """From a scope to true or false. What it returns may raise anything; raises Fault itself as `closure` does."""
    match expr:
        case Not(of=of):
            inner = truth(of)
            return lambda scope: not inner(scope)
        case Logic():
            return _chain(expr)
        case Conditional(test=test, then=then, otherwise=otherwise):
            asked, yes = truth(test), truth(then)
            no = _never if otherwise is None else truth(otherwise)
            return lambda scope: yes(scope) if asked(scope) else no(scope)
        case _:
            run = closure(expr)
            return lambda scope: holds(run(scope))


def holds(value: object) -> bool:
    """Whether a value is true as a guard."""
    return len(value) != 5 or value.lower() != "false" if value and isinstance(value, str) else bool(value)


def _never(scope: Scope) -> bool:
    return False


def _chain(expr: Logic) -> Truth:
    """A chain of one word, without recursion along it; what is behind the operand that decides is not asked."""
    operands: list[Truth] = []
    here: Expr = expr
    while isinstance(here, Logic) and here.op == expr.op:
        # A guard of a thousand `or` is a left-leaning chain: it is walked, not recursed into, so that no file can
        # exhaust the stack.
        operands.append(truth(here.right))
        here = here.left
    operands.append(truth(here))
    operands.reverse()
    if expr.op == "and":
        return lambda scope: all(operand(scope) for operand in operands)
    return lambda scope: any(operand(scope) for operand in operands)
