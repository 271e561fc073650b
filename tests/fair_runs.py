"""Whether some run never starts a step, by a naive explorer: it shares no code with the analysis.

It plays the token game without what starts the step. A run without it is a marking in which nothing can happen, not
even its start; or one that goes round for ever and is fair: what can happen all along does happen. There is such a run
exactly where a strongly connected part of the space has, for each transition, a marking in which it cannot fire or a
firing of its own (weak fairness is a generalized Büchi condition).
"""

from collections.abc import Callable, Iterable

from nets import Marking, Space, space_of
from noetl_ir.net import Transition
from noetl_ir.plan import Plan

Moves = Callable[[Marking], Iterable[tuple[Transition, Marking]]]
"""The firings that are possible in a marking, each with the marking after it."""


def has_run_without(
    plan: Plan, step: str, start: Marking, moves: Moves, most: int, able_in: Moves | None = None
) -> bool | None:
    """Whether a run from a marking never starts a step; None where there are more than `most` markings.

    `able_in` says what could happen but for what comes first in the same moment, which no run keeps up for ever.
    """

    def starts(t: Transition) -> bool:
        return t.role == "admit" and plan.steps[t.step].name == step

    space = space_of(start, lambda here: [each for each in moves(here) if not starts(each[0])], most)
    if space is None:
        return None
    able = {here: {t.id for t, _ in (able_in or moves)(here)} for here in space}
    return any(not ids for ids in able.values()) or any(_is_fair(part, space, able) for part in _parts_of(space))


def _is_fair(part: set[Marking], space: Space, able: dict[Marking, set[str]]) -> bool:
    fired = {t.id for here in part for t, after in space[here] if after in part}
    always = set.intersection(*(able[here] for here in part))
    return bool(fired) and always <= fired


def _parts_of(space: Space) -> list[set[Marking]]:
    """The strongly connected parts of a space, by what each marking leads to and what leads to it."""
    forward = {here: [after for _, after in row] for here, row in space.items()}
    backward: dict[Marking, list[Marking]] = {here: [] for here in space}
    for here, row in forward.items():
        for after in row:
            backward[after].append(here)
    found, left = [], set(space)
    while left:
        here = next(iter(left))
        part = _led_to(here, forward, left) & _led_to(here, backward, left)
        found.append(part)
        left -= part
    return found


def _led_to(start: Marking, edges: dict[Marking, list[Marking]], among: set[Marking]) -> set[Marking]:
    found, waiting = {start}, [start]
    while waiting:
        for after in edges[waiting.pop()]:
            if after in among and after not in found:
                found.add(after)
                waiting.append(after)
    return found
