"""lower_next: `next` as a name, a list or a ladder becomes a router (LANGUAGE §6).

    next: b                                       →  exclusive, one arc
    next: [a, b]                                  →  inclusive: a fork
    next: [{when: g, then: [a]}, {else: [b, c]}]  →  exclusive: a when g, else the router __s__next1 that forks

Where the branches of a fork all reach one step unconditionally and nothing else leads there, that step gets
`join: all`.
"""

from itertools import pairwise

from noetlc.ast.bodies import taken_of
from noetlc.ast.playbook import Arc, Playbook, Router, Step
from noetlc.diag.change import Change, Note
from noetlc.expr.generated import generated_name
from noetlc.older.branching import behind, branch_arcs, branch_name
from noetlc.older.target_nodes import Targets

BY = "lower_next"


def lower_next(playbook: Playbook, note: Note) -> Playbook:
    """The playbook in which every step that leads somewhere has a router."""
    made: dict[str, list[Step]] = {}
    forks: list[Step] = []
    steps = []
    for step in playbook.steps:
        targets, rest = taken_of(step, Targets)
        if targets is None:
            steps.append(rest)
            continue
        routed = _routed(rest, targets, made, note)
        steps.append(routed)
        if _is_fork(targets):
            forks.append(routed)
        forks += made.get(step.name, ())
    lowered = playbook._replace(steps=behind(tuple(steps), made))
    return _joined(lowered, forks, note)


def _is_fork(targets: Targets) -> bool:
    return all(branch.when is None for branch in targets.branches) and sum(len(b.arcs) for b in targets.branches) > 1


def _chooses(targets: Targets) -> bool:
    """Whether some target was a template: its arcs are alternatives."""
    return any(arc.when is not None for branch in targets.branches for arc in branch.arcs)


def _routed(step: Step, targets: Targets, made: dict[str, list[Step]], note: Note) -> Step:
    span, branches = targets.span, targets.branches
    before = step.router.arcs if step.router is not None else ()
    if all(branch.when is None for branch in branches) and not _chooses(targets):
        arcs = tuple(arc for branch in branches for arc in branch.arcs)
        if len(arcs) > 1 and before:  # behind the arcs of rules, the fork is one branch of theirs
            arcs, forks = branch_arcs(generated_name(step.name, "next"), arcs, None, span)
            made.setdefault(step.name, []).extend(forks)
        mode = targets.mode or ("inclusive" if len(arcs) > 1 else "exclusive")
        note(Change(BY, span, "`next`", "exact", f"{mode} arcs"))
        return step._replace(router=Router(mode, (*before, *arcs), span))
    found: list[Arc] = list(before)
    for number, branch in enumerate(branches):
        if not branch.arcs:
            continue
        name = branch_name(step.name, "next", number)
        arcs, forks = branch_arcs(name, branch.arcs, branch.when, branch.span)
        found += arcs
        made.setdefault(step.name, []).extend(forks)
    note(Change(BY, span, "`next` with conditions", "safe", "exclusive arcs: the first true one is taken"))
    return step._replace(router=Router(targets.mode or "exclusive", tuple(found), span))


def _joined(playbook: Playbook, forks: list[Step], note: Note) -> Playbook:
    """The playbook with `join: all` where a fork meets."""
    waiting = dict[str, str]()
    for fork in forks:
        if fork.router is not None and fork.router.mode == "inclusive":
            meeting = _meeting(playbook, fork)
            if meeting is not None:
                waiting[meeting[0]] = meeting[1]

    def joined(step: Step) -> Step:
        how = waiting.get(step.name)
        if how is None or step.spec.join != "any":
            return step
        if how != "all":
            note(Change(BY, step.name_span, "a fork that meets", "review", "`join: any`: other steps lead here too"))
            return step
        note(Change(BY, step.name_span, "a fork that meets", "review", "`join: all`: it waits for every branch"))
        return step._replace(spec=step.spec._replace(join="all", join_span=step.name_span))

    return playbook._replace(steps=tuple(joined(step) for step in playbook.steps)) if waiting else playbook


def _meeting(playbook: Playbook, fork: Step) -> tuple[str, str] | None:
    """The first step that every branch of a fork reaches unconditionally, and its join."""
    by_name = {step.name: step for step in playbook.steps}
    assert fork.router is not None
    ways = [_way(by_name, arc.target) for arc in fork.router.arcs]
    shared = [name for name in ways[0] if all(name in way for way in ways[1:])]
    if len(ways) < 2 or not shared:
        return None
    meeting = shared[0]
    branches = [way[: way.index(meeting)] for way in ways]
    sources = _sources(playbook)
    # A branch that something else starts too would wait for the others in vain.
    alone = all(sources[step] == {before} for way in branches for before, step in pairwise((fork.name, *way)))
    lasts = {way[-1] if way else fork.name for way in branches}
    return meeting, "all" if alone and sources[meeting] == lasts and len(lasts) == len(ways) else "any"


def _sources(playbook: Playbook) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {step.name: set() for step in playbook.steps}
    for step in playbook.steps:
        for arc in _arcs(step):
            found.setdefault(arc.target, set()).add(step.name)
    return found


def _way(by_name: dict[str, Step], name: str) -> list[str]:
    """The steps that a token at `name` certainly comes to, in order."""
    found: list[str] = []
    while name in by_name and name not in found:
        found.append(name)
        arcs = _arcs(by_name[name])
        if len(arcs) != 1 or arcs[0].when is not None:
            break
        name = arcs[0].target
    return found


def _arcs(step: Step) -> tuple[Arc, ...]:
    return step.router.arcs if step.router is not None else ()
