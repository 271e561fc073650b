"""Old names that are absent: where nothing stands under them now, or at all (REAL.md, values).

    retry_when: "{{ error != None }}"             →  outcome.status == 'error'
    when: "{{ response.status_code is none }}"    →  outcome.http.status | default(none) is none
    url: "{{ error | default('none so far') }}"   →  'none so far', where `error` has no meaning

In Jinja2 an undefined value is not equal to none, so that `x != None` is true of an absent name. Questions about these
names are therefore rewritten here. A key of a result that the author's code made is left as it is.
"""

from collections.abc import Container

from noetl_ir.expr import Compare, Conditional, Const, Expr, Filter, Logic, Not, Test
from noetl_ir.paths import static_path
from noetlc.expr.rewrite import Replace, rewritten
from noetlc.expr.shorthand import compared, otherwise, path

ABSENT = frozenset({"error", "_err", "result", "response", "this", "status_code", "output"})
"""First names of what may be absent."""

_ERRORS = frozenset({("this", "error"), ("output", "error")})
_WHOLE_ERRORS = _ERRORS | {("error",), ("_err",)}
"""Paths that are null in an outcome without an error today, and were absent in the older engines."""
_FAILURES = (path("outcome", "error"), path("outcome", "error", "message"))
_NONE = Const(None)


def asked_for_none(expr: Expr) -> tuple[Expr, bool] | None:
    """The expression that is compared with none, and whether it is asked to be another thing; None for any other
    question.
    """
    match expr:
        case Compare(first=first, rest=(("==" | "!=" as op, Const(value=None)),)):
            return first, op == "!="
        case Compare(first=Const(value=None), rest=(("==" | "!=" as op, other),)):
            return other, op == "!="
        case Test(of=of, name="none", args=(), named=()):
            return of, False
        case Not(of=Test(of=of, name="none", args=(), named=())):
            return of, True
    return None


def is_name_itself(here: tuple[str, ...], names: Container[tuple[str, ...]]) -> bool:
    """Whether a path is one of `names` itself, an error or a part of one, or `status_code`, and no key of a result."""
    return here in names or here[0] in ("error", "_err", "status_code") or here[:2] in _ERRORS


def none_of(meaning: Expr, *, negative: bool) -> Expr:
    """An expression that asks whether the meaning of an old name is none or absent; with `negative`,
    whether it is not.
    """
    # Without an error, `outcome.error` is null. The status says the same, is never undefined, and is a comparison that
    # the readers of rules and the proofs understand.
    if meaning in _FAILURES:
        return compared(path("outcome", "status"), "==" if negative else "!=", Const("error"))
    # The `default` makes none of what is not there: an undefined value differs from none, and `is none` would be
    # false of it.
    asked = Test(otherwise(meaning, _NONE), "none", (), ())
    return Not(asked) if negative else asked


def asked_for_error(expr: Expr, meant: Replace) -> Expr | None:
    """A question whether an error is defined, or a default for one, in words of today; None for any other expression.

    The error of an outcome without one was absent, and is null today, so that `is defined` and `default` would not
    hold.
    """
    match expr:
        case Test(of=of, name="defined" | "undefined" as name) if static_path(of) in _WHOLE_ERRORS:
            error = meant(of)
            return None if error is None else none_of(error, negative=name == "defined")
        case Filter(of=of, name="default" | "d", args=args) if static_path(of) in _WHOLE_ERRORS:
            error = meant(of)
            other = rewritten(args[0], meant) if args else Const("")
            return None if error is None else Conditional(none_of(error, negative=True), error, other)
    return None


def without_absent(known: Container[str]) -> Replace:
    """A replacement for names that mean nothing in a place: questions about them are answered as for an absent name."""

    def is_absent(expr: Expr) -> bool:
        here = static_path(expr)
        return bool(here) and here[0] in ABSENT and here[0] not in known

    def inside(expr: Expr) -> Expr:
        return rewritten(expr, replace)

    def replace(expr: Expr) -> Expr | None:
        asked = asked_for_none(expr)
        # Comparisons with none are answered before any part below is looked at: inside of them the bare name would be
        # left over, undefined at run time.
        if asked is not None and is_absent(asked[0]):
            return Const(not asked[1])
        match expr:
            case Test(of=of, name="defined" | "undefined" as name) if is_absent(of):
                return Const(name == "undefined")
            case Filter(of=of, name="default" | "d", args=args) if is_absent(of):
                return inside(args[0]) if args else Const("")
            # An absent name is false as a guard, under `not`, `and` and `or` too; without these three, `not error`
            # would be an undefined value, and raise.
            case Not(of=of) if is_absent(of):
                return Const(True)
            case Logic(op=op, left=left, right=right) if is_absent(left):
                return Const(False) if op == "and" else inside(right)
            case Conditional(test=test, otherwise=other) if other is not None and is_absent(test):
                return inside(other)
        return None

    return replace
