"""The bulkhead around a turn: a mistake of the engine in one execution ends that execution, and no other one."""

from collections.abc import Callable, Sequence

from noetl.server.execution import FOREIGN, OwnedExecution
from noetl.server.report_intake import HeardReport
from noetl_ir.orders import Answer


class Bulkhead:
    """Has an error inside a turn that no turn may raise end this execution, and nothing else; reports that came to
    nothing are refused.
    """

    # A class of its own: one made of a generator takes three times as long, and a step passes through three.
    __slots__ = ("_fault", "_mine", "_owned")

    def __init__(
        self,
        fault: Callable[[OwnedExecution, Exception], None],
        owned: OwnedExecution,
        mine: Sequence[HeardReport] = (),
    ) -> None:
        self._fault = fault
        self._owned = owned
        self._mine = mine

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> bool:
        if problem is None or isinstance(problem, FOREIGN) or not isinstance(problem, Exception):
            return False
        self._fault(self._owned, problem)
        for heard in self._mine:
            heard.delivery.answer(Answer(0))
        return True
