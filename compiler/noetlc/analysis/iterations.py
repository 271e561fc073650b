"""The iterations of the loops in a run of the net: how many there are, which of them each transition belongs to, and
whether the engine has the same.

Tokens of the net are all alike. Here the first that came to a place is the first that leaves it, which is as good as
any other way to tell them apart, and iterations are numbered in the order in which they begin, as the engine does it.
"""

from collections.abc import Sequence

from noetl_ir.net import Arc, Transition, Weight
from noetl_ir.plan import Plan


def sizes_of(run: Sequence[Transition]) -> dict[int, int]:
    """Where a loop of a run begins and ends → how many items it has: as many as begin, and one where none does."""
    found: dict[int, int] = {}
    open_: dict[tuple[int, int], int] = {}
    for at, t in enumerate(run):
        key = (t.step, t.level)
        match t.role:
            case "expand":
                open_[key], found[at] = at, 0
            case "begin" if key in open_:
                found[open_[key]] += 1
            case "close" | "close_failed" if key in open_:
                found[at] = found[open_.pop(key)]
            case _:
                pass
    return {at: max(1, size) for at, size in found.items()}


def weight_of(plan: Plan, t: Transition, arc: Arc, size: int) -> int:
    """The tokens that an arc takes or gives in a loop of so many items, which has a slot for each or one for all."""
    if not isinstance(arc.weight, Weight):
        return arc.weight
    return 1 if arc.weight is Weight.SLOTS and plan.steps[t.step].loops[t.level].sequential else size


def makers_of(plan: Plan, run: Sequence[Transition]) -> list[list[int]]:
    """For each transition of a run the numbers of those that made the tokens that it takes, the oldest first; of tokens
    that were there at the beginning there is none.
    """
    sizes, found = sizes_of(run), list[list[int]]()
    tokens: dict[int, list[int]] = {}
    for at, t in enumerate(run):
        size, makers = sizes.get(at, 1), list[int]()
        for arc in t.inputs:
            row, count = tokens.get(arc.place, []), weight_of(plan, t, arc, size)
            makers += row[:count]
            del row[:count]
        found.append(makers)
        for arc in t.outputs:
            tokens.setdefault(arc.place, []).extend([at] * weight_of(plan, t, arc, size))
    return found


def indexes_of(plan: Plan, run: Sequence[Transition]) -> list[int]:
    """The iteration of the outermost loop that each transition of a run belongs to, -1 for those of none."""
    found, left = list[int](), list[int]()  # what each belongs to, and what goes on from it
    begun: dict[int, int] = {}
    for t, makers in zip(run, makers_of(plan, run), strict=True):
        index = max((left[each] for each in makers), default=-1)
        if t.level == 0 and t.role == "expand":
            begun[t.step] = 0
        elif t.level == 0 and t.role == "begin":
            index = begun[t.step]
            begun[t.step] += 1
        found.append(index)
        left.append(-1 if t.level == 0 and t.role in ("out", "bad") else index)
    return found


def step_runs_of(plan: Plan, run: Sequence[Transition]) -> list[int]:
    """The run of its step that each transition of a run belongs to, from 1 in the order in which they are admitted; 0
    for what belongs to none.
    """
    found = list[int]()
    admitted: dict[int, int] = {}
    for t, makers in zip(run, makers_of(plan, run), strict=True):
        number = max((found[each] for each in makers), default=0)
        if t.role == "admit":
            number = admitted[t.step] = admitted.get(t.step, 0) + 1
        found.append(number)
    return found


def are_told(plan: Plan, run: Sequence[Transition]) -> bool:
    """Whether the engine goes through the loops of a run as the run does: none holds another, each is over before the
    next one of its step begins, and it ends as its iterations did. Where there are several, none of them writes or
    fails and stops the others.
    """
    sizes = sizes_of(run)
    running: dict[int, int] = {}  # step → iterations of its open loop that run
    several: set[int] = set()
    failed: set[int] = set()
    for at, t in enumerate(run):
        if t.level < 0:
            continue
        step = plan.steps[t.step]
        if len(step.loops) > 1:
            return False
        match t.role:
            case "expand":
                if t.step in running:
                    return False
                running[t.step] = 0
                failed.discard(t.step)
                several.discard(t.step)
                if sizes[at] > 1:
                    several.add(t.step)
                    if any(rule.set_ctx or rule.set_iter for task in step.tasks for rule in plan.tasks[task].rules):
                        return False
            case "begin":
                running[t.step] += 1
                if step.loops[0].sequential and running[t.step] > 1:
                    return False
            case "out" | "bad":
                running[t.step] -= 1
                if t.role == "bad":
                    failed.add(t.step)
                    if t.step in several and not step.best_effort:
                        return False
            case "close" | "close_failed":
                # A failure stops the loop, but where all items run in any case.
                if (t.role == "close_failed") is not (t.step in failed and not step.best_effort):
                    return False
                del running[t.step]
            case _:
                pass
    return True


def allows(limit: object, size: int) -> bool:
    """Whether a `max_in_flight` lets the iterations of a loop of so many items run at once."""
    return isinstance(limit, int) and not isinstance(limit, bool) and limit >= max(1, size)
