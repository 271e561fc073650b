"""The marking: which tokens lie in which places, and the one way it changes, firing a transition.

A transition with a reset set takes its tokens, empties the set, and then makes its own.

Law: a transition fires only if every input place holds the tokens that the firing names, as many as the arc's
weight says. Firing takes exactly those and makes exactly the tokens named for its output arcs. There is no other
way to move a token, so a log that folds without `IllegalFiring` is a run of the net.
"""

from array import array
from collections import deque
from collections.abc import Callable, Iterator, Mapping

from noetl_ir.emptiness import Emptiness
from noetl_ir.events import Firing, TokenKeys
from noetl_ir.net import Arc, Net, Transition, Weight
from noetl_ir.records import NamedTuple
from noetl_ir.resets import Reset


class IllegalFiring(Exception):
    """A firing that the net and the marking do not allow."""


NO_RESETS: Mapping[int, Reset] = {}
NO_TESTS: Mapping[int, Emptiness] = {}
Weigh = Callable[[Weight, str], int]
_Agenda = deque[tuple[int, str]]


class Moves(NamedTuple):
    """The facts that firings ask of a net, where it lies close together.

    By transition: the place of its only arc in, and that of its only arc out, both of weight 1, -1 where it has other
    arcs. By place: whether it is a control place, and whether anything may follow by itself from tokens in it.
    """

    sources: "array[int]"
    targets: "array[int]"
    controls: bytes
    follows: bytes


class Marking:
    """The tokens by place index and key: counts, never zero. `control` counts the tokens in control places.

    A firing puts each (place, key) that it gives tokens to on the `agenda`, if anything may follow from that place by
    itself. `weigh` gives the number that a symbolic weight stands for, by key.
    """

    __slots__ = (
        "_agenda", "_controls", "_follows", "_net", "_resets", "_sources", "_targets", "_tests", "_transitions",
        "_weigh", "control", "tokens",
    )  # fmt: skip

    def __init__(
        self,
        net: Net,
        moves: Moves,
        weigh: Weigh,
        agenda: _Agenda,
        resets: Mapping[int, Reset] = NO_RESETS,
        tests: Mapping[int, Emptiness] = NO_TESTS,
    ) -> None:
        self._resets = resets
        self._tests = tests
        self._net = net
        self._transitions = net.transitions
        self._sources, self._targets, self._controls, self._follows = moves
        self._weigh = weigh
        self._agenda = agenda
        self.tokens: dict[int, dict[str, int]] = {}
        self.control = 0

    def count(self, place: int, key: str) -> int:
        """How many tokens with this key lie in the place."""
        keys = self.tokens.get(place)
        return keys.get(key, 0) if keys else 0

    def keys(self, place: int) -> Iterator[str]:
        """The keys in a place, oldest first."""
        return iter(self.tokens.get(place, ()))

    def marked(self, test: Emptiness) -> Iterator[int]:
        """The places of a set that hold tokens."""
        if not test.places.isdisjoint(self.tokens):
            yield from (place for place in self.tokens if place in test.places)
        yield from (got for got, idle, _ in test.waves if got in self.tokens and idle in self.tokens)

    def put(self, place: int, key: str, count: int = 1) -> None:
        """Add tokens; outside a firing, of the initial marking only."""
        keys = self.tokens.get(place)
        if keys is None:
            self.tokens[place] = {key: count}
        else:
            keys[key] = keys.get(key, 0) + count
        if self._controls[place]:
            self.control += count

    def clear(self) -> None:
        """Take out all tokens: the phase that they were of is over."""
        self.tokens.clear()
        self.control = 0

    def fire(self, firing: Firing) -> None:
        """Fire. Raises IllegalFiring when the transition does not exist, is not enabled, or its keys do not fit.

        Nearly all take one token from one place and put one into another, so that is written out here.
        """
        index, took, made = firing
        if not 0 <= index < len(self._sources):
            raise IllegalFiring(f"there is no transition {index}")
        source, target, tokens = self._sources[index], self._targets[index], self.tokens
        keys = tokens.get(source)
        # Whatever is not one token from one place into another goes the general way, also what is wrong: there the
        # refusal finds its words. One expression, since it runs for each firing of each event.
        if keys is None or target < 0 or type(made) is not str or keys.get(took) != 1:  # type: ignore[arg-type]
            self._fire_arcs(index, took, made)
            return
        # The last token of a place takes the place's table with it, so that the marking's size is that of its tokens.
        if len(keys) == 1:
            del tokens[source]
        else:
            del keys[took]  # type: ignore[arg-type]
        there = tokens.get(target)
        if there is None:
            tokens[target] = {made: 1}
        else:
            there[made] = there.get(made, 0) + 1
        # Most moves go from control place to control place, and leave the count.
        if self._controls[source] != self._controls[target]:
            self.control += self._controls[target] - self._controls[source]
        # Places that only reports and timers empty are never looked at by `decide`: nothing follows by itself.
        if self._follows[target]:
            self._agenda.append((target, made))

    def _fire_arcs(self, index: int, took: TokenKeys, made: TokenKeys) -> None:
        """Fire any transition, arc by arc."""
        transition = self._transitions[index]
        test = self._tests.get(index)
        if test is not None and (place := next(self.marked(test), -1)) >= 0:
            raise IllegalFiring(f"`{transition.id}` needs place `{self._net.places[place].id}` to be empty")
        place = self._sources[index]
        if place >= 0 and isinstance(took, str):
            self._take(place, took, 1)
        else:
            for place, key, weight in self._bound(transition.inputs, took, transition):
                if weight:
                    self._take(place, key, weight)
        if index in self._resets:
            self._empty(self._resets[index])
        place = self._targets[index]
        if place >= 0 and isinstance(made, str):
            self._give(place, made, 1)
        else:
            for place, key, weight in self._bound(transition.outputs, made, transition):
                if weight:
                    self._give(place, key, weight)

    def _empty(self, reset: Reset) -> None:
        """Take all tokens out of the places of a set, and make the memory of joins in it what it was at first."""
        for place in reset.places:
            keys = self.tokens.pop(place, None)
            if keys and self._controls[place]:
                self.control -= sum(keys.values())
        for place in reset.restored:
            self.put(place, "")

    def _bound(self, arcs: tuple[Arc, ...], keys: TokenKeys, transition: Transition) -> list[tuple[int, str, int]]:
        """The arcs with their keys and weights as numbers."""
        if isinstance(keys, str):
            keys = (keys,) * len(arcs)
        elif len(arcs) == 1 and 1 < len(keys) == arcs[0].weight:
            # The only arc of a merge takes so many tokens, each with a key of its own.
            return [(arcs[0].place, key, 1) for key in keys]
        elif len(keys) != len(arcs):
            raise IllegalFiring(f"`{transition.id}` has {len(arcs)} arcs, the firing names {len(keys)} tokens")
        return [
            (place, key, weight if isinstance(weight, int) else self._weigh(weight, key))
            for (place, weight), key in zip(arcs, keys, strict=True)
        ]

    def _give(self, place: int, key: str, count: int) -> None:
        self.put(place, key, count)
        if self._follows[place]:
            self._agenda.append((place, key))

    def _take(self, place: int, key: str, count: int) -> None:
        keys = self.tokens.get(place)
        there = keys.get(key, 0) if keys else 0
        if there < count or keys is None:
            raise IllegalFiring(f"place `{self._net.places[place].id}` holds {there} of {count} tokens `{key}`")
        if there != count:
            keys[key] = there - count
        elif len(keys) == 1:
            del self.tokens[place]
        else:
            del keys[key]
        if self._controls[place]:
            self.control -= count
