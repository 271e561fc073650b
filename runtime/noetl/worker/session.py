"""A pipeline under one claim, as a machine without I/O: what to run next, and what to report of it.

Law: `task.started` is reported before a tool runs, and a task with an effect runs only once that is on disk. Tasks
without an effect may be reported as started and done in one go. What the session knows follows from its order and
from the outcomes it was given, so another worker can go on from the log at any task.
"""

from collections.abc import Callable

from noetl.engine.contributions import fault_in, patched
from noetl.engine.program import Program
from noetl.engine.rules import Directive, fault_directive, judge
from noetl.engine.views import args_with
from noetl.host.engine_faults import CODE, fault_of
from noetl.ports import StoreFailure
from noetl.ports.needs import Needs
from noetl.worker.fields import RenderedCall, Renderer, Restore, kind_of
from noetl.worker.origins import origin_of
from noetl.worker.results import Results
from noetl.worker.scope import NO_NAMES, field_scope, rule_scope
from noetl_ir.evaluate import Fault
from noetl_ir.events import Event, action_id_of, event_of
from noetl_ir.expr import Json
from noetl_ir.kinds import INLINE, seconds_of
from noetl_ir.orders import RunPipeline
from noetl_ir.outcome import Outcome, error
from noetl_ir.plan import REFERENCE_FIRST, Task, later_entries
from noetl_ir.records import NamedTuple


class Attempt(NamedTuple):
    """The attempt that is due: `rendered` when a tool is to run, `fault` when its fields could not be rendered."""

    task: Task
    rendered: RenderedCall | None
    fault: Fault | None
    lost: bool


class SessionContext(NamedTuple):
    """The context of one session: the results of its execution, its declared secrets as markers, and chance in [0, 1).

    Reading any of them may raise Absent, since values are fetched by the `needs` of this session.
    """

    results: Results
    keychain: Callable[[], object]
    restore: Restore
    chance: Callable[[], float]
    needs: Needs


class JudgedOutcome(NamedTuple):
    """An outcome as the log will hold it, the directive that its rules gave, and its result as the log will show it."""

    envelope: dict[str, Json]
    directive: Directive
    shown: Json = None


class Misfit(Exception):
    """An order for a step, task or loop that the plan does not have: no server with this plan gave it."""


class Session:
    """The state of one pipeline on its worker; `over` once nothing more is to be done under this claim.

    Making one raises Misfit for an order that does not fit the program.
    """

    __slots__ = (
        "_args", "_context", "_inline", "_origin", "_renderer", "_started", "attempt_number", "ctx", "iter",
        "order", "origins", "over", "prev", "program", "task", "task_results", "tasks_run", "visits",
    )  # fmt: skip

    def __init__(self, program: Program, order: RunPipeline, context: SessionContext) -> None:
        _check(program, order)
        self.program = program
        self._context = context
        self._renderer = Renderer(program, order, context.restore, context.needs)
        self._started = order.began
        self._inline: int | None = None
        self._origin: str | None = None
        self.order = order
        self.task = order.task
        self.attempt_number = order.attempt
        self.ctx = order.ctx
        self.iter = order.iter
        self.prev = order.prev
        self.task_results = order.task_results
        self.tasks_run = order.tasks_run
        # Copied, as the session counts in it, and the order may be asked about again (`is_past`).
        self.visits = dict(order.visits)
        self.origins = dict(order.origins)
        self.over = False
        self._args = None if program.plan.phases or program.plan.compensations else order.args

    @property
    def args(self) -> dict[str, Json]:
        """The args that the token brought, with the value of what another run came to where they tell of one. Raises
        Absent, Fault.
        """
        if self._args is None:
            is_told = self.order.step in later_entries(self.program.plan)
            self._args = args_with(self.order.args, self._context.results.own_value) if is_told else self.order.args
        return self._args

    @property
    def action_id(self) -> str:
        """The id that all attempts of this task run share."""
        return action_id_of(self.order.execution_id, self.order.run, self.task, self.visits[self.task])

    @property
    def origin(self) -> str:
        """The origin that the secrets of the task it stands at went to first, empty where they went nowhere yet."""
        return self.origins.get(self.task, "")

    @property
    def row(self) -> Task:
        """The task it stands at."""
        return self.program.plan.tasks[self.task]

    def is_past(self, order: RunPipeline) -> bool:
        """Whether an order for the same pipeline says nothing new: one that came twice, or that this one overtook."""
        # A claim only grows, and within one the tasks that were run only grow: so the pair tells which of two orders
        # is later, without any clock.
        mine, theirs = (self.order.claim, self.tasks_run), (order.claim, order.tasks_run)
        if mine != theirs:
            return mine > theirs
        if self.attempt_number != order.attempt:
            return self.attempt_number > order.attempt
        # An order at the very same place is new only if it brings an outcome that this session was not begun with.
        brought = self.order.outcome is not None and self.order.tasks_run == self.tasks_run
        return brought or order.outcome is None

    def attempt(self, now: int) -> Attempt:
        """The attempt that is due, its fields rendered; a fault is kept for `faulted`. It may be asked for again."""
        row = self.row
        lost = self.order.lost and self.task == self.order.task
        self._started, self._origin = now, None
        try:
            # The noops that lowering puts between tasks have nothing to render, and are the most frequent of all.
            # They cost no scope.
            asked = max(row.fields, row.args, row.knobs, row.timeout) >= 0 or not kind_of(row.kind).pure
            context = self._context
            names = context.keychain()  # for every task: what its tool may write of a secret has to be known
            scope = field_scope(self.program, self, context.results.follow, now, names) if asked else NO_NAMES
            rendered = None if lost else self._renderer.render(row, scope, self)
        except Fault as fault:
            return Attempt(row, None, fault, lost)
        # The store may be back in a second. To end the task by it would turn an outage into a wrong end of the run.
        except StoreFailure:
            raise
        # A mistake in this package is told as the fault of one task. The worker has other pipelines, which must not
        # fall with it.
        except Exception as problem:
            return Attempt(row, None, _mistake(problem), lost)
        self._inline = _inline_of(rendered, self.program)
        origin = None if rendered is None or self.origin else origin_of(rendered.call)
        # The log keeps the first origin only, and a host name may be made of a secret
        # (`https://<token>.example.com`).
        self._origin = None if origin is None else context.results.hidden(origin)
        return Attempt(row, rendered, None, lost)

    def started(self, now: int, call: dict[str, Json] | None = None) -> Event:
        """`task.started`; with the rendered call when the task parks."""
        self._started = now
        data: dict[str, Json] = {}
        if self._origin is not None:
            data["origin"] = self.origins[self.task] = self._origin
        if call is not None:
            data["call"] = call
            limit = seconds_of(call.get("timeout"))
            if limit is not None:
                data["due"] = now + round(limit * 1_000_000)
            timers = call.get("timers")
            if isinstance(timers, dict):
                from noetl_ir.kinds.wait import due_of

                # Times are fixed here, as the server sets its timers by this event: after a crash it has the same
                # times from the log.
                dues = {name: due_of(timer, now) for name, timer in timers.items()}
                data["timers"] = {name: due for name, due in dues.items() if due is not None}
                if unsaid := [name for name, timer in timers.items() if _is_without_offset(timer)]:
                    data["utc"] = [*unsaid]
        return self._event("task.started", now, "s", data)

    def faulted(self, now: int, fault: Fault) -> Event:
        """`task.done` of a task whose fields could not be rendered: no rule is asked."""
        return self._carried_out(now, _judged_fault(fault))

    def judge(self, now: int, outcome: Outcome, took: int | None = None) -> JudgedOutcome:
        """The outcome as its rules judge it. `took` is how many microseconds the attempt was at work, where it was.

        Rules see the outcome whole; the log gets its result with secrets hidden, and a reference where it is large.
        An unexpected exception fails this task and nothing else. The session stands where it stood until the outcome is
        carried out (`finish`).
        """
        try:
            return self._judged(now, outcome, took)
        except StoreFailure:
            raise
        except Exception as problem:
            return _judged_fault(_mistake(problem))

    def finish(self, now: int, judged: JudgedOutcome) -> Event:
        """`task.done` or `retry.started` after a judged outcome; the session moves on to where the directive leads."""
        try:
            return self._carried_out(now, judged)
        except Exception as problem:
            return self._carried_out(now, _judged_fault(_mistake(problem)))

    def _carried_out(self, now: int, judged: JudgedOutcome) -> Event:
        if judged.directive.kind == "retry":
            return self._again(now, judged.envelope, judged.directive)
        return self._done(now, judged.envelope, judged.directive, judged.shown)

    def _judged(self, now: int, outcome: Outcome, took: int | None) -> JudgedOutcome:
        outcome, shown = self._context.results.recorded(self.order.step, outcome, self.row.kind, self._inline)
        number = self.attempt_number
        envelope, row = _envelope(outcome), self.row
        envelope["meta"] = {
            "attempt": number,
            # `started` and `ended` are of the wall clock, which may be set back in between; `took` is of one that
            # cannot be set. The first is for an outcome that was made elsewhere (a child's).
            "duration": (max(now - self._started, 0) if took is None else took) / 1_000_000,
            "started": self._started,
            "ended": now,
            # Behind a space stands the context that the start came with.
            "trace_id": self.order.trace_id.partition(" ")[0],
        }
        scope = rule_scope(self.program, self, self._context.results.follow, now, envelope) if row.rules else NO_NAMES
        directive = judge(self.program, row, envelope, attempt=number, scope=scope, chance=self._context.chance)
        if directive.ctx and (unfit := fault_in(self.program, self.ctx, directive.ctx)):
            fault = Fault(str(unfit["code"]), str(unfit["message"]))
            directive = fault_directive(fault, envelope)._replace(rule=directive.rule)
        return JudgedOutcome(envelope, directive, shown)

    def _again(self, now: int, envelope: dict[str, Json], directive: Directive) -> Event:
        wait = directive.wait or 0.0
        data: dict[str, Json] = {
            "status": envelope["status"],
            # The result of an attempt that is retried goes nowhere, as no later task can read it. It may be large,
            # and there may be many attempts.
            "outcome": {key: value for key, value in envelope.items() if key != "result"},
            "directive": "retry",
            "rule": directive.rule,
            "due": now + round(wait * 1_000_000),
            "wait": wait,
        }
        self._patch(data, directive)
        self.over = True
        return self._event("retry.started", now, "r", data)

    def _done(self, now: int, envelope: dict[str, Json], directive: Directive, shown: Json = None) -> Event:
        data: dict[str, Json] = {
            "status": envelope["status"],
            "outcome": {key: value for key, value in envelope.items() if key != "result"},
            "directive": directive.kind,
            "rule": directive.rule,
        }
        # The result stands beside the envelope and not in it, so that a large one can be replaced by its reference in
        # one place.
        if shown is not None:
            data["result"] = shown
        if directive.error is not None:
            rule: dict[str, Json] = {"rule": directive.rule} if directive.rule >= 0 else {}
            data["error"] = {
                **directive.error,
                "step": self.program.plan.steps[self.order.step].name,
                "task": self.row.name,
                **rule,
            }
        if directive.kind == "jump":
            data["to"] = directive.to
        if directive.wait is not None:
            data["due"] = now + round(directive.wait * 1_000_000)
        if directive.passed_error:
            data["passed_error"] = True
        self._patch(data, directive)
        event = self._event("task.done", now, "d", data)
        self._move(directive, shown)
        return event

    def _patch(self, data: dict[str, Json], directive: Directive) -> None:
        if directive.iter:
            data["iter"] = directive.iter
            self.iter = {**self.iter, **directive.iter}
        if directive.ctx:
            data["ctx"] = directive.ctx
            self.ctx = patched(self.program, self.ctx, directive.ctx)

    def _move(self, directive: Directive, result: Json) -> None:
        row = self.row
        self.tasks_run += 1
        # `prev` and the results by name are for the tasks that the author wrote. A noop of lowering in between must
        # not show.
        if not row.generated:
            self.prev = result
            self.task_results = {**self.task_results, row.name: result}
        target = directive.to if directive.kind == "jump" else row.following
        if directive.kind in ("fail", "fault", "break") or target < 0 or directive.wait is not None:
            self.over = True
            return
        self.task = target
        # A jump may come back to a task. The visit is part of the ids of events and actions, so the second time is
        # not taken for the first.
        self.visits[target] = self.visits.get(target, 0) + 1
        self.attempt_number = 1

    def _event(self, event_type: str, now: int, letter: str, data: dict[str, Json]) -> Event:
        order, task = self.order, self.task
        visit, number = self.visits.get(task, 1), self.attempt_number
        event_id = f"{order.run}:{task}:{visit}:{number}:{order.claim}:{letter}"
        return event_of((event_id, event_type, now, order.step, order.run, task, visit, number, order.claim, (), data))


def _check(program: Program, order: RunPipeline) -> None:
    steps = program.plan.steps
    if not 0 <= order.step < len(steps) or order.task not in steps[order.step].tasks:
        raise Misfit(f"its plan has no task {order.task} in step {order.step}")
    run, *indexes = order.run.split("/")
    if not run or len(indexes) != len(steps[order.step].loops) or not all(map(_is_index, indexes)):
        raise Misfit(f"`{order.run[:80]}` is no place in the loops of its step")
    if (
        order.attempt < 1
        or min(order.visits.values(), default=1) < 1
        or not order.visits.keys() <= {*steps[order.step].tasks}
    ):
        raise Misfit("its counts of visits and attempts are none")


def _is_index(text: str) -> bool:
    # `isdigit` alone takes digits of every script, and a number of a million digits takes a while to read.
    return text.isascii() and text.isdigit() and len(text) < 19


def _mistake(problem: Exception) -> Fault:
    """A mistake of ours in one pipeline."""
    return Fault(CODE, str(fault_of(problem)["message"]))


def _inline_of(rendered: RenderedCall | None, program: Program) -> int | None:
    """The size in bytes above which a task asks for its result to be stored outside, or its playbook for all of them;
    None where nobody asks.
    """
    if rendered is None or rendered.parks:
        return None
    asked = rendered.call.knobs.get(INLINE, 0 if program.plan.executor.get(REFERENCE_FIRST) else None)
    return max(asked, 0) if isinstance(asked, int) and not isinstance(asked, bool) else None


def _is_without_offset(timer: Json) -> bool:
    """Whether a timer has a time of day that does not say of which offset it is."""
    from noetl_ir.kinds.wait import AT, moment_of

    moment = moment_of(timer.get(AT)) if isinstance(timer, dict) else None
    return moment is not None and not moment[1]


def _judged_fault(fault: Fault) -> JudgedOutcome:
    return JudgedOutcome(_envelope(error(fault.code, fault.message)), fault_directive(fault))


def _envelope(outcome: Outcome) -> dict[str, Json]:
    """An outcome as rules and the log have it: its error says its kind, whoever made it."""
    if outcome.error is not None:
        from noetl_ir.responses import whole_error  # most runs have no error

        outcome = outcome._replace(error=whole_error(outcome))
    return outcome.as_json()
