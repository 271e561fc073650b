"""How fast the outcomes of a script come: no limit of time and no timer may be over before the run is.

A run of the net in which no timer fires says nothing of time. In its script each outcome takes a while, and what is
limited to less than all of them together would end by its limit.
"""

from collections.abc import Iterator, Sequence

from noetl_ir.expr import Json, Literal, MapTemplate, Template
from noetl_ir.kinds import grown, seconds_of
from noetl_ir.net import Transition
from noetl_ir.plan import Plan, Rule
from noetlc.analysis.iterations import sizes_of, weight_of
from noetlc.analysis.outcomes import OUTCOMES

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


def times_of(
    plan: Plan, run: Sequence[Transition], ends: int, pace: float, *, tried: bool = False
) -> dict[int, float] | None:
    """For each outcome of a run by its number the seconds that its attempt takes, so that all come in the order of the
    run, and before the last ones, so many as `ends`; None where that needs times that nobody knows.
    """
    found = None
    while found is None and round(pace * 1_000_000) >= 1:
        found = _Clock(plan, run, len(run) - ends, pace, lax=tried).times()
        pace /= 10
    return found


class _Clock:
    """The times of a run at one pace. Who only tries the run is `lax`: to it a delay is none."""

    def __init__(self, plan: Plan, run: Sequence[Transition], end: int, pace: float, *, lax: bool) -> None:
        self._plan, self._run, self._end, self._pace, self._lax = plan, run, end, pace, lax
        self._sizes = sizes_of(run)
        self._since: dict[int, list[float]] = {place: [0.0] * tokens for place, tokens in plan.net.initial}
        self._over = _ends_of(run)

    def times(self) -> dict[int, float] | None:
        found: dict[int, float] = {}
        clock, attempts = 0.0, dict[int, int]()
        for number, t in enumerate(self._run):
            size = self._sizes.get(number, 1)
            taken = [each for arc in t.inputs for each in self._taken(arc.place, weight_of(self._plan, t, arc, size))]
            begun = max(taken, default=0.0)
            # What follows by itself comes when the run has come so far: a token may have lain at a gate, or in a join.
            if not (self._lax or t.role in OUTCOMES or t.role in ("land", "wake")):
                begun = clock
            if number == self._end and not self._all_come_later(clock):
                return None
            if t.role in OUTCOMES:
                # A tick of the clock an outcome gives them a total order, which is the order of the run. Two at one
                # moment could be taken the other way round.
                clock += self._pace
                takes = round(clock - begun, 6)
                if not self._is_in_time(t.task, takes):
                    return None
                found[number] = int(takes) if takes == int(takes) else takes
                begun = clock
                attempts[t.task] = attempts.get(t.task, 0) + 1 if t.role == "retry" else 0
            elif t.role in ("land", "wake") and not self._lax:
                arrives = self._arrives(t, number, begun, attempts.get(t.task, 1))
                if arrives is None or arrives < clock or (arrives == clock and arrives > begun):
                    return None
                clock = begun = arrives
            for arc in t.outputs:
                self._since.setdefault(arc.place, []).extend([begun] * weight_of(self._plan, t, arc, size))
        return found if self._end < len(self._run) or self._all_come_later(clock) else None

    def _is_in_time(self, number: int, takes: float) -> bool:
        """Whether an attempt at a task that takes so many seconds is no timeout."""
        timeout = self._plan.tasks[number].timeout
        template = self._plan.templates[timeout] if timeout >= 0 else None
        match template:
            case None | MapTemplate() | Literal(value=dict()):  # limits of parts of it, which a script has not
                return True
            case Literal():
                limit = _seconds(template)
                return limit is None or takes <= limit
            case _:
                return takes <= HASTY * len(self._run)

    def _taken(self, place: int, count: int) -> list[float]:
        row = self._since.get(place, [])
        found = row[:count]
        del row[:count]
        return found

    def _arrives(self, t: Transition, number: int, begun: float, attempt: int) -> float | None:
        """When a token is there that waits, at the latest; None where it may come at a time that matters."""
        exact = _exact_delay(self._plan, t, attempt)
        if exact is not None:
            return begun + exact
        others = any(self._since.get(place) for place in self._waiting())
        if others or any(start < number < end for start, end in self._over.items() if end < self._end):
            return None
        longest = _delay(self._plan, t)
        last = any(start < number < end for start, end in self._over.items())
        return begun + (longest or 0.0) if longest is not None or not last else None

    def _waiting(self) -> Iterator[int]:
        yield from (n for n, place in enumerate(self._plan.net.places) if place.role in ("fly", "due"))

    def _all_come_later(self, clock: float) -> bool:
        """Whether nothing that waits when the run is over may come before that."""
        if self._lax:
            return True
        for t in self._plan.net.transitions:
            if t.role in ("land", "wake") and (since := self._since.get(t.inputs[0].place)):
                least = _exact_delay(self._plan, t, 1)
                if least is None or min(since) + least <= clock:
                    return False
        return True


def _ends_of(run: Sequence[Transition]) -> dict[int, int]:
    """The number of each start of an attempt in a run → that of its outcome."""
    found, open_ = dict[int, int](), dict[int, list[int]]()
    for number, t in enumerate(run):
        if t.role == "start":
            open_.setdefault(t.task, []).append(number)
        elif t.role in OUTCOMES and open_.get(t.task):
            found[open_[t.task].pop(0)] = number
    return found


def _exact_delay(plan: Plan, t: Transition, attempt: int) -> float | None:
    """The seconds that a token on its way or a task behind an attempt waits; None where the run alone knows."""
    if t.role == "land":
        return _seconds(plan.templates[plan.arcs[t.arc].delay])
    found = {_exact_wait(plan, rule, attempt) for rule in _waiting_rules(plan, t)}
    return next(iter(found)) if len(found) == 1 else None


def _exact_wait(plan: Plan, rule: Rule, attempt: int) -> float | None:
    delay = _DEFAULT_DELAY if rule.delay < 0 else _seconds(plan.templates[rule.delay])
    most = _seconds(plan.templates[rule.max_delay]) if rule.max_delay >= 0 else float("inf")
    if delay is None or most is None or rule.jitter:
        return None
    if rule.backoff == "linear":
        delay *= attempt
    elif rule.backoff != "none":
        delay = grown(delay, rule.multiplier, attempt - 1)
    return min(delay, most)


def _limits(plan: Plan, steps: set[int]) -> Iterator[float | None]:
    """The seconds of each limit and timer of the execution and of some steps, None for one that is computed."""
    single = [plan.timeout, *(plan.steps[each].timeout for each in steps if each >= 0)]
    single += [row.timeout for row in plan.iteration_limits if row.step in steps]
    # No outcome of a script ends these: whatever they wait for, they are over at their limit.
    single += [each.timeout for each in plan.tasks if each.step in steps and each.kind in ("wait", "playbook")]
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
