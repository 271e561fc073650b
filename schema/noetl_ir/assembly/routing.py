"""The router of a step: a chain of choices over its arcs, for success and for failure (NET.md ROUTING).

    exclusive  [take i]: (c i) → arc i     [pass i]: (c i) → (c i+1)     [none]: (c k) → ∅
    inclusive  two rows of places, n (nothing taken yet) and s (some):
               [take i]: (n i) → (s i+1)+arc i     [pass i]: (n i) → (n i+1)     [none]: (n k) → ∅
               [take+ i]: (s i) → (s i+1)+arc i    [pass+ i]: (s i) → (s i+1)    [some]: (s k) → ∅

Places are numbered by the arc that is asked there. An arc without a guard is only taken, and in exclusive
mode ends the chain. Only arcs whose guard reads `event.name`, `event.status` or `event.error` are in the
failure chain.
"""

from collections.abc import Sequence

from noetl_ir.assembly.looping import Ends
from noetl_ir.assembly.making import NOTHING, TIME, Arcs, Maker
from noetl_ir.plan import Arc, Step
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span


class ChainLink(NamedTuple):
    """One arc as the chain uses it.

    `number` is its place in the step's list, `row` its index in the plan's table, `guard` a pool index.
    `target` is where its token goes, nothing for a token that ends; `dead` the places that a `taken` join
    wants marked when it is not taken. `on_failure` says whether a failed run asks it too. A link that is never
    taken only marks the dead ones.
    """

    number: int
    row: int
    guard: int
    target: Arcs
    dead: Arcs
    span: Span
    asks: bool
    on_failure: bool
    takes: bool = True


def targets_of(
    maker: Maker, step: Step, index: int, *, arcs: Sequence[Arc], into: list[Arcs], spans: Sequence[Span]
) -> list[Arcs]:
    """Where each arc puts its token: the target's place, or a place to fly from until its delay is over.

    `into` has the place of each arc's target, `spans` where its delay is written.
    """
    made = []
    for number, (arc, place, span) in enumerate(zip(arcs, into, spans, strict=True)):
        # A token that ends needs no place to wait in: nothing follows from the time at which it ends.
        if arc.delay < 0 or not place:
            made.append(place)
            continue
        fly = maker.place(f"fly {step.name} {number}", "fly", index, span=span)
        id, row = f"land {step.name} {number}", step.arcs[number]
        maker.transition(id, "land", fly, place, trigger=TIME, step=index, arc=row, span=span)
        made.append(fly)
    return made


def build_chains(
    maker: Maker, step: Step, index: int, *, links: list[ChainLink], ends: Ends, span: Span, terminates: bool = False
) -> None:
    """Add both chains of a step's router; a leaf's token ends at once. One that `terminates` asks no arc on success."""
    telling = [
        link if link.on_failure else link._replace(takes=False) for link in links if link.on_failure or link.dead
    ]
    # A failed run whose router has no arc for it ends at once; dead tokens would then only tell joins of a run that
    # is over.
    if not any(link.takes for link in telling):
        telling = []
    inclusive = step.inclusive
    # An inclusive router asks all its arcs, also behind one without a guard.
    asked = links if inclusive else _until_certain(links)
    if terminates:
        # All tokens end with this one. No transition says so: what it leaves is final, as after a cancel.
        maker.transition(f"terminate {step.name}", "terminate", ends.done, NOTHING, step=index, span=span)
    chains = ((("ok", asked, ends.done),) if not terminates else ()) + (("ko", telling, ends.failed),)
    for word, chain, first in chains:
        build = _inclusive if inclusive else _exclusive
        build(_Chain(maker, step.name, index, word, span), chain, first)
        # A chain that asks nothing cannot fail, and its net has no way for that.
        if any(link.asks for link in chain):
            maker.transition(f"err {step.name} {word}", "err", first, NOTHING, step=index, span=span, fault=True)


def _until_certain(links: list[ChainLink]) -> list[ChainLink]:
    """The arcs up to the first that always matches: nothing behind it is asked."""
    for number, link in enumerate(links):
        if link.guard < 0:
            return links[: number + 1]
    return links


class _Chain(NamedTuple):
    maker: Maker
    name: str
    own: int
    word: str
    span: Span

    def place(self, role: str, number: int, span: Span) -> Arcs:
        id = f"{role} {self.name} {self.word} {number}"
        return self.maker.place(id, role, self.own, span=span)

    def take(self, link: ChainLink, id: str, inputs: Arcs, outputs: Arcs) -> None:
        self.maker.transition(
            f"{id} {self.name} {self.word} {link.number}",
            "take",
            inputs,
            outputs,
            step=self.own,
            span=link.span,
            guard=link.guard,
            arc=link.row,
        )

    def pass_(self, link: ChainLink, id: str, inputs: Arcs, outputs: Arcs) -> None:
        name = f"{id} {self.name} {self.word} {link.number}"
        self.maker.transition(name, "pass", inputs, outputs + link.dead, step=self.own, span=link.span, arc=link.row)

    def end_chain(self, role: str, inputs: Arcs) -> None:
        id = f"{role} {self.name} {self.word}"
        self.maker.transition(id, role, inputs, NOTHING, step=self.own, span=self.span)


def _exclusive(chain: _Chain, links: list[ChainLink], here: Arcs) -> None:
    for link in links:
        chain.take(link, "take", here, link.target)
        if link.guard < 0:
            return
        following = chain.place("c", link.number + 1, link.span)
        chain.pass_(link, "pass", here, following)
        here = following
    chain.end_chain("none", here)


def _inclusive(chain: _Chain, links: list[ChainLink], here: Arcs) -> None:
    nothing: Arcs | None = here
    some: Arcs | None = None
    for link in links:
        guarded = link.guard >= 0 or not link.takes
        # Places that no token can reach are not made: the analysis would call them dead parts.
        after_some = chain.place("s", link.number + 1, link.span) if link.takes or some else None
        after_none = chain.place("n", link.number + 1, link.span) if guarded and nothing else None
        if nothing is not None:
            if link.takes and after_some is not None:
                chain.take(link, "take", nothing, after_some + link.target)
            if after_none is not None:
                chain.pass_(link, "pass", nothing, after_none)
        if some is not None and after_some is not None:
            if link.takes:
                chain.take(link, "take+", some, after_some + link.target)
            if guarded:
                chain.pass_(link, "pass+", some, after_some)
        nothing, some = after_none, after_some
    if nothing is not None:
        chain.end_chain("none", nothing)
    if some is not None:
        chain.end_chain("some", some)
