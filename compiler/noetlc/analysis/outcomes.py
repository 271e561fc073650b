"""The outcomes of a run of the net as guards and rules read them: what was chosen of each, in the shape that its tool
gives it, and the events of steps that end by them.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from noetl_ir.evaluate import Fault
from noetl_ir.expr import Json, Literal, MapTemplate
from noetl_ir.net import Transition
from noetl_ir.outcome import Outcome, OutcomeStatus, with_kind
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetl_ir.shaping import is_result_of, shaped_outcome
from noetlc.analysis.trials import TrialPath, tree_of
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
    """The attempt that an outcome is of; of its fields and knobs those that are written out."""

    kind: str
    step: str
    task: str
    status: OutcomeStatus
    fields: dict[str, Json]
    knobs: dict[str, Json]
    extras: frozenset[str]


class Outcomes:
    """The outcomes of one run, numbered in its order from 0."""

    def __init__(self, plan: Plan, run: Sequence[Transition]) -> None:
        self._attempts = [_attempt_of(plan, t) for t in run if t.role in OUTCOMES]
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
                return True
            case ["error", *_]:
                return attempt.status == "error"
            case [str(extra), *_]:
                return bool(extra in attempt.extras)
            case _:
                return False

    def error(self, trees: Trees, number: int, said: Mapping[str, Json]) -> dict[str, Json]:
        """The error of a run that an outcome failed, by a rule that says its own code or message or none
        (`noetl.engine.rules`).
        """
        attempt, own = self._attempts[number], trees[number]["error"]
        # A rule may fail a success.
        error = own if isinstance(own, dict) else {"code": "task.failed", "message": "a rule failed the task"}
        return {**with_kind({**error, **said}), "step": attempt.step, "task": attempt.task}

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
        error = None if shaped.error is None else with_kind(shaped.error, shaped.extras)
        return {"status": shaped.status, "result": shaped.result, "error": error, **shaped.extras}


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
    return _Attempt(task.kind, plan.steps[t.step].name, task.name, status, fields, knobs, extras)


def _written_out(plan: Plan, row: int) -> dict[str, Json]:
    """The entries of a mapping that have no template in them."""
    match plan.templates[row] if row >= 0 else None:
        case Literal(value=dict(value)):
            return value
        case MapTemplate(items=items):
            return {key: each.value for key, each in items if isinstance(each, Literal)}
        case _:
            return {}
