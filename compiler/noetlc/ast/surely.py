"""The facts that have surely happened when a step starts: those that every way to it brings.

A forward data flow: each step adds facts when it succeeds (keys that it writes, its name). Where ways meet, only the
facts that all of them bring are sure; behind a join of all sources, the facts that any of them brings. Sets begin with
all facts and shrink to the greatest fixed point, without recursion.
"""

from collections.abc import Sequence
from functools import partial
from typing import Literal, TypeAlias

from noetl_ir.words import FAILING
from noetlc.ast.graph import StepGraph
from noetlc.ast.once import Once
from noetlc.ast.pipeline import asked_rules
from noetlc.ast.playbook import Playbook, Step, Task
from noetlc.ast.truth import FAILED_FACTS, NO_FACTS, takes_part_on_failure, truth_of

SureFacts: TypeAlias = frozenset[str]

NOTHING: SureFacts = frozenset()

MOST = 2_000_000
"""Facts times steps: each step has a set of its own, so that beyond this nothing is claimed."""


def surely_before(playbook: Playbook, graph: StepGraph, added: Sequence[SureFacts]) -> list[SureFacts | None]:
    """For each step the facts that hold whenever it starts, None where it never does; `added` by step on success.

    None everywhere when there are more than `MOST`.
    """
    found: list[SureFacts | None] = [None] * len(playbook.steps)
    # A file of 20,000 steps that each write a key would hold 20,000 sets of as many names.
    if len(frozenset[str]().union(*added)) * len(added) > MOST:
        return found
    brought: list[dict[int, SureFacts]] = [{} for _ in playbook.steps]
    waiting = []
    for entry in graph.entries:
        found[entry] = NOTHING
        # The run's own token is one more way into the entry, and it brings nothing. Nor does that of a later phase:
        # main may have ended before anything ran.
        brought[entry][-1] = NOTHING
        waiting.append(entry)
    while waiting:
        here = waiting.pop()
        before = found[here]
        assert before is not None
        for target, facts in _out(playbook.steps[here], graph, before, added[here]).items():
            brought[target][here] = facts
            after = _met(playbook.steps[target], brought[target], graph.sources[target])
            # Sets only shrink from here on, so the walk ends.
            if after is not None and after != found[target]:
                found[target] = after
                waiting.append(target)
    return found


def surely_set(step: Step, what: Literal["ctx", "iter"]) -> SureFacts:
    """The keys of `ctx` or `iter` that a run of a step surely sets when it succeeds."""
    return sure_after(step, set_before(step, what))


def sure_after(step: Step, before: Sequence[SureFacts | None]) -> SureFacts:
    """The keys that a run of a step surely sets when it succeeds; `before` is what `set_before` gives."""
    # A loop over nothing runs no task and succeeds.
    return NOTHING if step.loop is not None or not step.tasks else before[-1] or NOTHING


def set_before(step: Step, what: Literal["ctx", "iter"]) -> tuple[SureFacts | None, ...]:
    """The keys of `ctx` or `iter` that are surely set in a run before each task, and at its good end (last).

    None where the run does not come. What a retry sets counts for nothing; what stands in sugar (`while`, `choose`)
    counts as set: how often its body runs is decided by data.
    """
    return _SET_BEFORE[what](step)


def _set_before(what: str, step: Step) -> tuple[SureFacts | None, ...]:
    if any(task.generated and task.rules for task in step.tasks):
        return (frozenset(key for task in step.tasks for key in _keys(task, what)),) * (len(step.tasks) + 1)
    # Backwards, so that of two tasks of one name the first counts, as for a jump.
    positions = {task.name: at for at, task in reversed(list(enumerate(step.tasks)))}
    found: list[SureFacts | None] = [None] * (len(step.tasks) + 1)
    found[0] = NOTHING
    waiting = [0]
    while waiting:
        here = waiting.pop()
        before = found[here]
        assert before is not None
        for target, keys in _ways(step.tasks[here], here, len(step.tasks), positions, what):
            old, after = found[target], before | keys
            # Where two ways meet only what both have set is sure.
            after = after if old is None else after & old
            if after != old:
                found[target] = after
                if target < len(step.tasks):
                    waiting.append(target)
    return tuple(found)


_SET_BEFORE = {what: Once(partial(_set_before, what)) for what in ("ctx", "iter")}


def _out(step: Step, graph: StepGraph, before: SureFacts, added: SureFacts) -> dict[int, SureFacts]:
    """The facts that the arcs of a step bring to each target."""
    found: dict[int, SureFacts] = {}
    for arc in step.router.arcs if step.router is not None else ():
        target = graph.positions.get(arc.target)
        if target is not None:
            # An arc that may be taken after a failure brings only what held before the step: a failed step may have
            # written nothing.
            failed = takes_part_on_failure(arc) and truth_of(arc.when, FAILED_FACTS) is not False
            facts = before if failed else before | added
            found[target] = facts if target not in found else found[target] & facts
    return found


def _met(step: Step, brought: dict[int, SureFacts], sources: tuple[int, ...]) -> SureFacts | None:
    if step.spec.join != "all":
        return frozenset.intersection(*brought.values())
    return NOTHING.union(*brought.values()) if all(source in brought for source in sources) else None


def _keys(task: Task, what: str) -> SureFacts:
    return frozenset(key for rule in task.rules for key, _ in (rule.set_ctx if what == "ctx" else rule.set_iter))


def _ways(task: Task, here: int, end: int, positions: dict[str, int], what: str) -> list[tuple[int, SureFacts]]:
    """(next task or `end`, keys that are set on the way) for each way on after a task; failures end the run."""
    if not task.rules:
        return [] if task.kind == FAILING else [(here + 1, NOTHING)]
    ways: list[tuple[int, SureFacts]] = []
    rules = asked_rules(task)
    for rule in rules:
        keys = frozenset(key for key, _ in (rule.set_ctx if what == "ctx" else rule.set_iter))
        match rule.directive:
            case "continue":
                ways.append((here + 1, keys))
            case "break":
                ways.append((end, keys))
            case "jump" if rule.to in positions:
                ways.append((positions[rule.to or ""], keys))
    if truth_of(rules[-1].when, NO_FACTS) is not True:
        ways.append((here + 1, NOTHING))
    return ways
