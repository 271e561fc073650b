"""A run of the net in the turns of the engine, with all that the engine does beside it.

A run of the net does what it needs for its end and leaves the rest. The engine leaves nothing: in one turn with an
outcome or a timer comes all that follows by itself, in the order in which tokens came (`noetl.engine.decide`), and
attempts begin as soon as they may. What a run leaves for later may so take its tokens away, end it, or come before what
it shows. Here the net is gone through as the engine does it: the run gives outcomes and timers, in its order, and what
guards choose; what it says nothing of is tried each way. What begins beside it ends last.
"""

from collections import Counter, deque
from collections.abc import Iterator, Sequence

from noetl_ir.emptiness import Emptiness
from noetl_ir.locks import sections_of, takes_of
from noetl_ir.net import Arc, PlaceClass, Transition, Trigger
from noetl_ir.plan import Plan, fields_of
from noetl_ir.records import NamedTuple
from noetl_ir.resets import Reset, resets_of
from noetl_ir.settling import Settled, settled_joins, settled_tests
from noetlc.analysis.iterations import makers_of, sizes_of, weight_of
from noetlc.analysis.outcomes import OUTCOMES
from noetlc.analysis.queries import QuerySubject

MOST_WAYS = 6
"""Ways that are tried where a run does not say what is chosen."""

EVENTS = OUTCOMES | {"wake", "land"}
"""Roles of what begins a turn."""

_ALIVE = frozenset({"ready", "loop", "closing", "rest", "at", "run", "due", "parked", "fly", *"cns"})
"""Roles of places whose tokens something moves yet."""

_CHOSEN = frozenset({"take", "pass", "admit", "deny", "expand", "empty", "close", "close_failed"})
_CHAIN = frozenset({"c", "n", "s"})


class RunInTurns(NamedTuple):
    """The transitions in the order of the engine. `besides` says that there is more than the run that was asked about,
    `over` that a step ends the execution, so that nothing comes behind it;
    the last ones, so many as `ends`, are outcomes of attempts that the run leaves. `loose` are the numbers of those
    with which a loop begins besides, of any number of items from one on.
    """

    run: tuple[Transition, ...]
    besides: bool
    over: bool
    ends: int
    loose: frozenset[int]


class Following:
    """The facts of a plan that turns ask for."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.by_itself: dict[int, list[Transition]] = {}
        self.outcomes: dict[int, list[Transition]] = {}
        self.timers: dict[int, list[Transition]] = {}
        self.of: dict[tuple[str, int], Transition] = {}
        self.entrances: dict[int, list[int]] = {}
        self.resets: dict[str, Reset] = {}
        resets = resets_of(plan)
        for number, t in enumerate(plan.net.transitions):
            self.of.setdefault((t.role, t.step), t)
            if number in resets:
                self.resets[t.id] = resets[number]
            if t.role in OUTCOMES or t.role == "park":
                self.outcomes.setdefault(t.inputs[0].place, []).append(t)
            elif t.role in ("wake", "land"):
                self.timers.setdefault(t.inputs[0].place, []).append(t)
            elif t.role in ("start", "admit") or (t.trigger is Trigger.NOW and not t.fault):
                for arc in t.inputs:
                    self.by_itself.setdefault(arc.place, []).append(t)
        for number, place in enumerate(plan.net.places):
            if place.role in ("in", "dead"):
                self.entrances.setdefault(place.step, []).append(number)
        self.settled: Sequence[Settled] = settled_joins(plan)
        self.tests = settled_tests(plan) if self.settled else {}
        self.locks = takes_of(plan) if follows_locks(plan) else {}
        self.sections = sections_of(plan) if self.locks else {}
        names = {step: frozenset(names) for step, names in plan.locks}
        self.run_locks = {step: taken & names.get(step, frozenset()) for step, taken in self.locks.items()}
        self.terminates = {row.step for row in plan.terminates}
        self.asking = {row.step for row in plan.loop_ends}


def follows_locks(plan: Plan) -> bool:
    """Whether it is known who gets which lock: who takes one is neither kept waiting by rules nor cancels who holds
    it.
    """
    cancelling = {step for step, _ in plan.cancels}
    return not any(step in cancelling or plan.steps[step].waits for step in takes_of(plan))


class _OtherwiseError(Exception):
    """The engine does not go this way."""


def in_turns(plan: Plan, run: Sequence[Transition]) -> Iterator[RunInTurns]:
    """The ways in which the engine may go through a run; none where it does something else."""
    known = Following(plan)
    picks: list[int] = []
    for _ in range(MOST_WAYS):
        going = _gone_through(known, run, picks)
        found = going.found()
        if found is not None:
            yield found
        # The next way: the last choice that is left is made otherwise.
        picks = going.picked
        while picks and picks[-1] + 1 >= going.counts[len(picks) - 1]:
            picks.pop()
        if not picks:
            return
        picks[-1] += 1


class Beginning(NamedTuple):
    """How far the engine comes with some outcomes and timers, and with some choices.

    `way` is the run, None where it cannot be told; `picks` are all choices that it made, `other_picks` those that make
    the last new ones otherwise, each with all before it; `events` may come next, at the `steps` where tokens are.
    """

    way: RunInTurns | None
    picks: tuple[int, ...]
    other_picks: tuple[tuple[int, ...], ...]
    events: tuple[Transition, ...]
    steps: frozenset[int]
    state: object


def gone_on(known: Following, events: Sequence[Transition], picks: Sequence[int]) -> Beginning:
    """The beginning of a run of the engine with some outcomes and timers; the first choices are given."""
    going = _Going(known, (), picks)
    going.go(events)
    picked = tuple(going.picked)
    others = [
        (*picked[:at], other) for at in range(len(picks), len(picked)) for other in range(1, going.counts[at])
    ]  # fmt: skip
    return Beginning(going.found(), picked, tuple(others), going.next_events(), going.steps(), going.state())


def is_start(t: Transition, subject: QuerySubject) -> bool:
    """Whether a subject of a query starts with a transition."""
    if subject.task >= 0:
        return t.role == "start" and t.task == subject.task
    return t.role == "admit" and t.step == subject.step


def _gone_through(known: Following, run: Sequence[Transition], picks: Sequence[int]) -> "_Going":
    events = [*enumerate([t for t in run if t.role in EVENTS])]
    moved = set[int]()
    while True:
        going = _Going(known, run, picks)
        going.go([event for _, event in events])
        at = going.stopped_at
        # After a failure that no arc takes nothing begins, and a step may end the execution. What leads there may come
        # last.
        if at < 0 or events[at][0] in moved or not going.missing():
            return going
        # All of that is moved at once: to go through the run anew for each would cost the square of its length.
        last = {events[at][0], *(_ending(known.plan, run) if not moved else ())}
        moved |= last
        events = [each for each in events if each[0] not in last] + [each for each in events if each[0] in last]


def _ending(plan: Plan, run: Sequence[Transition]) -> set[int]:
    """The numbers of the events behind which nothing begins: failures that no arc takes, and the end of all."""
    makers, found = makers_of(plan, run), set[int]()
    numbers = {at: number for number, at in enumerate([at for at, t in enumerate(run) if t.role in EVENTS])}
    for at, t in enumerate(run):
        if t.role == "terminate" or (t.role == "none" and t.id.endswith(" ko") and not plan.best_effort):
            here: int | None = at
            while here is not None and here not in numbers:
                here = max(makers[here], default=None)
            if here is not None:
                found.add(numbers[here])
    return found


class _Going:
    """One way through a run; `picks` are the first of the choices that it does not say."""

    def __init__(self, known: Following, run: Sequence[Transition], picks: Sequence[int]) -> None:
        self._known, self._plan, self._places = known, known.plan, known.plan.net.places
        self._asked, self._picks = run, picks
        sizes = sizes_of(run)
        self._chosen: dict[int, deque[tuple[Transition, int]]] = {}
        for number, t in enumerate(run):
            if t.role in _CHOSEN:
                self._chosen.setdefault(t.inputs[0].place, deque()).append((t, sizes.get(number, 1)))
        self._tokens: dict[int, int] = {}
        self._agenda: deque[int] = deque()
        self._sizes: dict[int, int] = {}  # step → items of its loop
        self._broken: set[int] = set()  # steps whose loop has an iteration that failed
        self._run: list[Transition] = []
        self._loose: set[int] = set()
        self._stayed = 0  # how often a token was asked and stays at its gate
        self._queue: dict[int, int] = {}  # tokens that wait for locks, the first one first → their step
        self._queued = 0
        self._arrived: list[int] = []  # the places of tokens in settled joins, that of the oldest first
        self._sections: dict[str, None] = {}  # the locks of sections that are taken
        self._holding: Counter[int] = Counter()  # step → its runs that hold its locks
        self._winds_down = self._is_over = self._is_whole = self._is_cut = False
        self.picked: list[int] = []
        self.counts: list[int] = []
        self.stopped_at = -1
        for place, count in known.plan.net.initial:
            self._put(place, count)

    def go(self, events: Sequence[Transition]) -> None:
        """Go through the events of the run, as far as they come about, and all that follows from each."""
        try:
            self._decide_all()
            for number, event in enumerate(events):
                if self._is_over or not self._tokens.get(event.inputs[0].place):
                    return
                self._fire(event)
                if event.role in OUTCOMES and any(rule.set_ctx for rule in self._plan.tasks[event.task].rules):
                    self._agenda.extend(place for place in self._tokens if self._is_asked_again(place))
                self._decide_all()
                if (self._is_over or self._winds_down) and self.stopped_at < 0:
                    self.stopped_at = number
            self._is_whole = True
        except _OtherwiseError:
            # What comes once the run has come about changes nothing about it.
            self._is_whole = self._is_cut = not self.missing()

    def _is_asked_again(self, place: int) -> bool:
        """Whether a token at a place may be admitted as `ctx` has changed; who waits for locks is asked by them."""
        return self._places[place].role == "gate" and self._places[place].step not in self._known.locks

    def missing(self) -> Counter[str]:
        """The transitions of the run that did not come about."""
        return Counter(t.id for t in self._asked) - Counter(t.id for t in self._run)

    def next_events(self) -> tuple[Transition, ...]:
        """The outcomes and timers that may come next; none where the run is over or can be followed no further."""
        if self._is_cut or self._is_over or self._winds_down:
            return ()
        found: list[Transition] = []
        for place, tokens in self._tokens.items():
            ways = self._known.outcomes.get(place, ()) if tokens else ()
            if not any(t.role == "park" for t in ways):
                found += [t for t in ways if t.outcome]
            found += self._known.timers.get(place, ()) if tokens else ()
        return tuple(found)

    def steps(self) -> frozenset[int]:
        """The steps at which tokens are that may go on."""
        roles = ("gate", "in", "held", "merge", *_ALIVE)
        return frozenset(
            self._places[place].step
            for place, tokens in self._tokens.items()
            if tokens and self._places[place].role in roles
        )

    def state(self) -> object:
        """All that decides how it may go on."""
        tokens = frozenset((place, number) for place, number in self._tokens.items() if number)
        return (
            tokens,
            tuple(self._queue.values()),
            frozenset(self._holding.items()),
            frozenset(self._sections),
            self._winds_down,
            self._is_over,
        )

    def found(self) -> RunInTurns | None:
        """The whole run; None where it did not come about."""
        if not self._is_whole or self.missing():
            return None
        ends = self._ends()
        besides = self._is_cut or len(self._run) - self._stayed > len(self._asked)
        if ends is None:
            return None
        return RunInTurns((*self._run, *ends), besides, self._is_over, len(ends), frozenset(self._loose))

    def _ends(self) -> list[Transition] | None:
        """An outcome of each attempt that is left; None where one is left that a script does not keep from ending."""
        found: list[Transition] = []
        for place, tokens in self._tokens.items():
            if self._places[place].role != "run" or not tokens:
                continue
            ways = self._known.outcomes.get(place, ())
            if any(t.role == "park" for t in ways):
                if not _waits_for_ever(self._plan, self._places[place].task):
                    return None
                continue
            last = sorted([t for t in ways if t.outcome], key=lambda t: (t.outcome != "ok", t.role != "continue"))
            found += last[:1] * tokens
        return found

    def _decide_all(self) -> None:
        while not self._is_over:
            if self._agenda:
                place = self._agenda.popleft()
                if place < 0:
                    self._ask_again(~place)
                elif self._tokens.get(place):
                    self._decide(place)
                if self._sections:
                    self._follow_sections()
            elif self._winds_down or not (self._settle() or self._force()):
                return

    def _decide(self, place: int) -> None:
        match self._places[place].role:
            case "in" | "dead" if not self._winds_down:
                self._arrive(place)
            case "merge" | "gate" if not self._winds_down:
                [t] = self._known.by_itself[place][:1]
                if t.role != "admit":
                    self._fire_if_enabled(t)
                else:
                    self._ask(t)
            case "ready" if not self._winds_down:
                self._begin(place)
            case "todo" | "slot" if not self._winds_down:
                begin = next(t for t in self._known.by_itself[place] if t.role == "begin")
                while self._fire_if_enabled(begin):
                    pass
            case "at" if not self._winds_down:
                self._fire(next(t for t in self._known.by_itself[place] if t.role == "start"))
            case "out" | "bad":
                end = next(t for t in self._known.by_itself[place] if t.role in ("out", "bad"))
                if end.role == "bad":
                    self._broken.add(end.step)
                self._fire(end)
            case "loop" | "fin":
                self._close(place)
            case "done" | "failed":
                self._route(place)
            case _:
                pass

    def _arrive(self, place: int) -> None:
        for t in self._known.by_itself[place]:
            if t.role == "enter":
                self._fire(t)
                self._agenda.pop()  # one event with what its gate decides
                self._ask(self._known.of["admit", t.step])
                return
            if self._is_enabled(t):
                self._fire(t)
                if self._plan.steps[t.step].join.mode == "settled":
                    self._arrived += [arc.place for arc in t.outputs if self._places[arc.place].role == "held"]
                if self._plan.steps[t.step].join.mode in ("count", "taken"):
                    self._go_on_with_wave(t.step)
                return

    def _go_on_with_wave(self, step: int) -> None:
        for role in ("meet", "meet_none"):
            meeting = self._known.of.get((role, step))
            if meeting is not None and self._fire_if_enabled(meeting):
                break
        rearm = self._known.of.get(("rearm", step))
        if rearm is not None:
            self._fire_if_enabled(rearm)
        for place in self._known.entrances[step]:
            self._agenda.extend([place] * self._tokens.get(place, 0))

    def _ask(self, admit: Transition) -> None:
        """A token has come to a gate."""
        if self._known.locks.get(admit.step) and not self._may_take(admit.step, len(self._queue)):
            self._queue[self._queued] = admit.step
            self._queued += 1
            return
        self._choose(admit)

    def _ask_again(self, number: int) -> None:
        """A token that waits for locks is asked, if it is still there."""
        step = self._queue.get(number, -1)
        if step < 0 or self._winds_down or not self._may_take(step, [*self._queue].index(number)):
            return
        del self._queue[number]
        # Who is denied leaves those who came behind it the first ones.
        if not self._choose(self._known.of["admit", step]):
            self._ask_first(self._known.locks[step])

    def _choose(self, admit: Transition) -> bool:
        """Whether a token is admitted whose rules are asked."""
        place = admit.inputs[0].place
        if admit.guard < 0:
            self._admit(admit)
            return True
        waits = self._plan.steps[admit.step].waits
        # Who waits is asked as one who is denied, and stays.
        name = self._plan.steps[admit.step].name
        stays = (
            admit._replace(id=f"wait {name}", role="deny", outputs=admit.inputs)
            if waits
            else self._known.of["deny", admit.step]
        )
        chosen = self._chosen.get(place)
        if chosen and (not waits or chosen[0][0].role == "deny"):
            ways = [chosen[0][0]]
        else:
            ways = [admit, stays] if chosen else [stays, admit]
        t = self._pick(ways)
        if t.role == "admit":
            self._admit(t)
        elif waits:
            self._run.append(t)
            self._stayed += 1
        else:
            self._fire(t)
        return t.role == "admit"

    def _may_take(self, step: int, at: int) -> bool:
        """Whether a token, before which `at` others wait, may take the locks of its step: they are free, and nobody
        before it is to have one of them (`noetl.engine.locking`).
        """
        locks, used = self._known.locks, self._used()
        wanted = locks[step]
        if wanted & used:
            return False
        asked, claimed = {~place for place in self._agenda if place < 0}, set[str]()
        for number, other in [*self._queue.items()][:at]:
            if number in asked or locks[other] & (claimed | used):
                claimed |= locks[other]
        return wanted.isdisjoint(claimed)

    def _used(self) -> set[str]:
        return {
            *self._sections,
            *(name for step, runs in self._holding.items() if runs for name in self._known.run_locks[step]),
        }

    def _follow_sections(self) -> None:
        """The locks of sections in which nothing is left are free."""
        for name in [*self._sections]:
            if not any(self._is_occupied(test) for test in self._known.sections[name].values()):
                del self._sections[name]
                self._ask_first(frozenset({name}))

    def _is_occupied(self, test: Emptiness) -> bool:
        return any(self._tokens.get(place) for place in test.places) or any(
            self._tokens.get(got) and self._tokens.get(idle) for got, idle, _ in test.waves
        )

    def _ask_first(self, names: frozenset[str]) -> None:
        """Have those asked who wait longest for some locks, in their order."""
        found: dict[str, int] = {}
        for number, step in self._queue.items():
            for name in self._known.locks[step] & names:
                found.setdefault(name, number)
        self._agenda.extend(~number for number in sorted({*found.values()}))

    def _give(self, step: int) -> None:
        """A run of a step is over, and its locks are free."""
        if self._holding[step]:
            self._holding[step] -= 1
            self._ask_first(self._known.run_locks[step])

    def _admit(self, admit: Transition) -> None:
        reset = self._known.resets.get(admit.id)
        withdraws = reset is not None and any(
            self._tokens.get(place) and self._places[place].kind is PlaceClass.CONTROL for place in reset.places
        )
        self._fire(admit)
        if taken := self._known.locks.get(admit.step):
            own = self._known.run_locks[admit.step]
            self._holding[admit.step] += bool(own)
            self._sections.update(dict.fromkeys(sorted(taken - own)))
        # Walks along a run tell tokens apart by their order, and know of none that is withdrawn: the run has to end.
        if withdraws:
            raise _OtherwiseError

    def _begin(self, place: int) -> None:
        ways = [t for t in self._known.by_itself[place] if t.role in ("begin", "expand", "empty")]
        if ways[0].role == "begin":
            self._fire(ways[0])
            return
        # How many of its items a loop needs that may have enough is asked as soon as it begins.
        if ways[0].step in self._known.asking:
            raise _OtherwiseError
        chosen = self._chosen.get(place)
        t, size = chosen[0] if chosen else (self._pick(ways), 1)
        if not chosen and t.role == "expand":
            self._loose.add(len(self._run))
        self._sizes[t.step] = size
        self._broken.discard(t.step)
        self._fire(t)

    def _close(self, place: int) -> None:
        ways = [t for t in self._known.by_itself.get(place, ()) if t.role in ("close", "close_failed")]
        if not ways or not all(self._is_enabled(t) for t in ways):
            return
        chosen = self._chosen.get(ways[0].inputs[0].place)
        fails = ways[0].step in self._broken and not self._plan.steps[ways[0].step].best_effort
        own = next(t for t in ways if (t.role == "close_failed") is fails)
        self._fire(chosen[0][0] if chosen else own)

    def _route(self, place: int) -> None:
        step = self._places[place].step
        self._give(step)
        if self._places[place].role == "done" and step in self._known.terminates:
            self._fire(self._known.of["terminate", step])
            self._is_over = True
            return
        here: int | None = place
        while here is not None:
            ways = self._known.by_itself[here]
            chosen = self._chosen.get(here)
            # Less comes of an arc that is not taken.
            t = chosen[0][0] if chosen else self._pick(ways[::-1])
            self._fire(t)
            here = next((arc.place for arc in t.outputs if self._places[arc.place].role in _CHAIN), None)
            if t.role == "none" and t.id.endswith(" ko") and not self._plan.best_effort:
                self._winds_down = True

    def _settle(self) -> bool:
        """Start the first settled join that no further token can reach."""
        for join in self._known.settled:
            test = self._known.tests[join.settle]
            comes = any(self._tokens.get(place) for place in test.places)
            comes = comes or any(self._tokens.get(got) and self._tokens.get(idle) for got, idle, _ in test.waves)
            if self._tokens.get(join.got) and not comes:
                self._meet_settled(join, join.settle)
                return True
        return False

    def _force(self) -> bool:
        """Start the settled join with the oldest token where nothing at all can move."""
        waiting = [join for join in self._known.settled if self._tokens.get(join.got)]
        if not (waiting or self._queue) or any(
            tokens and self._places[place].role in _ALIVE for place, tokens in self._tokens.items()
        ):
            return False
        # Who waits for locks that are free overtakes then, which is not followed here.
        used = self._used()
        if any(not self._known.locks[step] & used for step in self._queue.values()):
            raise _OtherwiseError
        if not waiting:
            return False
        join = next(each for each in waiting if self._arrived[0] in [place for place, _, _ in each.sources])
        self._meet_settled(join, join.force)
        return True

    def _meet_settled(self, join: Settled, beginning: int) -> None:
        rows = self._plan.net.transitions
        self._fire(rows[beginning])
        for place, gather, lack in join.sources:
            if self._tokens.get(place):
                self._arrived.remove(place)
                self._fire(rows[gather])
            else:
                self._fire(rows[lack])
        self._fire(rows[join.meet])

    def _pick(self, ways: Sequence[Transition]) -> Transition:
        if len(ways) == 1:
            return ways[0]
        at = len(self.picked)
        self.picked.append(self._picks[at] if at < len(self._picks) else 0)
        self.counts.append(len(ways))
        return ways[self.picked[at]]

    def _is_enabled(self, t: Transition) -> bool:
        return all(self._tokens.get(arc.place, 0) >= self._weight(t, arc) for arc in t.inputs)

    def _fire_if_enabled(self, t: Transition) -> bool:
        able = self._is_enabled(t)
        if able:
            self._fire(t)
        return able

    def _fire(self, t: Transition) -> None:
        if not self._is_enabled(t):
            raise _OtherwiseError
        chosen = self._chosen.get(t.inputs[0].place)
        if chosen and t.role in _CHOSEN:
            chosen.popleft()
        for arc in t.inputs:
            self._tokens[arc.place] -= self._weight(t, arc)
        self._run.append(t)
        for arc in t.outputs:
            self._put(arc.place, self._weight(t, arc))

    def _put(self, place: int, count: int) -> None:
        self._tokens[place] = self._tokens.get(place, 0) + count
        self._agenda.extend([place] * count)

    def _weight(self, t: Transition, arc: Arc) -> int:
        return weight_of(self._plan, t, arc, self._sizes.get(t.step, 1))


def _waits_for_ever(plan: Plan, number: int) -> bool:
    """Whether a task waits for a signal, of which none comes."""
    task = plan.tasks[number]
    fields = fields_of(plan, task)
    return task.kind == "wait" and fields is not None and "timers" not in fields
