"""The first filter, test, method or function in an expression that nobody offers."""

from noetl_ir.expr import Attribute, Call, Expr, Filter, Name, Test, walk
from noetl_ir.nearest import nearest
from noetl_ir.scopes import vocabulary as words
from noetlc.expr.errors import UnknownWord


def check_known(expr: Expr) -> None:
    """Raises UnknownWord for a call of something unknown or refused, with the nearest valid name, and for a filter
    with too many or too few arguments.
    """
    for node in walk(expr):
        match node:
            case Filter(name=name) if name not in words.FILTERS:
                raise _unknown("filter", name, node, _reason(name))
            case Filter(name=name) if not _takes(node):
                raise _miscounted(node)
            case Test(name=name) if name not in words.TESTS:
                raise _unknown("test", name, node, "")
            case Call(callee=callee):
                _check_call(node, callee)


def _takes(node: Filter) -> bool:
    """Whether a filter takes as many arguments as it is given; unpacked ones cannot be counted."""
    # The number is known when it runs, and the filter itself refuses then.
    if any("*" in name for name, _ in node.named):
        return True
    least, most = words.FILTER_ARGUMENTS.get(node.name, (0, 0))
    return least <= len(node.args) + len(node.named) <= most


def _miscounted(node: Filter) -> UnknownWord:
    least, most = words.FILTER_ARGUMENTS.get(node.name, (0, 0))
    counts = "no arguments" if not most else f"{least} to {most} arguments" if least < most else f"{most} arguments"
    count = len(node.args) + len(node.named)
    message = f"the filter `{node.name}` takes {counts.replace('1 arguments', '1 argument')}, and {count} are given"
    return UnknownWord(message.replace("and 1 are", "and 1 is"), node.start, node.end)


def _check_call(node: Call, callee: Expr) -> None:
    match callee:
        case Name(name=name):
            if name not in words.FUNCTIONS and name not in words.LEGACY_FUNCTIONS:
                raise _unknown("function", name, callee, words.REFUSED_FUNCTIONS.get(name, ""))
        case Attribute(name=name):
            if name in words.METHODS:
                return
            reason = words.REFUSED_METHODS.get(name, "")
            if not reason and name in words.FILTERS:
                # Python's habit: `x.upper()` works in Python, and many such words are filters here.
                reason = f"write `… | {name}`"
            raise _unknown("method", name, callee, reason)
        case _:
            raise UnknownWord("a value cannot be called", node.start, node.end)


def _reason(name: str) -> str:
    # A refused word exists in Jinja2, so "there is none" would be wrong, and a name that is alike no help.
    if name in words.REFUSED_FILTERS:
        return words.REFUSED_FILTERS[name]
    first, dot, rest = name.partition(".")
    # Jinja2 reads `x | first.name` as the filter `first.name`, where authors mean the key of what the filter gives.
    if dot and first in words.FILTERS:
        return f"a dot belongs to the filter's name: write `(… | {first}).{rest}`"
    return ""


def _unknown(what: str, name: str, node: Expr, reason: str) -> UnknownWord:
    offered = {
        "filter": words.FILTERS,
        "test": words.TESTS,
        "method": words.METHODS,
        "function": words.FUNCTIONS,
    }[what]
    refused = {
        "filter": words.REFUSED_FILTERS,
        "test": {},
        "method": words.REFUSED_METHODS,
        "function": words.REFUSED_FUNCTIONS,
    }[what]
    if name in refused:
        return UnknownWord(f"the {what} `{name}` is refused: {reason}", node.start, node.end)
    if not reason:
        near = nearest(name, sorted(offered))
        reason = f"did you mean `{near}`?" if near else f"there are: {', '.join(sorted(offered))}"
    return UnknownWord(f"there is no {what} `{name}`", node.start, node.end, reason)
