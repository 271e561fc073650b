"""Runs that one plan has and another has not, as the steps that they start, in order.

A run is a complete one, without an unhandled failure and with loops of one item; guards choose freely. The two nets are
walked together, each as the set of states it may be in after the same steps (Rabin and Scott's subset construction),
breadth first, so that the run that is found is a shortest one.

Where a net is too large for that, only the steps around what changed are told apart: the net is reduced with a place
beside each of them, which it takes from and puts back into, so that its start is fused with no other one. A run that
differs there differs; that no run differs there is no proof.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetlc.analysis.origin import firings
from noetlc.analysis.petri import Petri, PetriArcs, arcs_of
from noetlc.analysis.reachability import graph_of
from noetlc.analysis.reductions import reduced
from noetlc.analysis.skeleton import success_skeleton
from noetlc.analysis.waves import folded_joins
from noetlc.analysis.whole_markings import WholeMarkings

STATES, PAIRS = 20_000, 5_000
"""States of a net, and pairs of sets of them, that are looked at; beyond that there is no answer."""

Trace: TypeAlias = tuple[str, ...]
_Set: TypeAlias = frozenset[int]


class Compared(NamedTuple):
    """A shortest run of the new plan that the old one has not, and the reverse; None where there is none.

    `complete` is False where a limit was hit: then there may be more than was found. `partly` says that a run is told
    by its steps around the change alone.
    """

    added: Trace | None
    removed: Trace | None
    complete: bool
    partly: bool = False


class _Automaton(NamedTuple):
    """States of a net with what leads from each without starting a step, and by which step where; ends are final."""

    silent: list[list[int]]
    steps: list[dict[str, list[int]]]
    ends: frozenset[int]

    def closure(self, states: set[int]) -> _Set:
        """The states, and all that can be reached from them without starting a step."""
        found, waiting = set(states), list(states)
        while waiting:
            for target in self.silent[waiting.pop()]:
                if target not in found:
                    found.add(target)
                    waiting.append(target)
        return frozenset(found)

    def after(self, states: _Set) -> Mapping[str, _Set]:
        """Step → the states after it started."""
        found: dict[str, set[int]] = {}
        for state in states:
            for step, targets in self.steps[state].items():
                found.setdefault(step, set()).update(targets)
        return {step: self.closure(targets) for step, targets in found.items()}


def compared_runs(old: Plan, new: Plan, near: frozenset[str] = frozenset()) -> Compared:
    """Which runs were added and removed; of large nets by the steps `near` the change."""
    found = _compared(_automaton(old, None), _automaton(new, None))
    # The exact comparison comes first. What is told from steps around the change alone is marked as such.
    if found.complete or not near:
        return found
    found = _compared(_automaton(old, near), _automaton(new, near))
    # That no run differs around the change is no proof that none differs at all.
    complete = found.complete and not found.added is found.removed is None
    return found._replace(complete=complete, partly=True)


def _compared(before: _Automaton | None, after: _Automaton | None) -> Compared:
    if before is None or after is None:
        return Compared(None, None, False)
    queue: list[tuple[_Set, _Set, int, str]] = [(before.closure({0}), after.closure({0}), -1, "")]
    seen = {queue[0][:2]}
    added: Trace | None = None
    removed: Trace | None = None
    for number, (mine, theirs, _, _) in enumerate(queue):  # grows while it is walked
        ended, ends = not before.ends.isdisjoint(mine), not after.ends.isdisjoint(theirs)
        if ends and not ended and added is None:
            added = _trace(queue, number)
        if ended and not ends and removed is None:
            removed = _trace(queue, number)
        if added is not None and removed is not None:
            break
        # Sets of states may be exponentially many (Rabin and Scott 1959), so that pairs of them are counted.
        if len(queue) > PAIRS:
            return Compared(added, removed, False)
        left, right = before.after(mine), after.after(theirs)
        # Sorted by name: of several shortest runs the same one is told everywhere.
        for step in sorted(left.keys() | right.keys()):
            pair = left.get(step, frozenset[int]()), right.get(step, frozenset[int]())
            if pair not in seen:
                seen.add(pair)
                queue.append((*pair, number, step))
    return Compared(added, removed, True)


def _trace(queue: list[tuple[_Set, _Set, int, str]], number: int) -> Trace:
    found = []
    while number > 0:
        found.append(queue[number][3])
        number = queue[number][2]
    return tuple(reversed(found))


def _automaton(plan: Plan, near: frozenset[str] | None) -> _Automaton | None:
    """The automaton of a plan's successful runs, None where it is too large; of all steps, or of those `near`."""
    if plan.cancels:  # what is withdrawn is no run of steps that an automaton could tell
        return None
    skeleton = folded_joins(success_skeleton(plan))
    if skeleton.loose:
        return None
    names = [_started(plan, number) for number in skeleton.origin]
    # Steps away from the change become silent, so that reductions can fuse them.
    if near is not None:
        names = [name if name in near else "" for name in names]
    marked = _with_markers(skeleton.net, names)
    small = reduced(marked, told=frozenset(range(len(skeleton.net.places), len(marked.places))))
    graph = graph_of(small.net, STATES)
    if not graph.complete:
        return None
    told_by = [_name_of(firings([origin]), names) for origin in small.origins]
    whole = WholeMarkings(marked, small, graph)
    silent: list[list[int]] = []
    steps: list[dict[str, list[int]]] = []
    ends = set()
    for state, (enabled, targets) in enumerate(zip(graph.enabled, graph.targets, strict=True)):
        quiet: list[int] = []
        told: dict[str, list[int]] = {}
        for transition, target in zip(enabled, targets, strict=True):
            if told_by[transition]:
                told.setdefault(told_by[transition], []).append(target)
            else:
                quiet.append(target)
        silent.append(quiet)
        steps.append(told)
        if enabled:
            continue
        marking = whole.marking(state)
        # A run at whose end a gate is still shut is not complete: the one in which it opens is.
        if skeleton.is_final(marking) and not skeleton.is_shut(marking):
            ends.add(state)
    return _Automaton(silent, steps, frozenset(ends))


def _with_markers(net: Petri, names: list[str]) -> Petri:
    """The net with a marked place for each name, from which its transitions take and into which they put back."""
    first = len(net.places)
    markers = {name: first + number for number, name in enumerate(sorted(set(names) - {""}))}

    def widened(sides: tuple[PetriArcs, ...]) -> tuple[PetriArcs, ...]:
        rows = zip(sides, names, strict=True)
        return tuple(arcs_of([*arcs, (markers[name], 1)]) if name else arcs for arcs, name in rows)

    return Petri(
        net.name,
        (*net.places, *(f"@{name}" for name in markers)),
        net.transitions,
        widened(net.inputs),
        widened(net.outputs),
        (*net.initial, *(1 for _ in markers)),
    )


def _name_of(run: Iterable[int], names: list[str]) -> str:
    """The one name in a run of transitions, "" where none has one."""
    return next((names[transition] for transition in run if names[transition]), "")


def _started(plan: Plan, number: int) -> str:
    """The step that a transition starts, "" for most."""
    t = plan.net.transitions[number]
    starts = (t.role == "begin" and t.level < 0) or (t.role in ("expand", "empty", "empty_failed") and t.level == 0)
    return plan.steps[t.step].name if starts else ""
