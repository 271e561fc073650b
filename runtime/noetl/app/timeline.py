"""The timeline of an execution: what took time, as bars with a beginning and an end, read off its log.

A bar is an attempt of a task, a wait for the next one, a wait for a signal, a timer or a child, a run of a step, or an
arc that could not be evaluated.
"""

from __future__ import annotations

from noetl.app.error_places import located
from noetl.app.kept_folds import KeptFolds
from noetl.app.runtime import Runtime
from noetl.app.snapshots import events_of, program_of
from noetl.engine.identities import child_ids
from noetl.engine.program import Program
from noetl.ports import ExecutionRow
from noetl_ir.events import Event, index_of, is_of_unbegun_item, step_run_of
from noetl_ir.expr import Json
from noetl_ir.plan import Plan
from noetl_ir.tallies import awaited_by

MOST = 20_000
"""Bars that one timeline has: what began later is only counted."""
_KEPT = 8
_PARKED = {"wait": "wait", "playbook": "child"}
"""Kinds whose tasks wait outside of any worker, and what their bars are."""


class Bars:
    """The bars of a log, as far as it was read. A bar is a mapping: `number`, `kind` (`task`, `retry`, `wait`, `child`,
    `step`, `arc`), `step`, `run`, `iteration`, `task`, `attempt`, `from` and `to` in ms since the epoch (null while it
    is open), the positions in the log of the events that began and ended it (`since`, `until`), `ok` once it has ended
    (null of what was cancelled or cut off), `error` with its place in the source, `awaits` what a wait waits for, in
    words, `child` the execution that a call starts.
    """

    def __init__(self, program: Program, execution_id: str) -> None:
        self._program = program
        self._execution_id = execution_id
        self._children = set[str]()
        self.position = 0
        self.bars: list[dict[str, Json]] = []
        self.left_out = 0
        self._open: dict[str, dict[str, Json]] = {}
        self._within: dict[str, dict[str, set[str]]] = {}
        self._touched: dict[int, int] = {}

    def behind(self, position: int) -> list[Json]:
        """The bars that began or changed behind a log position."""
        # Copies: another thread may read on while these are written out.
        return [{**self.bars[number]} for number, at in self._touched.items() if at > position]

    def read(self, position: int, event: Event) -> None:
        """Read the next event."""
        self.position = position
        kind, run, at = event.event_type, event.run, event.ts // 1000
        key = f"task {run} {event.task}"
        match kind:
            case "step.scheduled" | "step.started" | "loop.started" if not event.data.get("level"):
                self._begin(f"step {run}", "step", event, at)
            case "step.done" | "loop.done" if not event.data.get("level"):
                self._end(f"step {run}", at, ok=True)
            case "step.failed":
                self._end(f"step {run}", at, ok=False, error=event.data.get("error"))
                self._cut(run, at)
            case "step.cancelled":
                self._end(f"step {run}", at, ok=None)
                self._cut(run, at)
            case "loop.iteration.skipped" if is_of_unbegun_item(event):
                pass
            case "loop.iteration.skipped" | "loop.iteration.failed":
                self._cut(run, at)
            case "task.started":
                self._end(f"retry {run} {event.task}", at, ok=True)
                self._end(key, at, ok=False)  # a claim that was lost
                task = self._program.plan.tasks[event.task]
                self._begin(key, _PARKED.get(task.kind, "task"), event, at)
                if "call" in event.data and key in self._open:
                    self._change(self._open[key], awaits=awaited_by(event.data))
                    if task.kind == "playbook":
                        self._change(self._open[key], child=self._child_of(event))
            case "task.lost":
                self._end(key, at, ok=False, error={"code": "worker.lost", "message": "the attempt was cut off"})
            case "retry.started":
                outcome = event.data.get("outcome")
                self._end(key, at, ok=False, error=outcome.get("error") if isinstance(outcome, dict) else None)
                self._begin(f"retry {run} {event.task}", "retry", event, at)
            case "task.done":
                outcome = event.data.get("outcome")
                error = outcome.get("error") if isinstance(outcome, dict) else None
                if key not in self._open:  # of kinds without an effect only the end is reported
                    self._begin(key, "task", event, at)
                self._end(key, at, ok=event.data.get("status") == "ok", error=error)
            case "token.ended" if isinstance(error := event.data.get("error"), dict) and "arc" in error:
                # No time passes between the end of a run and that of its token.
                self._begin(f"arc {run}", "arc", event, at)
                self._end(f"arc {run}", at, ok=False, error=error)
            case "playbook.rerun":
                # What stands before it was called by the execution whose log it goes on with.
                for bar in [each for each in self.bars if "child" in each]:
                    del bar["child"]
                    self._change(bar)
            case "workflow.finished":
                for name in [*self._open]:
                    self._end(name, at, ok=None)
            case _:
                pass

    def _begin(self, key: str, kind: str, event: Event, at: int) -> None:
        if key in self._open or (kind == "task" and _is_routing(self._program.plan, event.task)):
            return
        if len(self.bars) >= MOST:
            self.left_out += 1
            return
        plan = self._program.plan
        bar: dict[str, Json] = {
            "number": len(self.bars), "kind": kind, "step": plan.steps[event.step].name,
            "run": step_run_of(event.run), "iteration": list(index_of(event.run)),
            "task": _name_of(plan, event.task), "attempt": event.attempt or 1,
            "from": at, "to": None, "since": self.position, "until": None, "ok": None,
        }  # fmt: skip
        self.bars.append(bar)
        self._open[key] = bar
        self._within.setdefault(step_run_of(event.run), {}).setdefault(event.run, set()).add(key)
        self._change(bar)

    def _child_of(self, event: Event) -> str:
        """The execution that a call starts: its id follows from the call."""
        call = f"{event.run}:{event.task}:{event.visit}:{event.attempt}"
        # Two calls may draw the same one; then the later one has the next.
        found = next(each for each in child_ids(self._execution_id, call, event.ts) if each not in self._children)
        self._children.add(found)
        return found

    def _cut(self, run: str, at: int) -> None:
        """A run or iteration is over: what of it is still open was stopped with it."""
        of_step = self._within.get(step_run_of(run), {})
        for each in [run] if "/" in run else [*of_step]:
            for key in [*of_step.get(each, ())]:
                self._end(key, at, ok=None)

    def _end(self, key: str, at: int, *, ok: bool | None, error: Json = None) -> None:
        bar = self._open.pop(key, None)
        if bar is not None:
            self._forget(key)
            self._change(bar, to=at, until=self.position, ok=ok)
            if isinstance(error, dict):
                # A tool knows neither its step nor its task, and only with them an error has a place.
                named: dict[str, Json] = {"step": bar["step"], "task": bar["task"], **error}
                self._change(bar, error=located(self._program, named))

    def _forget(self, key: str) -> None:
        """Take a bar that has ended out of those that are open in a run."""
        run = key.split(" ")[1]
        of_step = self._within.get(step_run_of(run), {})
        of_step.get(run, set()).discard(key)
        if not of_step.get(run, True):
            del of_step[run]
        if not of_step:
            self._within.pop(step_run_of(run), None)

    def _change(self, bar: dict[str, Json], **values: Json) -> None:
        bar.update(values)
        self._touched[int(str(bar["number"]))] = self.position


def _name_of(plan: Plan, task: int) -> str | None:
    """The name of a task, None for what the compiler made: its bar is one of its step."""
    return plan.tasks[task].name if task >= 0 and not plan.tasks[task].generated else None


def _is_routing(plan: Plan, task: int) -> bool:
    """Whether a task is one of the compiler's that does nothing but choose what comes next."""
    return plan.tasks[task].generated and plan.tasks[task].kind == "noop"


class Timelines:
    """The timelines that were looked at last, each read on where it was left. From any thread."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._kept: KeptFolds[Bars] = KeptFolds(_KEPT)

    def document(self, row: ExecutionRow, after: int) -> dict[str, Json]:
        """The bars that are new or other behind a position. Raises UnreadableExecution."""
        name = row.execution_id
        program = program_of(self._runtime, name)

        def read_on(bars: Bars) -> None:
            for position, event in events_of(self._runtime, name, bars.position):
                bars.read(position, event)

        with self._kept.at(name, program.digest, lambda: Bars(program, name), read_on) as bars:
            return {"position": bars.position, "bars": bars.behind(after), "left_out": bars.left_out}
