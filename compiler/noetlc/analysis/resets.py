"""Reset and emptiness sets as a plain net, which every analysis reads (EXTENSIONS.md §3, `cancels` and `lock`).

No arc of a plain net empties a place. Where a place holds fewer than `cap` tokens, one beside it can count those that
are missing, and with it a place is emptied one token after the other, while all that touches a set stands still:

    [admit S]   (gate S) + (@open)            →  (@S 0)
    [@drop p]   (@S i) + (p)                  →  (@S i) + (@less p)
    [@next p]   (@S i) + cap·(@less p)        →  (@S i+1) + cap·(@less p)
    [@end]      (@S k)                        →  (ready S) + (@open) + the memory of joins as it was at first

Where places are only asked whether they are empty, one place counts what is missing in all of them, so that what moves
from one to another of them touches nothing:

    [admit S]   (gate S) + cap·(@room x)      →  (ready S) + cap·(@room x)        only while all of them are empty

A counting join among these places is asked twice: `got`, its tokens of this wave, must be empty, or, in a second
transition, `met` must be marked, since a wave that has started the step holds nothing back.

A router fires its whole chain in one event (`next.selected`), so that a token within a chain holds `@open` as well.

Why the plain net is right: what fires between the first and the last of these transitions touches none of the places,
so that it could as well fire before or after all of them. Every run of the one net is one of the other, with the same
ends, as long as no place ever holds `cap` tokens. `closed` proves that first, by stubborn sets, in a net in which
places may become full. Where the proof fails the sets are left out (`loose`). The loose net has every run of the plan,
with at least as many tokens in each place: what it cannot do cannot be done, and it proves nothing else.
"""

from collections.abc import Mapping, Sequence

from noetl_ir.emptiness import Emptiness
from noetl_ir.locks import tests_of
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetl_ir.resets import Reset, resets_of
from noetlc.analysis.growing import Growing
from noetlc.analysis.petri import Petri, PetriMarking, arcs_of, effect_of, fired, is_enabled
from noetlc.analysis.reductions import reduced
from noetlc.analysis.stubborn import terminals_within

STATES, STEPS = 30_000, 1_500_000
"""States in which places are watched, for each bound that is tried, and steps (`stubborn`) for all of them."""

WIDEST = 8
"""The tokens, for each item of a loop, up to which a place is watched."""

MARK = "@"
"""Prefix of the ids of places and transitions that are added and in no plan."""

SHUT = "@shut"
"""Prefix of the transitions after which a gate's token stays (`settling`). They are choices of a run: unlike other
added transitions they do not go on by themselves.
"""

CHAIN = frozenset({"c", "n", "s"})
"""Roles of the places between the choices of a router."""

OPEN, OVER = "@open", "@full"


class _Known(NamedTuple):
    """A remembered answer of `_bound` for a plan, a number of transitions and a size of loops.

    `cap` is 0 where its places are not known to be bounded; `reason` says why.
    """

    plan: Plan
    transitions: int
    size: int
    cap: int
    reason: str

    def holds_for(self, transitions: int, size: int) -> bool:
        """Whether this is the answer for a part of the plan with so many transitions, too: the larger part has all
        runs of the smaller one, so that it is bounded only where that is.
        """
        larger = transitions <= self.transitions if self.cap else transitions >= self.transitions
        return size == self.size and larger


_known: list[_Known] = []
"""The last answers: lint and analysis ask for the same skeletons again and again."""


class Closed(NamedTuple):
    """The plain net: the transitions of the net, then the added ones.

    `owners` are the transitions of the net that the added ones belong to, in their order. `loose` says why the sets
    were left out; it is empty where they were not. `moving` maps each place in which a token lies while a set is
    emptied to the place where it comes next.
    """

    net: Petri
    owners: tuple[int, ...]
    loose: str
    moving: Mapping[int, int]


def closed(plan: Plan, net: Petri, origin: Sequence[int], size: int, wider: Petri) -> Closed:
    """The net of a plan with its reset sets.

    `origin[t]` is the transition of the plan that t of the net stands for, `size` the number of items of its loops. The
    bound of the places is looked for in `wider`: it begins with the same transitions, has every run of the net, and is
    bounded where the net is.
    """
    rows, tests = _rows(plan, origin), _tested(plan, origin)
    if not (rows or tests):
        return Closed(net, (), "", {})
    chain = frozenset(number for number, place in enumerate(plan.net.places) if place.role in CHAIN)
    key = (len(origin), size)
    known = next((each for each in _known if each.plan is plan and each.holds_for(*key)), None)
    if known is None:
        known = _Known(plan, *key, *_bound(wider, rows, tests, chain, size))
        _known[:] = [known, *_known[:7]]
    if not known.cap:
        return Closed(_loose(net, rows), (), known.reason, {})
    made = _Encoding(net, rows, tests, chain, known.cap)
    return Closed(made.net(), tuple(made.owners), "", made.moving)


def loosened_resets(plan: Plan, net: Petri, origin: Sequence[int]) -> Petri:
    """The net of a plan in which nothing is emptied: what it cannot do cannot be done."""
    return _loose(net, _rows(plan, origin))


def _rows(plan: Plan, origin: Sequence[int]) -> dict[int, Reset]:
    resets = resets_of(plan)
    return {row: resets[number] for row, number in enumerate(origin) if number in resets}


def _tested(plan: Plan, origin: Sequence[int]) -> dict[int, tuple[Emptiness, ...]]:
    tests = tests_of(plan)
    return {row: tests[number] for row, number in enumerate(origin) if number in tests}


def rows_of(plan: Plan, net: Petri, origin: Sequence[int]) -> dict[str, list[int]]:
    """Id of a transition of the plan → the transitions of a net that stand for it."""
    rows: dict[str, list[int]] = {}
    for row, id in enumerate(net.transitions):
        if not id.startswith(MARK):
            rows.setdefault(plan.net.transitions[origin[row]].id, []).append(row)
    return rows


def played(net: Petri, run: Sequence[Sequence[int]]) -> PetriMarking:
    """The marking after a run of a plan, each transition of which is given by those of the net that stand for it.

    After each, the added transitions that empty places fire until none is enabled.
    """
    helpers = [number for number, id in enumerate(net.transitions) if id.startswith(MARK) and not id.startswith(SHUT)]
    marking = net.initial
    for rows in run:
        row = next((each for each in rows if is_enabled(net, marking, each)), rows[0])
        marking = fired(net, marking, row)
        while (able := next((each for each in helpers if is_enabled(net, marking, each)), None)) is not None:
            marking = fired(net, marking, able)
    return marking


def _bound(
    net: Petri, rows: Mapping[int, Reset], tests: Mapping[int, tuple[Emptiness, ...]], chain: frozenset[int], size: int
) -> tuple[int, str]:
    """(cap, ""), where no place of a set ever holds `cap` tokens, or (0, why no such number is known).

    The search begins at 2 tokens an item and doubles. In the watched net everything that touches the sets stops once a
    place is full, so that a full place shows in a terminal marking, and stubborn sets are enough to find it.
    """
    cap, what, left = 2 * size, "cancelled" if rows else "locked", STEPS
    seen = 0
    while cap <= WIDEST * size:
        watched = _Encoding(net, rows, tests, chain, cap).net(watched=True)
        over = watched.places.index(OVER)
        small = reduced(watched, frozenset({over}))
        ends, steps = terminals_within(small.net, STATES, left)
        left, seen = max(0, left - steps), seen + len(ends.graph.markings)
        at, code = small.place(over), ends.graph.code
        states = [*ends.dead, *(state for circle in ends.circles for state in circle)]
        if any(code.tokens(ends.graph.markings[state], at) for state in states):
            cap *= 2
        elif ends.complete:
            return cap, ""
        else:
            return 0, f"what is {what} was followed for {seen:,} states, and there are more"
    return 0, f"more than {cap // 2 - 1} tokens may be in a step that is {what}"


def _loose(net: Petri, rows: Mapping[int, Reset]) -> Petri:
    """The net in which nothing is emptied, and joins begin anew."""
    outputs = list(net.outputs)
    for row, reset in rows.items():
        outputs[row] = arcs_of([*outputs[row], *((place, 1) for place in reset.restored)])
    return net._replace(outputs=tuple(outputs))


class _Encoding:
    """The plain net while it is made; `owners` are the transitions of the net that the added ones belong to.

    `_less` has for each emptied place the place that counts what is missing there, `_rooms` for each set that is tested
    for emptiness the one place that counts for all of it, and `_within` for each place of such a set these counters.
    """

    def __init__(
        self,
        net: Petri,
        rows: Mapping[int, Reset],
        tests: Mapping[int, tuple[Emptiness, ...]],
        chain: frozenset[int],
        cap: int,
    ) -> None:
        self._net = net
        self._chain = chain
        self._rows = rows
        self._cap = cap
        made = {place for arcs in net.outputs for place, _ in arcs}
        made.update(place for place, tokens in enumerate(net.initial) if tokens)
        # What nothing ever marks needs no emptying.
        self._emptied = {row: [place for place in reset.places if place in made] for row, reset in rows.items()}
        self._moving = {place for places in self._emptied.values() for place in places}
        self._made = Growing(net)
        self._less = {
            place: self._made.place(f"@less {net.places[place]}", cap - net.initial[place])
            for place in sorted(self._moving)
        }
        self._rooms: dict[tuple[int, ...], int] = {}
        self._within: dict[int, list[int]] = {}
        self._tested: dict[int, list[int]] = {}
        self._waves: dict[int, list[tuple[int, int]]] = {}
        for row, each in tests.items():
            # Two locks that the same places hold are one.
            sets = {tuple(sorted([place for place in test.places if place in made])): None for test in each}
            self._tested[row] = [self._room(places) for places in sets if places]
            waves = sorted({(wave.got, wave.met) for test in each for wave in test.waves if wave.got in made})
            self._waves[row] = [(self._room((got,)), met) for got, met in waves]
        self._open = self._made.place(OPEN, 1)
        self.owners = self._made.owners
        self.moving: dict[int, int] = {}
        for number in range(len(net.transitions)):
            self._plain(number)
        for row in rows:
            self._emptying(row)
        for row, found in self._waves.items():
            self._beside(row, found)

    def net(self, *, watched: bool = False) -> Petri:
        """The net; if it is `watched`, all comes to a stop in the sets once a place is full."""
        made = self._made
        if watched:
            over = made.place(OVER, 0)
            for place in self._less:
                ins = [(place, self._cap), (self._open, 1)]
                made.add_row(f"@full {self._net.places[place]}", ins, [(over, 1)], -1)
            # No arc can ask for the tokens of several places together, so that a mirror of each room counts them.
            lying = {}
            for places, less in self._rooms.items():
                there = sum(self._net.initial[place] for place in places)
                lying[less] = made.mirror(f"@in {made.places[less]}", less, there)
            lying |= {less: place for place, less in self._less.items()}
            for number, less, count in self._leaps():
                ins = [each for each in made.inputs[number] if each[0] not in (lying[less], less)]
                made.add_row(f"@full {number} {less}", [*ins, (lying[less], self._cap - count)], [(over, 1)], -1)
            for place in self._rooms.values():
                made.add_row(f"@full {made.places[place]}", [(lying[place], self._cap)], [(over, 1)], -1)
        return made.net()

    def _leaps(self) -> list[tuple[int, int, int]]:
        """(transition of the plan, counter that it takes from, tokens) where `@full` alone would overlook a full place:
        in the middle of a router's chain, which holds `@open`, and where a transition adds several tokens at once.
        """
        return [
            (number, less, count)
            for number, arcs in enumerate(self._net.inputs)
            if number not in self._rows
            for less, count in self._effect(number).items()
            if count > 0 and (count > 1 or (self._moving and any(each in self._chain for each, _ in arcs)))
        ]

    def _effect(self, number: int) -> dict[int, int]:
        """Counter of missing tokens → how many a transition of the plan takes from it; negative for what it gives."""
        found: dict[int, int] = {}
        for place, count in effect_of(self._net, number).items():
            for less in self._counting(place):
                found[less] = found.get(less, 0) + count
        return {less: count for less, count in found.items() if count}

    def _counting(self, place: int) -> list[int]:
        """All counters of missing tokens that a place takes part in."""
        own = [self._less[place]] if place in self._less else []
        return [*own, *self._within.get(place, ())]

    def _room(self, places: tuple[int, ...]) -> int:
        """The one place that counts what is missing in several places together."""
        if places not in self._rooms:
            left = self._cap - sum(self._net.initial[place] for place in places)
            room = self._rooms[places] = self._made.place(
                f"@room {self._net.places[places[0]]} {len(self._rooms)}", left
            )
            for place in places:
                self._within.setdefault(place, []).append(room)
        return self._rooms[places]

    def _plain(self, number: int) -> None:
        """Complete a transition of the plan: it keeps the counters true, and touches the sets only while `@open` says
        that nothing is being emptied.
        """
        ins, outs = [*self._net.inputs[number]], [*self._net.outputs[number]]
        empty = [*self._tested.get(number, ()), *(room for room, _ in self._waves.get(number, ()))]
        if number in self._rows:
            kept = [(place, self._cap) for place in empty]
            freed = [(less, weight) for place, weight in ins for less in self._counting(place)]
            self._made.inputs[number] = [*ins, *kept, (self._open, 1)]
            self._made.outputs[number] = [*kept, *freed]
            return
        for less, count in self._effect(number).items():
            if less in empty:  # what is made there was missing
                outs.append((less, -count))
            else:
                (ins if count > 0 else outs).append((less, abs(count)))
        ins += [(place, self._cap) for place in empty]
        outs += [(place, self._cap) for place in empty]
        before, after = self._net.inputs[number], self._net.outputs[number]
        holds = any(place in self._chain for place, _ in before)
        keeps = any(place in self._chain for place, _ in after)
        if not self._moving:
            holds = keeps = False
        # A test for emptiness in the middle of an emptying would not see the token for which the set is emptied.
        touches = bool(empty and self._moving) or any(place in self._moving for place, _ in (*before, *after))
        if not holds and (keeps or touches):
            ins.append((self._open, 1))
        if not keeps and (holds or touches):
            outs.append((self._open, 1))
        self._made.inputs[number], self._made.outputs[number] = ins, outs

    def _emptying(self, row: int) -> None:
        net, id, cap = self._net, self._net.transitions[row], self._cap
        ready = net.outputs[row][0][0]
        here = self._made.place(f"@{id} 0", 0)
        self.moving[here] = ready
        self._made.outputs[row].append((here, 1))
        for place in self._emptied[row]:
            less, name = self._less[place], net.places[place]
            dropped = [(here, 1), *((each, 1) for each in self._counting(place))]
            self._made.add_row(f"@drop {id}: {name}", [(here, 1), (place, 1)], dropped, row)
            after = self._made.place(f"@{id} {place}", 0)
            self.moving[after] = ready
            self._made.add_row(f"@next {id}: {name}", [(here, 1), (less, cap)], [(after, 1), (less, cap)], row)
            here = after
        outs = [*net.outputs[row], *((place, 1) for place in self._rows[row].restored)]
        taken = [(less, weight) for place, weight in outs for less in self._counting(place)]
        self._made.add_row(f"@end {id}", [(here, 1), *taken], [*outs, (self._open, 1)], row)

    def _beside(self, row: int, waves: Sequence[tuple[int, int]]) -> None:
        """Make a transition once more for each wave of a counting join, which is not asked once it has started."""
        known = [(self._made.inputs[row], self._made.outputs[row])]
        for room, met in waves:
            fresh = [
                ([*(each for each in ins if each[0] != room), (met, 1)],
                 [*(each for each in outs if each[0] != room), (met, 1)])
                for ins, outs in known
            ]  # fmt: skip
            for ins, outs in fresh:
                self._made.add_row(self._net.transitions[row], ins, outs, row)
            known += fresh
