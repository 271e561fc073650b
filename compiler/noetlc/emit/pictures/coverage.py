"""The coverage of tests, painted on a picture: in how many cases each step ran and each arc was taken.

From the document that `noetl test --picture` hands over: `{cases, fired: {transition: number of cases}}`.
"""

from collections import Counter

from noetl_ir.expr import Json
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetl_ir.tallies import arcs_of
from noetlc.emit.pictures.net import transition_id
from noetlc.emit.pictures.picture import Box, Edge, Paint, Picture, worse
from noetlc.emit.pictures.steps import arc_id, step_id


class NoCoverage(Exception):
    """A document that says nothing of coverage; the text says why."""


class Covered(NamedTuple):
    """The number of cases, and of those in which each transition fired."""

    cases: int
    fired: Counter[str]


def covered_of(document: Json) -> Covered:
    """The coverage in a document; raises NoCoverage."""
    if isinstance(document, dict) and isinstance(cases := document.get("cases"), int):
        fired = document.get("fired")
        if isinstance(fired, dict) and all(isinstance(count, int) for count in fired.values()):
            return Covered(cases, Counter({name: int(str(count)) for name, count in fired.items()}))
    raise NoCoverage("expected a mapping with `cases` and `fired`, as `noetl test` writes it")


def with_coverage(picture: Picture, plan: Plan, covered: Covered) -> Picture:
    """The picture with what ran in the cases, and what in none."""
    cases = "1 case" if covered.cases == 1 else f"{covered.cases} cases"
    picture = picture.saying(f"Covered by {cases}; what is pale was reached by none.")
    if picture.level == "net":
        counts = {transition_id(name): count for name, count in covered.fired.items()}
        nodes = [_marked(node, counts[node.id], covered) if node.id in counts else node for node in picture.nodes]
        return picture._replace(nodes=tuple(nodes))
    ran = {step_id(step.name): 0 for step in plan.steps}
    taken: Counter[str] = Counter()
    for t in plan.net.transitions:
        if t.role == "admit":
            id = step_id(plan.steps[t.step].name)
            ran[id] = max(ran[id], covered.fired[t.id])
    for transition, arc in arcs_of(plan).items():
        taken[arc_id(*arc)] = min(covered.cases, taken[arc_id(*arc)] + covered.fired[transition])
    nodes = [_marked(node, ran[node.id], covered) if node.id in ran else node for node in picture.nodes]
    return picture._replace(nodes=tuple(nodes), edges=tuple(_edge(edge, taken[edge.id]) for edge in picture.edges))


def _marked(node: Box, count: int, covered: Covered) -> Box:
    if not count:
        return node._replace(mark=worse(node.mark, Paint.IDLE))
    return node._replace(mark=worse(node.mark, Paint.DONE), facts=(*node.facts, f"in {count} of {covered.cases}"))


def _edge(edge: Edge, count: int) -> Edge:
    return edge._replace(mark=worse(edge.mark, Paint.DONE if count else Paint.IDLE))
