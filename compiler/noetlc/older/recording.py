"""Rewriting guards and values, and recording each that changed."""

from collections.abc import Callable

from noetlc.diag.change import Change, ChangeClass, RecordChange
from noetlc.expr.rewrite import Replace
from noetlc.expr.templates import Templated, templated_with


def recording(
    replace: Replace, record: RecordChange, by: str, construct: str, klass: ChangeClass, became: str
) -> Callable[[Templated], Templated]:
    """Rewrites a guard or value, and tells of a change at the place of each that is another one then."""

    def change(templated: Templated) -> Templated:
        made = templated_with(templated, replace)
        if made is not templated:
            record(Change(by, templated.span, construct, klass, became))
        return made

    return change
