"""Runs playbooks from text on a virtual clock, with a script, in a store of their own, and checks each run.

`run(text)` compiles, runs and checks (`harness.invariants`). Other documents of the text are its catalogue of child
playbooks. `at` gives what people do meanwhile: `{seconds: "cancel" | "pause" | "resume"}`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import yaml

import noetl.app.composition
from faulty_bus import FaultyBus, Odds
from harness.invariants import check
from noetl.app.composition import Driver, driver_of
from noetl.app.runtime import Runtime, Settings, open_runtime
from noetl.engine.evolve import evolve
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.engine.starting import Request
from noetl.ports import Append, ExecutionRow
from noetl.ports.mailbox import Letter
from noetl.server.execution import Ask
from noetl.worker.scripted import Script, read_script
from noetl_ir.events import Event, write_event
from noetl_ir.plan_format import write_plan
from noetlc.diag.diagnostic import Severity
from noetlc.pipeline import compile_source

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/t}\n"
MEMORY = "memory:///x"


# What only watches ends no run but by what passes through all.
class Endless(BaseException):
    """A run has made so many events that it seems to have no end."""


class Ran(NamedTuple):
    """A run that was checked. `seen` is what was observed, children included, as (execution id, program, event);
    `commits` are the lengths of the log at which a crash can leave it, `faults` the mistakes that the engine told of
    itself, children included: an execution ends by one, and everything else about it looks well."""

    status: str
    log: list[Event]
    execution: Execution
    program: Program
    seen: list[tuple[str, Program, Event]]
    commits: list[int]
    faults: list[Event]

    def names(self) -> list[str]:
        """Event names in log order."""
        return [event.event_type for event in self.log]

    def of(self, name: str, step: str = "") -> list[Event]:
        """The events of that name, of a step if one is given."""
        number = self.program.step_numbers[step] if step else -1
        return [event for event in self.log if event.event_type == name and number in (-1, event.step)]

    def ran(self, step: str) -> int:
        """How many runs of the step were scheduled."""
        return len(self.of("step.scheduled", step))

    def result(self, step: str) -> Any:
        """The result that the last task of a step's latest run gave."""
        return self.of("task.done", step)[-1].data.get("result")


class _Documents:
    """The documents of a text, found by their path."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = {found.group(1): text for text in texts if (found := re.search(r"path: ([\w/]+)", text))}

    def find(self, path: str) -> tuple[str, bytes] | None:
        text = self._texts.get(path)
        return None if text is None else ("child.yaml", text.encode())


def compiled(text: str) -> bytes:
    """The plan bytes of the first document; the others are its catalogue. Fails on errors."""
    documents = re.split(r"^---\n", text, flags=re.MULTILINE)
    if "apiVersion" not in documents[0]:
        documents[0] = HEAD + documents[0]
    done = compile_source("t.yaml", documents[0].encode(), _Documents(documents[1:]))
    errors = [f"{found.code}: {found.message}" for found in done.diagnostics if found.severity >= Severity.ERROR]
    assert not errors, errors
    return write_plan(done.plans[0])


def run(
    text: str | bytes,
    script: str | dict[str, Any] = "",
    payload: Mapping[str, Any] | None = None,
    *,
    at: Mapping[float, str] | None = None,
    url: str = MEMORY,
    slots: int = 64,
    real: bool = False,
    root: Path = Path("."),
    folders: tuple[Path, ...] = (),
    odds: Odds | None = None,
    seed: int = 0,
    endless: int = 20_000,
) -> Ran:
    """Run a playbook, or plan bytes, to where it stops; `real` runs tools and passes real time.

    With `odds` its bus does to messages what a bus may do, by the seed. Raises Endless after so many events.
    """
    data = text if isinstance(text, bytes) else compiled(text)
    read = None if real else _read(script)
    settings = Settings(script=read, slots=slots, root=root, folders=folders)
    seen: list[tuple[str, Program, Event]] = []
    commits: list[int] = []
    with open_runtime(url, settings, _no_compiler) as runtime:
        _recording(runtime.store, commits)
        program = runtime.programs.add_plan(data)
        actions = sorted((round(seconds * 1_000_000), verb) for seconds, verb in (at or {}).items())
        with _bus(odds, seed), _driver(runtime, seen, actions, endless) as driver:
            status = driver.embedded.start(program, "e1", Request(dict(payload or {})))
            ran = _ran(runtime, driver, status, program, seen)
        while ran.status == "paused" and any(verb == "resume" for _, verb in actions):
            now = next(time for time, verb in actions if verb == "resume")
            ran = _resumed(runtime, program, seen, [action for action in actions if action[0] > now], now)
            actions = [action for action in actions if action[0] > now]
    return ran._replace(commits=commits)


def _read(script: str | dict[str, Any]) -> Script:
    return read_script(yaml.safe_load(script) or {} if isinstance(script, str) else script)


def _recording(store: Any, commits: list[int], name: str = "e1") -> None:
    """Note where the log of an execution ends after each commit that it has for itself."""
    append_all = store.append_all

    def appending(appends: Sequence[Append]) -> None:
        append_all(appends)
        if [append.execution_id for append in appends] == [name]:
            commits.append(appends[0].expected + len(appends[0].records))

    store.append_all = appending


def resume_prefix(ran: Ran, length: int, script: str | dict[str, Any] = "") -> Ran:
    """Take the run up again from the first `length` events of its log, as if killed after them."""
    settings = Settings(script=_read(script))
    seen: list[tuple[str, Program, Event]] = []
    program = ran.program
    with open_runtime(MEMORY, settings, _no_compiler) as runtime:
        runtime.programs.add_plan(program.bytes)
        records = [(event.event_id, write_event(event)) for event in ran.log[:length]]
        runtime.store.create(ExecutionRow("e1", "t/t", program.digest, "running", None, 0, None), records)
        for letter in _left_in_mailbox(ran.log[:length]):
            runtime.store.mailbox.post_letter(letter)
        return _resumed(runtime, program, seen, [], ran.log[length - 1].ts)


def _left_in_mailbox(log: list[Event]) -> list[Letter]:
    """The signals that a run had sent under keys and not taken: the mailbox survives what the run does not. Children
    are started anew, and have theirs once more.
    """
    calls, sent = dict[tuple[str, int, int], Any](), list[Letter]()
    for event in log:
        place = event.run, event.task, event.visit
        calls.update({place: event.data["call"]} if "call" in event.data else {})
        if event.event_type == "signal.sent" and "key" in (call := calls[place]):
            sent.append(Letter(str(call["key"]), call["signal"], call.get("data"), str(place)))
        elif event.event_type == "token.claimed" and "row" in event.data:
            outcome: Any = event.data["outcome"]
            sent = [letter for letter in sent if letter.data != outcome["result"]["data"]]
    return sent


def _resumed(
    runtime: Runtime, program: Program, seen: list[tuple[str, Program, Event]], actions: list[tuple[int, str]], now: int
) -> Ran:
    with _driver(runtime, seen, actions) as driver:
        driver.embedded._parts.clock.move_to(now)  # type: ignore[attr-defined]
        status = driver.embedded.resume(program, "e1")
        return _ran(runtime, driver, status, program, seen)


def _ran(
    runtime: Runtime, driver: Driver, status: str, program: Program, seen: list[tuple[str, Program, Event]]
) -> Ran:
    log = [event for _, event in runtime.events("e1")]
    execution = driver.execution
    check(program, log, execution)
    row = runtime.store.execution("e1")
    assert row is not None and (row.status == status or status == "interrupted"), (row, status)
    if execution.is_over:
        assert not driver.embedded._parts.worker.busy, "a worker slot is left busy"
    faults = [event for event in log if event.event_type == "playbook.faulted"]
    for child in runtime.store.executions():
        if child.execution_id != "e1":
            logged = [event for _, event in runtime.events(child.execution_id)]
            folded = Execution(child.execution_id, runtime.programs.load(child.plan_digest))
            _fold(runtime.programs.load(child.plan_digest), folded, logged)
            faults += [event for event in logged if event.event_type == "playbook.faulted"]
    return Ran(status, log, execution, program, seen, [], faults)


def _fold(program: Program, folded: Execution, log: list[Event]) -> None:
    for event in log:
        evolve(program, folded, event)
    check(program, log, folded)


@contextmanager
def _bus(odds: Odds | None, seed: int) -> Iterator[None]:
    """The runtimes that are put together inside have a faulty bus."""
    with nullcontext() if odds is None else bus_made(lambda bus: FaultyBus(bus, odds, seed)):
        yield


@contextmanager
def bus_made(around: Callable[[Any], Any]) -> Iterator[None]:
    """The runtimes that are put together inside have the bus that is made around theirs."""
    assembled = noetl.app.composition.MemoryBus
    noetl.app.composition.MemoryBus = lambda **options: around(assembled(**options))  # type: ignore
    try:
        yield
    finally:
        noetl.app.composition.MemoryBus = assembled  # type: ignore[misc]


@contextmanager
def _driver(
    runtime: Runtime, seen: list[tuple[str, Program, Event]], actions: list[tuple[int, str]], endless: int = 20_000
) -> Iterator[Driver]:
    def observe(execution: Execution, program: Program, event: Event) -> None:
        seen.append((execution.execution_id, program, event))
        if len(seen) > endless:
            raise Endless

    with driver_of(runtime, "e1", observe) as driver:
        parts = driver.embedded._parts
        waiter = Meddling(parts.launcher, parts.clock, driver, actions)
        driver.embedded._parts = parts._replace(launcher=waiter)  # type: ignore[arg-type]
        yield driver


class Meddling:
    """A launcher around the real one: when time reaches an action, somebody asks for it."""

    def __init__(self, inner: Any, clock: Any, driver: Driver, actions: list[tuple[int, str]]) -> None:
        self._inner = inner
        self._clock = clock
        self._driver = driver
        self._actions = [action for action in actions if action[1] != "resume"]
        self._idle = 0

    def pass_time(self, due: int | None) -> bool:
        """Wait for what is due first, the next action included; a bus may hold something back for a few rounds."""
        if not self._actions:
            moved = bool(self._inner.pass_time(due))
            self._idle = 0 if moved else self._idle + 1
            return moved or self._idle < 50
        time, verb = self._actions[0]
        moved = self._inner.pass_time(time if due is None else min(due, time))
        if self._clock.now() >= time:
            self._actions.pop(0)
            self._driver.control.ask("e1", Ask(verb))
        return bool(moved)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def _no_compiler(path: Path) -> tuple[bytes, dict[str, bytes]]:
    return compiled(path.read_text("utf-8")), {}
