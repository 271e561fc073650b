"""A smaller net that answers the same questions (Berthelot 1987), and the way back for every run.

    agglomeration   (p) whose takers take nothing else, unmarked:       [h] → (p) → [f…]      becomes  [h f]…
    parallel        two transitions, or two places, with equal arcs     one of them
    self-loop       a transition that changes nothing, beside another with the same inputs      the other
    implicit        a place whose tokens are those of some others and a fixed number, and that
                    is asked for no more than these                                             gone
    dead            what needs a token that nothing ever makes                                  gone, and reported

Agglomeration removes the place p and fires each f together with the h before it. f takes nothing but its token from p,
so that it can always fire right after h. Only markings with a token in p are lost, and whatever is marked in one of
them beside p is also marked in one that is left. So agglomeration preserves which terminal components there are (what
can get stuck, what can go on for ever), which transitions can fire, and which of the places that stay are marked at
once. It preserves boundedness too if each f puts a token somewhere, which `reduced_for_bounds` demands. Repeated, it
removes chains and circles of places: the last place of a circle becomes a self-loop, and strongly connected parts
collapse.

The caller names places that it asks about: these `kept` places are never removed.
"""

from noetl_ir.records import NamedTuple
from noetlc.analysis.origin import LONGEST, Also, Either, Leaf, Nothing, Then, ValueOrigin, covered, firings, run_of
from noetlc.analysis.petri import Petri, PetriMarking, arcs_of, effect_of

MAX_PRODUCT, MAX_ARCS = 64, 256
"""Takers times makers of a place, and arcs of what they become, up to which it is agglomerated although that makes more
of them.
"""

WIDE = 16
"""Arcs of a transition, and transitions at a place, above which what was joined in a round waits for the next one: wide
forks, and long chains of choices, grow in pairs, not one by one.
"""

GROWTH, FEWEST_GROWN = 8, 1000
"""Reductions may add one transition for every `GROWTH` that the net has, and `FEWEST_GROWN` at least."""

MAX_IMPLYING, MAX_TRIES = 3, 30
"""Places that together may imply another one, and sets of them that are tried for it."""

ARCS_OF_TRIES, FEWEST_ARCS_OF_TRIES = 30, 20_000
"""Arcs that all tries of a net look at, for each arc that it has, and at least: where all steps lead to each other,
every place has hundreds, and the tries of all places are cubic."""


class Reduced(NamedTuple):
    """A reduced net, and the way back to the original one.

    The first place of `net` is an additional one, with one token: a transition takes it and makes the initial marking.
    `origins[t]` says which transitions of the original net t stands for, `places[p]` which place p is (-1 for the
    first). `dead` are transitions of the original net that never fire.
    """

    net: Petri
    origins: tuple[ValueOrigin, ...]
    places: tuple[int, ...]
    dead: frozenset[int]

    def run(self, run: tuple[int, ...], longest: int = LONGEST) -> tuple[int, ...]:
        """The run of the original net that a run of this one stands for; raises TooLong beyond `longest` nodes."""
        return run_of((self.origins[transition] for transition in run), longest)

    def change(self, original: Petri, run: tuple[int, ...]) -> dict[int, int]:
        """Place of the original net → how many tokens more it has after a run of this one, however long that is."""
        found: dict[int, int] = {}
        for transition, times in firings(self.origins[each] for each in run).items():
            for place, count in effect_of(original, transition).items():
                found[place] = found.get(place, 0) + times * count
        return {place: count for place, count in found.items() if count}

    def marking_after(self, original: Petri, run: tuple[int, ...]) -> PetriMarking:
        """The marking of the original net after a run of this one from the initial marking."""
        change = self.change(original, run)
        return tuple(tokens + change.get(place, 0) for place, tokens in enumerate(original.initial))

    def place(self, original: int) -> int:
        """Where a kept place is now."""
        return self.places.index(original)


def reduced(net: Petri, kept: frozenset[int] = frozenset(), told: frozenset[int] = frozenset()) -> Reduced:
    """The net reduced as far as it goes; `kept` places stay as they are.

    `told` are kept places, too, each marked and beside some transitions, which take from it and put back into it: of
    these each firing counts, so that they stay apart, also where they change nothing.
    """
    return _Work(net, kept | told, frozenset(range(len(net.places))), told).reduced()


def reduced_for_bounds(net: Petri, transient: frozenset[int] = frozenset()) -> Reduced:
    """The net reduced so that it is bounded exactly when the original is, `transient` places aside."""
    return _Work(net, frozenset(), transient, frozenset()).reduced()


class _Macro(NamedTuple):
    inputs: dict[int, int]
    outputs: dict[int, int]
    origin: ValueOrigin

    def side(self, *, makes: bool) -> dict[int, int]:
        """The places that a transition makes tokens in, or takes them from."""
        return self.outputs if makes else self.inputs


class _Work:
    """The net while it is reduced: macros by number, and for each place the macros that take from or put into it."""

    def __init__(self, net: Petri, kept: frozenset[int], passing: frozenset[int], told: frozenset[int]) -> None:
        self._net = net
        self._kept = kept
        self._told = told
        self._passing = passing  # places in which tokens may pile up, and whose bounds nobody asks about
        self._start = len(net.places)
        count = len(net.places) + 1
        self._macros: dict[int, _Macro] = {}
        self._takers: list[dict[int, None]] = [{} for _ in range(count)]
        self._makers: list[dict[int, None]] = [{} for _ in range(count)]
        self._shapes: dict[object, int] = {}
        self._next = 0
        self._dead: list[ValueOrigin] = []
        self._gone = bytearray(count)
        self._dirty: dict[int, None] = {}
        self._grown: set[int] = set()  # wide macros of this round
        self._first_of_round = 0
        self._growing: dict[int, None] = {}  # places that wait for a round in which the net may grow
        self._is_growing = False
        self._growth_left = max(FEWEST_GROWN, len(net.transitions) // GROWTH)
        initial = {place: tokens for place, tokens in enumerate(net.initial) if tokens}
        # The initial marking is made by a transition of its own. So a marked place has a maker like any other one,
        # and no rule needs an exception for places that are marked at the start.
        self._add(_Macro({self._start: 1}, initial, Nothing()))
        arcs = sum(len(side) for side in (*net.inputs, *net.outputs))
        self._left_to_try = max(FEWEST_ARCS_OF_TRIES, ARCS_OF_TRIES * arcs)
        for number, (inputs, outputs) in enumerate(zip(net.inputs, net.outputs, strict=True)):
            self._add(_Macro(dict(inputs), dict(outputs), Leaf(number)))

    def reduced(self) -> Reduced:
        """The net when no rule applies any more."""
        self._dirty = dict.fromkeys(range(self._start))
        while True:
            self._settle()
            if not self._drop_implicit():
                return self._built()

    def _settle(self) -> None:
        # Work goes in rounds, so that branches shrink before a wide fork is joined with them.
        while self._dirty or self._growing:
            # The order of places decides which of several reductions is done. It is that of the plan, so that the net
            # that is left, and the run that is told from it, are the same on every machine.
            self._is_growing = not self._dirty
            if self._is_growing:
                self._dirty, self._growing = self._growing, {}
            batch, self._dirty = sorted(self._dirty, reverse=True), {}
            self._grown.clear()
            self._first_of_round = self._next
            for place in batch:
                self._dirty.pop(place, None)
                if self._gone[place]:
                    continue
                self._drop_dead(place) or self._agglomerate(place) or self._drop_loops(place)

    def _drop_dead(self, place: int) -> bool:
        """Remove a place that nothing puts into, with all that takes from it."""
        # Without a maker the place stays empty, also at the start, and all that takes from it is dead. A kept place
        # is one that somebody asks about by number.
        if self._makers[place] or place in self._kept:
            return False
        for number in list(self._takers[place]):
            self._dead.append(self._remove(number).origin)
        self._gone[place] = 1
        return True

    def _agglomerate(self, place: int) -> bool:
        takers, makers = self._takers[place], self._makers[place]
        if place in self._kept or not takers:
            return False
        if len(takers) == len(makers) == 1:
            [maker], [taker] = makers, takers
            if len(self._macros[maker].outputs) > WIDE and self._is_passed_on(place, taker):
                self._agglomerate_all(maker)
                return True
            if maker in self._grown or taker in self._grown:
                # The place comes again in the next round, when the branches behind it have become small.
                self._dirty[place] = None
                return True
        # Each maker is joined with each taker, so that many of both make more transitions than there were.
        arcs = len(takers) + len(makers)
        growth = max(0, len(takers) * len(makers) - arcs)
        if growth and (growth > self._growth_left or arcs + growth > MAX_PRODUCT):
            return False
        # What makes the net larger waits until nothing else is left: where all steps lead to each other, a choice
        # that is multiplied first is multiplied again with each that lies behind it.
        if growth and not self._is_growing:
            self._growing[place] = None
            return True
        if arcs > WIDE and self._is_young(takers, makers):
            self._dirty[place] = None
            return True
        after = [self._macros[number] for number in takers]
        before = [self._macros[number] for number in makers]
        if len(before) * len(after) > 1 and _grows(before, after):
            return False
        # A taker that needs another token may have to wait for ever. Joined with its maker, it would take the marking
        # along in which a token lies in the place and nothing can happen, and a plan that gets stuck would be proved
        # sound.
        if any(macro.inputs != {place: 1} or place in macro.outputs for macro in after):
            return False
        # Where bounds are asked, tokens that pile up in this place must show somewhere else: a taker that puts
        # nothing down would make them vanish, and an unbounded place would be proved bounded.
        if place not in self._passing and any(self._passing.issuperset(macro.outputs) for macro in after):
            return False
        # Of two tokens one may go to one taker and the other to another one. The joined transition lets all of them
        # go the same way, which would lose those runs.
        if len(after) > 1 and any(macro.outputs[place] > 1 for macro in before):
            return False
        for number in [*takers, *makers]:
            self._remove(number)
        self._growth_left -= growth
        for one in before:
            for other in after:
                self._add(_joined(one, other, place))
        self._gone[place] = 1
        return True

    def _is_young(self, takers: dict[int, None], makers: dict[int, None]) -> bool:
        """Whether one of some macros was made in this round; the last that came to a place has the highest number."""
        return max(next(reversed(takers)), next(reversed(makers), -1)) >= self._first_of_round

    def _is_passed_on(self, place: int, taker: int) -> bool:
        """Whether the taker takes nothing but one token of the place, so that it can be fused with what
        puts it there.
        """
        inputs, outputs, _ = self._macros[taker]
        if place in self._kept or inputs != {place: 1} or place in outputs:
            return False
        return place in self._passing or not self._passing.issuperset(outputs)

    def _agglomerate_all(self, maker: int) -> None:
        """Join a macro with the takers of all its places that have no other maker and no other taker, in one step.

        A wide fork joined branch by branch would be copied once for each branch.
        """
        row = self._macros[maker]
        takers: dict[int, int] = {}
        for place in row.outputs:
            if len(self._makers[place]) == len(self._takers[place]) == 1:
                [taker] = self._takers[place]
                if taker != maker and self._is_passed_on(place, taker):
                    takers[place] = taker
        self._remove(maker)
        outputs, origin = dict(row.outputs), row.origin
        for place, taker in takers.items():
            other = self._remove(taker)
            times = outputs.pop(place)
            for each, weight in other.outputs.items():
                outputs[each] = outputs.get(each, 0) + times * weight
            origin = Then(origin, other.origin, times)
            self._gone[place] = 1
        self._add(_Macro(row.inputs, outputs, origin))

    def _drop_loops(self, place: int) -> bool:
        """Remove transitions that change nothing beside another one with the same inputs."""
        for number in list(self._takers[place]):
            macro = self._macros[number]
            # A transition that changes nothing is dropped only beside one with the same inputs. Alone it keeps its
            # marking from being dead: without it a cycle that has no exit would be told as an end.
            if macro.inputs != macro.outputs or not self._told.isdisjoint(macro.inputs):
                continue
            for other in self._takers[place]:
                if other != number and self._macros[other].inputs == macro.inputs:
                    self._remove(number)
                    kept = self._remove(other)
                    self._add(kept._replace(origin=Also(kept.origin, macro.origin)))
                    return True
        return False

    def _drop_implicit(self) -> bool:
        """Remove places that others imply: they always have the tokens of those, and are asked for no more."""
        found: dict[object, int] = {}
        # Twins go first and together: a wide fork leaves hundreds of them, and each removal by itself enters all
        # transitions around it anew.
        removed = self._drop_twins()
        for place in range(self._start):
            if self._gone[place] or place in self._kept:
                continue
            key = self._column(place)
            other = found.setdefault(key, place)
            if other != place or self._is_implied(place):
                removed = True
                self._forget(place)
                if other == place:
                    # The place is implied by others and gone. A later place with equal arcs must not be dropped in
                    # its favour, or both would be missing.
                    del found[key]
        return removed

    def _drop_twins(self) -> bool:
        """Remove all but one of the places with the same arcs."""
        first: dict[object, int] = {}
        twins = [
            place
            for place in range(self._start)
            if not self._gone[place] and place not in self._kept
            if first.setdefault(self._column(place), place) != place
        ]
        self._forget(*twins)
        return bool(twins)

    def _column(self, place: int) -> object:
        """The arcs of a place; places with the same have the same tokens from the first firing on."""
        takes = sorted((number, self._macros[number].inputs[place]) for number in self._takers[place])
        makes = sorted((number, self._macros[number].outputs[place]) for number in self._makers[place])
        return tuple(takes), tuple(makes)

    def _is_implied(self, place: int) -> bool:
        """Whether a few other places change together as it does, so that its tokens are theirs and a fixed number."""
        takers = [self._macros[number] for number in self._takers[place]]
        # A transition with no other input is held back by this place alone, so that no other place can stand for it.
        if not takers or any(len(macro.inputs) == 1 for macro in takers):
            return False
        tries = MAX_TRIES
        waiting: list[tuple[tuple[int, ...], dict[int, int]]] = [((), self._effect(place))]
        while waiting and tries and self._left_to_try > 0:
            tries -= 1
            chosen, rest = waiting.pop()
            if not rest:
                if self._covers(place, chosen):
                    return True
                continue
            if len(chosen) == MAX_IMPLYING:
                continue
            sides = {number: self._macros[number].side(makes=count > 0) for number, count in rest.items()}
            # The transition with the fewest places that may explain it comes first: wrong guesses end soonest there.
            # The number decides between equals, so that every machine tries the same ones.
            number = min(sides, key=lambda each: (len(sides[each]), each))
            for other in sorted(sides[number], reverse=True)[:MAX_TRIES]:
                if other != place and other not in chosen and other != self._start:
                    more = self._effect(other)
                    if more.get(number, 0) == rest[number]:
                        left = {each: rest.get(each, 0) - more.get(each, 0) for each in {*rest, *more}}
                        waiting.append(((*chosen, other), {each: count for each, count in left.items() if count}))
        return False

    def _effect(self, place: int) -> dict[int, int]:
        """Macro → how many tokens more the place has after it; the first one of a run aside."""
        found: dict[int, int] = {}
        self._left_to_try -= len(self._takers[place]) + len(self._makers[place])
        for number in {**self._takers[place], **self._makers[place]}:
            inputs, outputs, _ = self._macros[number]
            change = outputs.get(place, 0) - inputs.get(place, 0)
            # What the start makes is no change of a run. It is compared in `_covers`, as the fixed number that the
            # place has more.
            if change and self._start not in inputs:
                found[number] = change
        return found

    def _covers(self, place: int, others: tuple[int, ...]) -> bool:
        """Whether the place always has what the others have and a fixed number more, and nothing asks it for more."""
        # Tokens may pile up in a passing place without being asked about. A place that is asked about must not be
        # left to it.
        if place not in self._passing and not self._passing.isdisjoint(others):
            return False
        # There may be several starts, once the first one was joined with what may fire at once. The place is implied
        # only where it has the same number more after each of them.
        first = [self._macros[number].outputs for number in self._takers[self._start]]
        spare = {outputs.get(place, 0) - sum(outputs.get(each, 0) for each in others) for outputs in first}
        # With fewer tokens than the others have, the place is the one that holds its takers back.
        if len(spare) != 1 or min(spare) < 0:
            return False
        [more] = spare
        asked = [self._macros[number].inputs for number in self._takers[place]]
        return all(row[place] <= more + sum(row.get(each, 0) for each in others) for row in asked)

    def _forget(self, *places: int) -> None:
        gone = frozenset(places)
        touched = {number for place in places for number in (*self._takers[place], *self._makers[place])}
        for place in places:
            self._gone[place] = 1
        for number in sorted(touched):
            macro = self._remove(number)
            inputs = {each: weight for each, weight in macro.inputs.items() if each not in gone}
            outputs = {each: weight for each, weight in macro.outputs.items() if each not in gone}
            self._add(_Macro(inputs, outputs, macro.origin))

    def _add(self, macro: _Macro) -> None:
        shape = (frozenset(macro.inputs.items()), frozenset(macro.outputs.items()))
        # Two transitions with equal arcs differ in nothing that is asked about markings. The first one stays, and
        # remembers the other as an equal, so that both count as alive.
        twin = self._shapes.get(shape)
        if twin is not None:
            old = self._macros[twin]
            self._macros[twin] = old._replace(origin=Either(old.origin, macro.origin))
            return
        number = self._next
        self._next += 1
        self._shapes[shape] = number
        self._macros[number] = macro
        for place in macro.inputs:
            self._takers[place][number] = None
            self._dirty[place] = None
        for place in macro.outputs:
            self._makers[place][number] = None
            self._dirty[place] = None
        # The start is the one place that is never joined away, since it is the initial marking.
        self._dirty.pop(self._start, None)
        if len(macro.inputs) + len(macro.outputs) > WIDE:
            self._grown.add(number)

    def _remove(self, number: int) -> _Macro:
        macro = self._macros.pop(number)
        del self._shapes[(frozenset(macro.inputs.items()), frozenset(macro.outputs.items()))]
        for place in macro.inputs:
            del self._takers[place][number]
            self._dirty[place] = None
        for place in macro.outputs:
            del self._makers[place][number]
            self._dirty[place] = None
        self._dirty.pop(self._start, None)
        return macro

    def _built(self) -> Reduced:
        used = {place for macro in self._macros.values() for side in macro[:2] for place in side}
        # A kept place stays also where no arc is left at it: whoever asks about it has to find that it is never
        # marked.
        used |= self._kept - {self._start}
        places = [self._start, *sorted(used - {self._start})]
        number = {place: index for index, place in enumerate(places)}
        macros = list(self._macros.values())
        net = Petri(
            self._net.name,
            ("@start", *(self._net.places[place] for place in places[1:])),
            tuple(f"#{index}" for index in range(len(macros))),
            tuple(arcs_of((number[place], weight) for place, weight in macro.inputs.items()) for macro in macros),
            tuple(arcs_of((number[place], weight) for place, weight in macro.outputs.items()) for macro in macros),
            (1,) + (0,) * (len(places) - 1),
        )
        return Reduced(net, tuple(macro.origin for macro in macros), (-1, *places[1:]), self._all_dead())

    def _all_dead(self) -> frozenset[int]:
        if not self._dead:
            return frozenset()
        # Agglomeration copies a transition into several macros. The transition is dead only when none of them is
        # left.
        return frozenset(covered(self._dead) - covered([macro.origin for macro in self._macros.values()]))


def _joined(one: _Macro, other: _Macro, place: int) -> _Macro:
    times = one.outputs[place]
    outputs = {each: weight for each, weight in one.outputs.items() if each != place}
    for each, weight in other.outputs.items():
        outputs[each] = outputs.get(each, 0) + times * weight
    return _Macro(one.inputs, outputs, Then(one.origin, other.origin, times))


def _grows(before: list[_Macro], after: list[_Macro]) -> bool:
    """Whether joining each macro of `before` with each of `after` makes more arcs, and more than `MAX_ARCS`."""
    now, then = _arcs_of(before), _arcs_of(after)
    return now * len(after) + then * len(before) > max(MAX_ARCS, now + then + 2 * len(before) * len(after))


def _arcs_of(macros: list[_Macro]) -> int:
    return sum(len(inputs) + len(outputs) for inputs, outputs, _ in macros)
