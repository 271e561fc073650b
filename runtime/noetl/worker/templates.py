"""Renders block templates (`{% %}`) of task fields in Jinja2's immutable sandbox: the only door to Jinja2.

Statements are Jinja2's. What their expressions reach, call and print is what the evaluator's expressions do: keys
before anything else, the closed lists of filters, tests and methods, null as nothing, the undefined as the fault
`template.undefined`. Passes through loops, texts and repetitions are bounded, and all of it is work of the same budget
as in expressions, so that every template ends; what goes over a bound, and every other error, is `template.error`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import jinja2
from jinja2 import meta, nodes
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from noetl_ir.evaluate import Scope
from noetl_ir.evaluate.access import item, method, rows_of
from noetl_ir.evaluate.data_filters import range_
from noetl_ir.evaluate.limits import check_chars
from noetl_ir.evaluate.operators import BINARY, COMPARE
from noetl_ir.evaluate.predicates import TESTS
from noetl_ir.evaluate.selecting import FILTERS
from noetl_ir.evaluate.settle import printed_value
from noetl_ir.evaluate.work import SHORT_TEXT, spend, spend_text
from noetl_ir.scopes.values import Fault, Undefined, key_text, plain
from noetl_ir.scopes.vocabulary import METHODS

MAX_STEPS = 1_000_000
"""Passes through loops in one rendering."""
NODE_WORK = 3
"""Units of work for each node of the text that a loop repeats or a call renders."""
CALL_WORK = 100
"""Units for a call of a function, method or macro, besides."""
_BUDGET = "__budget"
_PLAIN, _COUNTED, _JOINED, _COMPARED = "__plain", "__counted", "__joined", "__compared"


def render(text: str, scope: Scope) -> str:
    """The text that a block template renders to. Raises Fault, and nothing else."""
    try:
        template, names, call_work = _compiled(text)
        values: dict[str, object] = {name: scope.lookup(name) for name in names}
        values[_BUDGET] = _Budget(call_work)
        pieces: list[str] = []
        length = 0
        for piece in template.generate(values):
            length += len(piece)
            check_chars(length)
            pieces.append(piece)
        return "".join(pieces)
    except Fault:
        raise
    except jinja2.TemplateSyntaxError as problem:
        raise Fault("template.error", f"line {problem.lineno} of the template: {problem.message}") from None
    except RecursionError:
        raise Fault("template.error", "the template calls itself too deeply") from None
    except Exception as problem:
        raise Fault("template.error", str(problem) or type(problem).__name__) from problem


class _Budget:
    """The passes that one rendering has left, and the work of a call in it: that of its longest macro."""

    def __init__(self, call_work: int) -> None:
        self.left = MAX_STEPS
        self.call_work = call_work

    def spend(self, work: int) -> None:
        """Count one pass, of so much work. Raises Fault when there are none left."""
        self.left -= 1
        spend(work)
        if self.left < 0:
            raise Fault("template.error", f"the template's loops have more than {MAX_STEPS:,} passes")


class _Sandbox(ImmutableSandboxedEnvironment):
    """The sandbox over our own data model."""

    intercepted_binops = frozenset(BINARY)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """`obj.attribute`: the value under the key, else one of the pure methods, else undefined."""
        # `loop` is Jinja's own object, with attributes where data has keys.
        if isinstance(obj, LoopContext):
            return super().getattr(obj, attribute)
        found = item(obj, attribute)
        if isinstance(found, Undefined) and attribute in METHODS and not isinstance(obj, Undefined):
            return lambda *args, **named: method(plain(obj), attribute, args, named)
        return found

    def getitem(self, obj: Any, argument: Any) -> Any:
        """`obj[argument]`: data only."""
        if not isinstance(argument, slice):
            return item(obj, plain(argument))
        part = obj[argument]
        # A slice copies. In a loop over a long text that is work which no other count sees.
        if len(part) > SHORT_TEXT:
            spend(len(part) >> 3)
        return part

    def call(self, context: Any, obj: Any, *args: Any, **named: Any) -> Any:
        """A function or method; what is none is told as such."""
        if isinstance(obj, Undefined | jinja2.Undefined):
            name = obj.path if isinstance(obj, Undefined) else obj._undefined_name
            raise Fault("template.error", f"`{name}` is no function here")
        # A macro that calls itself has no loop that counts, so each call is paid for as the longest macro costs.
        spend(context[_BUDGET].call_work)
        return super().call(context, obj, *args, **named)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """An operator, bounded as in expressions."""
        return BINARY[operator](left, right)


@lru_cache(maxsize=256)
def _compiled(text: str) -> tuple[jinja2.Template, tuple[str, ...], int]:
    """The template, the names it needs from outside, and the work of a call in it."""
    tree = _ENVIRONMENT.parse(text)
    # Asked for before the tree is rewritten: the budget that is put in by that is no name of the playbook.
    names = tuple(sorted(meta.find_undeclared_variables(tree) - _ENVIRONMENT.globals.keys()))
    _guard(tree)
    called = tree.find_all((nodes.Macro, nodes.CallBlock, nodes.For))
    call_work = CALL_WORK + max(map(_work_of, called), default=0)
    return _ENVIRONMENT.from_string(tree), names, call_work


def _guard(tree: nodes.Node) -> None:
    """Rewrite a tree in place: paths become plain data where they end, loops count, joined texts are bounded."""
    waiting: list[nodes.Node] = [tree]
    while waiting:
        node = waiting.pop()
        for field, value in list(node.iter_fields()):
            if isinstance(value, list):
                value[:] = [_guarded(node, field, entry) for entry in value]
            elif isinstance(value, nodes.Node):
                setattr(node, field, _guarded(node, field, value))
        waiting.extend(_inner(child) for child in node.iter_child_nodes())


def _guarded(parent: nodes.Node, field: str, node: Any) -> Any:
    """A child of a node, wrapped where it has to be."""
    if isinstance(node, nodes.Name | nodes.Getattr | nodes.Getitem) and node.ctx == "load":
        is_inside_path = field == "node" and isinstance(parent, nodes.Getattr | nodes.Getitem | nodes.Call)
        if not is_inside_path:
            node = _filtered(node, _PLAIN, nodes.Const(_path(node)))
    elif isinstance(node, nodes.Concat):
        node = _filtered(node, _JOINED)
    elif isinstance(node, nodes.Compare):
        node = _compared(node)
    if field == "iter" and isinstance(parent, nodes.For):
        node = _filtered(node, _COUNTED, nodes.Name(_BUDGET, "load"), nodes.Const(_work_of(parent)))
    return node


def _work_of(repeated: nodes.Node) -> int:
    """The work of rendering once what a loop repeats, without the loops inside of it, which count their own."""
    units, waiting = NODE_WORK, list(repeated.iter_child_nodes(exclude=("iter",)))
    while waiting:
        node = waiting.pop()
        units += NODE_WORK
        waiting.extend(node.iter_child_nodes(only=("iter",) if isinstance(node, nodes.For) else None))
    return units


def _filtered(node: nodes.Expr, name: str, *arguments: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(node, name, list(arguments), [], None, None, lineno=node.lineno)


def _compared(node: nodes.Compare) -> nodes.Expr:
    """A comparison as the evaluator makes it; a chain is several, of which each is asked if those before it hold."""
    left, whole = node.expr, None
    for operand in node.ops:
        word = nodes.Const(_COMPARISONS[operand.op])
        one: nodes.Expr = _filtered(left, _COMPARED, word, operand.expr)
        whole = one if whole is None else nodes.And(whole, one, lineno=node.lineno)
        left = operand.expr
    return left if whole is None else whole


_COMPARISONS = {
    "eq": "==", "ne": "!=", "lt": "<", "lteq": "<=", "gt": ">", "gteq": ">=", "in": "in", "notin": "not in",
}  # fmt: skip


def _path(node: nodes.Expr) -> str:
    """A path as it is written, for messages."""
    match node:
        case nodes.Name(name=name):
            return str(name)
        case nodes.Getattr(node=of, attr=name):
            return f"{_path(of)}.{name}"
        case nodes.Getitem(node=of, arg=nodes.Const(value=key)):
            return f"{_path(of)}{key_text(key)}"
        case nodes.Getitem(node=of):
            return f"{_path(of)}[…]"
    return "…"


def _inner(node: nodes.Node) -> nodes.Node:
    """The node that a wrapper of ours holds, whose own children are still to be looked at."""
    while isinstance(node, nodes.Filter) and node.name in (_PLAIN, _COUNTED, _JOINED) and node.node is not None:
        node = node.node
    return node


def _plain(value: object, path: str) -> object:
    """A value as data; a name that only a branch not taken would have set is undefined like any other."""
    if isinstance(value, jinja2.Undefined):
        return Undefined(path)
    return Undefined(path, value.hint) if isinstance(value, Undefined) else plain(value)


def _counted(values: Iterable[object], budget: _Budget, work: int) -> Iterator[object]:
    for value in rows_of(values):  # type: ignore[attr-defined]
        budget.spend(work)
        yield value


def _joined(text: str) -> str:
    check_chars(len(text))
    return text


def _ordered(left: object, word: str, right: object) -> object:
    return COMPARE[word](left, right)


def _finalized(value: object) -> str:
    if isinstance(value, jinja2.Undefined):
        raise Undefined(str(value._undefined_name or "")).fault()
    text = printed_value(value)
    spend_text(len(text))
    return text


def _environment() -> _Sandbox:
    # Jinja would drop the last line end, which a text that becomes a file has to keep.
    environment = _Sandbox(undefined=jinja2.ChainableUndefined, finalize=_finalized, keep_trailing_newline=True)
    own: Mapping[str, Callable[..., object]] = {
        _PLAIN: _plain,
        _COUNTED: _counted,
        _JOINED: _joined,
        _COMPARED: _ordered,
    }
    environment.filters = {**FILTERS, **own}
    environment.tests = dict(TESTS)
    # Jinja's own `range` is bounded differently, and `cycler`, `joiner` and `lipsum` mean nothing in the expressions
    # of a playbook.
    environment.globals = {"range": range_, "dict": dict}
    return environment


_ENVIRONMENT = _environment()
