"""The net of a plan as a picture: places with their tokens, transitions between them."""

from collections.abc import Iterator

from noetl_ir.locks import tests_of
from noetl_ir.net import Arc, Place, Transition
from noetl_ir.plan import Plan
from noetl_ir.resets import resets_of
from noetlc.analysis.petri import Petri
from noetlc.emit.pictures.picture import ArrowKind, Box, Edge, Picture, Shape

MAX_ASIDE = 1_000
"""How many arcs without tokens are drawn: with one lock for all steps of a playbook there are some for each pair."""


def net_of(plan: Plan) -> Picture:
    """Every place and transition, and the places that one empties or that have to be empty; guards are said to be
    there, and written in the plan.
    """
    net = plan.net
    tokens = dict(net.initial)
    homes = [step.name for step in plan.steps]
    nodes = [
        _place(place, tokens.get(number, 0))._replace(home=homes[place.step]) for number, place in enumerate(net.places)
    ]
    nodes += [_transition(each)._replace(home=homes[each.step]) for each in net.transitions]
    # Counted before any is drawn: all or none, as a part of them would be read as the whole.
    aside = list(_aside(plan))
    edges = (*_edges(plan), *(aside if len(aside) <= MAX_ASIDE else ()))
    told = f"{len(aside)} arcs that empty places, or ask whether they are empty, are not drawn."
    return Picture(plan.name, "net", tuple(nodes), edges, () if len(aside) <= MAX_ASIDE else (told,))


def net_of_petri(net: Petri) -> Picture:
    """A net that is no plan's."""
    nodes = [
        Box(place_id(id), Shape.PLACE, id, facts=_dots(tokens))
        for id, tokens in zip(net.places, net.initial, strict=True)
    ]
    nodes += [Box(transition_id(id), Shape.TRANSITION, id) for id in net.transitions]
    edges: list[Edge] = []
    rows = zip(net.transitions, net.inputs, net.outputs, strict=True)
    for here, (id, inputs, outputs) in enumerate(rows, len(net.places)):
        edges += [Edge(f"in {id} {place}", place, here, text=_count(weight)) for place, weight in inputs]
        edges += [Edge(f"out {id} {place}", here, place, text=_count(weight)) for place, weight in outputs]
    return Picture(net.name, "net", tuple(nodes), tuple(edges))


def place_id(place: str) -> str:
    """The id of a place's box."""
    return f"place {place}"


def transition_id(transition: str) -> str:
    """The id of a transition's box."""
    return f"transition {transition}"


def _place(place: Place, tokens: int) -> Box:
    return Box(place_id(place.id), Shape.PLACE, place.id, (), place.span, facts=_dots(tokens))


def _dots(tokens: int) -> tuple[str, ...]:
    # As nets are drawn on paper, as far as dots can be counted at a glance.
    return ("●" * tokens if tokens < 4 else f"{tokens} ●",) if tokens else ()


def _transition(transition: Transition) -> Box:
    trigger = str(transition.trigger)
    lines = [trigger] if trigger != "now" else []
    lines += ["guarded"] if transition.guard >= 0 else []
    return Box(transition_id(transition.id), Shape.TRANSITION, transition.id, tuple(lines), transition.span)


def is_failure(plan: Plan, each: Transition) -> bool:
    """Whether only a failure makes the transition fire: of a guard, of a task, or of a step whose arc it is."""
    # Ids are made of names and words in a fixed order (`noetl_ir.assembly`); a net has no other mark of what an arc
    # listens to.
    return each.fault or each.outcome == "error" or each.id.startswith(f"{each.role} {plan.steps[each.step].name} ko")


def _edges(plan: Plan) -> list[Edge]:
    edges = []
    first = len(plan.net.places)
    for number, each in enumerate(plan.net.transitions):
        kind = ArrowKind.KO if is_failure(plan, each) else ArrowKind.OK
        here = first + number
        edges += [
            Edge(f"in {each.id} {arc.place}", arc.place, here, kind, _weight(arc), each.span) for arc in each.inputs
        ]
        edges += [
            Edge(f"out {each.id} {arc.place}", here, arc.place, kind, _weight(arc), each.span) for arc in each.outputs
        ]
    return edges


def _aside(plan: Plan) -> Iterator[Edge]:
    """Reset arcs, from a transition to each place that it empties, and emptiness arcs, from a place that must be empty
    to the transition that asks for it.

    A wave of a counting join may lie there once it has started its step; the text of its arc says so.
    """
    first = len(plan.net.places)
    for number, reset in resets_of(plan).items():
        t = plan.net.transitions[number]
        for place in reset.places:
            yield Edge(f"empties {t.id} {place}", first + number, place, ArrowKind.RESET, span=t.span)
    for number, tests in tests_of(plan).items():
        t = plan.net.transitions[number]
        begun = {wave.got for test in tests for wave in test.waves}
        for place in sorted(begun.union(*(test.places for test in tests))):
            text = "a wave that has started nothing" if place in begun else ""
            yield Edge(f"asks {t.id} {place}", place, first + number, ArrowKind.TEST, text, t.span)


def _weight(arc: Arc) -> str:
    return "" if arc.weight == 1 else str(arc.weight)


def _count(weight: int) -> str:
    return "" if weight == 1 else str(weight)
