"""A run of a case held against what the case expects: each expectation that is not met is a failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from noetl.app.ending import Ending
from noetl.app.suites.comparing import MISSING, difference
from noetl.app.suites.running import Ran
from noetl.app.suites.step_runs import steps_of
from noetl_ir.expr import Json
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetl_ir.span import NOWHERE, Span
from noetl_ir.suite import Expectation, SuiteCase


class Failure(NamedTuple):
    """An expectation that was not met: what is wrong, where the case says what it expects, and the place in the
    playbook that it is about (`NOWHERE` for none). `details` are further sentences.

    `expected` and `actual` are values, `where` says of what (`result.rows[0].id`); `MISSING` for one that is not there,
    both of a failure that is not about a value.
    """

    message: str
    span: Span
    at: Span = NOWHERE
    details: tuple[str, ...] = ()
    where: str = ""
    expected: Json = MISSING
    actual: Json = MISSING


def failures_of(case: SuiteCase, ran: Ran) -> tuple[Failure, ...]:
    """The failures of a run of a case, in the order of its expectations."""
    found = [Failure(text, case.span, _place(ran.program.plan, step, task)) for text, step, task in ran.wrong]
    # Behind a missing outcome everything differs by that alone.
    if ran.ending is None or ran.by_case is not None:
        return tuple(found)
    asked = {each.what for each in case.expected}
    # A run that fails although nobody said that it should is what a test is there to tell.
    if not asked & {"status", "error"} and not ran.wrong:
        found += _status(ran, Expectation("status", "completed", case.span))
    for each in case.expected:
        found += CHECKS[each.what](ran, each)
    return tuple(found)


def _place(plan: Plan, step: str, task: str = "") -> Span:
    """Where a step, or a task of it, is written."""
    for row in plan.steps:
        if row.name == step:
            for number in row.tasks:
                if plan.tasks[number].name == task:
                    return plan.tasks[number].span
            return row.span
    return NOWHERE


def _status(ran: Ran, each: Expectation) -> Iterator[Failure]:
    if ran.status == each.value or ran.status == "interrupted":
        return
    assert ran.ending is not None
    details, at = [], NOWHERE
    if isinstance(ran.ending.error, dict):
        details.append(f"it failed by {_error_text(ran.ending.error)}")
        at = _at(ran)
        details += _children(ran.ending)
    if ran.ending.reason:
        details.append(f"the reason: {ran.ending.reason}")
    details += [f"it waits: {text}" for text in ran.waits]
    yield Failure(f"the run is `{ran.status}`, and `{each.value}` is expected", each.span, at, tuple(details), "status",
                  each.value, ran.status)  # fmt: skip


def _children(ending: Ending) -> Iterator[str]:
    """The error of each child that a failure came from, with its line where that is known."""
    for child in ending.children:
        if not isinstance(child.error, dict):
            continue
        at = child.error.get("at")
        place = f" ({at['file']}:{at['line']}:{at['column']})" if isinstance(at, dict) else ""
        yield f"in `{child.playbook}` by {_error_text(child.error)}{place}"
        if child.line.strip():
            yield f"  {child.line.strip()}"


def _at(ran: Ran) -> Span:
    """Where the error of the run came from."""
    error = ran.ending.error if ran.ending is not None else None
    at = error.get("at") if isinstance(error, dict) else None
    if not isinstance(at, dict) or not isinstance(at.get("line"), int) or not isinstance(at.get("column"), int):
        return NOWHERE
    line, column = int(str(at["line"])), int(str(at["column"]))
    if "end_line" in at:
        return Span(line, column, int(str(at["end_line"])), int(str(at["end_column"])))
    plan = ran.program.plan
    spans = (row.span for rows in (plan.arcs, plan.tasks, plan.steps) for row in rows)
    return next((span for span in spans if span[:2] == (line, column)), Span(line, column, line, column))


def _error_text(error: dict[str, Json]) -> str:
    where = " / ".join(str(error[key]) for key in ("step", "task") if error.get(key))
    return f"`{error.get('code')}`{f' at {where}' if where else ''}: {error.get('message')}"


def _error(ran: Ran, each: Expectation) -> Iterator[Failure]:
    assert isinstance(each.value, dict) and ran.ending is not None
    error = ran.ending.error
    if not isinstance(error, dict):
        message = f"the run is `{ran.status}` without an error, and one is expected"
        yield Failure(message, each.span, where="error", expected=each.value)
        return
    for key, value in each.value.items():
        if (found := difference(value, error.get(key), partly=True)) is not None:
            yield _differing(f"the error's `{key}` is another one", each.span, _at(ran), found, f"error.{key}")


def _differing(message: str, span: Span, at: Span, found: tuple[str, Json, Json], root: str) -> Failure:
    """A failure about a value that is another one: expected and actual at the first place where they differ."""
    path, expected, actual = found
    where = f"{root}{path}"
    details = (f"expected `{where}`: {shown_value(expected)}", f"  actual `{where}`: {shown_value(actual)}")
    return Failure(message, span, at, details, where, expected, actual)


def shown_value(value: Json) -> str:
    """A value on one line, cut where it is long."""
    import json

    if value == MISSING:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


_LONGEST = 300


def _result(ran: Ran, each: Expectation) -> Iterator[Failure]:
    partly = each.what == "result_includes"
    if ran.status != "completed":
        yield Failure(f"there is no result: the run is `{ran.status}`", each.span, where="result", expected=each.value)
    elif (found := difference(each.value, ran.result, partly=partly)) is not None:
        yield _differing("the result is another one", each.span, _last_step(ran), found, "result")


def _last_step(ran: Ran) -> Span:
    steps = steps_of(ran.program.plan, ran.log)
    return _place(ran.program.plan, steps[-1]) if steps else NOWHERE


def _results(ran: Ran, each: Expectation) -> Iterator[Failure]:
    assert isinstance(each.value, dict)
    for step, value in each.value.items():
        at = _place(ran.program.plan, step)
        if step not in ran.results:
            message = f"step `{step}` has not succeeded, and a result is expected"
            yield Failure(message, each.span, at, where=step, expected=value)
        elif (found := difference(value, ran.results[step])) is not None:
            yield _differing(f"the result of step `{step}` is another one", each.span, at, found, step)


def _ctx(ran: Ran, each: Expectation) -> Iterator[Failure]:
    assert isinstance(each.value, dict)
    for key, value in each.value.items():
        if (found := difference(value, ran.ctx.get(key, MISSING))) is not None:
            yield _differing(f"`ctx.{key}` is another one", each.span, NOWHERE, found, f"ctx.{key}")


def _steps(ran: Ran, each: Expectation) -> Iterator[Failure]:
    assert isinstance(each.value, list)
    expected, actual = [str(name) for name in each.value], steps_of(ran.program.plan, ran.log)
    if each.what == "not_run":
        for step in dict.fromkeys(name for name in expected if name in actual):
            message = f"step `{step}` ran {_times(actual.count(step))}, and is expected not to"
            at = _place(ran.program.plan, step)
            yield Failure(message, each.span, at, where=each.what, expected=each.value, actual=[*actual])
    elif each.what == "steps" and expected != actual:
        first = next((n for n, pair in enumerate(zip(expected, actual, strict=False)) if pair[0] != pair[1]), None)
        first = min(len(expected), len(actual)) if first is None else first
        here = actual[first] if first < len(actual) else actual[-1] if actual else ""
        sides = (f"expected: {_listed(expected, first)}", f"  actual: {_listed(actual, first)}")
        at = _place(ran.program.plan, here)
        yield Failure("other steps ran", each.span, at, sides, each.what, each.value, [*actual])
    elif Counter(expected) != Counter(actual):
        lacking, more = Counter(expected) - Counter(actual), Counter(actual) - Counter(expected)
        details = tuple(f"{word}: {', '.join(rows.elements())}" for word, rows in (("missing", lacking), ("more", more))
                      if rows)  # fmt: skip
        here = next(iter(more or lacking), "")
        at = _place(ran.program.plan, here)
        yield Failure("other steps ran", each.span, at, details, each.what, each.value, [*actual])


def _listed(steps: list[str], at: int) -> str:
    """Steps in a row, the one at a place marked; of many those around it."""
    begin, end = max(0, at - _AROUND), at + _AROUND + 1
    names = [f"[{name}]" if number == at else name for number, name in enumerate(steps)]
    shown = ["…"] * (begin > 0) + names[begin:end] + ["[nothing]"] * (at >= len(steps)) + ["…"] * (end < len(steps))
    return " → ".join(shown)


_AROUND = 8


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times" if count else "never"


_PLACE = ("step", "task", "run", "index", "visit", "attempt")


def _calls(ran: Ran, each: Expectation) -> Iterator[Failure]:
    assert isinstance(each.value, dict)
    place = {key: value for key, value in each.value.items() if key in _PLACE}
    there = [call for call in ran.calls if all(call[key] == value for key, value in place.items())]
    fitting = [call for call in there if _misfit(each.value, call) is None]
    times = each.value.get("times")
    if len(fitting) == times or (times is None and fitting):
        return
    at = _place(ran.program.plan, str(place.get("step", "")), str(place.get("task", "")))
    name = " / ".join(str(place[key]) for key in ("step", "task") if key in place)
    how = "at least one is" if times is None else "one is" if times == 1 else f"{times} are"
    message = f"{len(fitting) or 'none'} of {len(there)} calls of `{name}` fit, and {how} expected to"
    misfit = _misfit(each.value, there[-1]) if there and not fitting else None
    if misfit is None:
        yield Failure(message, each.span, at, (), "calls", times or 1, len(fitting))
    else:
        yield _differing(message, each.span, at, *misfit)


def _misfit(wanted: dict[str, Json], call: dict[str, Json]) -> tuple[tuple[str, Json, Json], str] | None:
    """The first field or arg of a call that is another one than wanted: the difference, and what it is of; None where
    all fit.
    """
    for part in ("fields", "args"):
        rendered, asked = call[part], wanted.get(part)
        assert isinstance(rendered, dict)
        for key, value in asked.items() if isinstance(asked, dict) else ():
            if (found := difference(value, rendered.get(key, MISSING))) is not None:
                return found, f"{part}.{key}"
    return None


def _events(ran: Ran, each: Expectation) -> Iterator[Failure]:
    assert isinstance(each.value, dict)
    row, plan = each.value, ran.program.plan
    found = [
        event for event in ran.log
        if event.event_type == row["event"]
        and ("step" not in row or (event.step >= 0 and plan.steps[event.step].name == row["step"]))
        and ("task" not in row or (event.task >= 0 and plan.tasks[event.task].name == row["task"]))
        and ("attempt" not in row or event.attempt == row["attempt"])
        and ("visit" not in row or event.visit == row["visit"])
    ]  # fmt: skip
    for key, holds, words in _BOUNDS:
        bound = row.get(key)
        if isinstance(bound, int) and not holds(len(found), bound):
            told = "never" if key == "at_most" and bound == 0 else f"{words} {_times(bound)}"
            message = f"`{row['event']}` happened {_times(len(found))}, and is expected {told.strip()}"
            step = str(row.get("step") or (plan.steps[found[-1].step].name if found and found[-1].step >= 0 else ""))
            at = _place(plan, step, str(row.get("task", "")))
            yield Failure(message, each.span, at, (), f"events.{row['event']}", {key: bound}, len(found))


_BOUNDS: tuple[tuple[str, Callable[[int, int], bool], str], ...] = (
    ("times", lambda count, bound: count == bound, ""),
    ("at_most", lambda count, bound: count <= bound, "at most"),
    ("at_least", lambda count, bound: count >= bound, "at least"),
)


def _duration(ran: Ran, each: Expectation) -> Iterator[Failure]:
    assert isinstance(each.value, dict)
    took = ran.log[-1].ts - ran.log[0].ts if ran.log else 0
    for key, words in (("exactly", ""), ("at_most", "at most "), ("at_least", "at least ")):
        bound = each.value.get(key)
        if not isinstance(bound, int | float):
            continue
        limit = round(bound * 1_000_000)
        if not {"exactly": took == limit, "at_most": took <= limit, "at_least": took >= limit}[key]:
            message = f"the run took {took / 1_000_000:g} s on its clock, and {words}{bound:g} s are expected"
            yield Failure(message, each.span, NOWHERE, (), "duration", {key: bound}, took / 1_000_000)


CHECKS: dict[str, Callable[[Ran, Expectation], Iterator[Failure]]] = {
    "status": _status,
    "error": _error,
    "steps": _steps,
    "steps_in_any_order": _steps,
    "not_run": _steps,
    "result": _result,
    "result_includes": _result,
    "results": _results,
    "ctx": _ctx,
    "calls": _calls,
    "events": _events,
    "duration": _duration,
}
"""Key of `expect` → who compares it."""
