"""A run as a script that `noetl run --script` replays: which outcome each attempt has, and when.

The k-th outcome of the run comes at k seconds of virtual time, or sooner where something is limited to less (`paces`).
An attempt begins when its token arrives, so an entry's `takes` is the time between: what the run leaves waiting takes
longer than what it goes on with.

What follows an outcome in the same turn is decided when it comes. A run of the net may let that wait while a key of
`ctx` is written elsewhere: then the outcome itself comes later, just before what is decided.
"""

from collections.abc import Mapping, Sequence

from noetl_ir.expr import Json
from noetl_ir.locks import takes_of
from noetl_ir.net import Transition, Trigger
from noetl_ir.plan import Plan
from noetlc.analysis.iterations import indexes_of, sizes_of, weight_of
from noetlc.analysis.outcomes import OUTCOMES
from noetlc.analysis.paces import USUAL, pace_of
from noetlc.analysis.verdict import WitnessScript
from noetlc.analysis.witness import Witness, witness_of


def script_of(plan: Plan, run: Sequence[str], *, tried: bool = False) -> WitnessScript | None:
    """The script of a run, given as transition ids; None when no data were found that make its choices.

    `tried` says that the script is run before anything is said of it, so that it may be one that need not hold.
    """
    known = {each.id: each for each in plan.net.transitions}
    # What a step withdraws, who gets a lock, and which settled join has the oldest token depends on when tokens came:
    # it would have to be tried in the engine.
    cancelling = {*(step for step, _ in plan.cancels), *takes_of(plan)}
    late = any(known[id].role == "force" or (known[id].role == "admit" and known[id].step in cancelling) for id in run)
    if late and not tried:
        return None
    transitions = _at_once(plan, [known[id] for id in run])
    witness = witness_of(plan, transitions, tried=tried)
    if witness is None:
        return None
    pace = pace_of(plan, transitions, sum(t.role in OUTCOMES for t in transitions))
    if pace is None and not tried:
        return None
    return WitnessScript({"outcomes": _entries(plan, transitions, witness, pace or USUAL)}, witness.payload)


def _at_once(plan: Plan, run: list[Transition]) -> list[Transition]:
    """The run with outcomes moved to where what follows them is decided; those that write stay where they are."""
    found: list[Transition] = []
    waiting: dict[int, list[int]] = {}  # what was put off → what it follows from that was put off, too
    made: dict[int, list[int]] = {}  # place → who made its tokens, the oldest first
    sizes = sizes_of(run)
    for number, t in enumerate(run):
        size = sizes.get(number, 1)
        behind = [each for arc in t.inputs for each in _taken(made, arc.place, weight_of(plan, t, arc, size))]
        behind = [each for each in behind if each in waiting]
        # An outcome that writes `ctx` stays where it is: guards elsewhere may read what it wrote.
        if (t.role in OUTCOMES and not _writes(plan, t)) or (behind and t.trigger is Trigger.NOW and not _decides(t)):
            waiting[number] = behind
        else:
            # A decision needs all that led to it, in the order of the run.
            found += [run[each] for each in _with_all_behind(behind, waiting)]
            found.append(t)
        for arc in t.outputs:
            made.setdefault(arc.place, []).extend([number] * weight_of(plan, t, arc, size))
    return [*found, *(run[each] for each in waiting)]


def _taken(rows: dict[int, list[int]], place: int, count: int) -> list[int]:
    """Take the entries of the oldest tokens of a place."""
    row = rows.get(place, [])
    found = row[:count]
    del row[:count]
    return found


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


def _entries(plan: Plan, run: Sequence[Transition], witness: Witness, pace: float) -> list[Json]:
    since: dict[int, list[int]] = {place: [0] * tokens for place, tokens in plan.net.initial}
    runs: dict[int, int] = {}
    visits: dict[tuple[int, int], int] = {}
    attempts: dict[tuple[int, int], int] = {}
    found: list[Json] = []
    clock = 0
    several: frozenset[int] = frozenset()  # steps whose loop has several items
    sizes = sizes_of(run)
    for number, (t, index) in enumerate(zip(run, indexes_of(plan, run), strict=True)):
        size, task = sizes.get(number, 1), (t.task, index)
        taken = [each for arc in t.inputs for each in _taken(since, arc.place, weight_of(plan, t, arc, size))]
        # A transition happens when the last of its tokens is there.
        begun = max(taken, default=0)
        if t.role in OUTCOMES:
            # A tick of the clock an outcome gives them a total order, which is the order of the run. Two at one moment
            # could be taken the other way round.
            clock += 1
            counts: dict[str, Json] = {"run": runs.get(t.step, 1), **({"index": [index]} if t.step in several else {})}
            counts |= {"visit": visits.get(task, 1), "attempt": attempts.get(task, 1)}
            takes: Json = clock - begun if pace == USUAL else round((clock - begun) * pace, 6)
            found.append(_entry(plan, t, witness, counts, len(found), takes))
            begun = clock
        elif t.role in ("expand", "empty") and t.level == 0:
            runs[t.step] = runs.get(t.step, 0) + 1
            several = several | {t.step} if size > 1 else several - {t.step}
        elif t.role == "begin" and t.level < 1:
            if t.level < 0:
                runs[t.step] = runs.get(t.step, 0) + 1
            for each in plan.steps[t.step].tasks:
                visits[each, index] = attempts[each, index] = 0
        elif t.role == "start":
            attempts[task] = attempts.get(task, 0) + 1
            if attempts[task] == 1:
                visits[task] = visits.get(task, 0) + 1
        for arc in t.outputs:
            since.setdefault(arc.place, []).extend([begun] * weight_of(plan, t, arc, size))
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
