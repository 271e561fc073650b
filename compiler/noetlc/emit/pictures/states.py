"""The markings that a net can reach as a picture, as many as are asked for."""

from noetl_ir.net import PlaceClass
from noetl_ir.plan import Plan
from noetlc.analysis.reachability import graph_of
from noetlc.analysis.skeleton import whole_skeleton
from noetlc.emit.pictures.net import is_failure
from noetlc.emit.pictures.picture import Edge, Kind, Node, Picture, Shape

MOST = 100
"""States that are drawn where nothing else is asked."""
MOST_TOKENS = 5


def states_of(plan: Plan, most: int = MOST) -> Picture:
    """The whole skeleton's markings, breadth first from the initial one; a box names the places of control."""
    skeleton = whole_skeleton(plan)
    graph = graph_of(skeleton.net, most)
    shown = min(most, len(graph.markings))
    markings = [graph.code.marking(sum_) for sum_ in graph.markings[:shown]]
    nodes, edges = [], []
    cut = False
    for state, marking in enumerate(markings):
        final = skeleton.is_final(marking)
        shape = Shape.ENTRY if not state else Shape.END if final else Shape.STATE
        nodes.append(Node(state_id(state), shape, f"{state}", _tokens(plan, marking)))
        row = zip(graph.enabled[state], graph.targets[state], strict=True) if state < len(graph.targets) else ()
        cut = cut or state >= len(graph.targets)
        for transition, target in row:
            if target < shown:
                each = skeleton.transition(transition)
                kind = Kind.KO if is_failure(plan, each) else Kind.OK
                edges.append(Edge(f"edge {state} {each.id}", state, target, kind, each.id, each.span))
            else:
                cut = True
    picture = Picture(plan.name, "states", tuple(nodes), tuple(edges))
    if graph.pump is not None:
        picture = picture.saying("The net is unbounded: there are infinitely many states.")
    if cut or not graph.complete:
        return picture.saying(f"The first {shown} states; there are more (--limit N draws N).")
    return picture


def state_id(state: int) -> str:
    """The id of a state's box."""
    return f"state {state}"


def _tokens(plan: Plan, marking: tuple[int, ...]) -> tuple[str, ...]:
    held = [
        place.id if count == 1 else f"{count} × {place.id}"
        for place, count in zip(plan.net.places, marking, strict=False)
        if count and place.kind is PlaceClass.CONTROL
    ]
    return tuple(
        held if len(held) <= MOST_TOKENS else [*held[: MOST_TOKENS - 1], f"{len(held) - MOST_TOKENS + 1} more"]
    )
