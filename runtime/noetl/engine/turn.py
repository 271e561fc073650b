"""A turn of decisions: events made one by one, each folded in before the next is thought of."""

from noetl.engine.evolve import evolve
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl_ir.events import Event, Firing, event_of
from noetl_ir.expr import Json


class Turn:
    """The events decided so far in this turn, all at the time `now` (microseconds since the epoch).

    `unhindered` is the log position at which tokens may take locks that others wait for before them
    (`locking.let_overtake`), -1 for none.
    """

    __slots__ = ("columns", "events", "execution", "now", "program", "unhindered")

    def __init__(self, program: Program, execution: Execution, now: int) -> None:
        self.program = program
        self.columns = program.columns
        self.execution = execution
        self.now = now
        self.events: list[Event] = []
        self.unhindered = -1

    def emit(
        self,
        event_type: str,
        *,
        step: int = -1,
        run: str = "",
        fired: tuple[Firing, ...] = (),
        data: dict[str, Json] | None = None,
    ) -> Event:
        """Make a server event and fold it in."""
        execution = self.execution
        event = event_of(
            (f"s{execution.position + 1}", event_type, self.now, step, run, -1, 0, 0, 0, fired, data or {})
        )
        evolve(self.program, execution, event)
        self.events.append(event)
        return event

    def record(self, event: Event) -> None:
        """Fold in an event that came from outside."""
        evolve(self.program, self.execution, event)
        self.events.append(event)

    @property
    def is_winding_down(self) -> bool:
        """Whether an unhandled failure forbids new runs, iterations and attempts (LANGUAGE §3, Endings)."""
        return self.execution.failure is not None and not self.program.plan.best_effort
