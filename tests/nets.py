"""Plans out of a few lines of text, and a naive explorer of their nets for the tests.

The explorer plays the token game on the skeleton (no colours, no guards) with plain dictionaries, one marking
at a time, so that it can be read and believed; it shares no code with the product's analyses.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from noetl_ir.net import PlaceClass, Transition, Weight
from noetl_ir.plan import Plan
from noetlc.diag.diagnostic import Severity
from noetlc.pipeline import Compiled, compile_source

Marking = tuple[int, ...]

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/t}\n"


def compiled(body: str) -> Compiled:
    """What becomes of a playbook whose head is left out."""
    return compile_source("t.yaml", (HEAD + body).encode())


def plan_of(body: str) -> Plan:
    """The plan of a playbook whose head is left out; it must compile."""
    found = compiled(body)
    assert not found.count_of(Severity.ERROR), [str(each.message) for each in found.diagnostics]
    return found.plans[0]


def steps(*lines: str) -> str:
    """A workflow of steps that are each given as one line of flow YAML, a noop each where no tool is given."""
    return "workflow:\n" + "".join(f"  - {{{line}}}\n" for line in lines)


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

    def reached(self, start: Marking | None = None) -> dict[Marking, list[tuple[Transition, Marking]]]:
        """Every marking that can be reached, with what may happen there."""
        waiting = [self.initial() if start is None else start]
        found: dict[Marking, list[tuple[Transition, Marking]]] = {}
        while waiting:
            here = waiting.pop()
            if here not in found:
                found[here] = list(self.steps_from(here))
                waiting += (after for _, after in found[here])
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
        for marking in _innermost_first(reached, self.initial()):
            best[marking] = max((best[after] + (t.id == id) for t, after in reached[marking]), default=0)
        return best[self.initial()]

    def least(self, id: str) -> int:
        """How often the transition fires at least on a way to the end; the net must have no cycle."""
        reached = self.reached()
        best: dict[Marking, int] = {}
        for marking in _innermost_first(reached, self.initial()):
            best[marking] = min((best[after] + (t.id == id) for t, after in reached[marking]), default=0)
        return best[self.initial()]

    def _weight(self, weight: int | Weight) -> int:
        if isinstance(weight, int):
            return weight
        return self.items if weight is Weight.ITEMS else self.slots


def _innermost_first(reached: dict[Marking, list[tuple[Transition, Marking]]], start: Marking) -> Iterator[Marking]:
    """The markings, each after all that follow it."""
    seen = {start}
    path = [(start, iter(reached[start]))]
    while path:
        marking, rest = path[-1]
        following = next(rest, None)
        if following is None:
            path.pop()
            yield marking
        elif following[1] not in seen:
            seen.add(following[1])
            path.append((following[1], iter(reached[following[1]])))


def well(transition: Transition) -> bool:
    """The skeleton of a run without faults, failures and lost workers."""
    return not transition.fault and transition.role not in ("lost", "fail", "skip", "stop")
