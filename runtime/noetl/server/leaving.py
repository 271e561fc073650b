"""Children that were called off: the log of their caller tells when they are over (EXTENSIONS.md §1).

Law: a caller that has called off a child with phases of its own ends, and begins its phases, only behind that.
"""

from collections.abc import Callable, Mapping

from noetl.server.bulkhead import Bulkhead
from noetl.server.execution import OwnedExecution
from noetl.server.letters import FollowUp


class Leaving:
    """The ends of children that callers are to be told of, where they wait for them. `fault` ends an execution whose
    turn raised what no turn may raise.
    """

    def __init__(
        self,
        executions: Mapping[str, OwnedExecution],
        fault: Callable[[OwnedExecution, Exception], None],
        follow_up: FollowUp,
    ) -> None:
        self._executions = executions
        self._fault = fault
        self._follow_up = follow_up
        self._ends: list[tuple[str, str]] = []

    @property
    def has_news(self) -> bool:
        """Whether anybody is to be told."""
        return bool(self._ends)

    def look(self, owned: OwnedExecution) -> None:
        """Note which children that an execution has called off are over: nobody here drives them."""
        mine = owned.execution.execution_id
        self._ends += [(mine, child) for child in owned.execution.leaving if child not in self._executions]

    def add_end(self, caller_id: str, child_id: str) -> None:
        """Note that a child is over, called off or not."""
        self._ends.append((caller_id, child_id))

    def tell(self) -> bool:
        """Tell the callers; whether there was any."""
        ends, self._ends, did = self._ends, [], False
        for caller_id, child_id in ends:
            owned = self._executions.get(caller_id)
            # A caller that is taken up is looked at before its children are: one of them may go on here since.
            if owned is not None and child_id in owned.execution.leaving and child_id not in self._executions:
                did = True
                with Bulkhead(self._fault, owned):
                    self._follow_up(owned, *owned.end_child(child_id))
        return did

    def clear(self) -> None:
        """Tell nobody of what ended so far."""
        self._ends.clear()
