"""The marking: which tokens lie in which places, and the one way it changes, firing a transition.

Law: a transition fires only if every input place holds the tokens that the firing names, as many as the arc's
weight says. Firing takes exactly those and makes exactly the tokens named for its output arcs. There is no other
way to move a token, so a log that folds without `IllegalFiring` is a run of the net.
"""

from collections.abc import Callable, Iterator

from noetl_ir.events import Firing, Keys
from noetl_ir.net import Arc, Net, PlaceClass, Weight


class IllegalFiring(Exception):
    """A firing that the net and the marking do not allow."""


Weigh = Callable[[Weight, str], int]
Moved = Callable[[int, str], None]


class Marking:
    """Tokens by place index and key: counts, never zero. `control` counts the tokens in control places.

    `weigh` gives a symbolic weight for a key; `moved` hears of every (place, key) that a firing gives tokens to.
    """

    __slots__ = ("_control", "_moved", "_net", "_weigh", "control", "tokens")

    def __init__(self, net: Net, weigh: Weigh, moved: Moved) -> None:
        self._net = net
        self._control = [place.kind is PlaceClass.CONTROL for place in net.places]
        self._weigh = weigh
        self._moved = moved
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
        """Add tokens; outside a firing, of the initial marking only."""
        held = self.tokens.get(place)
        if held is None:
            self.tokens[place] = {key: count}
        else:
            held[key] = held.get(key, 0) + count
        if self._control[place]:
            self.control += count

    def fire(self, firing: Firing) -> None:
        """Fire. Raises IllegalFiring when the transition does not exist, is not enabled, or its keys do not fit."""
        index, took, made = firing
        if not 0 <= index < len(self._net.transitions):
            raise IllegalFiring(f"there is no transition {index}")
        transition = self._net.transitions[index]
        for place, key, weight in self._bound(transition.inputs, took, transition.id):
            if weight:
                self._take(place, key, weight)
        for place, key, weight in self._bound(transition.outputs, made, transition.id):
            if weight:
                self.put(place, key, weight)
                self._moved(place, key)

    def _bound(self, arcs: tuple[Arc, ...], keys: Keys, name: str) -> list[tuple[int, str, int]]:
        """The arcs with their keys and weights as numbers."""
        if isinstance(keys, str):
            if len(arcs) == 1 and arcs[0].weight == 1:
                return [(arcs[0].place, keys, 1)]
            keys = (keys,) * len(arcs)
        elif len(keys) != len(arcs):
            raise IllegalFiring(f"`{name}` has {len(arcs)} arcs, the firing names {len(keys)} tokens")
        return [
            (place, key, weight if isinstance(weight, int) else self._weigh(weight, key))
            for (place, weight), key in zip(arcs, keys, strict=True)
        ]

    def _take(self, place: int, key: str, count: int) -> None:
        held = self.tokens.get(place)
        there = held.get(key, 0) if held else 0
        if there < count or held is None:
            raise IllegalFiring(f"place `{self._net.places[place].id}` holds {there} of {count} tokens `{key}`")
        if there != count:
            held[key] = there - count
        elif len(held) == 1:
            del self.tokens[place]
        else:
            del held[key]
        if self._control[place]:
            self.control -= count
