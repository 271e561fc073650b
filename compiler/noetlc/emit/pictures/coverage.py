"""The coverage of tests, painted on a picture: in how many cases each step ran and each arc was taken, and what of them
no case reached: an outcome of a task, a rule, a guard that is never false.

From the document that `noetl test --picture` hands over: `{cases, fired: {transition: number of cases}, missing:
[{kind, name, transitions}]}`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from noetl_ir.expr import Json
from noetl_ir.net import Transition
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetl_ir.tallies import arcs_of
from noetlc.emit.pictures.metrics import clipped
from noetlc.emit.pictures.net import transition_id
from noetlc.emit.pictures.picture import Box, Edge, Paint, Picture, worse
from noetlc.emit.pictures.steps import arc_id, step_id, task_id

MOST_TOLD = 4
"""Parts that are named in a box; of more their number is."""
LONGEST = 40
"""Characters of each."""


class NoCoverage(Exception):
    """A document that says nothing of coverage; the text says why."""


class UnreachedPart(NamedTuple):
    """A part of a playbook that no case reached: `kind` and name as reports have them, and its transitions."""

    kind: str
    name: str
    transitions: tuple[str, ...]


class Covered(NamedTuple):
    """The number of cases, of those in which each transition fired, and the parts that none of them reached."""

    cases: int
    fired: Counter[str]
    missing: tuple[UnreachedPart, ...] = ()


def covered_of(document: Json) -> Covered:
    """The coverage in a document; raises NoCoverage."""
    if isinstance(document, dict) and isinstance(cases := document.get("cases"), int):
        fired, missing = document.get("fired"), document.get("missing", [])
        if isinstance(fired, dict) and all(isinstance(count, int) for count in fired.values()):
            parts = tuple(_parts(missing)) if isinstance(missing, list) else ()
            return Covered(cases, Counter({name: int(str(count)) for name, count in fired.items()}), parts)
    raise NoCoverage("expected a mapping with `cases` and `fired`, as `noetl test` writes it")


def _parts(rows: list[Json]) -> Iterator[UnreachedPart]:
    for row in rows:
        match row:
            case {"kind": str(kind), "name": str(name), "transitions": list(ids)}:
                yield UnreachedPart(kind, name, tuple(map(str, ids)))


def with_coverage(picture: Picture, plan: Plan, covered: Covered) -> Picture:
    """The picture with what ran in the cases, and what in none."""
    cases = "1 case" if covered.cases == 1 else f"{covered.cases} cases"
    left = " What is missing of a step that ran stands in its box." if covered.missing else ""
    picture = picture.saying(f"Covered by {cases}; what is pale was reached by none.{left}")
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
    lacking = _lacking(plan, covered)
    nodes = [_box(node, ran[node.id], covered, lacking) if node.id in ran else node for node in picture.nodes]
    edges = [_edge(edge, taken[edge.id], lacking.get(edge.id, [])) for edge in picture.edges]
    return picture._replace(nodes=tuple(nodes), edges=tuple(edges))


def _lacking(plan: Plan, covered: Covered) -> dict[str, list[str]]:
    """The names of what no case reached, by the boxes and arrows that it belongs to."""
    known: dict[str, Transition] = {t.id: t for t in plan.net.transitions}
    found: dict[str, list[str]] = {}
    for part in covered.missing:
        at = next((known[id] for id in part.transitions if id in known), None)
        # A step or an arc that was not reached is pale itself.
        if at is None or part.kind in ("step", "arc"):
            continue
        step = plan.steps[at.step]
        name = part.name.removeprefix(f"{step.name} / ")
        found.setdefault(step_id(step.name), []).append(name)
        if at.arc >= 0:
            found.setdefault(arc_id(step.name, step.arcs.index(at.arc)), []).append("always taken")
        elif part.kind in ("outcome", "rule"):
            task = plan.tasks[at.task].name
            found.setdefault(task_id(step.name, task), []).append(name.removeprefix(f"{task}: "))
    return found


def _box(node: Box, count: int, covered: Covered, lacking: Mapping[str, list[str]]) -> Box:
    node = _marked(node, count, covered)
    if not count:
        return node
    if node.inner is not None:
        inner = [_partly(each, lacking.get(each.id, [])) for each in node.inner.nodes]
        node = node._replace(inner=node.inner._replace(nodes=tuple(inner)))
    return _partly(node, lacking.get(node.id, []))


def _partly(node: Box, names: list[str]) -> Box:
    if not names:
        return node
    more = [f"and {len(names) - MOST_TOLD} more"] if len(names) > MOST_TOLD else []
    told = [clipped(f"not: {name}", LONGEST) for name in names[:MOST_TOLD]]
    remarks = [f"not reached: {name}" for name in names]
    mark = worse(node.mark, Paint.PARTLY)
    return node._replace(mark=mark, facts=(*node.facts, *told, *more), remarks=(*node.remarks, *remarks))


def _marked(node: Box, count: int, covered: Covered) -> Box:
    if not count:
        return node._replace(mark=worse(node.mark, Paint.IDLE))
    return node._replace(mark=worse(node.mark, Paint.DONE), facts=(*node.facts, f"in {count} of {covered.cases}"))


def _edge(edge: Edge, count: int, told: list[str]) -> Edge:
    if count and told:
        return edge._replace(mark=worse(edge.mark, Paint.PARTLY), facts=(*edge.facts, *told))
    return edge._replace(mark=worse(edge.mark, Paint.DONE if count else Paint.IDLE))
