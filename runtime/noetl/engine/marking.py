"""The marking: which tokens lie in which places, and the one way it changes, firing a transition.

Law: a transition fires only if every input place holds the tokens that the firing names, as many as the arc's
weight says. Firing takes exactly those and makes exactly the tokens named for its output arcs. There is no other
way to move a token, so a log that folds without `IllegalFiring` is a run of the net.
"""

from collections.abc import Callable, Iterator

from noetl_ir.events import Firing, Keys
from noetl_ir.net import Net, PlaceClass, Weight


class IllegalFiring(Exception):
    """A firing that the net and the marking do not allow."""


class Marking:
    """Tokens by place index and key: counts, never zero. `control` counts the tokens in control places."""

    __slots__ = ("_control", "_net", "control", "tokens")

    def __init__(self, net: Net) -> None:
        self._net = net
        self._control = [place.kind is PlaceClass.CONTROL for place in net.places]
        self.tokens: dict[int, dict[str, int]] = {}
        self.control = 0

    def count(self, place: int, key: str) -> int:
        """How many tokens with this key lie in the place."""
        held = self.tokens.get(place)
        return held.get(key, 0) if held else 0

    def keys(self, place: int) -> Iterator[str]:
        """The keys in a place, oldest first."""
        return iter(self.tokens.get(place, ()))

    def put(self, place: int, key: str, count: int = 1) -> None:
        """Add tokens outside any firing: the initial marking only."""
        held = self.tokens.setdefault(place, {})
        held[key] = held.get(key, 0) + count
        if self._control[place]:
            self.control += count

    def take(self, place: int, key: str, count: int) -> None:
        """Remove tokens; raises IllegalFiring when they are not there."""
        held = self.tokens.get(place)
        there = held.get(key, 0) if held else 0
        if there < count or held is None:
            raise IllegalFiring(f"place `{self._net.places[place].id}` holds {there} of {count} tokens `{key}`")
        if there == count:
            del held[key]
            if not held:
                del self.tokens[place]
        else:
            held[key] = there - count
        if self._control[place]:
            self.control -= count

    def fire(self, firing: Firing, weigh: Callable[[Weight, str], int], moved: Callable[[int, str], None]) -> None:
        """Fire; `weigh` gives a symbolic weight for a key, `moved` hears of every (place, key) that got tokens.

        Raises IllegalFiring when the transition does not exist, is not enabled, or the keys do not fit its arcs.
        """
        index, took, made = firing
        if not 0 <= index < len(self._net.transitions):
            raise IllegalFiring(f"there is no transition {index}")
        transition = self._net.transitions[index]
        inputs, outputs = transition.inputs, transition.outputs
        for position, arc in enumerate(inputs):
            key = took if isinstance(took, str) else _at(took, position, len(inputs), transition.id)
            weight = arc.weight
            if not isinstance(weight, int):
                weight = weigh(weight, key)
            if weight:
                self.take(arc.place, key, weight)
        for position, arc in enumerate(outputs):
            key = made if isinstance(made, str) else _at(made, position, len(outputs), transition.id)
            weight = arc.weight
            if not isinstance(weight, int):
                weight = weigh(weight, key)
            if weight:
                self.put(arc.place, key, weight)
                moved(arc.place, key)


def _at(keys: Keys, position: int, arcs: int, transition: str) -> str:
    if len(keys) != arcs:
        raise IllegalFiring(f"`{transition}` has {arcs} arcs, the firing names {len(keys)} tokens")
    return keys[position]
