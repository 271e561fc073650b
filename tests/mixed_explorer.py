"""The runs of a playbook that has every construct, by a naive explorer that shares no code with the analysis.

It plays the token game on the net of each phase, with what the constructs do beside it as their pages say (NET.md,
EXTENSIONS): an admission empties what its step cancels, and waits for its locks; a settled join waits for what can
still come; a step that terminates ends all; a loop that grows has as many items as came. A state is a marking and, for
each loop that grows, the items and slots of its run.
"""

from collections.abc import Iterator

from nets import Game, Marking, Space, emptied, is_end, space_of
from noetl_ir.net import Place, Transition, Trigger, Weight
from noetl_ir.plan import Plan, later_entries

OVER: Marking = ()
"""Stands for every state that a step has ended."""
CHAIN = ("c", "n", "s")
ON_THE_WAY = ("in", "dead", "free", "held", "got", "idle", "met", "cold", "warm", "merge", "pick", "gate", "fly")
MEMORY = ("free", "idle", "met", "got", "cold", "warm")
JOINS = ("arrive", "arrive_dead", "meet", "rearm", "settle", "force", "gather", "meet_none", "merge")
AGAIN = ("lost", "retry")
"""Roles of what tries a task once more, a counted number of times: no way out of a failure."""
IN_A_LOOP = ("todo", "slot", "fin", "rest", "at", "run", "due", "parked", "out", "bad")


class Mixed(Exception):
    """Two runs of a loop that grows are there at once: without colours nobody can tell their items apart."""


class Explored:
    """Every state of runs from an entry without an unhandled failure, or also those that `fails` says, for loops of a
    number of items.
    """

    def __init__(self, plan: Plan, entry: int, items: int, *, fails: bool = False) -> None:
        self.plan = plan
        self.items = items
        self.entry = entry
        self.left_out = set[str]() if fails else unhandled(plan)
        rows = [t for t in plan.net.transitions if not never(plan, t) and t.id not in self.left_out]
        self.rows = {number: [t for t in rows if t.inputs[0].place == number] for number in range(len(plan.net.places))}
        self.growing = sorted({row[:2] for row in plan.loop_signals if row.verb == "more"})
        self._before = {step: leading_to(plan, step) for step in range(len(plan.steps))}
        self._locks = {step: set(names) for step, names in plan.locks}
        self._cancels = {step: set(steps) for step, steps in plan.cancels}

    def space(self, most: int) -> Space | None:
        """The states; None when there are more, or when they cannot be told apart."""
        try:
            return space_of(self.initial(), self.after, most)
        except Mixed:
            return None

    def initial(self) -> Marking:
        """The state at the beginning of the phase."""
        marking = list(Game(self.plan).initial())
        ids = [place.id for place in self.plan.net.places]
        marking[ids.index(f"in {self.plan.steps[self.plan.entry].name} @entry")] = 0
        marking[ids.index(f"in {self.plan.steps[self.entry].name} @entry")] = 1
        return (*marking, *((0, 0) * len(self.growing)))

    def after(self, here: Marking) -> Iterator[tuple[Transition, Marking]]:
        """Each transition that may fire, and the state after it."""
        if here == OVER:
            return
        places = self.plan.net.places
        lying = [(number, place) for number, place in enumerate(places) if here[number]]
        # A router fires its chain at once, and a settled join asks all its sources at once.
        midway = {number for number, place in lying if place.role in (*CHAIN, "pick")}
        used = self._used(lying)
        moves, forced = [], []
        for t in (t for number, _ in lying for t in self.rows[number]):
            if midway and not any(arc.place in midway for arc in t.inputs):
                continue
            found = [(t, after) for after in self.fire(here, t)]
            if not found:
                continue
            if t.role == "force":
                forced += found
            elif not (self._is_locked(t, used) or self._is_kept(here, lying, t)):
                moves += found
        yield from moves
        if all(t.trigger is Trigger.CTX for t, _ in moves):
            yield from forced

    def fire(self, state: Marking, t: Transition) -> list[Marking]:
        """The states after a transition; none where it may not fire."""
        places = len(self.plan.net.places)
        at = self.growing.index((t.step, t.level)) if (t.step, t.level) in self.growing else -1
        runs = [list(state[places + 2 * k : places + 2 * k + 2]) for k in range(len(self.growing))]
        sizes = [runs]
        if at >= 0 and t.role == "expand":
            if not state[t.inputs[0].place]:
                return []
            if any(state[n] for n, place in enumerate(self.plan.net.places) if self._is_run(place, t)):
                raise Mixed
            loop = self.plan.steps[t.step].loops[t.level]
            brings = loop.in_flight < 0 and not loop.sequential
            sizes = [
                [run if k != at else [n, n if brings else self.items] for k, run in enumerate(runs)]
                for n in range(self.items + 1)
            ]
        elif at >= 0 and t.role == "add":
            if runs[at][0] >= self.items:
                return []
            runs[at] = [runs[at][0] + 1, runs[at][1] + (len(t.outputs) > 2)]
        found = []
        for each in sizes:
            n, m = each[at] if at >= 0 else (self.items, self.items)
            after = list(state[:places])
            for arcs, sign in ((t.inputs, -1), (t.outputs, 1)):
                for place, weight in arcs:
                    after[place] += sign * (weight if isinstance(weight, int) else n if weight is Weight.ITEMS else m)
                if min(after) < 0:
                    break
            if min(after) >= 0:
                over = at >= 0 and t.role in ("close", "close_failed", "rested")
                kept = [[0, 0] if over and k == at else run for k, run in enumerate(each)]
                found.append(self._reset(t, tuple(after), kept))
        return found

    def _reset(self, t: Transition, after: Marking, runs: list[list[int]]) -> Marking:
        if t.role == "terminate":
            return OVER
        cancelled = self._cancels.get(t.step, set()) if t.role == "admit" else set[int]()
        runs = [[0, 0] if step in cancelled else run for (step, _), run in zip(self.growing, runs, strict=True)]
        return (*emptied(self.plan, t, after), *(count for run in runs for count in run))

    @staticmethod
    def _is_run(place: Place, t: Transition) -> bool:
        return (place.step, place.level) == (t.step, t.level) and place.role in ("loop", "closing", "rest")

    def _used(self, lying: list[tuple[int, Place]]) -> dict[str, set[int]]:
        """Lock → the steps whose tokens hold it."""
        plan = self.plan
        used: dict[str, set[int]] = {}
        if not plan.locks and not plan.sections:
            return used
        idle = {place.step for _, place in lying if place.role == "idle"}
        for _, place in lying:
            locks = set[str]()
            routed = place.role in CHAIN or (place.role in ("done", "failed") and place.level <= 0)
            is_run = place.role not in ON_THE_WAY and place.role != "slot" and not routed
            if is_run:
                locks |= self._locks.get(place.step, set())
            if is_run or routed:
                locks |= {name for step, name, _ in plan.sections if step == place.step}
            # What a counting join remembers of a wave that has started is no token any more.
            counting = plan.steps[place.step].join.mode == "count"
            if place.role not in (*MEMORY, "slot") and (place.role != "held" or not counting or place.step in idle):
                locks |= {name for _, name, through in plan.sections if place.step in through}
            for name in locks:
                used.setdefault(name, set()).add(place.step)
        return used

    def _is_locked(self, t: Transition, used: dict[str, set[int]]) -> bool:
        """Whether a transition admits a token to a step that needs a lock of a run that it does not cancel."""
        if t.role != "admit":
            return False
        inside = {name for _, name, through in self.plan.sections if t.step in through}
        wanted = self._locks.get(t.step, set()) | {name for step, name, _ in self.plan.sections if step == t.step}
        cancelled = self._cancels.get(t.step, set())
        return any(used.get(name, set()) - cancelled for name in wanted - inside)

    def _is_kept(self, here: Marking, lying: list[tuple[int, Place]], t: Transition) -> bool:
        """Whether a settled join waits for what can still come, or has a token of a source that it would lack."""
        if t.role == "lack":
            id = "held" + t.id.removeprefix("lack")
            return any(place.id == id for _, place in lying)
        return t.role == "settle" and any(self._can_come(t.step, here, place) for _, place in lying)

    def _can_come(self, join: int, here: Marking, place: Place) -> bool:
        leading = self._before[join]
        if place.step == join and place.role in ("in", "fly"):
            return True
        if place.step not in leading:
            return False
        # Of a loop its run counts, not what the run has left behind.
        if self.plan.steps[place.step].loops and (place.level > 0 or place.role in IN_A_LOOP):
            return False
        if place.step == join:
            return place.role in ("done", "failed", *CHAIN)
        idle = f"idle {self.plan.steps[place.step].name}"
        over = self.plan.steps[place.step].join.mode == "count" and not any(
            here[number] for number, other in enumerate(self.plan.net.places) if other.id == idle
        )
        return place.role not in ("free", "idle", "met", "cold", "slot") and not (
            over and place.role in ("held", "got")
        )

    def is_stuck(self, state: Marking) -> bool:
        """Whether a state in which nothing happens is neither an end nor one in which a failure ends the run."""
        if state == OVER:
            return False
        whole = [t for t in self.plan.net.transitions if t.id in self.left_out and not never(self.plan, t)]
        forced = [t for t in whole if t.trigger is Trigger.NOW and not t.fault]
        if any(self.fire(state, t) for t in forced):
            return False
        return not is_end(self.plan, state[: len(self.plan.net.places)])


def explored(plan: Plan, items: int, *, fails: bool = False) -> list[Explored]:
    """An explorer for each phase, main first."""
    return [Explored(plan, entry, items, fails=fails) for entry in (plan.entry, *later_entries(plan))]


def never(plan: Plan, t: Transition) -> bool:
    """Whether the guard of an arc, which asks for a failure, decides against the transition."""
    guards = [
        other.guard
        for other in plan.net.transitions
        if other.role == "take" and other.arc == t.arc and other.guard >= 0
    ]
    asks = t.arc >= 0 and any("step.failed" in repr(plan.templates[guard]) for guard in guards)
    return asks and (t.role, t.id.rsplit(" ", 2)[1]) in (("take", "ok"), ("pass", "ko"))


def unhandled(plan: Plan) -> set[str]:
    """The ids of what is, or can only lead to, a failure that no arc takes. What waits for a join or a lock may do so
    in vain.
    """
    rows = plan.net.transitions
    locked = {step for step, _ in plan.locks} | {step for step, _, _ in plan.sections}
    waits = {t.id for t in rows if t.role in JOINS and sum(arc.weight for arc in t.inputs if arc.weight in (1, 2)) > 1}
    waits |= {t.id for t in rows if t.role == "admit" and t.step in locked}
    possible = [t for t in rows if not never(plan, t)]
    bad = {t.id for t in rows if t.role == "err" or (t.role == "none" and t.id.endswith(" ko"))}
    while True:
        open_ = {arc.place for t in possible if t.id not in bad and t.role not in AGAIN for arc in t.inputs}
        takers = {arc.place for t in rows for arc in t.inputs}
        more = {t.id for t in rows if any(arc.place in takers - open_ for arc in (*t.outputs, *t.inputs))} - bad - waits
        # What takes from such a place goes with it: there is nothing else that could.
        if not more:
            return bad
        bad |= more


def leading_to(plan: Plan, join: int) -> set[int]:
    """The steps from which arcs lead to one without passing it on the way, itself where its own arcs do."""
    before: dict[int, set[int]] = {}
    for arc in plan.arcs:
        before.setdefault(arc.target, set()).add(arc.step)
    found, waiting = set[int](), [*before.get(join, ())]
    while waiting:
        step = waiting.pop()
        if step not in found:
            found.add(step)
            waiting += before.get(step, ()) if step != join else ()
    return found
