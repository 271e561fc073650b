"""The bulkhead around a turn: a mistake of the engine in one execution ends that execution, and no other one; one of
those that only watch ends none.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.host.engine_faults import fault_of
from noetl.host.log_lines import log_line
from noetl.server.execution import FOREIGN, OwnedExecution
from noetl.server.report_intake import HeardReport
from noetl_ir.events import Event
from noetl_ir.expr import Json
from noetl_ir.orders import Answer

EventObserver: TypeAlias = Callable[[Execution, Program, Event], None]
"""Called with every event once it is on disk."""

_MOST_SAID = 100


class Watchers:
    """Whoever watches executions by their events. What goes wrong there is said, once for each place in the code, and
    the execution goes on: its events are on disk, and are as true as before.
    """

    def __init__(self, observe: EventObserver, say: Callable[[str], None]) -> None:
        self._observe = observe
        self._say = say
        self._said: set[Json] = set()

    def tell(self, owned: OwnedExecution, events: Sequence[Event]) -> None:
        """Tell of events of an execution that are on disk."""
        for event in events:
            try:
                self._observe(owned.execution, owned.program, event)
            except FOREIGN:
                raise
            except Exception as problem:
                self._tell_of(problem, owned.execution.execution_id)

    def _tell_of(self, problem: Exception, execution_id: str) -> None:
        fault = fault_of(problem)
        places = fault["places"]
        place = places[-1] if isinstance(places, list) and places else None
        if place not in self._said and len(self._said) < _MOST_SAID:
            self._said.add(place)
            text = f"execution {execution_id} goes on, and who watches it may see less: {fault['message']}"
            self._say(log_line("error", text, execution_id))


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
