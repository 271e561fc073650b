"""A task's fields, args and knobs, rendered into the call of its tool.

Markers that stand for secrets are put back here and nowhere else, and never in the call of a task that parks: that
one is written into the log.
"""

from typing import Protocol

from noetl.engine.program import Program
from noetl.ports import ToolCall
from noetl.ports.needs import Needs
from noetl.worker.named import NamedValues
from noetl.worker.texts import has_markers
from noetl_ir import registry
from noetl_ir.evaluate import Fault
from noetl_ir.events import index_of
from noetl_ir.expr import Json
from noetl_ir.kinds import CALLED, Kind, faulty_limit, misfits
from noetl_ir.orders import RunPipeline, output_code
from noetl_ir.patterns import LatePattern
from noetl_ir.plan import Task
from noetl_ir.records import NamedTuple
from noetl_ir.scopes.play import PlayScope


class PipelinePosition(Protocol):
    """Where a pipeline stands, as far as a call tells its tool."""

    attempt_number: int
    ctx: dict[str, Json]
    iter: dict[str, Json]
    prev: Json
    task: int
    visits: dict[int, int]

    @property
    def args(self) -> dict[str, Json]: ...
    @property
    def action_id(self) -> str: ...
    @property
    def origin(self) -> str: ...


class RenderedCall(NamedTuple):
    """A call ready to run; `parks` when the task waits outside a worker instead."""

    call: ToolCall
    parks: bool

    def call_json(self) -> dict[str, Json]:
        """The call of a parked task as its `task.started` records it."""
        call = dict(self.call.fields)
        if self.call.args:
            call["args"] = self.call.args
        if self.call.timeout is not None:
            call["timeout"] = self.call.timeout
        return call


class Restore(Protocol):
    """Puts secrets back into a value. Who only `carries` it on has no use for those of other executions, which stay
    hidden; else they are a Fault.
    """

    def __call__(self, value: Json, *, carries: bool = False) -> Json: ...


class Renderer:
    """Renders the calls of one order. `restore` puts secrets back into a value; `needs` are those of its session."""

    __slots__ = ("_needs", "_order", "_program", "_restore")

    def __init__(self, program: Program, order: RunPipeline, restore: Restore, needs: Needs) -> None:
        self._needs = needs
        self._program = program
        self._order = order
        self._restore = restore

    def render(self, task: Task, scope: PlayScope, position: PipelinePosition) -> RenderedCall:
        """The call of a task; raises Fault when a field cannot be rendered or does not fit its kind."""
        kind = kind_of(task.kind)
        args = self._mapping(task.args, scope, "args")
        # What a kind is not called with is there for its own fields to read, and wins over what the token brought.
        inside = scope.with_args(args) if args and task.kind not in CALLED else scope
        fields = self._mapping(task.fields, inside)
        # A kind that is not available says so itself when it runs; which fields it would take is not known for sure.
        wrong = misfits(kind, fields) if kind.available else ()
        if "timers" in fields and kind.available:
            wrong = (*wrong, *_bad_timers(fields))
        if kind.name in _KEYS:
            wrong = (*wrong, *_bad_key(_KEYS[kind.name], fields))
        if wrong:
            raise Fault("task.fields", f"task `{task.name}`: {'; '.join(wrong)}").under(*_field_in(wrong[0]))
        # A noop without anything to say hands on what came before, so that it can stand between two tasks unseen.
        if task.kind == "noop" and not args and "result" not in fields:
            fields["result"] = position.prev
        order = self._order
        if kind.binds_args and order.args:
            # The args that the arc brought are the step's; those that the task itself names win over them.
            args = {**position.args, **args}
        holds_secret = False
        if not kind.parks:
            shown, carries = fields, not kind.has_effect(fields, args)
            fields, args = self._whole(fields, carries), self._whole(args, carries)
            # `restore` gives the very object back where there is no marker in it, so identity tells without a second
            # search.
            holds_secret = fields is not shown
        knobs = self._mapping(task.knobs, scope, "spec")
        timeout = self._timeout(task, scope) if task.timeout >= 0 else None
        step = self._program.plan.steps[task.step]
        call = ToolCall(
            order.execution_id, step.name, task.name, task.kind, fields, args, knobs, timeout,
            # Only an effect needs the id (a database or a service tells a repeated call by it); for a noop it would
            # be text made for nobody.
            position.action_id if kind.has_effect(fields, args) else "",
            position.attempt_number, NamedValues(scope, args, self._restore),
            order.ordinal, index_of(order.run), position.visits[position.task], order.folder,
            self._program.iterators(task.step, len(step.loops)) if step.loops else (), holds_secret,
            str(self._restore(position.origin)), self._needs, order.claim, output_code(order.mac),
            order.run, position.task, order.trace_id,
        )  # fmt: skip
        return RenderedCall(call, kind.parks)

    def _mapping(self, index: int, scope: PlayScope, *under: str) -> dict[str, Json]:
        if index < 0:
            return {}
        try:
            value = self._program.value(index)(scope)
        except Fault as fault:
            fault.under(*under)
            raise
        return dict(value) if isinstance(value, dict) else {}

    def _timeout(self, task: Task, scope: PlayScope) -> Json:
        try:
            timeout = self._program.value(task.timeout)(scope)
            if problem := faulty_limit(timeout):
                raise Fault("task.timeout", f"task `{task.name}`: {problem}")
        except Fault as fault:
            fault.under("timeout")
            raise
        return timeout

    def _whole(self, fields: dict[str, Json], carries: bool) -> dict[str, Json]:
        if not fields:
            return fields
        value = self._restore(fields, carries=carries)
        return value if isinstance(value, dict) else fields


def _field_in(misfit: str) -> tuple[str, ...]:
    """The field that a sentence about a misfit names; none where it names none, or several."""
    found = [one[1] for one in _FIELD.finditer(misfit)]
    return (found[0],) if len(found) == 1 else ()


_FIELD = LatePattern(r"\bfield '([^']+)'")


def _bad_timers(fields: dict[str, Json]) -> list[str]:
    """The timers of a `wait` that are none; one that is null is not set."""
    timers = fields.get("timers")
    if not isinstance(timers, dict):
        return []
    from noetl_ir.kinds.wait import faulty_timer

    return [f"timer {name!r} {why}" for name, value in timers.items() if (why := faulty_timer(value))]


_KEYS = {"signal": "key", "wait": "correlation"}
"""The kinds that find each other by a key, and the field that has it."""


def _bad_key(field: str, fields: dict[str, Json]) -> list[str]:
    """Why signals could not be found under the key of a task, as far as it has one."""
    key = fields.get(field)
    if key is None:
        return []
    from noetl_ir.correlation import HALF, MOST_NAMES, faulty_key, is_storable

    wrong = [f"field {field!r} {why}"] if (why := faulty_key(key)) else []
    # A secret stands in the log as a marker, which is another one in each execution: nobody would ever meet.
    if has_markers(key):
        wrong.append(f"field {field!r} holds a secret: a key is kept and shown, so write one that is none")
    said = fields.get("events") if field == "correlation" else fields.get("signal")
    names = said if isinstance(said, list) else [said]
    if len(names) > MOST_NAMES:
        wrong.append(f"field 'events' names more than {MOST_NAMES} signals beside 'correlation'")
    if not all(is_storable(name) for name in names if isinstance(name, str)):
        wrong.append(f"the name of a signal {HALF}")
    return wrong


def kind_of(name: str) -> Kind:
    """The contract of a kind that a plan names; raises Fault when this installation does not know it."""
    kind = _KINDS.get(name)
    if kind is None:
        try:
            found = registry.load("noetl_ir.kinds", name, "KIND", Kind)
        except LookupError:
            raise Fault("kind.unknown", f"this installation does not know the tool kind `{name}`") from None
        kind = _KINDS[name] = found
    return kind


_KINDS: dict[str, Kind] = {}
