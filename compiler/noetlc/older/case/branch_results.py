"""`result` and `collect` as actions of a rule: what the step gives, and what is kept in `ctx` (REAL.md, flow).

    then: {result: {from: response.order.id}}                  →  iter.__given = outcome.result.order.id, and the step
                                                                  gives it instead of its tool's
    then: {collect: {from: result, into: seen, mode: append}}  →  ctx.seen = (ctx.seen | default([])) + [result]

Beside a loop over pages both say what the loop does anyway.
"""

from noetl_ir.expr import Binary, Call, Expr, ListOf, MapOf, Name, Native
from noetl_ir.paths import static_path
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.playbook import Rule, Task
from noetlc.expr.errors import TemplateError
from noetlc.expr.generated import computed, noop
from noetlc.expr.parser import parse_expression, parse_template
from noetlc.expr.shorthand import chosen, otherwise, path
from noetlc.older.page_nodes import Collect, Page
from noetlc.older.pages import is_list, read_collect
from noetlc.older.variables import Result
from noetlc.reading.reader import Reader
from noetlc.reading.shapes import is_empty, missing, wrong_shape
from noetlc.source.nodes import Mapping, Node, Scalar

KEPT_AS = "__given"
"""Where the result of a rule is kept in `iter` until the step gives it."""


class BranchResult(NamedTuple):
    """An action: the noop that sets what it says, the name that it is about, and what of a page it gathers."""

    task: Task
    name: str
    collect: Collect | None
    span: Span

    @property
    def is_result(self) -> bool:
        """Whether it is `result`."""
        return self.collect is None


def read_branch_result(r: Reader, key: Scalar, node: Node, number: int) -> BranchResult | None:
    """The action, where it is `collect` or a `result` that is no task of that name; None for others."""
    if key.text == "collect":
        collect = read_collect(r, node)
        source = node.get("from") or node.get("path") if isinstance(node, Mapping) else None
        value = Name("result") if source is None else _of_result(_expression(r, source))
        if value is None or is_empty(node):
            return None
        rule = Rule(
            None, "continue", key.span, set_ctx=((collect.into, computed(_gathered(collect, value), key.span)),)
        )
        return BranchResult(noop(f"__collect{number}", key.span, (rule,)), collect.into, collect, key.span)
    if key.text != "result" or (isinstance(node, Mapping) and node.get("from") is None):
        return None
    source = node.get("from") if isinstance(node, Mapping) else node
    if source is None or is_empty(source):
        missing(r, "what `result` is `from`", key.span, help="write `result: {from: response.data}`")
        return None
    value = _expression(r, source)
    if value is None:
        return None
    name = source.text.strip("{} ") if isinstance(source, Scalar) else ""
    rule = Rule(None, "continue", key.span, set_iter=((KEPT_AS, computed(value, key.span)),))
    return BranchResult(noop(f"__given{number}", key.span, (rule,)), name, None, key.span)


def result_of_pipe(key: Scalar, number: int) -> BranchResult:
    """The result of a pipe: its last value."""
    rule = Rule(None, "continue", key.span, set_iter=((KEPT_AS, computed(Name("_prev"), key.span)),))
    return BranchResult(noop(f"__given{number}", key.span, (rule,)), "", None, key.span)


def is_paged(r: Reader, action: BranchResult, pages: list[Page]) -> bool:
    """Whether a loop over pages does what the action says: it gathers the last page too, and gives what it gathers."""
    if action.collect is not None:
        told = "`collect` of the last page", "nothing: a loop over pages gathers the last one too"
        same = action.collect in [page.collect for page in pages]
    else:
        told = "`result` of a rule", "nothing: the result of a loop over pages is what it gathers"
        into = [page.collect.into for page in pages if page.collect.strategy]
        same = action.name.removeprefix("ctx.").removeprefix("vars.") in into
    if same:
        r.respelt(action.span, *told, "safe")
    return same


def result_of_rules(span: Span) -> Result:
    """The result of a step whose rules may give its result: that, else what its tool gave."""
    return Result(computed(otherwise(path("iter", KEPT_AS), Name("result")), span), span)


def _expression(r: Reader, node: Node) -> Expr | None:
    """The expression of a text with or without braces, or of a path; None where it is none, which is told."""
    if isinstance(node, Scalar) and isinstance(node.value, str):
        template, errors = parse_template(node.text)
        if not errors and isinstance(template, Native):
            return template.expr
        try:
            return parse_expression(node.text, 0)
        except TemplateError:
            pass
    wrong_shape(r, node, "`from`", "the path of a value, as in `response.data`")
    return None


def _of_result(expr: Expr | None) -> Expr | None:
    """The path that `from` or `path` of `collect` names: a path that begins with no word of ours leads into the
    result.
    """
    here = () if expr is None else static_path(expr)
    return path("result", *here) if here and here[0] not in _ROOTS else expr


_ROOTS = frozenset({"response", "result", "this", "output", "outcome", "event", "ctx", "vars", "iter", "workload"})


def _gathered(collect: Collect, value: Expr) -> Expr:
    """The list in `ctx` with the value that just came."""
    here = path("ctx", collect.into)
    match collect.strategy:
        case "replace":
            return value
        case "merge":
            return Call(Name("dict"), (otherwise(here, MapOf(())),), (("**", value),))
        case "extend":
            one: Expr = chosen(is_list(value), value, ListOf((value,)))
            return Binary("+", otherwise(here, ListOf(())), one)
    return Binary("+", otherwise(here, ListOf(())), ListOf((value,)))
