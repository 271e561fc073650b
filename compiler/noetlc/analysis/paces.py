"""How fast the outcomes of a script come: no limit of time and no timer may be over before the run is.

A run of the net in which no timer fires says nothing of time. In its script each outcome takes a while, and what is
limited to less than all of them together would end by its limit.
"""

from collections.abc import Iterator, Sequence

from noetl_ir.expr import Json, Literal, MapTemplate, Template
from noetl_ir.kinds import grown, seconds_of
from noetl_ir.net import Transition
from noetl_ir.plan import Plan, Rule

USUAL = 1.0
"""Seconds from one outcome to the next where nothing limits them."""
HASTY = 0.001
"""The seconds where a limit is computed: whoever computes one means no less for a handful of outcomes."""
_DEFAULT_DELAY = 1.0  # of `retry`


def pace_of(plan: Plan, run: Sequence[Transition], outcomes: int) -> float | None:
    """The seconds from one outcome of a run to the next, of so many; None where the run waits too long by itself."""
    limits = list(_limits(plan, {t.step for t in run}))
    if not limits:
        return USUAL
    delays = [_delay(plan, t) for t in run if t.role in ("wake", "land")]
    if None in limits and delays:
        return None
    # Whatever a limit counts from, it is kept where the script as a whole is shorter.
    most = min((each for each in limits if each is not None), default=float("inf"))
    left = most - sum(float("inf") if each is None else each for each in delays)
    if left <= 0:
        return None
    pace = HASTY if None in limits else USUAL
    while pace * outcomes >= left:
        pace /= 10
    return pace if round(pace * 1_000_000) >= 1 else None


def _limits(plan: Plan, steps: set[int]) -> Iterator[float | None]:
    """The seconds of each limit and timer of the execution and of some steps, None for one that is computed."""
    single = [plan.timeout, *(plan.steps[each].timeout for each in steps if each >= 0)]
    single += [row.timeout for row in plan.iteration_limits if row.step in steps]
    yield from (_seconds(plan.templates[each]) for each in single if each >= 0)
    timers = [row.timers for row in plan.interrupts if row.step in steps]
    timers += [row.timers for row in plan.loop_signals if row.step in steps]
    for each in timers:
        if each >= 0:
            yield from _timers(plan.templates[each])


def _timers(timers: Template) -> Iterator[float | None]:
    match timers:
        case MapTemplate(items=items):
            yield from (_seconds(each) for _, each in items)
        case Literal(value=dict(found)):
            yield from (seconds_of(each) for each in found.values())
        case _:
            yield None


def _seconds(template: Template) -> float | None:
    value: Json = template.value if isinstance(template, Literal) else None
    return seconds_of(value)


def _delay(plan: Plan, t: Transition) -> float | None:
    """The longest that a token on its way, or a task between two tries or behind a jump, waits; None if computed."""
    if t.role == "land":
        return _seconds(plan.templates[plan.arcs[t.arc].delay])
    found = [_wait(plan, rule) for rule in _waiting_rules(plan, t)]
    return None if None in found else max((each for each in found if each is not None), default=_DEFAULT_DELAY)


def _waiting_rules(plan: Plan, t: Transition) -> list[Rule]:
    tasks = plan.steps[t.step].tasks
    return [rule for task in tasks for rule in plan.tasks[task].rules if rule.directive in ("retry", "jump")]


def _wait(plan: Plan, rule: Rule) -> float | None:
    delay = _DEFAULT_DELAY if rule.delay < 0 else _seconds(plan.templates[rule.delay])
    if delay is None or rule.backoff == "none":
        return delay
    most = _seconds(plan.templates[rule.max_delay]) if rule.max_delay >= 0 else None
    longest = delay * rule.attempts if rule.backoff == "linear" else grown(delay, rule.multiplier, rule.attempts)
    return longest if most is None else min(longest, most)
