"""Migrations that are asked for: an execution that is driven here goes on under another plan, or stays (README).

The proof (`engine.migrations`) is made by the owner, between two turns, over all of the log, which is on disk by then:
nothing can come in between. An order that a worker has stays good, since what it may do with it is the same in both
plans.
"""

from collections.abc import Callable, Mapping

from noetl.engine.program import Program
from noetl.host.engine_faults import fault_of
from noetl.host.log_lines import log_line
from noetl.server.bulkhead import Bulkhead
from noetl.server.children import NotFound
from noetl.server.execution import FOREIGN, Ask, OwnedExecution
from noetl.server.journal import Journal
from noetl.server.letters import FollowUp
from noetl.server.report_intake import HeardReport
from noetl_ir.expr import Json

MIGRATE = "migrate"
"""The verb of a request to go on under another plan."""


def asks_to_migrate(digest: str) -> dict[str, Json]:
    """The body of a request to go on under the plan with this digest."""
    return {"to": digest}


class Migrations:
    """Carries out requests to the executions that are driven here. `load` gives a program by its digest, `turn` does
    what else is asked of an execution, with timers that are due; `fault` ends one whose turn raised what no turn may
    raise, `say` is told of mistakes of the engine.
    """

    def __init__(
        self,
        executions: Mapping[str, OwnedExecution],
        journal: Journal,
        load: Callable[[str], Program],
        *,
        turn: Callable[[OwnedExecution, list[HeardReport], list[Ask], list[str]], None],
        fault: Callable[[OwnedExecution, Exception], None],
        follow_up: FollowUp,
        say: Callable[[str], None],
    ) -> None:
        self._executions = executions
        self._journal = journal
        self._load = load
        self._turn = turn
        self._fault = fault
        self._follow_up = follow_up
        self._say = say

    def take_in_order(self, owned: OwnedExecution, asks: list[Ask], due: list[str]) -> tuple[list[Ask], list[str]]:
        """Have all that was asked up to the last request to move done in its order, with the timers that were due by
        then; returns what is left to do. The log says up to which row of the inbox all was read: none may be passed.
        """
        while (at := next((at for at, ask in enumerate(asks) if ask.verb == MIGRATE), -1)) >= 0:
            before, move, asks = asks[:at], asks[at], asks[at + 1 :]
            timers = owned.execution.timers
            ripe = [name for name in due if move.at is None or (name in timers and timers[name].due <= move.at)]
            if (before or ripe) and self._is_here(owned):
                self._turn(owned, [], before, ripe)
            self._carry_out(owned, move)
            due = [name for name in due if name not in ripe]
        return asks, due

    def _carry_out(self, owned: OwnedExecution, ask: Ask) -> None:
        """Move an execution to the plan that a request names, or record why not."""
        with Bulkhead(self._fault, owned):
            self._journal.flush()
            if self._is_here(owned):
                to = str(ask.body.get("to")) if isinstance(ask.body, dict) else ""
                program, why = self._looked_at(owned, to)
                done = owned.refuse_migration(to, why, ask.row) if why else owned.migrate(program, ask.row)
                self._follow_up(owned, *done)
                self._journal.want()

    def _is_here(self, owned: OwnedExecution) -> bool:
        return self._executions.get(owned.execution.execution_id) is owned

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
