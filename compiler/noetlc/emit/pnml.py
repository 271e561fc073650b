"""A net as PNML (ISO 15909-2), one page for each step, reference places between them."""

from xml.sax.saxutils import escape

from noetl_ir.plan import Plan
from noetlc.analysis.petri import Petri
from noetlc.analysis.skeleton import Skeleton, whole_skeleton

NAMESPACE = "http://www.pnml.org/version-2009/grammar/pnml"
TYPE = "http://www.pnml.org/version-2009/grammar/ptnet"


def emitted(plan: Plan) -> str:
    """The whole skeleton of a plan, its loops with one item and one slot."""
    skeleton = whole_skeleton(plan)
    return document(skeleton.net, _homes(skeleton), [step.name for step in plan.steps])


def document(net: Petri, homes: tuple[list[int], list[int]] | None = None, pages: list[str] | None = None) -> str:
    """Any net. `homes` are the page numbers of its places and of its transitions, `pages` the names."""
    names = pages or ["net"]
    places, transitions = homes or ([0] * len(net.places), [0] * len(net.transitions))
    out = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<pnml xmlns="{NAMESPACE}">',
        f'  <net id="net" type="{TYPE}">',
        f"    {_name(net.name)}",
    ]
    for number, name in enumerate(names):
        out.append(f'    <page id="page{number}">')
        out.append(f"      {_name(name)}")
        out += _page(net, number, places, transitions)
        out.append("    </page>")
    return "\n".join([*out, "  </net>", "</pnml>", ""])


def _page(net: Petri, number: int, places: list[int], transitions: list[int]) -> list[str]:
    out = []
    for place, home in enumerate(places):
        if home == number:
            tokens = net.initial[place]
            marking = f"<initialMarking><text>{tokens}</text></initialMarking>" if tokens else ""
            out.append(f'      <place id="p{place}">{_name(net.places[place])}{marking}</place>')
    borrowed: dict[int, str] = {}
    arcs = []
    for transition, home in enumerate(transitions):
        if home != number:
            continue
        out.append(f'      <transition id="t{transition}">{_name(net.transitions[transition])}</transition>')
        for sign, side in (("i", net.inputs[transition]), ("o", net.outputs[transition])):
            for place, weight in side:
                here = f"p{place}"
                # PNML allows arcs within one page only. A place of another step is borrowed by a reference, one for
                # each page that needs it.
                if places[place] != number:
                    here = borrowed.setdefault(place, f"r{number}.{place}")
                ends = (here, f"t{transition}") if sign == "i" else (f"t{transition}", here)
                arcs.append(_arc(f"{sign}{transition}.{place}", ends, weight))
    out += [f'      <referencePlace id="{id}" ref="p{place}"/>' for place, id in borrowed.items()]
    return out + arcs


def _arc(id: str, ends: tuple[str, str], weight: int) -> str:
    inscription = f"<inscription><text>{weight}</text></inscription>" if weight != 1 else ""
    return f'      <arc id="{id}" source="{ends[0]}" target="{ends[1]}">{inscription}</arc>'


def _name(text: str) -> str:
    return f"<name><text>{escape(_legal(text))}</text></name>"


def _legal(text: str) -> str:
    """XML has no control characters and no lone surrogates."""
    return "".join(char if char >= " " and not "\ud800" <= char <= "\udfff" else "�" for char in text)


def _homes(skeleton: Skeleton) -> tuple[list[int], list[int]]:
    net = skeleton.plan.net
    more = [0] * (len(skeleton.net.places) - len(net.places))  # places that only the skeleton has
    return [*(place.step for place in net.places), *more], [net.transitions[number].step for number in skeleton.origin]
