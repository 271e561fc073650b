"""Expressions to text: the shortest brackets that `noetlc.expr.parser` reads back to an equal expression."""

from typing import assert_never

from noetl_ir.expr import (
    Attribute,
    Binary,
    Call,
    Compare,
    Concat,
    Conditional,
    Const,
    Expr,
    Filter,
    Item,
    ListOf,
    Logic,
    MapOf,
    Name,
    Not,
    Slice,
    Test,
    TupleOf,
    Unary,
)
from noetl_ir.patterns import LatePattern

# The levels of the grammar, the loosest first.
_COND, _OR, _AND, _NOT, _COMPARE, _SUM, _CONCAT, _PRODUCT, _POWER, _FILTERED, _UNARY, _POSTFIX = range(12)
_BINARY = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "//": _PRODUCT, "%": _PRODUCT, "**": _POWER}
_BARE_TEST = LatePattern(r" is (?:not )?\w+$")
_SPECIAL = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_WORD = LatePattern(r"[^\W\d]\w*\Z")


def unparse(expr: Expr) -> str:
    """The expression's canonical text, without braces around it."""
    return _at(expr, _COND)


def _at(expr: Expr, level: int) -> str:
    """The text where the grammar wants at least `level`, in parentheses if it is looser."""
    text, own = _text(expr)
    # A test without arguments takes what follows for its argument, so it stands in brackets before any operator.
    if own < level or (level >= _COMPARE and isinstance(expr, Test) and not expr.args and not expr.named):
        return f"({text})"
    return text


def _text(expr: Expr) -> tuple[str, int]:
    match expr:
        case Const(value=value):
            return _const(value)
        case Name(name=name):
            return name, _POSTFIX
        # A key that is no word came from a subscript, or from a lowering: `.` cannot write it.
        case Attribute(of=of, name=name):
            return f"{_owner(of)}.{name}" if _WORD.match(name) else f"{_owner(of)}[{_quoted(name)}]", _POSTFIX
        case Item(of=of, key=key):
            return f"{_owner(of)}[{_at(key, _COND)}]", _POSTFIX
        case Slice(of=of, lower=lower, upper=upper, step=step):
            last = f":{_at(step, _COND)}" if step is not None else ""
            return f"{_owner(of)}[{_bound(lower)}:{_bound(upper)}{last}]", _POSTFIX
        case Call(callee=callee, args=args, named=named):
            return f"{_owner(callee)}({_arguments(args, named)})", _POSTFIX
        case Filter(of=of, name=name, args=args, named=named):
            arguments = f"({_arguments(args, named)})" if args or named else ""
            return f"{_at(of, _FILTERED)} | {name}{arguments}", _FILTERED
        case Test(of=of, name=name, args=args, named=named):
            arguments = f"({_arguments(args, named)})" if args or named else ""
            return f"{_at(of, _FILTERED)} is {name}{arguments}", _FILTERED
        case Unary(op=op, of=of):
            return f"{op}{_at(of, _UNARY)}", _UNARY
        case Not(of=of):
            return f"not {_at(of, _NOT)}", _NOT
        case Binary(op=op, left=left, right=right):
            own = _BINARY[op]
            tighter = own + 1
            return f"{_at(left, own)} {op} {_at(right, tighter)}", own
        # `~` binds tighter than `+` in Jinja2 and takes any number of parts, so all parts stand on one level.
        case Concat(parts=parts):
            return " ~ ".join(_at(part, _PRODUCT) for part in parts), _CONCAT
        case Logic(op=op, left=left, right=right):
            own = _OR if op == "or" else _AND
            return f"{_at(left, own)} {op} {_at(right, own + 1)}", own
        case Compare(first=first, rest=rest):
            tail = "".join(f" {op} {_at(right, _SUM)}" for op, right in rest)
            return f"{_at(first, _SUM)}{tail}", _COMPARE
        case Conditional():
            return _conditional(expr), _COND
        case ListOf(items=items):
            return f"[{', '.join(_at(entry, _COND) for entry in items)}]", _POSTFIX
        case TupleOf(items=items):
            return _tuple(items), _POSTFIX
        case MapOf(items=pairs):
            return f"{{{', '.join(f'{_at(key, _COND)}: {_at(value, _COND)}' for key, value in pairs)}}}", _POSTFIX
        case _:
            assert_never(expr)


def _conditional(expr: Conditional) -> str:
    then = _at(expr.then, _OR)
    if _BARE_TEST.search(then):
        # Jinja2 would take the `if` behind a test for the test's argument.
        then = f"({then})"
    tail = "" if expr.otherwise is None else f" else {_at(expr.otherwise, _COND)}"
    return f"{then} if {_at(expr.test, _OR)}{tail}"


def _tuple(items: tuple[Expr, ...]) -> str:
    inner = ", ".join(_at(entry, _COND) for entry in items)
    # One entry needs the comma, or the brackets are only brackets.
    return f"({inner},)" if len(items) == 1 else f"({inner})"


def _owner(expr: Expr) -> str:
    text = _at(expr, _POSTFIX)
    # `1.x` would be read as a number.
    return f"({text})" if isinstance(expr, Const) and not isinstance(expr.value, str) else text


def _bound(expr: Expr | None) -> str:
    return "" if expr is None else _at(expr, _COND)


def _arguments(args: tuple[Expr, ...], named: tuple[tuple[str, Expr], ...]) -> str:
    plain = [_at(arg, _COND) for arg in args]
    plain += [f"{name}{'' if '*' in name else '='}{_at(value, _COND)}" for name, value in named]
    return ", ".join(plain)


def _const(value: bool | int | float | str | None) -> tuple[str, int]:
    if isinstance(value, str):
        return _quoted(value), _POSTFIX
    # Asked before numbers: `True` is an integer to Python.
    if value is None or isinstance(value, bool):
        return str(value).lower(), _POSTFIX
    # `repr` gives the shortest digits that read back as the same number.
    text = repr(value)
    # A negative constant is read back as a minus before a number, and binds as that does.
    return text, _UNARY if text.startswith("-") else _POSTFIX


def _quoted(text: str) -> str:
    return "'" + "".join(_SPECIAL.get(character) or _shown(character) for character in text) + "'"


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
