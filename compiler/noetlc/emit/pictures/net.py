"""The net of a plan as a picture: places with their tokens, transitions between them."""

from noetl_ir.net import Arc, Net, Place, Transition
from noetl_ir.plan import Plan
from noetlc.emit.pictures.picture import Edge, Kind, Node, Picture, Shape


def net_of(plan: Plan) -> Picture:
    """Every place and transition; guards are said to be there, and written in the plan."""
    net = plan.net
    tokens = dict(net.initial)
    nodes = [_place(place, tokens.get(number, 0)) for number, place in enumerate(net.places)]
    nodes += [_transition(each) for each in net.transitions]
    return Picture(plan.name, "net", tuple(nodes), tuple(_edges(net)))


def place_id(place: str) -> str:
    """The id of a place's box."""
    return f"place {place}"


def transition_id(transition: str) -> str:
    """The id of a transition's box."""
    return f"transition {transition}"


def _place(place: Place, tokens: int) -> Node:
    facts = ("●" * tokens if tokens < 4 else f"{tokens} ●",) if tokens else ()
    return Node(place_id(place.id), Shape.PLACE, place.id, (), place.span, facts=facts)


def _transition(transition: Transition) -> Node:
    trigger = str(transition.trigger)
    lines = [trigger] if trigger != "now" else []
    lines += ["guarded"] if transition.guard >= 0 else []
    return Node(transition_id(transition.id), Shape.TRANSITION, transition.id, tuple(lines), transition.span)


def _edges(net: Net) -> list[Edge]:
    edges = []
    first = len(net.places)
    for number, each in enumerate(net.transitions):
        kind = Kind.KO if each.fault or each.outcome == "error" else Kind.OK
        here = first + number
        edges += [
            Edge(f"in {each.id} {arc.place}", arc.place, here, kind, _weight(arc), each.span) for arc in each.inputs
        ]
        edges += [
            Edge(f"out {each.id} {arc.place}", here, arc.place, kind, _weight(arc), each.span) for arc in each.outputs
        ]
    return edges


def _weight(arc: Arc) -> str:
    return "" if arc.weight == 1 else str(arc.weight)
