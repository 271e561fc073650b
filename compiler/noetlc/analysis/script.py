"""A run as a script that `noetl run --script` replays: which outcome each attempt has, and when.

The k-th outcome of the run comes at k seconds of virtual time, or sooner where something is limited to less (`paces`).
An attempt begins when its token arrives, so an entry's `takes` is the time between: what the run leaves waiting takes
longer than what it goes on with.

What follows an outcome in the same turn is decided when it comes. A run of the net may let that wait while a key of
`ctx` is written elsewhere: then the outcome itself comes later, just before what is decided.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from noetl_ir.expr import Json
from noetl_ir.locks import takes_of
from noetl_ir.net import Transition, Trigger
from noetl_ir.plan import Plan
from noetlc.analysis.claims import Shows, comes_about
from noetlc.analysis.iterations import indexes_of, makers_of, sizes_of, step_runs_of
from noetlc.analysis.outcomes import OUTCOMES
from noetlc.analysis.paces import USUAL, pace_of, times_of
from noetlc.analysis.turns import RunInTurns, follows_locks, in_turns
from noetlc.analysis.verdict import WitnessScript
from noetlc.analysis.witness import Witness, has_words, witness_of


def script_of(
    plan: Plan, run: Sequence[str], *, tried: bool = False, shows: Shows = comes_about, behind: bool = False
) -> WitnessScript | None:
    """The script of a run, given as transition ids; None when no data were found that make its choices, or where the
    engine would do something else before it is over, or all that it does no longer `shows` what was said.

    `tried` says that the script is run before anything is said of it, so that it may be one that need not hold.
    `behind` says that what comes behind the run counts, too.
    """
    transitions = _transitions(plan, run)
    if tried:
        return _script(
            plan, RunInTurns(tuple(transitions), besides=False, over=False, ends=0, loose=frozenset()), tried=True
        )
    if not _may_be_told(plan, transitions):
        return None
    ways = [way for way in in_turns(plan, transitions) if shows(way)]
    # What begins in the turn in which the run is over may have no data, as a task whose fields read what is not there.
    # It fails then, once all that was said has come about: it is asked for data only as long as there are some.
    cuts = [] if behind else [_cut_behind(plan, way, transitions) for way in ways]
    for way in (*ways, *(cut for cut in cuts if cut is not None and shows(cut))):
        if (script := _script(plan, way, tried=False)) is not None:
            return script
    return None


def script_in_turns(plan: Plan, ways: Iterable[RunInTurns]) -> tuple[WitnessScript, tuple[Transition, ...]] | None:
    """The script of the first of some runs of the engine for which there are data, and that run."""
    for way in ways:
        own = way.run[: len(way.run) - way.ends]
        if _may_be_told(plan, own) and (script := _script(plan, way, tried=False)) is not None:
            return script, own
    return None


def _cut_behind(plan: Plan, way: RunInTurns, run: Sequence[Transition]) -> RunInTurns | None:
    """A way without what the engine begins once all of the run has come about; None where that is nothing."""
    length = len(way.run) - way.ends
    missing, at = Counter(t.id for t in run), 0
    while missing.total():
        missing.subtract({way.run[at].id: 1} if missing[way.run[at].id] else {})
        at += 1
    if at == length:
        return None
    begun = Counter[int]()
    for t in way.run[:at]:
        begun.update(arc.place for arc in t.outputs if plan.net.places[arc.place].role == "run")
        begun.subtract(arc.place for arc in t.inputs if plan.net.places[arc.place].role == "run")
    ends = []
    for t in way.run[length:]:
        if begun[t.inputs[0].place] > 0:
            begun[t.inputs[0].place] -= 1
            ends.append(t)
    loose = frozenset(number for number in way.loose if number < at)
    return RunInTurns((*way.run[:at], *ends), way.besides, False, len(ends), loose)


def goes_otherwise(plan: Plan, run: Sequence[str], shows: Shows) -> bool:
    """Whether the engine does something else before a run is over that a script could tell, whatever the data are."""
    transitions = _transitions(plan, run)
    return _may_be_told(plan, transitions) and not any(shows(way) for way in in_turns(plan, transitions))


def _transitions(plan: Plan, run: Sequence[str]) -> list[Transition]:
    known = {each.id: each for each in plan.net.transitions}
    return _at_once(plan, [known[id] for id in run])


def _may_be_told(plan: Plan, run: Sequence[Transition]) -> bool:
    # Who gets a lock that rules, or cancellations, have a say in would have to be tried in the engine.
    locking = {} if follows_locks(plan) else takes_of(plan)
    late = any(each.role == "admit" and each.step in locking for each in run)
    return not late and all(has_words(each) for each in run)


def _script(plan: Plan, way: RunInTurns, *, tried: bool) -> WitnessScript | None:
    witness = witness_of(plan, way.run, tried=tried, loose=way.loose, ends=way.ends)
    if witness is None:
        return None
    pace = pace_of(plan, way.run, sum(t.role in OUTCOMES for t in way.run))
    if pace is None and not tried:
        return None
    times = times_of(plan, way.run, way.ends, pace or USUAL, tried=tried)
    if times is None:
        return None
    return WitnessScript({"outcomes": _entries(plan, way.run, witness, times)}, witness.payload)


def _at_once(plan: Plan, run: list[Transition]) -> list[Transition]:
    """The run with outcomes moved to where what follows them is decided; those that write stay where they are."""
    found: list[Transition] = []
    waiting: dict[int, list[int]] = {}  # what was put off → what it follows from that was put off, too
    for number, (t, makers) in enumerate(zip(run, makers_of(plan, run), strict=True)):
        behind = [each for each in makers if each in waiting]
        # An outcome that writes `ctx` stays where it is: guards elsewhere may read what it wrote.
        comes = t.role in ("land", "wake") or (t.role in OUTCOMES and not _writes(plan, t))
        if comes or (behind and t.trigger is Trigger.NOW and not _decides(t)):
            waiting[number] = behind
        else:
            # A decision needs all that led to it, in the order of the run.
            found += [run[each] for each in _with_all_behind(behind, waiting)]
            found.append(t)
    return [*found, *(run[each] for each in waiting)]


def _with_all_behind(first: list[int], waiting: dict[int, list[int]]) -> list[int]:
    """The choices that were put off and are needed now, in order; it waits no more."""
    needed: set[int] = set()
    open_ = list(first)
    while open_:
        here = open_.pop()
        if here in waiting:
            needed.add(here)
            open_ += waiting.pop(here)
    return sorted(needed)


def _writes(plan: Plan, t: Transition) -> bool:
    return any(rule.set_ctx for rule in plan.tasks[t.task].rules)


def _decides(t: Transition) -> bool:
    return t.role in ("take", "pass", "admit", "deny", "err", "admit_fault")


def _entries(plan: Plan, run: Sequence[Transition], witness: Witness, times: Mapping[int, float]) -> list[Json]:
    visits: dict[tuple[int, int, int], int] = {}
    attempts: dict[tuple[int, int, int], int] = {}
    found: list[Json] = []
    several: frozenset[int] = frozenset()  # steps whose loop has several items
    sizes = sizes_of(run)
    rows = zip(run, step_runs_of(plan, run), indexes_of(plan, run), strict=True)
    for number, (t, of, index) in enumerate(rows):
        task = (t.task, of, index)
        if t.role in OUTCOMES:
            counts: dict[str, Json] = {"run": max(1, of), **({"index": [index]} if t.step in several else {})}
            counts |= {"visit": visits.get(task, 1), "attempt": attempts.get(task, 1)}
            found.append(_entry(plan, t, witness, counts, len(found), times[number]))
        elif t.role == "expand" and t.level == 0:
            several = several | {t.step} if sizes.get(number, 1) > 1 else several - {t.step}
        elif t.role == "start":
            attempts[task] = attempts.get(task, 0) + 1
            if attempts[task] == 1:
                visits[task] = visits.get(task, 0) + 1
        # A retry counts on; every other outcome ends the visit, and the next one begins with attempt 1.
        if t.role in OUTCOMES and t.role != "retry":
            attempts[task] = 0
    return found


def _entry(
    plan: Plan,
    t: Transition,
    witness: Witness,
    counts: Mapping[str, Json],
    number: int,
    takes: Json,
) -> Json:
    outcome: dict[str, Json] = {"status": "ok" if t.outcome == "ok" else "error", **witness.outcome(number)}
    return {
        "step": plan.steps[t.step].name,
        "task": plan.tasks[t.task].name,
        **counts,
        "takes": takes,
        "outcome": outcome,
    }
