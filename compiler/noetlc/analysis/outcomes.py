"""The outcomes of a run of the net as guards and rules read them: what was chosen of each, in the shape that its tool
gives it, and the events of steps that end by them.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from noetl_ir.evaluate import Fault
from noetl_ir.expr import Json, Literal, MapTemplate
from noetl_ir.net import Transition
from noetl_ir.outcome import Outcome, OutcomeStatus, is_playbook_fault, with_kind
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetl_ir.shaping import is_outcome_of_tools, is_result_of, shaped_outcome
from noetl_ir.words import FAILING
from noetlc.analysis.iterations import indexes_of
from noetlc.analysis.trials import TrialPath, tree_of
from noetlc.analysis.unknown import UNKNOWN
from noetlc.reading.kinds import kind_of

Trees: TypeAlias = Mapping[int, Mapping[str, Json]]
"""Number of an outcome → its envelope, as rules read it under `outcome`."""

LoopEnds: TypeAlias = tuple[int | None, ...]
"""For each iteration of a loop the number of the outcome whose result is its entry: -1 where none is, None for one that
failed.
"""

OUTCOMES = frozenset({"continue", "break", "fail", "retry", "jump", "jump_later"})
"""The roles of transitions that are the outcome of an attempt."""


class _Attempt(NamedTuple):
    """The attempt that an outcome is of; of its fields and knobs those that are written out, the others unknown. One
    of lowering that has a result is `made`, which gives the step's (`noetl.engine.program.Program.gives_result`).
    """

    kind: str
    step: str
    task: str
    status: OutcomeStatus
    fields: dict[str, Json]
    knobs: dict[str, Json]
    extras: frozenset[str]
    rules: bool
    made: bool


class PipelineState(NamedTuple):
    """The state of a pipeline before an outcome: the number of the latest of each of its tasks by name and of the
    task before (-1 for none), and which attempt it is, from 1.
    """

    tasks: Mapping[str, int]
    previous: int
    attempt: int


_BEGIN = PipelineState({}, -1, 1)


class Outcomes:
    """The outcomes of one run, numbered in its order from 0."""

    def __init__(self, plan: Plan, run: Sequence[Transition]) -> None:
        self._attempts = [_attempt_of(plan, t) for t in run if t.role in OUTCOMES]
        indexes = indexes_of(plan, run)
        self.before = _states_before(plan, run, indexes)
        self.of_start = _ends_of(run, indexes)
        """Where an attempt starts in the run → the number of its outcome."""
        self._plain = {number: self._envelope(number, {}) for number in range(len(self._attempts))}

    def trees(self, values: Mapping[TrialPath, Json]) -> Trees:
        """The envelopes of all outcomes; raises Fault where a tool would give another one than was chosen."""
        chosen: dict[int, dict[TrialPath, Json]] = {}
        for path, value in values.items():
            if path[0] == "outcome" and isinstance(path[1], int):
                chosen.setdefault(path[1], {})[path[2:]] = value
        found = {number: self._envelope(number, tree_of(rows, ())) for number, rows in chosen.items()}
        return {**self._plain, **found}

    def is_free(self, number: int, keys: Sequence[str | int]) -> bool:
        """Whether a script can choose what stands there in an outcome: its transition gives the status, a success has
        no error, and a tool gives its own extras alone.
        """
        attempt = self._attempts[number]
        match keys:
            case ["result", *_]:
                return not attempt.made
            case ["error", *_]:
                return attempt.status == "error"
            case [str(extra), *_]:
                return bool(extra in attempt.extras)
            case _:
                return False

    def gives_result(self, number: int) -> bool:
        """Whether the result of an outcome is one that lowering made for the step."""
        return self._attempts[number].made

    def error(self, trees: Trees, number: int, said: Mapping[str, Json]) -> dict[str, Json]:
        """The error of a run that an outcome failed, by a rule that says its own code or message or none
        (`noetl.engine.rules`).
        """
        attempt, own = self._attempts[number], trees[number]["error"]
        # A rule may fail a success.
        error = own if isinstance(own, dict) else {"code": "task.failed", "message": "a rule failed the task"}
        # A rule's own code stands for what happened.
        cause = {key: each for key, each in trees[number].items() if key not in ("result", "meta")}
        caused: dict[str, Json] = {"cause": cause} if "code" in said else {}
        return {**with_kind({**error, **said, **caused}), "step": attempt.step, "task": attempt.task}

    def _envelope(self, number: int, chosen: Mapping[str, Json]) -> dict[str, Json]:
        attempt = self._attempts[number]
        written = chosen.get("error")
        problem: dict[str, Json] = {} if written is None else {"message": written}
        problem = written if isinstance(written, dict) else problem
        extras = {key: value for key, value in chosen.items() if key in attempt.extras}
        outcome = Outcome(attempt.status, chosen.get("result"), problem if attempt.status == "error" else None, extras)
        shaped = shaped_outcome(attempt.kind, attempt.fields, attempt.knobs, outcome, 0.0)
        if shaped.status != attempt.status:
            raise Fault("script.status", f"the outcome would be `{shaped.status}`")
        if shaped.status == "ok" and not is_result_of(attempt.kind, shaped.result):
            raise Fault("script.result", f"`{attempt.kind}` gives no such result")
        # A task of the kind `fail` says what its author wrote.
        if attempt.kind != FAILING and not is_outcome_of_tools(shaped):
            raise Fault("script.shape", f"`{attempt.kind}` gives no such values")
        error = None if shaped.error is None else with_kind(shaped.error, shaped.extras)
        if error is not None:
            if attempt.rules and attempt.kind != "playbook" and is_playbook_fault(error["code"]):
                raise Fault("script.code", "no rule is asked about a fault of the playbook")
            # The message about an answer names its address.
            if attempt.kind == "http" and "message" not in problem and UNKNOWN in attempt.fields.values():
                error["message"] = UNKNOWN
        result = UNKNOWN if attempt.made else shaped.result
        return {"status": shaped.status, "result": result, "error": error, "meta": UNKNOWN, **shaped.extras}


def result_of(trees: Trees, number: int) -> Json:
    """The result of an outcome."""
    return trees[number]["result"] if number >= 0 else None


def entries_of(trees: Trees, ends: LoopEnds) -> list[Json]:
    """The result of a loop: an entry for each iteration, null for one that failed."""
    return [None if number is None else result_of(trees, number) for number in ends]


def results_of(plan: Plan, latest: Mapping[int, int], lists: Mapping[int, LoopEnds], trees: Trees) -> dict[str, Json]:
    """The results of steps by name: `latest` has the number of the outcome that gives it, `lists` the ends of loops."""
    found: dict[str, Json] = {plan.steps[step].name: result_of(trees, number) for step, number in latest.items()}
    return found | {plan.steps[step].name: entries_of(trees, ends) for step, ends in lists.items()}


def event_of_run(trees: Trees, last: int, shown: int, error: dict[str, Json] | None) -> dict[str, Json]:
    """The fields of the event of a step without a loop, beside its name and status: the numbers are those of its latest
    outcomes, of a task that gives a result and of any; `error` is that of a run that failed.
    """
    outcome = trees.get(shown)
    return {
        "result": result_of(trees, last) if error is None else None,
        "error": error,
        "outcome": None if outcome is None else {key: each for key, each in outcome.items() if key != "result"},
    }


def event_of_loop(
    trees: Trees, ends: LoopEnds, errors: Mapping[int, dict[str, Json]], *, done: bool
) -> dict[str, Json]:
    """The fields of a loop's event beside those of the event of any step (`noetl.engine.views.terminal_event`);
    `errors` are those of the iterations that failed, by their indexes.
    """
    rows: list[Json] = [{"index": index, **errors[index]} for index in sorted(errors)]
    first = None if done or not errors else {**errors[min(errors)], "errors": rows}
    return {
        "result": entries_of(trees, ends) if done else None,
        "error": first,
        "outcome": None,
        "total": len(ends),
        "ok": len(ends) - len(errors),
        "failed": len(errors),
        "skipped": 0,
        "errors": rows,
    }


def _attempt_of(plan: Plan, t: Transition) -> _Attempt:
    task = plan.tasks[t.task]
    kind = kind_of(task.kind)
    extras = frozenset(kind.extras if kind is not None else ())
    fields, knobs = _written_out(plan, task.fields), _written_out(plan, task.knobs)
    status: OutcomeStatus = "ok" if t.outcome == "ok" else "error"
    made = task.generated and task.kind == "noop" and "result" in fields
    step, rules = plan.steps[t.step].name, bool(task.rules)
    return _Attempt(task.kind, step, task.name, status, fields, knobs, extras, rules, made)


def _ends_of(run: Sequence[Transition], indexes: Sequence[int]) -> dict[int, int]:
    found, open_ = dict[int, int](), dict[tuple[int, int], int]()
    number = 0
    for at, (t, index) in enumerate(zip(run, indexes, strict=True)):
        if t.role == "start":
            open_[t.task, index] = at
        elif t.role in OUTCOMES:
            if (t.task, index) in open_:
                found[open_.pop((t.task, index))] = number
            number += 1
    return found


def _states_before(plan: Plan, run: Sequence[Transition], indexes: Sequence[int]) -> list[PipelineState]:
    """For each outcome of a run the state of its pipeline before it."""
    found = list[PipelineState]()
    pipelines: dict[tuple[int, int], PipelineState] = {}
    for t, index in zip(run, indexes, strict=True):
        if t.role == "begin" and t.level < 1:
            pipelines[t.step, index] = _BEGIN
        elif t.role in OUTCOMES:
            here, number = pipelines.get((t.step, index), _BEGIN), len(found)
            found.append(here)
            # What an attempt gives that is tried again nobody sees, nor what lowering made.
            if t.role == "retry":
                here = here._replace(attempt=here.attempt + 1)
            elif plan.tasks[t.task].generated:
                here = here._replace(attempt=1)
            else:
                here = PipelineState({**here.tasks, plan.tasks[t.task].name: number}, number, 1)
            pipelines[t.step, index] = here
    return found


def _written_out(plan: Plan, row: int) -> dict[str, Json]:
    """The entries of a mapping; unknown are those with a template in them."""
    match plan.templates[row] if row >= 0 else None:
        case Literal(value=dict(value)):
            return value
        case MapTemplate(items=items):
            return {key: each.value if isinstance(each, Literal) else UNKNOWN for key, each in items}
        case _:
            return {}
