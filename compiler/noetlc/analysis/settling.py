"""Settled joins as a plain net, which every analysis reads (EXTENSIONS.md §3, `join: settled`).

No arc of a plain net asks whether places are empty. Places beside the net count, for each question, how many tokens
fewer than `cap` lie in all places that it is about: within them a token moves without a change.

    [settle S]   (got S) + (idle S) + cap·(@far S)  →  (got S) + (pick S 0) + cap·(@far S)      all that can come is far
    [lack S s]   (pick S i) + cap·(@far S s)        →  (pick S i+1) + cap·(@far S s)            nothing of s is held

What a counting join has counts until it has met: its arrivals are told apart by `idle` and `met`, and it takes no more
than it needs before it meets, as in the engine.

`force` fires only where nothing else can move. Such markings are looked for, and each gets a transition that takes just
that marking: its tokens, while there is none beside them. Then others are looked for, until there is no new one. A gate
that waits for ctx may be unable to move, so that its token may lie in (@shut S), where a forced start fetches it.

Where places are not known to be bounded, or too many markings let a join start so, what is left is the net in which
each token of a settled join goes on or ends by itself (`loosened_joins`): what that cannot do cannot be done.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from noetl_ir.emptiness import Wave
from noetl_ir.net import PlaceClass, Trigger
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetl_ir.resets import resets_of
from noetl_ir.settling import Settled, settled_joins, sources_of
from noetlc.analysis.growing import Growing
from noetlc.analysis.petri import Petri, PetriMarking, effect_of
from noetlc.analysis.reductions import reduced
from noetlc.analysis.resets import CHAIN, MARK, SHUT
from noetlc.analysis.stubborn import terminals_within
from noetlc.analysis.whole_markings import WholeMarkings

STATES, STEPS = 6_000, 1_500_000
"""States in which places are watched, and in which nothing moves, for each bound and each forced start that is tried;
and steps (`stubborn`) for all of them.
"""

WIDEST = 64
"""The counters count up to so many tokens, times the most tokens that one transition makes."""

MOST_FORCED = 24
"""How many markings in which nothing else moves get a start of their own (`force`)."""

NEVER, OVER, ALL = "@never", "@full", "@far"


class PlanPart(NamedTuple):
    """A net made of some transitions of a plan: `origin[t]` is the transition of the plan that t of `net` stands for.

    `moving` maps each place behind the plan's own, in which a token lies while a step starts (`resets`), to the place
    where the token comes next. `fails` says of a marking whether a run fails there by itself.
    """

    plan: Plan
    net: Petri
    origin: Sequence[int]
    moving: Mapping[int, int]
    fails: Callable[[PetriMarking], bool]


class PlainNet(NamedTuple):
    """The plain net: the transitions of the part, then the added ones.

    `owners` are the transitions of the part that the added ones belong to, in their order; `forced` the numbers of the
    forced starts among them; `shut` pairs of a place for tokens whose gate stays shut, and the gate. `loose` says why
    the questions were left out; it is empty where they were not.
    """

    net: Petri
    owners: tuple[int, ...]
    forced: tuple[int, ...]
    shut: tuple[tuple[int, int], ...]
    loose: str


class _Known(NamedTuple):
    plan: Plan
    transitions: int
    size: int
    places: int
    found: PlainNet


_known: list[_Known] = []
"""The last answers: lint and analysis ask for the same skeletons again and again."""


def plain_net(part: PlanPart, size: int) -> PlainNet:
    """The plain net of a part with settled joins; `size` is the number of items of its loops."""
    key = (len(part.origin), size, len(part.net.places))
    known = next((each for each in _known if each.plan is part.plan and each[1:4] == key), None)
    if known is None:
        known = _Known(part.plan, *key, _counted(part))
        _known[:] = [known, *_known[:7]]
    return known.found


def loosened_joins(plan: Plan, net: Petri, origin: Sequence[int]) -> PlainNet:
    """The net in which each token of a settled join starts the step, or ends: it has every run of the other one."""
    made = Growing(net)
    never = made.place(NEVER, 0)
    joins = {join.step: join for join in settled_joins(plan)}
    gates = {join.step: plan.net.transitions[join.meet].outputs[0].place for join in joins.values()}
    for row, number in enumerate(origin):
        t = plan.net.transitions[number]
        if t.step in joins and t.role in ("settle", "force", "lack", "meet"):
            made.inputs[row] = [*made.inputs[row], (never, 1)]
        elif t.step in joins and t.role == "gather":
            taken = [(arc.place, 1) for arc in t.inputs if plan.net.places[arc.place].role != "pick"]
            beside = [each for each in made.inputs[row] if each[0] >= len(plan.net.places)]
            made.inputs[row], made.outputs[row] = [*taken, *beside], [(gates[t.step], 1), *beside]
            made.add_row(f"{net.transitions[row]} @ends", [*taken, *beside], beside, row)
    return PlainNet(made.net(), tuple(made.owners), (), (), "")


def _counted(part: PlanPart) -> PlainNet:
    plan, net, origin = part.plan, part.net, part.origin
    reset = {place for row in resets_of(plan).values() for place in row.places}
    waves = {wave.got for each in sources_of(plan).values() for wave in each.waves}
    if not reset.isdisjoint(waves):
        return _loose(plan, net, origin, "a step is cancelled whose join counts and leads to a `settled` one")
    if any(plan.net.places[place].role == "gate" and plan.steps[plan.net.places[place].step].waits for place in reset):
        return _loose(plan, net, origin, "a step is cancelled whose gate waits, beside a `settled` join")
    widest = max((sum(weight for _, weight in arcs) for arcs in net.outputs), default=1)
    cap, most = 4 * widest, WIDEST * widest
    forced: list[PetriMarking] = []
    left, seen = STEPS, 0
    while cap <= most:
        made = _Counting(part, cap)
        made.force(forced)
        watched = made.watched()
        over = watched.places.index(OVER)
        small = reduced(watched, frozenset({over}))
        ends, steps = terminals_within(small.net, STATES, left)
        left, seen = max(0, left - steps), seen + len(ends.graph.markings)
        at, code = small.place(over), ends.graph.code
        if any(code.tokens(marking, at) for marking in ends.graph.markings):
            cap, forced = 4 * cap, []
            continue
        if not ends.complete:
            return _loose(plan, net, origin, f"`settled` joins were followed for {seen:,} states, and there are more")
        markings = map(WholeMarkings(watched, small, ends.graph).marking, ends.dead)
        fresh = [*dict.fromkeys(each for m in markings if made.is_stalled(m) and (each := made.cut(m)) not in forced)]
        if not fresh:
            return PlainNet(made.rows.net(), tuple(made.rows.owners), tuple(made.forced), made.shut, "")
        forced += fresh
        if len(forced) > MOST_FORCED:
            reason = f"nothing else can move where a `settled` join has tokens, in more than {MOST_FORCED} markings"
            return _loose(plan, net, origin, reason)
    return _loose(plan, net, origin, f"more than {most // 2} tokens may be on the way to a `settled` join")


def _loose(plan: Plan, net: Petri, origin: Sequence[int], reason: str) -> PlainNet:
    return loosened_joins(plan, net, origin)._replace(loose=reason)


class _Counter(NamedTuple):
    """A place `far` that has `cap` tokens less those in the places of `weights`, which says how much one of each
    counts.
    """

    far: int
    weights: Mapping[int, int]


class _Counting:
    """The plain net while it is made; right as long as each counter counts less than `cap` tokens."""

    def __init__(self, part: PlanPart, cap: int) -> None:
        plan, net, origin = part.plan, part.net, part.origin
        self._fails, self._plan, self._net, self._origin, self._cap = part.fails, plan, net, origin, cap
        self._places = len(net.places)
        self.rows = Growing(net)
        self.forced: list[int] = []
        self._joins = settled_joins(plan)
        self._never = self.rows.place(NEVER, 0)
        self._owner = {number: row for row, number in enumerate(origin) if not net.transitions[row].startswith(MARK)}
        self.shut = self._shut_gates()
        beside = {**part.moving, **dict(self.shut)}
        sources = sources_of(plan)
        control = frozenset(n for n, place in enumerate(plan.net.places) if place.kind is PlaceClass.CONTROL)
        self._all = self._counter(ALL, control, beside, net)
        self._near = {
            join.step: self._counter(f"@far {join.step}", sources[join.step].places, beside, net)
            for join in self._joins
        }
        self._of_source = {
            place: self._counter(f"@far {join.step} {place}", frozenset({place}), {}, net)
            for join in self._joins
            for place, _, _ in join.sources
        }
        self._waves = {step: {wave.got for wave in each.waves} for step, each in sources.items()}
        met = self._tell_arrivals_apart({wave for each in sources.values() for wave in each.waves})
        self._route_at_once()
        for row in range(len(self.rows.inputs)):
            self._count(row, counts_waves=row not in met)
        for join in self._joins:
            self._test(join)

    def _shut_gates(self) -> tuple[tuple[int, int], ...]:
        """For each gate that waits for ctx a place beside it in which its token does not move, with the gate."""
        found = {}
        for number, row in self._owner.items():
            t = self._plan.net.transitions[number]
            if t.trigger is Trigger.CTX:
                gate = t.inputs[0].place
                found[gate] = self.rows.place(f"{SHUT} {self._plan.steps[t.step].name}", 0)
                self.rows.add_row(f"{SHUT} {t.id}", [(gate, 1)], [(found[gate], 1)], row)
        return tuple([(shut, gate) for gate, shut in found.items()])

    def _route_at_once(self) -> None:
        """Let only one router at a time fire its chain, as the engine does, which fires a chain in one event.

        Otherwise tokens of a cycle could pile up within a chain, and the net would seem unbounded.
        """
        chain = {number for number, place in enumerate(self._plan.net.places) if place.role in CHAIN}
        turn = self.rows.place("@turn", 1)
        for ins, outs in zip(self.rows.inputs, self.rows.outputs, strict=True):
            holds, keeps = (any(place in chain for place, _ in arcs) for arcs in (ins, outs))
            if keeps and not holds:
                ins.append((turn, 1))
            elif holds and not keeps:
                outs.append((turn, 1))

    def _counter(self, id: str, places: frozenset[int], beside: Mapping[int, int], net: Petri) -> _Counter:
        weights = dict.fromkeys(places, 1)
        weights.update((place, 1) for place, goes in beside.items() if goes in places)
        there = sum(net.initial[place] for place in places)
        return _Counter(self.rows.place(id, self._cap - there), weights)

    def _tell_arrivals_apart(self, waves: set[Wave]) -> set[int]:
        """Let counting joins take no more tokens than they need before they meet.

        Each `arrive` becomes two transitions, one before the join has met (`idle`) and one after (`met`). Gives the
        rows that fire when a join has met: what they move is not counted.
        """
        plan, rows, found = self._plan, self.rows, set[int]()
        by_step: dict[int, list[int]] = {}
        for row, number in enumerate(self._origin):
            by_step.setdefault(plan.net.transitions[number].step, []).append(row)
        for wave in sorted(waves):
            step = plan.net.places[wave.got].step
            needed = plan.steps[step].join.n
            room = rows.place(f"@room {step}", needed)
            for row in by_step[step]:
                role = plan.net.transitions[self._origin[row]].role
                if role == "arrive":
                    ins, outs, id = [*rows.inputs[row]], [*rows.outputs[row]], rows.ids[row]
                    found.add(rows.add_row(f"{id} @met", [*ins, (wave.met, 1)], [*outs, (wave.met, 1)], row))
                    rows.inputs[row] += [(wave.idle, 1), (room, 1)]
                    rows.outputs[row] += [(wave.idle, 1)]
                elif role == "rearm":
                    found.add(row)
                    rows.outputs[row] += [(room, needed)]
        return found

    def _count(self, row: int, *, counts_waves: bool) -> None:
        """Add arcs to a row that keep every counter true: tokens that it adds to counted places are taken
        from `far`.
        """
        change: dict[int, int] = {}
        for sign, arcs in ((-1, self.rows.inputs[row]), (1, self.rows.outputs[row])):
            for place, weight in arcs:
                change[place] = change.get(place, 0) + sign * weight
        for counter, waves in self._counters():
            count = sum(many * counter.weights.get(place, 0) for place, many in change.items())
            if counts_waves:
                count += sum(change.get(place, 0) for place in waves)
            if count > 0:
                self.rows.inputs[row].append((counter.far, count))
            elif count:
                self.rows.outputs[row].append((counter.far, -count))

    def _counters(self) -> Iterator[tuple[_Counter, set[int]]]:
        yield self._all, set()
        for step, counter in self._near.items():
            yield counter, self._waves[step]
        for counter in self._of_source.values():
            yield counter, set()

    def _test(self, join: Settled) -> None:
        inputs, outputs = self.rows.inputs, self.rows.outputs
        asked = [
            (join.settle, self._near[join.step]),
            *((lack, self._of_source[place]) for place, _, lack in join.sources),
        ]
        for number, counter in asked:
            if number in self._owner:
                inputs[self._owner[number]].append((counter.far, self._cap))
                outputs[self._owner[number]].append((counter.far, self._cap))
        # The sources of a join are asked one after the other. No token may arrive meanwhile, so that arrivals need the
        # token in `idle`, which a start holds.
        idle = self._plan.net.transitions[join.settle].inputs[1].place
        arrivals = [n for n, t in enumerate(self._plan.net.transitions) if t.step == join.step and t.role == "arrive"]
        for row in [self._owner[number] for number in arrivals if number in self._owner]:
            inputs[row].append((idle, 1))
            outputs[row].append((idle, 1))
        if join.force in self._owner:
            inputs[self._owner[join.force]].append((self._never, 1))

    def is_stalled(self, marking: PetriMarking) -> bool:
        """Whether a settled join has tokens in a marking in which nothing moves."""
        over = len(self._plan.net.places) + 1
        # A run that ends by itself in a failure does not stall.
        if self._fails(marking) or (self._plan.terminates and marking[over]):
            return False
        return any(marking[join.got] for join in self._joins)

    def cut(self, marking: PetriMarking) -> PetriMarking:
        """A marking without the counters: the places of the part and those of shut gates."""
        return marking[: self._places] + tuple(marking[place] for place, _ in self.shut)

    def force(self, markings: Sequence[PetriMarking]) -> None:
        """Add, for each marking in which nothing moves, a start of each join that has tokens in it.

        The transition takes exactly that marking: all its tokens, while the counter of all tokens says that there are
        no others. So it fires in this marking alone.
        """
        shut = dict(self.shut)
        for marking in markings:
            tokens = dict(enumerate(marking[: self._places]))
            tokens.update(zip(shut, marking[self._places :], strict=True))
            taken = [(place, count) for place, count in tokens.items() if count]
            total = sum(count * self._all.weights.get(place, 0) for place, count in taken)
            for join in self._joins:
                if not marking[join.got] or join.force not in self._owner:
                    continue
                start = self._owner[join.force]
                after = {shut.get(place, place): count for place, count in taken}
                for place, count in effect_of(self._net, start).items():
                    after[place] = after.get(place, 0) + count
                outs = [each for each in after.items() if each[1]]
                row = self.rows.add_row(self._net.transitions[start], taken, outs, start)
                self._count(row, counts_waves=True)
                self.rows.inputs[row].append((self._all.far, self._cap - total - 1))
                self.rows.outputs[row].append((self._all.far, self._cap - total - 1))
                self.forced.append(row)

    def watched(self) -> Petri:
        """The net with the place (@full), which is marked once some counter has counted half of `cap`.

        A search for (@full) proves that `cap` is never reached, or asks for a larger one.
        """
        rows = Growing(self.rows.net())
        over = rows.place(OVER, 0)
        for number, (counter, _) in enumerate(self._counters()):
            near = rows.mirror(f"@near {number}", counter.far, self._cap - rows.initial[counter.far])
            rows.add_row(f"@full {near}", [(near, self._cap // 2)], [(over, 1)], -1)
        return rows.net()
