"""Migrations that are asked for: an execution that is driven here goes on under another plan, or stays (README).

The proof (`engine.migrations`) is made by the owner, between two turns, over all of the log, which is on disk by then:
nothing can come in between. An order that a worker has stays good, since what it may do with it is the same in both
plans.
"""

from collections.abc import Callable, Mapping, Sequence

from noetl.engine.program import Program
from noetl.host.engine_faults import fault_of
from noetl.host.log_lines import log_line
from noetl.server.bulkhead import Bulkhead
from noetl.server.children import NotFound
from noetl.server.execution import FOREIGN, Ask, OwnedExecution
from noetl.server.journal import Journal
from noetl.server.letters import FollowUp
from noetl_ir.expr import Json

MIGRATE = "migrate"
"""The verb of a request to go on under another plan."""


def asks_to_migrate(digest: str) -> dict[str, Json]:
    """The body of a request to go on under the plan with this digest."""
    return {"to": digest}


class Migrations:
    """Carries out requests to the executions that are driven here. `load` gives a program by its digest, `fault` ends
    an execution whose turn raised what no turn may raise, `say` is told of mistakes of the engine.
    """

    def __init__(
        self,
        executions: Mapping[str, OwnedExecution],
        journal: Journal,
        load: Callable[[str], Program],
        *,
        fault: Callable[[OwnedExecution, Exception], None],
        follow_up: FollowUp,
        say: Callable[[str], None],
    ) -> None:
        self._executions = executions
        self._journal = journal
        self._load = load
        self._fault = fault
        self._follow_up = follow_up
        self._say = say

    def carry_out(self, owned: OwnedExecution, asks: Sequence[Ask]) -> None:
        """Move an execution to the plan that each request names, or record why not."""
        for ask in asks:
            with Bulkhead(self._fault, owned):
                self._journal.flush()
                if self._executions.get(owned.execution.execution_id) is owned:
                    to = str(ask.body.get("to")) if isinstance(ask.body, dict) else ""
                    program, why = self._looked_at(owned, to)
                    done = owned.refuse_migration(to, why, ask.row) if why else owned.migrate(program, ask.row)
                    self._follow_up(owned, *done)
                    self._journal.want()

    def _looked_at(self, owned: OwnedExecution, to: str) -> tuple[Program, list[str]]:
        """The new program, and why the execution cannot go on under it."""
        from noetl.engine.migrations import migration_hindrances  # seldom asked for

        name = owned.execution.execution_id
        try:
            program = self._load(to)
            hindrances = migration_hindrances(owned.program, program, name, [*owned.stored_events()])
            return program, [one.as_text() for one in hindrances]
        except FOREIGN:
            raise
        except NotFound as problem:
            return owned.program, [str(problem)]
        except Exception as problem:  # the execution has no part in a mistake of the proof
            why = str(fault_of(problem)["message"])
            self._say(log_line("error", f"execution {name} cannot be moved to another plan: {why}", name))
            return owned.program, [why]
