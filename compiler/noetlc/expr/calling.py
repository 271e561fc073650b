"""The fields of a workbook entry, which name what they are called with (formal §5 and its appendix A)."""

from noetl_ir.expr import Attribute, Expr, Name
from noetlc.ast.playbook import Task, Value
from noetlc.ast.workbook import pairs_of
from noetlc.expr.templates import maybe_with, pairs_with
from noetlc.expr.values import expression_of


def called_with(entry: Task, args: Value | None) -> Task:
    """The entry in whose fields and own args each argument, bare or behind `args`, is what it is called with.

    It wins over an iterator or a task of that name: an entry does not know where it is called from.
    """
    given = pairs_of(args.template) if args is not None else None
    if not given:
        return entry

    def replace(expr: Expr) -> Expr | None:
        match expr:
            case Name(name=name) | Attribute(of=Name(name="args"), name=name) if name in given:
                return expression_of(given[name])
        return None

    return entry._replace(fields=pairs_with(entry.fields, replace), args=maybe_with(entry.args, replace))
