"""Runs that end, known from the arcs alone.

Places are ranked so that whatever a transition makes lies below something that it takes. Then each firing makes the
marking smaller in a well-founded order of multisets (Dershowitz and Manna 1979): every run ends, and since there are
finitely many choices everywhere, there are finitely many markings.

A net that goes round may still have a way out from everywhere: some of its transitions end by rank, and where one that
was left out is enabled one of them is, too. Whoever takes only these comes to a dead marking.
"""

from heapq import heappop, heappush

from noetlc.analysis.petri import Petri, PetriArcs, consumers_of, producers_of


def every_run_ends(net: Petri) -> bool:
    """Whether a ranking shows that every run ends, from any marking; then the net is bounded, too."""
    if not all(net.inputs):
        return False
    makers, takers = producers_of(net), consumers_of(net)
    # A place is ranked once each of its makers takes from a place that is ranked before it.
    open_ = [len(each) for each in makers]
    ranked = [place for place, count in enumerate(open_) if not count]
    higher = bytearray(len(net.transitions))
    for place in ranked:  # grows while it is walked
        for transition in takers[place]:
            # One input that lies above the outputs is enough: in the order of multisets one larger element outweighs
            # any number of smaller ones.
            if not higher[transition]:
                higher[transition] = 1
                for made, _ in net.outputs[transition]:
                    open_[made] -= 1
                    if not open_[made]:
                        ranked.append(made)
    # A place that is left over stands on or behind a circle of arcs, of which nothing is known here.
    return len(ranked) == len(net.places)


def an_end_is_always_near(net: Petri) -> bool:
    """Whether a dead marking is proved to be reachable from every marking."""
    return every_run_ends(net) or every_run_ends(_leading_out(net))


def _leading_out(net: Petri) -> Petri:
    """The net without transitions beside which another one is always enabled that is nearer to an end."""
    far = _distances(net)
    takers = consumers_of(net)
    inputs = [dict(arcs) for arcs in net.inputs]
    kept = []
    # Once for all that ask for the same: they are as many as a place has takers, and beside each other.
    known: dict[PetriArcs, float] = {}
    for number, row in enumerate(inputs):
        # A transition that asks for no more is enabled whenever this one is. So leaving this one out makes no marking
        # dead that was not.
        if (nearest := known.get(net.inputs[number])) is None:
            beside = {each for place in row for each in takers[place]}
            asked = (far[each] for each in beside if _asks_less(inputs[each], row))
            nearest = known[net.inputs[number]] = min(asked, default=far[number])
        # Equals stay both: with neither of them the net would have dead markings that the whole net has not.
        if far[number] <= nearest:
            kept.append(number)
    return net._replace(
        transitions=tuple(net.transitions[number] for number in kept),
        inputs=tuple(net.inputs[number] for number in kept),
        outputs=tuple(net.outputs[number] for number in kept),
    )


def _asks_less(one: dict[int, int], other: dict[int, int]) -> bool:
    return all(other.get(place, 0) >= weight for place, weight in one.items())


def _distances(net: Petri) -> list[float]:
    """For each transition the firings after which all that it makes is gone, were nothing else in the way."""
    makers, takers = producers_of(net), consumers_of(net)
    open_ = [len(arcs) for arcs in net.outputs]
    found = [float("inf")] * len(net.transitions)
    waiting = [(0.0, place) for place, each in enumerate(takers) if not each]  # tokens that stay are no hindrance
    for number, arcs in enumerate(net.outputs):
        if not arcs:
            found[number] = 1.0
            for place, _ in net.inputs[number]:
                heappush(waiting, (1.0, place))
    known: set[int] = set()
    while waiting:
        # The nearest place first (Dijkstra 1959). Equal distances go by the place's number, and give the same
        # distances anyhow.
        far, place = heappop(waiting)
        if place in known:
            continue
        known.add(place)
        for number in makers[place]:
            open_[number] -= 1
            if not open_[number]:
                found[number] = far + 1
                for taken, _ in net.inputs[number]:
                    heappush(waiting, (far + 1, taken))
    return found
