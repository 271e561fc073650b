"""Where a transition of a reduced net comes from, so that a run of the reduced net becomes one of the net.

A tree that is shared and never copied: `Leaf` is a transition of the net, `Then` one run after another, `Either` two
that are interchangeable (equal inputs and outputs), `Also` a second one that is enabled whenever the first is.
"""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from noetl_ir.records import NamedTuple


class Leaf(NamedTuple):
    """One transition of the net."""

    transition: int


class Nothing(NamedTuple):
    """No transition: what makes the initial marking."""


class Then(NamedTuple):
    """`first`, then `second` `times` times."""

    first: "ValueOrigin"
    second: "ValueOrigin"
    times: int


class Either(NamedTuple):
    """`one` or `other`: each can stand for the other."""

    one: "ValueOrigin"
    other: "ValueOrigin"


class Also(NamedTuple):
    """`one`; and `loop`, which changes nothing, is enabled where `one` is."""

    one: "ValueOrigin"
    loop: "ValueOrigin"


ValueOrigin: TypeAlias = Leaf | Nothing | Then | Either | Also

LONGEST = 1_000_000
"""Nodes of trees that a run is written down from, about two for each transition. A step of a chain has 17."""


class TooLong(Exception):
    """A run has more transitions than can be written down."""

    def __str__(self) -> str:
        return f"the run to it has some {LONGEST // 2:,} transitions or more, too many to be told"


def run_of(origins: Iterable[ValueOrigin], longest: int = LONGEST) -> tuple[int, ...]:
    """A run of the net that a run of reduced transitions stands for; raises TooLong where it has more than `longest`
    nodes.

    Trees are shared: forks whose branches are not joined double the run at each of them, so that a playbook of a
    hundred steps has runs that no machine can write down. `firings` counts in them all the same.
    """
    found: list[int] = []
    waiting = [(origin, 1) for origin in origins]
    waiting.reverse()
    for _ in range(longest):
        if not waiting:
            return tuple(found)
        here, times = waiting.pop()
        if times > 1:
            waiting.append((here, times - 1))
        match here:
            case Leaf(transition=transition):
                found.append(transition)
            case Then(first=first, second=second, times=more):
                if more:
                    waiting.append((second, more))
                waiting.append((first, 1))
            # The first of two equal transitions stands for both. It is always the same one, so that a run is told
            # alike every time.
            case Either(one=one) | Also(one=one):
                waiting.append((one, 1))
            case Nothing():
                pass
    raise TooLong


def circle_in(origin: ValueOrigin) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A circle that was taken out of the run of `run_of`: the run up to it, and the run once round; both empty where
    that run passes none. Raises TooLong.
    """
    found: list[int] = []
    waiting = [origin]
    for _ in range(LONGEST):
        if not waiting:
            return (), ()
        match waiting.pop():
            case Leaf(transition=transition):
                found.append(transition)
            case Then(first=first, second=second, times=times):
                waiting += [second] * min(times, 1)
                waiting.append(first)
            case Either(one=one):
                waiting.append(one)
            case Also(loop=loop):
                return tuple(found), run_of([loop])
            case Nothing():
                pass
    raise TooLong


def firings(origins: Iterable[ValueOrigin]) -> dict[int, int]:
    """Transition → how often it fires in the run of `run_of`, however long that is: linear in the shared tree."""
    times: dict[int, int] = {}
    roots = list(origins)
    for root in roots:
        times[id(root)] = times.get(id(root), 0) + 1
    found: dict[int, int] = {}
    for here in reversed(_from_the_leaves(roots)):
        count = times[id(here)]
        for part, more in _parts(here):
            times[id(part)] = times.get(id(part), 0) + count * more
        if isinstance(here, Leaf) and count:
            found[here.transition] = found.get(here.transition, 0) + count
    return found


def _parts(origin: ValueOrigin) -> tuple[tuple[ValueOrigin, int], ...]:
    """The parts of a run, each with how often it is run."""
    match origin:
        case Then(first=first, second=second, times=times):
            return (first, 1), (second, times)
        case Either(one=one) | Also(one=one):
            return ((one, 1),)
        case _:
            return ()


def _from_the_leaves(roots: list[ValueOrigin]) -> list[ValueOrigin]:
    """Each node once, behind its parts."""
    found: list[ValueOrigin] = []
    seen: set[int] = set()
    waiting = [(root, False) for root in roots]
    while waiting:
        here, done = waiting.pop()
        if done:
            found.append(here)
        elif id(here) not in seen:
            seen.add(id(here))
            waiting.append((here, True))
            waiting += [(part, False) for part, _ in _parts(here)]
    return found


def covered(origins: list[ValueOrigin]) -> set[int]:
    """The transitions of the net that can fire when each of these reduced ones can."""
    return {here.transition for here in _within(origins) if isinstance(here, Leaf)}


def has_loop(origin: ValueOrigin) -> bool:
    """Whether a circle was taken out on the way."""
    return any(isinstance(here, Also) for here in _within([origin]))


def _within(origins: list[ValueOrigin]) -> Iterator[ValueOrigin]:
    """Each node of the trees once, of equal transitions and of circles too.

    Trees are shared, and after many reductions their paths are exponentially many.
    """
    seen: set[int] = set()
    waiting = list(origins)
    while waiting:
        here = waiting.pop()
        if id(here) in seen:
            continue
        seen.add(id(here))
        yield here
        match here:
            case Then(first=one, second=other) | Either(one=one, other=other) | Also(one=one, loop=other):
                waiting += (one, other)
