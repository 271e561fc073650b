"""The spans of an execution, read off its log: what ran when, how it ended, and never what it was about.

Each span is given once it has ended, the execution's own last. A span has no value of a run in it: names of the
playbook, numbers, and codes of errors, whose messages may quote a value.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from noetl.engine.program import Program
from noetl_ir.events import Event, index_of, is_of_unbegun_item, step_run_of
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple
from noetl_ir.trace_ids import TraceContext, attempt_of, context_of, span_id_of, trace_id_of

ROOT = "execution"
"""The name of the span of the execution itself among the others of it."""

UNSET, OK, ERROR = 0, 1, 2
"""The codes of the status of a span, as OTLP has them."""

INTERNAL, CLIENT = 1, 3
"""The kinds of spans, as OTLP has them: of a call to somebody else."""

MOST_LINKS = 128
"""The links that one span has, the limit of OpenTelemetry."""

_CALLS = frozenset({"http", "nats", "gcs", "postgres", "snowflake"})
_MOMENTS = frozenset(
    {"playbook.paused", "playbook.resumed", "playbook.cancelled", "playbook.queued", "playbook.placed"}
)
_PREFIX = "noetl."

Attributes: TypeAlias = "dict[str, str | int | bool]"


class SpanLink(NamedTuple):
    """A link to a span of another trace, and what that is to this one."""

    context: TraceContext
    relation: str


class SpanRow(NamedTuple):
    """A span that has ended. Times are microseconds since the epoch; `parent_id` is empty for none; `moments` are
    things that happened within it, each with its time.
    """

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: int
    started: int
    ended: int
    status: int
    attributes: Attributes
    links: tuple[SpanLink, ...] = ()
    moments: tuple[tuple[int, str], ...] = ()


class _Open:
    """A span that has not ended."""

    __slots__ = ("attributes", "kind", "links", "moments", "name", "parent", "started")

    def __init__(self, name: str, parent: str, started: int, attributes: Attributes, kind: int = INTERNAL) -> None:
        self.name = name
        self.parent = parent
        self.started = started
        self.attributes = attributes
        self.kind = kind
        self.links: list[SpanLink] = []
        self.moments: list[tuple[int, str]] = []


SpanFinder: TypeAlias = Callable[[str], "TraceContext | None"]
"""The span of another execution, by its id; None for one that is not known."""


class TraceReader:
    """Reads the log of one execution. `related` gives the spans of other executions; `children` are those that it
    called, by the name of the attempt that called them.
    """

    def __init__(
        self, program: Program, execution_id: str, related: SpanFinder, children: dict[str, list[str]] | None = None
    ) -> None:
        self._program = program
        self._execution_id = execution_id
        self._related = related
        self._children = children or {}
        self._open: dict[str, _Open] = {}
        # The open spans of each run and iteration, by the run of their step: of a loop thousands may be open.
        self._within: dict[str, dict[str, dict[str, None]]] = {}
        self._trace_id = trace_id_of(execution_id)
        self._above = ""

    def read(self, events: Iterable[Event]) -> Iterator[SpanRow]:
        """The spans of events, each once it has ended; those that are open when there are no more end with the last."""
        last = 0
        for event in events:
            last = event.ts
            yield from self._read(event)
        if self._open:
            yield from self._end_all(last, UNSET, "")

    def _read(self, event: Event) -> Iterator[SpanRow]:
        kind, run = event.event_type, event.run
        step = f"step {run}"
        match kind:
            case "playbook.execution.requested":
                self._begin_root(event)
            case "step.scheduled" | "step.started" | "loop.started" if not event.data.get("level"):
                self._begin(step, self._step_name(event), ROOT, event, {"run": run})
            case "step.done" | "loop.done" if not event.data.get("level"):
                yield from self._end(step, event.ts, OK)
            case "step.failed" if not event.data.get("level"):
                yield from self._cut(run, event.ts)
                yield from self._end(step, event.ts, ERROR, _code_of(event.data.get("error")))
            case "step.cancelled":
                yield from self._cut(run, event.ts)
                yield from self._end(step, event.ts, UNSET, "cancelled")
            case "loop.iteration.skipped" if is_of_unbegun_item(event):
                pass
            case "loop.iteration.failed" | "loop.iteration.skipped":
                yield from self._cut(run, event.ts)
            case "task.started":
                yield from self._start_attempt(event)
            case "task.done" | "retry.started" | "task.lost":
                yield from self._end_attempt(event)
            case "workflow.finished":
                status = str(event.data.get("status", ""))
                code = {"completed": OK, "cancelled": UNSET}.get(status, ERROR)
                self._open[ROOT].attributes[_PREFIX + "status"] = status
                yield from self._end_all(event.ts, code, _code_of(event.data.get("error")))
            case _ if kind in _MOMENTS and ROOT in self._open:
                self._open[ROOT].moments.append((event.ts, kind))

    def _begin_root(self, event: Event) -> None:
        data = event.data
        started_by = data.get("started_by")
        if (received := received_by(event)) is not None:
            self._trace_id, self._above = received.trace_id, received.span_id
        plan = self._program.plan
        root = _Open(
            plan.path or plan.name, "", event.ts,
            {_PREFIX + "execution_id": self._execution_id, _PREFIX + "playbook": plan.path or plan.name},
        )  # fmt: skip
        if isinstance(started_by, dict):
            for name in ("schedule", "trigger"):
                if isinstance(by := started_by.get(name), str):
                    root.attributes[_PREFIX + name] = by
        parent, call, old = data.get("parent"), data.get("call"), data.get("rerun_of")
        if isinstance(parent, list) and parent:
            caller = str(parent[0])
            root.attributes[_PREFIX + "parent_execution_id"] = caller
            self._link(root, caller, "caller", f"task {str(call).rpartition(':')[0]}" if call else ROOT)
        if old:
            root.attributes[_PREFIX + "rerun_of"] = str(old)
            self._link(root, str(old), "rerun_of", ROOT)
        self._open[ROOT] = root

    def _link(self, span: _Open, execution_id: str, relation: str, name: str) -> None:
        context = self._related(execution_id)
        if context is not None and len(span.links) < MOST_LINKS:
            span_id = span_id_of(execution_id, name)
            span.links.append(SpanLink(context._replace(span_id=span_id), relation))

    def _begin(
        self, key: str, name: str, parent: str, event: Event, attributes: Attributes, kind: int = INTERNAL
    ) -> None:
        if key in self._open:
            return
        named = {_PREFIX + each: value for each, value in attributes.items()}
        self._open[key] = _Open(name, parent, event.ts, named, kind)
        self._within.setdefault(step_run_of(event.run), {}).setdefault(event.run, {})[key] = None

    def _start_attempt(self, event: Event) -> Iterator[SpanRow]:
        if self._is_routing(event.task):
            return
        task = self._task_key(event)
        # A claim that was lost without a word: the attempt goes on under the next one.
        for key in [key for key in self._attempts(event.run) if self._open[key].parent == task]:
            yield from self._end(key, event.ts, ERROR, "worker.lost")
        name, kind = self._names_of(event)
        about: Attributes = {"step": self._step_name(event), "task": name, "kind": kind, "visit": event.visit}
        if index := index_of(event.run):
            about["iteration"] = "/".join(map(str, index))
        self._begin(task, name, f"step {step_run_of(event.run)}", event, about)
        key = self._attempt_key(event)
        attempt: Attributes = {"kind": kind, "attempt": event.attempt, "claim": event.claim}
        self._begin(key, f"{name} #{event.attempt}", task, event, attempt, CLIENT if kind in _CALLS else INTERNAL)
        call = f"{event.run}:{event.task}:{event.visit}:{event.attempt}"
        for child in self._children.get(call, ()):
            self._link(self._open[key], child, "child", ROOT)

    def _end_attempt(self, event: Event) -> Iterator[SpanRow]:
        if self._is_routing(event.task):
            return
        task, key = self._task_key(event), self._attempt_key(event)
        if event.event_type == "task.done" and task not in self._open:
            # Of kinds without an effect only the end is reported.
            yield from self._start_attempt(event)
        outcome = event.data.get("outcome")
        error = outcome.get("error") if isinstance(outcome, dict) else None
        is_good = event.event_type == "task.done" and event.data.get("status") == "ok"
        code = "worker.lost" if event.event_type == "task.lost" else _code_of(error)
        yield from self._end(key, event.ts, OK if is_good else ERROR, "" if is_good else code)
        if event.event_type == "task.done":
            yield from self._end(task, event.ts, OK if is_good else ERROR, "" if is_good else code)

    def _cut(self, run: str, at: int) -> Iterator[SpanRow]:
        """A run or iteration is over: what of it is still open was stopped with it, the innermost first."""
        step_run = step_run_of(run)
        runs = self._within.get(step_run, {})
        for each in reversed([*runs] if run == step_run else [run]):
            for key in reversed([*runs.get(each, {})]):
                if key != f"step {run}":
                    yield from self._end(key, at, UNSET, "stopped")

    def _end_all(self, at: int, status: int, code: str) -> Iterator[SpanRow]:
        for key in reversed([*self._open]):
            if key != ROOT:
                yield from self._end(key, at, UNSET, "stopped")
        yield from self._end(ROOT, at, status, code)

    def _end(self, key: str, at: int, status: int, code: str = "") -> Iterator[SpanRow]:
        span = self._open.pop(key, None)
        if span is None:
            return
        if key != ROOT:
            run = key.split(" ")[1].partition(":")[0]
            runs = self._within[step_run_of(run)]
            del runs[run][key]
            if not runs[run]:
                del runs[run]
            if not runs:
                del self._within[step_run_of(run)]
        if code:
            span.attributes["error.type"] = code
        parent = span_id_of(self._execution_id, span.parent) if span.parent else self._above
        yield SpanRow(
            span.name, self._trace_id, span_id_of(self._execution_id, key), parent, span.kind, span.started,
            max(at, span.started), status, span.attributes, tuple(span.links), tuple(span.moments),
        )  # fmt: skip

    def _attempts(self, run: str) -> list[str]:
        return [key for key in self._within.get(step_run_of(run), {}).get(run, {}) if key.startswith("attempt ")]

    def _task_key(self, event: Event) -> str:
        return f"task {event.run}:{event.task}:{event.visit}"

    def _attempt_key(self, event: Event) -> str:
        return attempt_of(event.run, event.task, event.visit, event.attempt, event.claim)

    def _step_name(self, event: Event) -> str:
        return self._program.plan.steps[event.step].name

    def _names_of(self, event: Event) -> tuple[str, str]:
        """The name of a task, that of its step for one that the compiler made, and its kind."""
        task = self._program.plan.tasks[event.task]
        return self._step_name(event) if task.generated else task.name, task.kind

    def _is_routing(self, task: int) -> bool:
        row = self._program.plan.tasks[task]
        return row.generated and row.kind == "noop"


def received_by(first: Event) -> TraceContext | None:
    """The context that the start of an execution came with, by the first event of its log."""
    started_by = first.data.get("started_by")
    header = started_by.get("traceparent") if isinstance(started_by, dict) else None
    return context_of(header) if isinstance(header, str) else None


def _code_of(error: Json) -> str:
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, str) else ""
