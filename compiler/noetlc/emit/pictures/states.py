"""The markings that a net can reach as a picture, as many as are asked for."""

from collections.abc import Callable

from noetl_ir.net import PlaceClass
from noetl_ir.plan import Plan
from noetlc.analysis.petri import Petri, PetriMarking
from noetlc.analysis.reachability import graph_of
from noetlc.analysis.skeleton import whole_skeleton
from noetlc.emit.pictures.net import is_failure
from noetlc.emit.pictures.picture import ArrowKind, Box, Edge, Picture, Shape

MOST = 100
"""States that are drawn where nothing else is asked."""
MOST_TOKENS = 5


def states_of(plan: Plan, most: int = MOST) -> Picture:
    """The whole skeleton's markings, breadth first from the initial one; a box names the places of control."""
    skeleton = whole_skeleton(plan)

    def node(state: int, marking: PetriMarking) -> Box:
        shape = Shape.ENTRY if not state else Shape.END if skeleton.is_final(marking) else Shape.STATE
        return Box(state_id(state), shape, f"{state}", _tokens(plan, marking))

    def edge(state: int, transition: int, target: int) -> Edge:
        each = skeleton.transition(transition)
        kind = ArrowKind.KO if is_failure(plan, each) else ArrowKind.OK
        return Edge(f"edge {state} {each.id}", state, target, kind, each.id, each.span)

    return _drawn(plan.name, skeleton.net, most, node, edge)


def states_of_petri(net: Petri, most: int = MOST) -> Picture:
    """The markings of a net that is no plan's."""

    def node(state: int, marking: PetriMarking) -> Box:
        texts = [_token_text(id, count) for id, count in zip(net.places, marking, strict=True) if count]
        return Box(state_id(state), Shape.STATE if state else Shape.ENTRY, f"{state}", _first(texts))

    def edge(state: int, transition: int, target: int) -> Edge:
        id = net.transitions[transition]
        return Edge(f"edge {state} {id}", state, target, ArrowKind.OK, id)

    return _drawn(net.name, net, most, node, edge)


def _drawn(
    title: str, net: Petri, most: int, node: Callable[[int, PetriMarking], Box], edge: Callable[[int, int, int], Edge]
) -> Picture:
    graph = graph_of(net, most)
    shown = min(most, len(graph.markings))
    nodes, edges = [], []
    cut = False
    for state, code in enumerate(graph.markings[:shown]):
        nodes.append(node(state, graph.code.marking(code)))
        # At its limit the search has found markings that it did not go on from. They are drawn, without arrows, and
        # the caption says so.
        row = zip(graph.enabled[state], graph.targets[state], strict=True) if state < len(graph.targets) else ()
        cut = cut or state >= len(graph.targets)
        for transition, target in row:
            if target < shown:
                edges.append(edge(state, transition, target))
            else:
                cut = True
    picture = Picture(title, "states", tuple(nodes), tuple(edges))
    if graph.pump is not None:
        picture = picture.saying("The net is unbounded: there are infinitely many states.")
    if cut or not graph.complete:
        return picture.saying(f"The first {shown} states; there are more (--limit N draws N).")
    return picture


def state_id(state: int) -> str:
    """The id of a state's box."""
    return f"state {state}"


def _tokens(plan: Plan, marking: PetriMarking) -> tuple[str, ...]:
    rows = zip(plan.net.places, marking, strict=False)
    return _first([_token_text(place.id, count) for place, count in rows if count and place.kind is PlaceClass.CONTROL])


def _token_text(place: str, count: int) -> str:
    return place if count == 1 else f"{count} × {place}"


def _first(texts: list[str]) -> tuple[str, ...]:
    return tuple(
        texts if len(texts) <= MOST_TOKENS else [*texts[: MOST_TOKENS - 1], f"{len(texts) - MOST_TOKENS + 1} more"]
    )
