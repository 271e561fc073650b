"""Rules for `call.done` of http that an answer without a body makes true.

    when: "{{ event.name == 'call.done' and not response.data.ok }}"

Any answer is a `call.done`, that of an error too (LANGUAGE §6): what a 503 without a body lacks is as good as false.
"""

from collections.abc import Iterator

from noetl_ir.expr import Compare, Const, Expr, Not, Test, walk
from noetlc.expr.shorthand import static_path
from noetlc.expr.unparse import unparse
from noetlc.older.case.nodes import CaseRule
from noetlc.older.events import events_in
from noetlc.older.legacy_names import Path

_BODY = frozenset({"response", "result", "data"})
_TELLS_STATUS = frozenset({("status_code",), ("response", "status_code"), ("error",), ("this", "status"), ("success",)})


def missing_is_true(rule: CaseRule) -> str:
    """The part of a rule for `call.done` that is true of an answer without a body, "" where its status is asked too."""
    if rule.when is None or "call.done" not in events_in(rule.when.expr):
        return ""
    parts = list(walk(rule.when.expr))
    if any(static_path(part) in _TELLS_STATUS for part in parts):
        return ""
    return next((unparse(part) for part in parts if any(map(_is_of_body, _negated(part)))), "")


def _negated(expr: Expr) -> Iterator[Path]:
    """The paths of which an expression is true where they lead nowhere."""
    match expr:
        case Not(of=Test(of=of, name="defined")) | Test(of=of, name="undefined" | "none"):
            yield static_path(of)
        case Not(of=Test() | Compare()):
            return
        case Not(of=of):
            yield static_path(of)
        case Compare(first=first, rest=(("!=", Const(value=value)),)) if value is not None:
            yield static_path(first)


def _is_of_body(here: Path) -> bool:
    return len(here) > 1 and (here[0] in _BODY or here[:2] in (("this", "data"), ("this", "result")))
