"""A value that a run has and an analysis does not know."""

from collections.abc import Callable
from typing import NoReturn, cast

from noetl_ir.evaluate import Fault, Scope
from noetl_ir.expr import Json
from noetl_ir.scopes.values import ResultView


def unknown_call(*_: object) -> NoReturn:
    """Stands for a function whose value a run alone knows; raises Fault."""
    raise Fault("analysis.unknown", "a run alone knows this")


class _Unknown(ResultView):
    """Whatever an expression asks of it has no answer: it is neither there nor missing."""

    __slots__ = ()

    def plain(self) -> NoReturn:
        unknown_call()

    def under(self, key: object) -> NoReturn:
        self.plain()


UNKNOWN = cast(Json, _Unknown())
"""Stands where JSON would; an expression that reads it raises Fault."""


def reads_undefined(render: Callable[[Scope], Json], scope: Scope) -> bool:
    """Whether a template reads something that is not there; what a run alone knows may be."""
    try:
        render(scope)
    except Fault as fault:
        return fault.code == "template.undefined"
    return False
