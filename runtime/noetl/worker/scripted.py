"""Tools replaced by a script, on a virtual clock: with the payload, it fixes the whole order of a run.

Entries are tried in file order; the first whose given keys all fit the attempt is used, any number of times: `step run
task index visit attempt` (`index` is the loop index path, `run` counts the step's runs from 1). With `times` an entry
is used at most so often, so that the next one that fits is there for what comes after. An entry without `task` is about
the tasks that the author wrote: the noops that lowering put between them (names that begin with `__`) run as they are.
`takes` is how long the attempt takes; one that takes longer than its `timeout` is the error `timeout` then. An outcome
of http gets the shape that the real tool gives: a result with other keys than a response has is its body, and a status
from 400 on is an error; rows of SQL are those of its one statement, `command_0`. What an error leaves out is as the
real tool has it: the code of an answer or of a state (`http: {status: 503}`, `pg: {sqlstate: "40001"}`), and whether it
is retryable. An attempt that no entry fits runs for real where its kind has no effects or is one of the script's `real`
kinds, else it is the error outcome `script.unlisted`. What runs for real takes no virtual time: the clock stands until
all of it is done, and it is done in the order in which it began, so that a run is the same every time. A task of the
kind `fail` takes no success from a script.
"""

import heapq
from collections import Counter, deque
from collections.abc import Callable, Iterable
from functools import cache

from noetl.ports import ToolCall
from noetl.ports.mailbox import KEEP_FOR
from noetl.worker.launcher import AsyncLauncher, limit_of, over_limit
from noetl_ir.correlation import HALF, faulty_key, is_storable, key_of
from noetl_ir.expr import Json
from noetl_ir.kinds import Kind, seconds_of
from noetl_ir.nearest import nearest
from noetl_ir.outcome import Outcome, error
from noetl_ir.records import NamedTuple
from noetl_ir.registry import GROUPS, load, names
from noetl_ir.shaping import shaped_outcome
from noetl_ir.words import FAILING

BEFORE = -1
"""The time of signals that are in the mailbox before anything happens."""


class ScriptError(Exception):
    """A script that cannot be read; the text names the entry."""


class Signal(NamedTuple):
    """A signal that reaches the run at `at` microseconds of virtual time: the run itself, or with a `key` whoever waits
    under that, for which it is kept for `keep_for` microseconds. One at BEFORE is kept when the run begins. `number` is
    its place in the script.
    """

    at: int
    name: str
    data: Json
    key: str = ""
    keep_for: int = KEEP_FOR
    number: int = 0


class _Entry(NamedTuple):
    keys: dict[str, Json]
    takes: int
    outcome: Outcome
    times: int


class Ledger:
    """The use that a run made of its script so far: how often each entry was used, by its number, the calls that no
    entry fitted, and how many signals were `sent`. `hears` is told of each call that a tool, or an entry in its place,
    gets.
    """

    def __init__(self, hears: Callable[[ToolCall], None] = lambda call: None) -> None:
        self.uses: Counter[int] = Counter()
        self.unlisted: list[ToolCall] = []
        self.sent = 0
        self.hears = hears


class Script(NamedTuple):
    """A read script. Attempts of the `real` kinds that no entry fits run for real."""

    entries: tuple[_Entry, ...]
    signals: tuple[Signal, ...]
    ledger: Ledger
    real: frozenset[str] = frozenset()

    @property
    def counts(self) -> bool:
        """Whether any entry has `times`, so that the next outcome depends on how often entries were used."""
        return any(entry.times for entry in self.entries)

    def unused(self, steps: Iterable[str]) -> tuple[str, ...]:
        """A sentence for each entry that fitted no attempt, or fewer than its `times`; `steps` are the names of steps
        that there are.
        """
        known, told = tuple(steps), []
        for number, entry in enumerate(self.entries):
            uses = self.ledger.uses[number]
            if uses and uses >= entry.times:
                continue
            often = f"used only {uses} of {entry.times} times" if uses else "never used"
            said, step = f"outcome {number} of the script was {often}", entry.keys.get("step")
            if isinstance(step, str) and step not in known:
                near = nearest(step, known)
                said += f": there is no step `{step}`" + (f"; did you mean `{near}`?" if near else "")
            told.append(said)
        return tuple(told)


KINDS = "noetl_ir.kinds"
_OF_OUTCOME = ("status", "result", "error", "meta")
_OF_ERROR = ("code", "message", "retryable", "kind")
_KEYS = ("step", "task", "run", "index", "visit", "attempt")
_OF_SIGNAL = ("at", "before", "name", "data", "key", "keep_for")


def read_script(document: Json) -> Script:
    """The script of a parsed YAML or JSON document; raises ScriptError."""
    if not isinstance(document, dict) or not set(document) <= {"outcomes", "signals"}:
        raise ScriptError("a script is a mapping with `outcomes` and `signals`")
    outcomes, signals = document.get("outcomes") or [], document.get("signals") or []
    if not isinstance(outcomes, list) or not isinstance(signals, list):
        raise ScriptError("`outcomes` and `signals` are lists")
    return Script(
        tuple(_entry(number, row) for number, row in enumerate(outcomes)),
        tuple(sorted((_signal(number, row) for number, row in enumerate(signals)), key=lambda s: s.at)),
        Ledger(),
    )


def _entry(number: int, row: Json) -> _Entry:
    if not isinstance(row, dict):
        raise ScriptError(f"outcome {number}: not a mapping")
    known = (*_KEYS, "times", "takes", "outcome")
    unknown = sorted(set(row) - set(known))
    if unknown:
        raise ScriptError(f"outcome {number}: unknown key `{unknown[0]}`; known are {', '.join(known)}")
    times = row.get("times", 0)
    if not isinstance(times, int) or isinstance(times, bool) or ("times" in row and times < 1):
        raise ScriptError(f"outcome {number}: `times` is a whole number of at least 1")
    keys: dict[str, Json] = {key: row[key] for key in _KEYS if key in row}
    index = keys.get("index")
    if index is not None:
        keys["index"] = index if isinstance(index, list) else [index]
    takes = _micros(row.get("takes", 0), f"outcome {number}: `takes`")
    return _Entry(keys, takes, _outcome(number, row.get("outcome")), times)


def _outcome(number: int, row: Json) -> Outcome:
    if row is None:
        return Outcome("ok")
    if not isinstance(row, dict) or row.get("status", "ok") not in ("ok", "error"):
        raise ScriptError(f"outcome {number}: `outcome` is a mapping with status `ok` or `error`")
    attributes = _attributes()
    for key in row:
        if key in _OF_ERROR:
            raise ScriptError(f"outcome {number}: `{key}` belongs into `error`: `outcome: {{error: {{{key}: …}}}}`")
        if key not in (*_OF_OUTCOME, *attributes):
            known = ", ".join((*_OF_OUTCOME, *attributes))
            raise ScriptError(f"outcome {number}: an outcome has no `{key}`; known are {known}")
    extras = {key: value for key, value in row.items() if key in attributes}
    written = row.get("error")
    if row.get("status", "ok" if written is None else "error") == "ok":
        if written is not None:
            raise ScriptError(f"outcome {number}: an outcome with status `ok` has no `error`")
        return Outcome("ok", row.get("result"), None, extras)
    problem: dict[str, Json] = {} if written is None else {"message": written}
    problem = written if isinstance(written, dict) else problem
    return Outcome("error", row.get("result"), problem, extras)


@cache
def _attributes() -> tuple[str, ...]:
    """The keys that outcomes have beside their result and error, by kind: `http`, `pg`, …"""
    kinds = [load(KINDS, name, "KIND", Kind) for name in names(KINDS, GROUPS[KINDS])]
    return tuple(sorted({name for kind in kinds for name in kind.extras}))


def _signal(number: int, row: Json) -> Signal:
    if not isinstance(row, dict) or not isinstance(row.get("name"), str):
        raise ScriptError(f"signal {number}: a mapping with `at`, `name` and `data`, and `key` for one under a key")
    unknown = sorted(set(row) - set(_OF_SIGNAL))
    if unknown:
        raise ScriptError(f"signal {number}: unknown key `{unknown[0]}`; known are {', '.join(_OF_SIGNAL)}")
    at, name, key = _time_of(number, row), str(row["name"]), key_of(row.get("key"))
    if "key" not in row:
        if "keep_for" in row:
            raise ScriptError(
                f"signal {number}: `keep_for` goes with `key`: one to the run is kept as long as that runs"
            )
        return Signal(at, name, row.get("data"), number=number)
    if not key or not is_storable(name):
        why = faulty_key(row["key"]) or ("is no text" if not key else "")
        raise ScriptError(f"signal {number}: `key` {why}" if why else f"signal {number}: `name` {HALF}")
    kept = row.get("keep_for")
    keep_for = KEEP_FOR if kept is None else _micros(kept, f"signal {number}: `keep_for`")
    return Signal(at, name, row.get("data"), key, keep_for, number)


def _time_of(number: int, row: dict[str, Json]) -> int:
    if not isinstance(row.get("before", False), bool):
        raise ScriptError(f"signal {number}: `before` is true or false")
    if row.get("before") is not True:
        return _micros(row.get("at", 0), f"signal {number}: `at`")
    if "key" not in row or "at" in row:
        why = "does not go with `at`" if "at" in row else "goes with `key`: a run that has not begun hears nothing"
        raise ScriptError(f"signal {number}: `before` {why}")
    return BEFORE


def _micros(value: Json, where: str) -> int:
    found = seconds_of(value)
    if found is None:
        raise ScriptError(f"{where} is no duration; write seconds, or text like `1.5s`, `5m`")
    return round(found * 1_000_000)


class VirtualClock:
    """A clock that moves only when it is told to, from 0."""

    def __init__(self) -> None:
        self._now = 0

    def now(self) -> int:
        return self._now

    def move_to(self, time: int) -> None:
        """Move forward; never back."""
        self._now = max(self._now, time)


class ScriptedLauncher:
    """The launcher of scripted runs: outcomes come from the script, when virtual time reaches them."""

    def __init__(
        self, script: Script, clock: VirtualClock, real: AsyncLauncher, signal: Callable[[Signal], None]
    ) -> None:
        self._script = script
        self._clock = clock
        self._real = real
        self._signal = signal
        self._signals = deque(script.signals)
        self._heap: list[tuple[int, int, object, Outcome]] = []
        self._stopped: set[int] = set()
        self._count = 0
        self._chosen: dict[int, tuple[ToolCall, _Entry | None]] = {}
        self._running: dict[int, object] = {}
        self._ended: dict[int, Outcome] = {}

    def immediate(self, call: ToolCall) -> Outcome | None:
        # Asked again for a call that had to wait for a value: an entry counts one use for both.
        _, entry = self._chosen.get(id(call)) or self._choose(call)
        if entry is None:
            outcome = self._real.immediate(call)
            if outcome is None and call.kind in self._script.real:
                return None
            del self._chosen[id(call)]
            if outcome is not None:
                return outcome
            self._script.ledger.unlisted.append(call)
            where = f"step `{call.step}`, task `{call.task}`, attempt {call.attempt}"
            entry_text = f"- {{step: {call.step}, task: {call.task}, outcome: {{result: …}}}}"
            told = f"and `{call.kind}` does not run beside one; list what it gives: `{entry_text}`"
            return error("script.unlisted", f"the script has no outcome for {where}, {told}")
        if entry.takes or self._real.immediate(call) is None:
            return None
        del self._chosen[id(call)]
        return shaped_outcome(call.kind, call.fields, call.knobs, entry.outcome, self._clock.now() / 1_000_000)

    def _choose(self, call: ToolCall) -> tuple[ToolCall, _Entry | None]:
        """The entry for a call, kept with it: what is chosen here is launched, maybe much later."""
        self._script.ledger.hears(call)
        chosen = self._chosen[id(call)] = call, self._find(call)
        return chosen

    def launch(self, ticket: object, call: ToolCall) -> None:
        _, entry = self._chosen.pop(id(call))
        if entry is None:
            self._running[id(ticket)] = ticket
            self._real.launch(ticket, call)
            return
        limit, ends = limit_of(call), self._clock.now() + entry.takes
        if limit is not None and entry.takes > limit * 1_000_000:
            ends, outcome = self._clock.now() + round(limit * 1_000_000), over_limit(limit)
        else:
            outcome = shaped_outcome(call.kind, call.fields, call.knobs, entry.outcome, ends / 1_000_000)
        self._count += 1
        heapq.heappush(self._heap, (ends, self._count, ticket, outcome))

    def finished(self) -> list[tuple[object, Outcome]]:
        # A worker asks before it begins anything: no task has run, and nothing waits yet.
        self._send(BEFORE)
        done: list[tuple[object, Outcome]] = []
        if self._running:
            self._ended.update((id(ticket), outcome) for ticket, outcome in self._real.finished())
            # Which of two real tools is done first is chance. Both are done before either is told.
            if self._ended.keys() == self._running.keys():
                done += [(ticket, self._ended[key]) for key, ticket in self._running.items()]
                self._running, self._ended = {}, {}
        while self._heap and self._heap[0][0] <= self._clock.now():
            _, _, ticket, outcome = heapq.heappop(self._heap)
            # A heap cannot drop an entry in its middle, so one that was stopped is passed over when its time comes.
            if id(ticket) not in self._stopped:
                done.append((ticket, outcome))
            self._stopped.discard(id(ticket))
        return done

    def stop(self, ticket: object) -> None:
        if id(ticket) in self._running:
            self._real.stop(ticket)
            del self._running[id(ticket)]
            self._ended.pop(id(ticket), None)
        else:
            self._stopped.add(id(ticket))

    def pass_time(self, due: int | None) -> bool:
        """Move the clock to the next scripted outcome, the next signal or `due`, whichever is first; not while
        something runs for real.
        """
        if self._running:
            return self._real.pass_time(None)
        outcome = self._heap[0][0] if self._heap else None
        signal = self._signals[0].at if self._signals else None
        times = [time for time in (due, outcome, signal) if time is not None]
        # Nothing will ever happen: the run ends here, where a real one would wait for ever.
        if not times:
            return False
        self._clock.move_to(min(times))
        self._send(self._clock.now())
        return True

    def _send(self, until: int) -> None:
        while self._signals and self._signals[0].at <= until:
            self._script.ledger.sent += 1
            self._signal(self._signals.popleft())

    def poll(self) -> None:
        """Give real tools some time; none passes on the virtual clock."""
        self._real.poll()

    def close(self) -> None:
        self._real.close()

    def _find(self, call: ToolCall) -> _Entry | None:
        place: dict[str, Json] = {
            "step": call.step, "task": call.task, "run": call.run, "index": list(call.path), "visit": call.visit,
            "attempt": call.attempt,
        }  # fmt: skip
        generated = call.kind == "noop" and call.task.startswith("__")
        for number, entry in enumerate(self._script.entries):
            if generated and "task" not in entry.keys:
                continue
            # No success of a task that never has one: the plan's net has no way on from it.
            if call.kind == FAILING and entry.outcome.status == "ok":
                continue
            if entry.times and self._script.ledger.uses[number] >= entry.times:
                continue
            if all(place.get(key) == value for key, value in entry.keys.items()):
                self._script.ledger.uses[number] += 1
                return entry
        return None
