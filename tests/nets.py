"""Plans out of a few lines of text, and a naive explorer of their nets for the tests.

The explorer plays the token game on the skeleton (no colours, no guards) with plain dictionaries, one marking
at a time, so that it can be read and believed; it shares no code with the product's analyses. A test whose construct
does more than its transitions say (empties places, holds locks, ends all) gives the explorer a successor function.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from hypothesis import assume

from noetl_ir.net import PlaceClass, Transition, Weight
from noetl_ir.plan import Plan
from noetlc.diag.diagnostic import Severity
from noetlc.pipeline import Compiled, compile_source

Marking = tuple[int, ...]
Space = dict[Marking, list[tuple[Transition, Marking]]]
"""Markings, each with what may happen there and the marking after it; the first one is that of the start."""

STUCK, CYCLES, PARTS, BOUNDED = (
    "nothing can get stuck", "every cycle has an exit", "every part can run", "tokens are bounded",
)  # fmt: skip
"""The questions of which every analysis gives a verdict."""

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/t}\n"


def compiled(body: str) -> Compiled:
    """Compile a playbook whose head is left out."""
    return compile_source("t.yaml", (HEAD + body).encode())


def plan_of(body: str) -> Plan:
    """The plan of a playbook whose head is left out; it must compile."""
    found = compiled(body)
    assert not found.count_of(Severity.ERROR), [str(each.message) for each in found.diagnostics]
    return found.plans[0]


def random_plan(body: str) -> Plan:
    """The plan of a random playbook; one that does not compile is no case of the property."""
    found = compiled(body)
    assume(not found.count_of(Severity.ERROR))
    return found.plans[0]


def steps(*lines: str) -> str:
    """A workflow of steps that are each given as one line of flow YAML, a noop each where no tool is given."""
    return "workflow:\n" + "".join(f"  - {{{line}}}\n" for line in lines)


def random_steps(rows: list[list[int]], policies: list[str], chooses: list[bool]) -> str:
    """A workflow of noops named by number, of which one beyond the last is `end`: arcs to the numbers of its row each.

    A step that chooses has a guard on each arc, of which it takes one; the others take all. Each guard is another one:
    what two equal ones exclude is known to the analysis, and not to an explorer that asks no guards.
    """
    lines, asked = [], 0
    for at, (row, policy) in enumerate(zip(rows, policies, strict=True)):
        whens = [f"when: '{{{{ workload.x{asked + number} }}}}', " if chooses[at] else "" for number in range(len(row))]
        asked += len(row)
        ways = zip(whens, row, strict=True)
        arcs = ", ".join(f"{{{when}step: {name_of(to) if to < len(rows) else 'end'}}}" for when, to in ways)
        mode = "exclusive" if chooses[at] else "inclusive"
        routes = f", next: {{spec: {{mode: {mode}}}, arcs: [{arcs}]}}" if row else ""
        lines.append(f"step: {name_of(at)}, spec: {{policy: {{{policy}}}}}{routes}")
    return f"workload: {{{', '.join(f'x{number}: 1' for number in range(asked))}}}\n" + steps(*lines)


def name_of(number: int) -> str:
    """The name of a step of `random_steps`."""
    return f"s{number}" if number else "start"


def sources_of(rows: list[list[int]], number: int) -> int:
    """How many sources the join of a step of `random_steps` has, its entry one of them."""
    return sum(number in row for row in rows) + (number == 0)


def sections_of(rows: list[list[int]], takers: set[int], inside: set[int]) -> set[int]:
    """The steps that a lock can be held through if some steps take it: only these, and each other, lead to them."""
    inside = inside - takers
    while past := {at for at in inside for source, row in enumerate(rows)
                   if at in row and source not in takers | inside}:  # fmt: skip
        inside -= past
    return inside


class Game(NamedTuple):
    """A net to be played: `items` and `slots` stand for n and m; `allowed` leaves transitions out."""

    plan: Plan
    items: int = 1
    slots: int = 1
    allowed: Callable[[Transition], bool] = lambda transition: True

    def initial(self) -> Marking:
        """The initial marking."""
        tokens = dict(self.plan.net.initial)
        return tuple(tokens.get(index, 0) for index in range(len(self.plan.net.places)))

    def marking(self, **tokens: int) -> Marking:
        """A marking by ids, `_` for the spaces in them."""
        left = {id.replace("_", " "): count for id, count in tokens.items()}
        found = tuple(left.pop(place.id, 0) for place in self.plan.net.places)
        assert not left, left
        return found

    def steps_from(self, marking: Marking) -> Iterator[tuple[Transition, Marking]]:
        """Every transition that may fire, and the marking after it."""
        for transition in self.plan.net.transitions:
            if not self.allowed(transition):
                continue
            after = list(marking)
            for arc in transition.inputs:
                after[arc.place] -= self._weight(arc.weight)
            if min(after) >= 0:
                for arc in transition.outputs:
                    after[arc.place] += self._weight(arc.weight)
                yield transition, tuple(after)

    def reached(self, start: Marking | None = None) -> Space:
        """Every marking that can be reached, with what may happen there."""
        found = space_of(self.initial() if start is None else start, self.steps_from, None)
        assert found is not None
        return found

    def dead(self) -> list[dict[str, int]]:
        """The markings in which nothing can happen."""
        return [self.named(marking) for marking, after in self.reached().items() if not after]

    def named(self, marking: Marking) -> dict[str, int]:
        """The tokens of a marking by id, memory of joins left out."""
        places = self.plan.net.places
        return {
            places[index].id: count
            for index, count in enumerate(marking)
            if count and places[index].kind is not PlaceClass.MEMO
        }

    def most(self, id: str) -> int:
        """How often the transition fires at most on one way; the net must have no cycle."""
        reached = self.reached()
        best: dict[Marking, int] = {}
        for marking in innermost_first(reached):
            best[marking] = max((best[after] + (t.id == id) for t, after in reached[marking]), default=0)
        return best[self.initial()]

    def least(self, id: str) -> int:
        """How often the transition fires at least on a way to the end; the net must have no cycle."""
        reached = self.reached()
        best: dict[Marking, int] = {}
        for marking in innermost_first(reached):
            best[marking] = min((best[after] + (t.id == id) for t, after in reached[marking]), default=0)
        return best[self.initial()]

    def _weight(self, weight: int | Weight) -> int:
        if isinstance(weight, int):
            return weight
        return self.items if weight is Weight.ITEMS else self.slots


def space_of(
    start: Marking, after: Callable[[Marking], Iterable[tuple[Transition, Marking]]], most: int | None
) -> Space | None:
    """Every marking that is reached from the start by what may happen; None where there are more than `most`."""
    waiting = [start]
    found: Space = {}
    while waiting:
        here = waiting.pop()
        if here in found:
            continue
        if most is not None and len(found) >= most:
            return None
        found[here] = list(after(here))
        waiting += (marking for _, marking in found[here])
    return found


def calm_space(
    plan: Plan, after: Callable[[Game, Marking], Iterable[tuple[Transition, Marking]]], most: int
) -> Space | None:
    """The space of runs without faults, failures and lost workers, by what may happen in the game of the plan."""
    game = Game(plan, allowed=is_calm)
    return space_of(game.initial(), lambda here: after(game, here), most)


OF_A_JOIN = ("in", "dead", "held", "free", "got", "idle", "met", "cold", "warm")


def emptied(plan: Plan, t: Transition, after: Marking) -> Marking:
    """The marking after a transition, where that is the start of a step that cancels others: what they hold is gone,
    and their joins are as at first; so is the counting join of that step.
    """
    targets = dict(plan.cancels).get(t.step, ()) if t.role == "admit" else ()
    if not targets:
        return after
    # What the admission makes is made after all is emptied.
    left = [tokens - sum(arc.place == place for arc in t.outputs) for place, tokens in enumerate(after)]
    for number, place in enumerate(plan.net.places):
        kind, _, rest = place.id.partition(" ")
        own = kind in OF_A_JOIN and plan.steps[t.step].join.mode in ("count", "taken")
        names = [plan.steps[each].name for each in targets] + ([plan.steps[t.step].name] if own else [])
        if rest.split(" ")[0] in names:
            left[number] = int(kind in ("free", "idle", "cold"))
    for arc in t.outputs:
        left[arc.place] += 1
    return tuple(left)


def is_locked(plan: Plan, here: Marking, t: Transition) -> bool:
    """Whether a transition admits a token to a step that needs a lock of a run that goes on."""
    locks = {step: set(names) for step, names in plan.locks}
    if t.role != "admit" or t.step not in locks:
        return False
    roles = ("ready", "at", "run", "due", "parked", "out", "bad")
    cancelled = dict(plan.cancels).get(t.step, ())
    running = {
        place.step for tokens, place in zip(here, plan.net.places, strict=True) if tokens and place.role in roles
    }
    return any(locks[t.step] & locks.get(step, set()) for step in running.difference(cancelled))


def is_twice(space: Space, id: str) -> bool:
    """Whether a transition fires more than once on some way through a space."""
    start = next(iter(space))
    seen, waiting = {(start, 0)}, [(start, 0)]
    while waiting:
        here, count = waiting.pop()
        for t, after in space[here]:
            state = after, count + (t.id == id)
            if state[1] > 1:
                return True
            if state not in seen:
                seen.add(state)
                waiting.append(state)
    return False


def innermost_first(space: Space) -> Iterator[Marking]:
    """The markings, each after all that follow it where no way goes in a circle; the start is the last."""
    start = next(iter(space))
    seen = {start}
    path = [(start, iter(space[start]))]
    while path:
        marking, rest = path[-1]
        following = next(rest, None)
        if following is None:
            path.pop()
            yield marking
        elif following[1] not in seen:
            seen.add(following[1])
            path.append((following[1], iter(space[following[1]])))


def is_endless(space: Space) -> bool:
    """Whether from some marking nothing leads to one in which nothing happens."""
    before: dict[Marking, list[Marking]] = {}
    for here, row in space.items():
        for _, after in row:
            before.setdefault(after, []).append(here)
    waiting = [here for here, row in space.items() if not row]
    ending = set(waiting)
    while waiting:
        for here in before.get(waiting.pop(), ()):
            if here not in ending:
                ending.add(here)
                waiting.append(here)
    return len(ending) < len(space)


def is_end(plan: Plan, marking: Marking) -> bool:
    """Whether a marking has no token that could still go on, and no join that has some of its tokens and waits."""
    tokens = {place.id for place, count in zip(plan.net.places, marking, strict=True) if count}
    left = any(place.kind is PlaceClass.CONTROL and place.id in tokens for place in plan.net.places)
    half = any(f"idle {step.name}" in tokens and f"held {step.name} {source}" in tokens
               for step in plan.steps for source in step.join.sources)  # fmt: skip
    return not left and not half


def fired_in(spaces: Iterable[Space]) -> set[str]:
    """The ids of the transitions that fire somewhere."""
    return {t.id for space in spaces for row in space.values() for t, _ in row}


def is_calm(transition: Transition) -> bool:
    """The skeleton of runs without faults, failures and lost workers, whose loops may still skip and stop items."""
    return not transition.fault and transition.role not in ("lost", "fail")


def well(transition: Transition) -> bool:
    """The skeleton of a run without faults, failures and lost workers."""
    return not transition.fault and transition.role not in ("lost", "fail", "skip", "stop")
