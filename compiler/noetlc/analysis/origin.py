"""Where a transition of a reduced net comes from, so that a run of the reduced net becomes one of the net.

A tree that is shared and never copied: `Leaf` is a transition of the net, `Then` one run after another, `Either` two
that are interchangeable (equal inputs and outputs), `Also` a second one that is enabled whenever the first is.
"""

from typing import TypeAlias

from noetl_ir.records import NamedTuple


class Leaf(NamedTuple):
    """One transition of the net."""

    transition: int


class Nothing(NamedTuple):
    """No transition: what makes the initial marking."""


class Then(NamedTuple):
    """`first`, then `second` `times` times."""

    first: "Origin"
    second: "Origin"
    times: int


class Either(NamedTuple):
    """`one` or `other`: each can stand for the other."""

    one: "Origin"
    other: "Origin"


class Also(NamedTuple):
    """`one`; and `loop`, which changes nothing, is enabled where `one` is."""

    one: "Origin"
    loop: "Origin"


Origin: TypeAlias = Leaf | Nothing | Then | Either | Also


def run_of(origin: Origin) -> list[int]:
    """A run of the net that the reduced transition stands for."""
    found: list[int] = []
    waiting = [origin]
    while waiting:
        match waiting.pop():
            case Leaf(transition=transition):
                found.append(transition)
            case Then(first=first, second=second, times=times):
                waiting += [second] * times
                waiting.append(first)
            # The first of two equal transitions stands for both. It is always the same one, so that a run is told
            # alike every time.
            case Either(one=one) | Also(one=one):
                waiting.append(one)
            case Nothing():
                pass
    return found


def covered(origins: list[Origin]) -> set[int]:
    """The transitions of the net that can fire when each of these reduced ones can."""
    found: set[int] = set()
    seen: set[int] = set()
    waiting = list(origins)
    while waiting:
        here = waiting.pop()
        # Trees are shared, and after many reductions their paths are exponentially many. Each node is looked at once.
        if id(here) in seen:
            continue
        seen.add(id(here))
        match here:
            case Leaf(transition=transition):
                found.add(transition)
            case Then(first=one, second=other) | Either(one=one, other=other) | Also(one=one, loop=other):
                waiting += (one, other)
            case Nothing():
                pass
    return found


def has_loop(origin: Origin) -> bool:
    """Whether a circle was taken out on the way."""
    waiting = [origin]
    while waiting:
        match waiting.pop():
            case Also():
                return True
            case Then(first=one, second=other) | Either(one=one, other=other):
                waiting += (one, other)
            case _:
                pass
    return False
