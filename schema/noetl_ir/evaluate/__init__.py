"""Evaluates expressions and templates: pure, bounded, and with Jinja2's meaning (LANGUAGE §2).

The law: an expression is a function of its scope. It sees data by key only, calls nothing but the closed lists
of `noetl_ir.scopes.vocabulary`, changes nothing, and ends in a value or in a `Fault`. What differs from Jinja2
(3.1, `ChainableUndefined`) is what LANGUAGE §2 lists: key before attribute, ordering with the undefined is
false, the undefined may not leave, null prints as nothing, text stays text, `tojson` is plain JSON, filters that
give iterators give lists, and as a guard the text `false` is false.

A closure is made once per expression and kept by whoever owns the expression. Each call of what `compile_expr`,
`compile_guard` and `compile_template` make has a budget of work of its own (`noetl_ir.evaluate.work`).
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from noetl_ir.evaluate.access import path_of
from noetl_ir.evaluate.closures import Closure, Scope, closure
from noetl_ir.evaluate.limits import check_chars
from noetl_ir.evaluate.settle import bounded, json_of, printed_value, settled_value
from noetl_ir.evaluate.work import begin_evaluation, spend_text
from noetl_ir.expr import (
    Block,
    Conditional,
    Expr,
    Json,
    ListTemplate,
    Literal,
    Logic,
    MapTemplate,
    Native,
    Not,
    Template,
    Text,
    operands_of,
)
from noetl_ir.scopes.values import Fault, Undefined

__all__ = [
    "Fault",
    "Scope",
    "Undefined",
    "_Blocks",
    "compile_expr",
    "compile_guard",
    "compile_template",
    "evaluate",
]  # fmt: skip

SECRETS = "keychain"
"""The name under which texts are sealed."""
_Blocks: TypeAlias = Callable[[str, Scope], str]
"""Renders the text of a block template: Jinja2's sandbox, on the worker."""


def evaluate(expr: Expr, scope: Scope) -> object:
    """The value of an expression that is evaluated once: JSON, or `Undefined`. Raises Fault."""
    return compile_expr(expr)(scope)


def compile_expr(expr: Expr) -> Callable[[Scope], object]:
    """From a scope to the value: JSON, except that the undefined may be it or be in it. Raises Fault."""
    # A path makes nothing: it needs no budget and no walk over its value, which may be a result of megabytes.
    if path_of(expr) is not None:
        return _safe(closure(expr))
    run = _compiled(expr)

    def value(scope: Scope) -> object:
        begin_evaluation()
        return settled_value(run(scope))

    return _safe(value)


def compile_template(template: Template, blocks: _Blocks | None = None) -> Callable[[Scope], Json]:
    """From a scope to the finished value. Raises Fault, `template.undefined` for the undefined anywhere in it."""
    run = _template(template, blocks)
    if isinstance(template, Literal) or (isinstance(template, Native) and path_of(template.expr) is not None):
        return run
    is_mixed = isinstance(template, MapTemplate | ListTemplate)

    def value(scope: Scope) -> Json:
        begin_evaluation()
        # Each expression in a mapping is bounded by itself. Only together can they grow: a value put twice into a new
        # one, a hundred times over.
        return bounded(run(scope)) if is_mixed else run(scope)

    return value


def _template(template: Template, blocks: _Blocks | None) -> Callable[[Scope], Json]:
    match template:
        case Literal(value=value):
            return lambda scope: value
        case Native(expr=expr):
            return _safe(_native(expr))
        case Text(parts=parts):
            return _safe(_text(parts))
        case MapTemplate(items=pairs):
            return _mapping([(key, _template(value, blocks)) for key, value in pairs])
        case ListTemplate(items=items):
            return _listing([_template(entry, blocks) for entry in items])
        case Block(text=text):
            return _safe(_block(text, blocks))


def _mapping(fields: Sequence[tuple[str, Callable[[Scope], Json]]]) -> Callable[[Scope], Json]:
    def run(scope: Scope) -> Json:
        made: dict[str, Json] = {}
        key = ""
        try:
            for key, value in fields:
                made[key] = value(scope)
        except Fault as fault:
            fault.under(key)
            raise
        return made

    return run


def _listing(entries: Sequence[Callable[[Scope], Json]]) -> Callable[[Scope], Json]:
    def run(scope: Scope) -> Json:
        made: list[Json] = []
        try:
            for entry in entries:
                made.append(entry(scope))
        except Fault as fault:
            fault.under(len(made))
            raise
        return made

    return run


def compile_guard(expr: Expr) -> Callable[[Scope], bool]:
    """From a scope to true or false (`truths`). Raises Fault `guard.error` when the expression raises."""
    run = _compiled(expr, truth)

    def guard(scope: Scope) -> bool:
        begin_evaluation()
        try:
            return bool(run(scope))
        except Exception as error:
            fault = _fault(error)
            # A stored value that is lost keeps its code: it is the store's failure, and retrying may help, where the
            # playbook's mistake stays one.
            code = fault.code if fault.code == "ref.missing" else "guard.error"
            raise Fault(code, fault.message, fault.path) from error

    return guard


def _compiled(expr: Expr, make: Callable[[Expr], Closure] = closure) -> Closure:
    """The closure that `make` makes, or one that raises: an expression that cannot be compiled is a fault when it is
    asked.
    """
    try:
        return make(expr)
    except Fault as fault:
        known = fault

        def raises(scope: Scope) -> object:
            raise Fault(known.code, known.message, known.path)

        return raises


def _native(expr: Expr) -> Closure:
    run = _compiled(expr)
    path_to = path_of(expr)
    # What lies under `keychain` is sealed and has to be unsealed into a marker on its way out, so it takes the long
    # way.
    if path_to is None or path_to[0] == SECRETS:
        return lambda scope: json_of(run(scope))

    def path(scope: Scope) -> object:
        # What a plain path reaches is data, which is JSON already and may be large.
        value = run(scope)
        if isinstance(value, Undefined):
            raise value.fault()
        return value

    return path


def _text(parts: tuple[str | Expr, ...]) -> Closure:
    pieces = [part if isinstance(part, str) else _compiled(part) for part in parts]

    def run(scope: Scope) -> str:
        texts: list[str] = []
        try:
            for piece in pieces:
                texts.append(piece if isinstance(piece, str) else printed_value(piece(scope)))
        except Exception as error:
            fault = _fault(error)
            fault.part = sum(not isinstance(piece, str) for piece in pieces[: len(texts)])
            raise fault from (None if fault is error else error)
        length = sum(map(len, texts))
        check_chars(length)
        spend_text(length)
        return "".join(texts)

    return run


def _block(text: str, blocks: _Blocks | None) -> Closure:
    def run(scope: Scope) -> str:
        # Jinja2's sandbox is imported by workers alone: a server that evaluates guards must never run statements of a
        # playbook.
        if blocks is None:
            raise Fault("template.error", "a block template is rendered by a worker only")
        return blocks(text, scope)

    return run


def _safe(run: Closure) -> Closure:
    def safe(scope: Scope) -> object:
        try:
            return run(scope)
        except Fault:
            raise
        except Exception as error:
            raise _fault(error) from error

    return safe


def _fault(error: Exception) -> Fault:
    if isinstance(error, Fault):
        return error
    if isinstance(error, RecursionError):
        return Fault("template.error", "a value nests too deeply")
    return Fault("template.error", str(error) or type(error).__name__)


# The truth of an expression that is a guard: as Jinja2 says, but that the text `false` is false (LANGUAGE §2).
#
# It is false below `not`, `and`, `or` and in an inline `if`, too: exactly one of `x` and `not x` is taken. As a value
# `x and y` is what Jinja2 makes of it.
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
    """A chain of one word; what is behind the operand that decides is not asked."""
    operands = [truth(operand) for operand in operands_of(expr)]
    if expr.op == "and":
        return lambda scope: all(operand(scope) for operand in operands)
    return lambda scope: any(operand(scope) for operand in operands)
