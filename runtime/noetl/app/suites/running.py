"""Running one case: in memory, on a virtual clock, in a folder of its own that is gone afterwards.

Nothing of the machine is in it: no store, no credential, no variable of the environment, and of files those that the
case names. What has an effect outside is answered by the case's outcomes, but for its `real` kinds.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

from noetl.app.adapters import open_blobs, open_outputs, open_store
from noetl.app.composition import Driver, driver_of
from noetl.app.ending import Ending, ending_of
from noetl.app.picture import rows_of
from noetl.app.runtime import Runtime, Settings
from noetl.app.script_letters import untaken
from noetl.app.snapshots import UnreadableExecution, result_of
from noetl.engine.evolve_tasks import WAIT
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.engine.signals import unheard
from noetl.engine.starting import Request, unmet
from noetl.engine.unread import unread
from noetl.ports import ToolCall
from noetl.server.children import NotFound
from noetl.worker.scripted import Ledger, Script, read_script
from noetl_ir.events import Event, index_of
from noetl_ir.expr import Json
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetl_ir.span import NOWHERE
from noetl_ir.suite import PURE_KINDS, CaseLimits, SuiteCase

ROOT = "1"
"""The id of the execution of a case; its children have others."""

_MEMORY = "memory:///case"
_RESULT = frozenset({"result", "result_includes"})
"""What is expected of a result."""


class Ran(NamedTuple):
    """The end of a run of a case.

    `log` are the events of the playbook itself, without its children's. `calls` are the attempts, rendered, in their
    order; `result` is there where the case expects one, `results` has the latest result of each step that succeeded
    and of which one is asked. `wrong` are sentences about the case that make it fail whatever it expects, each with the
    step and task that it is about. `untaken` are the signals with a key that no wait got: the number of each in the
    script, and a sentence. `below` are the waits of children that none has ended: the time of each, and its call.
    `by_case` is the number of events before the first attempt without an outcome ended, None where each has one.
    """

    status: str
    ending: Ending | None
    program: Program
    log: tuple[Event, ...]
    calls: tuple[dict[str, Json], ...]
    result: Json
    results: dict[str, Json]
    ctx: dict[str, Json]
    uses: Counter[int]
    script: Script | None
    wrong: tuple[tuple[str, str, str], ...]
    waits: tuple[str, ...] = ()
    untaken: tuple[tuple[int, str], ...] = ()
    below: tuple[tuple[int, dict[str, Json]], ...] = ()
    by_case: int | None = None

    @property
    def decided(self) -> tuple[Event, ...]:
        """The events that the case itself brought about: those before an outcome was missing."""
        return self.log[: self.by_case]


class _Watch:
    """Sees all events of a run, and stops one that has no end."""

    def __init__(self, limits: CaseLimits, stop: Callable[[], None]) -> None:
        self._limits, self._stop = limits, stop
        self._until = time.monotonic() + limits.seconds
        self._count = 0
        self._begun: set[tuple[str, int, tuple[int, ...]]] = set()
        self._newest = 0  # the event with which something began that had not begun before
        self.log: list[Event] = []
        self.calls: list[dict[str, Json]] = []
        self.again: Counter[tuple[str, str, str]] = Counter()  # what began since then: step, task, kind
        self.below: dict[tuple[str, str], tuple[int, dict[str, Json]]] = {}
        self.by_case: int | None = None
        self.why = ""

    def event(self, execution: Execution, program: Program, event: Event) -> None:
        self._count += 1
        # Whatever comes behind it, in a child, too, comes of what is missing and not of the case.
        if self.by_case is None and _is_unlisted(event):
            self.by_case = len(self.log)
        if execution.execution_id == ROOT:
            self.log.append(event)
            if event.event_type == "task.started" and isinstance(called := event.data.get("call"), dict):
                self.calls.append(_parked(program, event, called))
        elif event.event_type == "task.started" and program.plan.tasks[event.task].kind == WAIT:
            if isinstance(called := event.data.get("call"), dict):
                self.below[execution.execution_id, event.run] = event.ts, called
        elif event.event_type == "token.claimed":
            self.below.pop((execution.execution_id, event.run), None)
        if event.event_type in ("task.started", "task.done"):
            self._attend(program, event)
        if self._count - self._newest > self._limits.repeated:
            limit = f"{self._limits.repeated} events in which nothing new began (`limits: {{repeated: …}}`)"
            self._end(f"it goes round and round, and was stopped after {limit}")
        if self._count > self._limits.events:
            self._end(f"it was stopped after {self._limits.events} events (`limits: {{events: …}}`)")
        elif not self._count % 1000:
            self.tick()

    def _attend(self, program: Program, event: Event) -> None:
        """See whether a task begins that has not begun before. Children of one playbook, one after the other, go round
        as tasks do.
        """
        place = program.digest, event.task, index_of(event.run)
        if place not in self._begun:
            self._begun.add(place)
            self._newest = self._count
            self.again.clear()
        # Of tasks without an effect the log has only the end.
        elif event.event_type == "task.done":
            plan = program.plan
            task = plan.tasks[event.task]
            self.again[plan.steps[event.step].name, task.name, task.kind] += 1

    def tick(self) -> None:
        """Called whenever time passes."""
        if time.monotonic() > self._until:
            self._end(f"it was stopped after {self._limits.seconds:g} s of real time (`limits: {{seconds: …}}`)")

    def call(self, call: ToolCall) -> None:
        if call.execution_id == ROOT and not call.task.startswith("__"):
            self.calls.append({
                "step": call.step, "task": call.task, "run": call.run, "index": list(call.path), "visit": call.visit,
                "attempt": call.attempt, "kind": call.kind, "fields": call.fields, "args": call.args,
            })  # fmt: skip

    def _end(self, why: str) -> None:
        self.why = self.why or why
        self._stop()


def run_case(program: Program, case: SuiteCase, beside: Path, folders: tuple[Path, ...] = ()) -> Ran:
    """Run a case of the playbook with that program; its files come from `beside`, the folder of the suite's file.

    Raises OSError for a file that cannot be copied.
    """
    with TemporaryDirectory(prefix="noetl-test-") as folder:
        for name in case.files:
            _copy(beside / name, Path(folder, name))
        script = read_script(case.script)
        driver: list[Driver] = []
        watch = _Watch(case.limits, lambda: driver[0].embedded.interrupt())
        real = frozenset((*case.real, *PURE_KINDS))
        script = script._replace(ledger=Ledger(watch.call), real=real)
        settings = Settings(folders, root=folder, script=script, tick=watch.tick, secrets=case.keychain)
        runtime = _runtime(folder, settings)
        runtime.programs.add_program(program)
        request = Request(dict(case.payload), scripted=True)
        # A name that nothing hears is a slip, as any other that the playbook does not have.
        direct = dict.fromkeys(each.name for each in script.signals if not each.key)
        sent = [unheard(program, name) for name in direct]
        told = (*unmet(program, ROOT, request), *unread(program, request.payload), *filter(None, sent))
        wrong = [(text, "", "") for text in told]
        if wrong:
            return Ran("", None, program, (), (), None, {}, {}, script.ledger.uses, None, tuple(wrong))
        with driver_of(runtime, ROOT, watch.event) as found:
            driver.append(found)
            status = found.embedded.start(program, ROOT, request)
            return _ran(runtime, found, watch, script, case, status)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copyfile(source, target)


def _runtime(folder: str, settings: Settings) -> Runtime:
    def refuse(path: Path) -> NoReturn:
        raise NotFound(f"{path}: a child playbook of a test is one that is compiled in (--path)")

    # A file beside the folder and not in it: no tool may look for it there.
    outputs = partial(open_outputs, _MEMORY)
    return Runtime(open_store(_MEMORY), open_blobs(_MEMORY), f"{folder}.credentials", settings, refuse, outputs)


def _ran(runtime: Runtime, driver: Driver, watch: _Watch, script: Script, case: SuiteCase, status: str) -> Ran:
    execution, program = driver.execution, runtime.program_of(ROOT)
    # A rule may try again what no outcome fits: one sentence for a task is enough.
    first = {(call.execution_id, call.step, call.task): call for call in reversed(script.ledger.unlisted)}
    # The place is one in the file of the tested playbook; a step of a child may have the name of one there.
    wrong = [
        (_unlisted(call), call.step, call.task)
        if where == ROOT
        else (_unlisted(call, runtime.program_of(where)), "", "")
        for (where, _, _), call in first.items()
    ]
    if watch.why:
        wrong.append(_endless(watch))
    elif status == "interrupted":
        status = "waiting"
    row = runtime.store.execution(ROOT)
    results: dict[str, Json] = {}
    result: Json = None
    if row is not None:
        asked = {name for each in case.expected if each.what == "results" and isinstance(each.value, dict)
                 for name in each.value}  # fmt: skip
        for step in sorted(asked):
            try:
                results[step] = result_of(runtime, row, step)
            except UnreadableExecution:  # it has not succeeded, which is told where it is expected
                continue
        # To fold the log again takes a fifth of a short case.
        if (
            status == "completed"
            and execution.has_result
            and not _RESULT.isdisjoint(each.what for each in case.expected)
        ):
            result = result_of(runtime, row, None)
    return Ran(
        status, ending_of(runtime, program, execution, status), program, tuple(watch.log), tuple(watch.calls), result,
        results, dict(execution.ctx), script.ledger.uses, script, tuple(dict.fromkeys(wrong)),
        tuple(f"{row.place}: {row.text}" for row in rows_of(program, execution)) if status == "waiting" else (),
        tuple([(signal.number, text) for signal, text in untaken(runtime, ROOT, script)]), tuple(watch.below.values()),
        watch.by_case,
    )  # fmt: skip


def _is_unlisted(event: Event) -> bool:
    """Whether an attempt ended that the script has no outcome for."""
    outcome = event.data.get("outcome") if event.event_type in ("task.done", "retry.started") else None
    error = outcome.get("error") if isinstance(outcome, dict) else None
    return isinstance(error, dict) and error.get("code") == "script.unlisted"


def _unlisted(call: ToolCall, child: Program | None = None) -> str:
    """A sentence about an attempt that no outcome fits; `child` is the program where it is one of a called playbook."""
    entry = f"- {{step: {call.step}, task: {call.task}, outcome: {{result: …}}}}"
    whose = f" of `{child.plan.path or child.plan.name}` ({_at(child.plan, call)})" if child is not None else ""
    return (
        f"no outcome fits `{call.step} / {call.task}`{whose} (kind `{call.kind}`, attempt {call.attempt}), and nothing "
        f"of that kind runs for real here: write `{entry}`, or name the kind in `real`"
    )


def _at(plan: Plan, call: ToolCall) -> str:
    """The file and place of the task of a call."""
    rows = (row for row in plan.tasks if (plan.steps[row.step].name, row.name) == (call.step, call.task))
    span = next((row.span for row in rows), NOWHERE)
    return f"{plan.source}:{span.line}:{span.column}" if span.line else plan.source


def _endless(watch: _Watch) -> tuple[str, str, str]:
    """Why a run was stopped, and what went round in its last events."""
    if not watch.again:
        return watch.why, "", ""
    # Of a task without an effect no outcome decides: it is the cause only where there is nothing else.
    (step, task, _), times = max(watch.again.items(), key=lambda row: (row[0][2] not in PURE_KINDS, row[1]))
    round_ = f"in the last of them `{step} / {task}` was done {times} times"
    help = "an outcome that is given every time may keep it going: give it `times`, and another one what comes after"
    return f"{watch.why}; {round_}: {help}", step, task


def _parked(program: Program, event: Event, called: dict[str, Json]) -> dict[str, Json]:
    """The call of a task that waits elsewhere, for a child or a signal."""
    plan = program.plan
    fields = {key: value for key, value in called.items() if key != "args"}
    return {
        "step": plan.steps[event.step].name, "task": plan.tasks[event.task].name, "run": 1,
        "index": list(index_of(event.run)), "visit": event.visit, "attempt": event.attempt,
        "kind": plan.tasks[event.task].kind, "fields": fields, "args": called.get("args") or {},
    }  # fmt: skip
