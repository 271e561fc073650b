"""The facts that have surely happened when an execution has completed: those that every way from the entry to a
completed end brings.

A backward data flow: a step brings the facts that it adds, and those of the steps behind it. Where one of several arcs
is taken, only the facts that all of them bring are sure; of a fork, each branch without a condition brings its facts. A
failure that no arc takes does not lead to a completed end, and so does not count.

    start → a, b (fork);  a → c when x, else d        c and d are not sure; a and b are
"""

from collections.abc import Sequence

from noetlc.ast.graph import StepGraph, reached
from noetlc.ast.pipeline import always_fails
from noetlc.ast.playbook import Arc, Playbook, Step
from noetlc.ast.surely import MOST, NOTHING, SureFacts, surely_before
from noetlc.ast.truth import FAILED_FACTS, done_facts, takes_part_on_failure, truth_of

_WELL = "completed"
"""The status of an end that completes."""


def surely_at_the_end(playbook: Playbook, graph: StepGraph, added: Sequence[SureFacts]) -> SureFacts | None:
    """The facts that hold whenever main has completed; `added` by step on success. None where that is not known."""
    every = NOTHING.union(*added)
    if graph.entry < 0 or len(every) * len(added) > MOST:
        return None
    # A greatest fixed point: sets begin with all facts and shrink, so that a cycle brings what each way out of it
    # brings.
    found: list[SureFacts] = [every] * len(playbook.steps)
    cancelled = _cancelled(playbook, graph)
    cancelling: dict[int, list[int]] = {}
    for other, targets in cancelled.items():
        for target in targets:
            cancelling.setdefault(target, []).append(other)
    waiting = dict.fromkeys(reversed(range(len(playbook.steps))))
    while waiting:
        at, _ = waiting.popitem()
        after = _brought(playbook.steps[at], graph, added[at], found, every)
        # A token that is withdrawn here brings nothing more, and the run that withdrew it what it brings.
        for other in cancelling.get(at, ()):
            after &= found[other]
        if after != found[at]:
            found[at] = after
            waiting.update(dict.fromkeys((*graph.sources[at], *cancelled.get(at, ()))))
    sure = found[graph.entry]
    early = [at for at, step in enumerate(playbook.steps) if step.spec.terminate == _WELL]
    # One in a later phase ends that phase, and nothing of main.
    if early and graph.later:
        main = reached(graph.successors, (graph.entry,))
        early = [at for at in early if at in main]
    # What ends the execution takes all else away: only what had to be before it is sure then.
    before = surely_before(playbook, graph, added) if early else []
    for at in early:
        known = before[at]
        if known is not None:
            sure &= known | added[at]
    return sure


def _cancelled(playbook: Playbook, graph: StepGraph) -> dict[int, list[int]]:
    """Step → the steps that it cancels."""
    return {
        at: [graph.positions[target.name] for target in step.spec.cancels if target.name in graph.positions]
        for at, step in enumerate(playbook.steps)
        if step.spec.cancels
    }


def _brought(step: Step, graph: StepGraph, added: SureFacts, found: Sequence[SureFacts], every: SureFacts) -> SureFacts:
    """The facts that a token at a step brings by the time the execution has completed; `every` is the set
    of all facts.
    """
    # A token that the step's gate denies ends there, and the execution may complete without the step.
    if step.spec.admit is not None and not step.spec.admit.waits and not _opens(step):
        return NOTHING
    arcs = step.router.arcs if step.router is not None else ()

    def behind(arc: Arc) -> SureFacts:
        return NOTHING if (target := graph.positions.get(arc.target)) is None else found[target]

    brought = added | _routed(step, [(arc, behind(arc)) for arc in arcs])
    if always_fails(step):  # its success arcs are never taken
        brought = every
    elif step.spec.terminate:  # its success routes nowhere; an end as failed is no completed one
        brought = added if step.spec.terminate == _WELL else every
    for arc in arcs:
        if takes_part_on_failure(arc) and truth_of(arc.when, FAILED_FACTS) is not False:
            brought &= behind(arc)
    return brought


def _opens(step: Step) -> bool:
    """Whether the gate of a step admits every token."""
    rules = step.spec.admit.rules if step.spec.admit is not None else ()
    return all(rule.allow for rule in rules) and bool(rules) and rules[-1].when is None


def _routed(step: Step, arcs: list[tuple[Arc, SureFacts]]) -> SureFacts:
    """The facts that are brought by the arcs that a step takes when it has succeeded; `arcs` has those of each arc."""
    facts = done_facts(step)
    taken = [(truth_of(arc.when, facts), brought) for arc, brought in arcs]
    if step.router is not None and step.router.mode == "inclusive":
        return NOTHING.union(*(brought for is_taken, brought in taken if is_taken))
    sure: SureFacts | None = None
    for is_taken, brought in taken:
        if is_taken is not False:
            sure = brought if sure is None else sure & brought
        if is_taken:
            return sure or NOTHING
    return NOTHING
