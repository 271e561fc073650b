"""An execution painted on a picture, from the envelopes of its events (`noetl events ID --json`)."""

from collections import Counter

from noetl_ir.plan import Plan
from noetl_ir.tallies import LogTally, Tally, arcs_of, duration, painted
from noetlc.emit.pictures.net import transition_id
from noetlc.emit.pictures.picture import Box, Edge, Paint, Picture, worse
from noetlc.emit.pictures.steps import arc_id, step_id, task_id
from noetlc.emit.pictures.task_flow import fires_in, fires_of


def with_execution(picture: Picture, plan: Plan, log: LogTally, digest: str) -> Picture:
    """The picture with what ran, how often, and how long. `digest` is that of the plan."""
    said = f"Execution {log.execution}: {log.ending or 'running'}, {duration(log.last - log.first)}"
    picture = picture.saying(said)
    # Steps are matched by name, and names such as `start` are in every playbook: what another one did would be
    # painted as if it were this one's.
    if log.playbook and log.playbook != (plan.path or plan.name):
        return picture.saying(f"It is one of another playbook, {log.playbook}: nothing of it is painted here.")
    if log.digest and log.digest != digest:
        picture = picture.saying("It ran another version of this playbook; steps are matched by name.")
    if picture.level == "net":
        return _fired(picture, log)
    if picture.level == "states":
        return picture
    return _painted(picture, plan, log)


def _painted(picture: Picture, plan: Plan, log: LogTally) -> Picture:
    own_tasks: dict[str, list[tuple[str, Tally]]] = {}
    for (owner, task), tally in log.tasks.items():
        own_tasks.setdefault(owner, []).append((task, tally))
    # Where no attempt ended there is no way either: only outcomes choose one.
    ways: Counter[str] = Counter()
    for transition, count in log.fired.items():
        if transition.startswith(("ok ", "error ")):
            ways[fires_of(transition)] += count
    nodes = []
    for node in picture.nodes:
        step = node.id.removeprefix("step ")
        own = own_tasks.get(step, [])
        retries = sum(tally.retries for _, tally in own)
        one = _with_tally(node, log.steps.get(step), retries, is_over=bool(log.ending))
        errors = [f"{task}: {error}" for task, tally in own for error in tally.errors]
        one = one._replace(remarks=(*one.remarks, *errors))
        if node.inner is not None:
            one = one._replace(inner=_inner(node.inner, step, log, ways))
        nodes.append(one)
    taken = _taken(plan, log)
    edges = [_with_count(edge, taken[edge.id]) for edge in picture.edges]
    faulty = {arc_id(*arc): why for arc, why in log.faulty.items()}
    edges = [_with_fault(edge, faulty[edge.id]) if edge.id in faulty else edge for edge in edges]
    ended = [number for number, node in enumerate(nodes) if node.id == step_id("end")]
    for number in ended:
        # An undeclared `end` runs nothing and has no events. An arrow that was taken to it is all that says it was
        # reached.
        if any(edge.target == number and taken[edge.id] for edge in edges):
            nodes[number] = nodes[number]._replace(mark=Paint.DONE)
    return picture._replace(nodes=tuple(nodes), edges=tuple(edges))


def _inner(picture: Picture, step: str, log: LogTally, ways: Counter[str]) -> Picture:
    """The tasks of a step, and how often each way between them was taken."""
    nodes = [
        _with_tally(each, log.tasks.get((step, each.id.removeprefix(task_id(step, "")))), 0, is_over=bool(log.ending))
        for each in picture.nodes
    ]
    edges = [_with_count(edge, sum(ways[fires] for fires in fires_in(edge.id))) for edge in picture.edges]
    return picture._replace(nodes=tuple(nodes), edges=tuple(edges))


def _taken(plan: Plan, log: LogTally) -> Counter[str]:
    """How often each arc was taken."""
    return Counter({arc_id(*arc): log.fired[each] for each, arc in arcs_of(plan).items() if log.fired[each]})


def _with_tally(node: Box, tally: Tally | None, retries: int, *, is_over: bool) -> Box:
    mark, facts = painted(tally, retries, is_over=is_over)
    errors = tally.errors if tally is not None and tally.started else ()
    return node._replace(
        mark=worse(node.mark, Paint(mark)), facts=(*node.facts, *facts), remarks=(*node.remarks, *errors)
    )


def _with_count(edge: Edge, count: int) -> Edge:
    if not count:
        return edge._replace(mark=worse(edge.mark, Paint.IDLE))
    return edge._replace(
        mark=worse(edge.mark, Paint.DONE), facts=(*edge.facts, f"× {count}") if count > 1 else edge.facts
    )


def _with_fault(edge: Edge, why: str) -> Edge:
    return edge._replace(mark=worse(edge.mark, Paint.FAILED), remarks=(*edge.remarks, why))


def _fired(picture: Picture, log: LogTally) -> Picture:
    """The net with how often each transition fired."""
    counts = {transition_id(name): count for name, count in log.fired.items()}
    nodes = []
    hot = set()
    for number, node in enumerate(picture.nodes):
        count = counts.get(node.id, 0)
        if count:
            hot.add(number)
            node = node._replace(mark=Paint.DONE, facts=(*node.facts, f"× {count}"))
        nodes.append(node)
    edges = [
        edge._replace(mark=worse(edge.mark, Paint.DONE if edge.source in hot or edge.target in hot else Paint.IDLE))
        for edge in picture.edges
    ]
    return picture._replace(nodes=tuple(nodes), edges=tuple(edges))
