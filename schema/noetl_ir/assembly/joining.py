"""The join of a step: from the places of its sources to its gate (LANGUAGE §3, NET.md JOIN).

`taken` is encoded as a count over live and dead tokens. The fork makes a dead token for each branch that it
does not take. Every source gives one token a wave (`free`/`held`); `cold` turns `warm` with the first live
one; when all have come, the gate opens if it is warm and the wave ends silently if it is cold:

    [arrive s]:      (in s)+(free s)+(cold) → (held s)+(got)+(warm)     [arrive+ s]: the same from and to
    (warm) [arrive dead s]: (dead s)+(free s) → (held s)+(got) [meet]:      m·(got)+(warm)+Σ(held s) →
    (gate)+(cold)+Σ(free s) [meet none]: m·(got)+(cold)+Σ(held s) → (cold)+Σ(free s)

`tokens` is a thread merge, which keeps no wave: tokens of all sources lie in one place until there are N.

    [arrive s]: (in S s) → (merge S)     [meet]: N·(merge S) → (gate)

`settled` asks its sources one after the other once nothing can still come (`noetl_ir.settling`), or once nothing else
can move at all; `got` counts its tokens, so that it does not begin without one:

    [arrive s]: (in S s) → (held S s)+(got)                    [settle], [force]: (got)+(idle) → (got)+(pick S 0)
    [gather s]: (pick S i)+(held S s)+(got) → (pick S i+1)     [lack s]: (pick S i) → (pick S i+1), (held S s) empty
    [meet]:     (pick S m) → (gate)+(idle)
"""

from collections.abc import Mapping

from noetl_ir.assembly.making import CONTROL, MEMO, NOTHING, Arcs, Maker, times
from noetl_ir.plan import ENTRY, Join, Step
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span


class Arrivals(NamedTuple):
    """Where the tokens of a step's sources arrive: source → place, and for a `taken` join the dead ones
    too.
    """

    live: dict[str, Arcs]
    dead: dict[str, Arcs]


def arrivals_of(maker: Maker, step: Step, index: int, spans: Mapping[str, Span], *, is_main: bool) -> Arrivals:
    """Make the places where tokens arrive at a step; `spans` has a place in the file for each source. The entry token
    of a later phase, where the step is not `is_main`, is put when that begins.
    """
    name, join = step.name, step.join
    live = {
        source: maker.place(
            f"in {name} {source}",
            "in",
            index,
            span=spans[source],
            # The entry token is the whole initial marking of control places: an execution begins with exactly one.
            tokens=1 if source == ENTRY and is_main else 0,
        )
        for source in join.sources
    }
    dead: dict[str, Arcs] = {}
    if join.mode == "taken":
        for source in join.sources:
            dead[source] = maker.place(f"dead {name} {source}", "dead", index, span=spans[source])
    return Arrivals(live, dead)


def build_join(maker: Maker, step: Step, index: int, *, arrivals: Arrivals, gate: Arcs, span: Span) -> None:
    """Add the join's own places and the transitions from the arrivals to the gate; nothing without a
    source.
    """
    name, join = step.name, step.join
    if not join.sources:
        return
    make = _Making(maker, name, index, join, arrivals, gate, span)
    match join.mode:
        case "all":
            everything = sum(arrivals.live.values(), NOTHING)
            maker.transition(f"meet {name}", "meet", everything, gate, step=index, span=span)
        case "count":
            _count(make)
        case "taken":
            _taken(make)
        case "tokens":
            _tokens(make)
        case "settled":
            _settled(make)
        case _:
            for source, place in arrivals.live.items():
                maker.transition(f"enter {name} {source}", "enter", place, gate, step=index, span=span)


class _Making(NamedTuple):
    maker: Maker
    name: str
    own: int
    join: Join
    arrivals: Arrivals
    gate: Arcs
    span: Span

    def memory(self, role: str, of: str = "", *, tokens: int = 0) -> Arcs:
        id = f"{role} {self.name} {of}" if of else f"{role} {self.name}"
        # A wave of a `taken` join that has begun is never complete by itself, so its tokens are control.
        waiting = self.join.mode == "taken" and not tokens
        kind = CONTROL if waiting else MEMO
        return self.maker.place(id, role, self.own, span=self.span, kind=kind, tokens=tokens)

    def now(self, role: str, inputs: Arcs, outputs: Arcs, of: str = "", id: str = "") -> None:
        id = f"{id or role} {self.name} {of}" if of else f"{id or role} {self.name}"
        self.maker.transition(id, role, inputs, outputs, step=self.own, span=self.span)


def _count(make: _Making) -> None:
    sources, n = make.join.sources, make.join.n
    free = {source: make.memory("free", source, tokens=1) for source in sources}
    held = {source: make.memory("held", source) for source in sources}
    idle, got, met = make.memory("idle", tokens=1), make.memory("got"), make.memory("met")
    for source in sources:
        arriving = make.arrivals.live[source] + free[source]
        make.now("arrive", arriving, held[source] + got, source)
    make.now("meet", times(got, n) + idle, make.gate + met)
    # `meet` took n of the counter's tokens; those of the late sources are still there and go with the wave.
    rest = times(got, len(sources) - n) if len(sources) > n else NOTHING
    make.now("rearm", sum(held.values(), NOTHING) + rest + met, sum(free.values(), NOTHING) + idle)


def _tokens(make: _Making) -> None:
    merge = make.maker.place(f"merge {make.name}", "merge", make.own, span=make.span)
    for source, place in make.arrivals.live.items():
        make.now("arrive", place, merge, source)
    make.now("meet", times(merge, make.join.n), make.gate)


def _settled(make: _Making) -> None:
    maker, name, sources = make.maker, make.name, make.join.sources
    # What waits here is never left at the end: the join begins at the latest when nothing else can move.
    held = {source: maker.place(f"held {name} {source}", "held", make.own, span=make.span) for source in sources}
    got = maker.place(f"got {name}", "got", make.own, span=make.span)
    idle = make.memory("idle", tokens=1)
    picks = [maker.place(f"pick {name} {i}", "pick", make.own, span=make.span) for i in range(len(sources) + 1)]
    for source in sources:
        make.now("arrive", make.arrivals.live[source], held[source] + got, source)
    for role in ("settle", "force"):
        make.now(role, got + idle, got + picks[0])
    for source, here, after in zip(sources, picks, picks[1:], strict=False):
        make.now("gather", here + held[source] + got, after, source)
        make.now("lack", here, after, source)
    make.now("meet", picks[-1], make.gate + idle)


def _taken(make: _Making) -> None:
    sources = make.join.sources
    free = {source: make.memory("free", source, tokens=1) for source in sources}
    held = {source: make.memory("held", source) for source in sources}
    cold, warm, got = make.memory("cold", tokens=1), make.memory("warm"), make.memory("got")
    for source in sources:
        live, dead = make.arrivals.live[source] + free[source], make.arrivals.dead[source] + free[source]
        kept = held[source] + got
        make.now("arrive", live + cold, kept + warm, source)
        # Two transitions for one arrival, as a net without inhibitor arcs cannot ask whether a place is empty: `cold`
        # and `warm` are complements.
        make.now("arrive", live + warm, kept + warm, source, id="arrive+")
        make.now("arrive_dead", dead, kept, source, id="arrive dead")
    whole = times(got, len(sources)) + sum(held.values(), NOTHING)
    again = cold + sum(free.values(), NOTHING)
    make.now("meet", whole + warm, make.gate + again)
    make.now("meet_none", whole + cold, again, id="meet none")
