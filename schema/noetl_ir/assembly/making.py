"""The net while it is made: places and transitions are added in their final order and never changed.

A place is handed out as a tuple of one arc to it, so that the arcs of a transition are sums of such tuples.
"""

from typing import Protocol, TypeAlias

from noetl_ir.net import Arc, Net, Place, PlaceClass, Transition, Trigger, Weight
from noetl_ir.span import Span

Arcs: TypeAlias = tuple[Arc, ...]

NOTHING: Arcs = ()
_new = tuple.__new__  # a named tuple's own constructor costs three times as much, and there are many
CONTROL, MEMO, SLOT = PlaceClass.CONTROL, PlaceClass.MEMO, PlaceClass.SLOT
NOW, REPORT, TIME, SIGNAL, CTX = Trigger.NOW, Trigger.REPORT, Trigger.TIME, Trigger.SIGNAL, Trigger.CTX


class Maker(Protocol):
    """Takes the elements of a net in their order: a `NetMaker` keeps them, `verify` compares them."""

    def place(
        self,
        id: str,
        role: str,
        step: int,
        *,
        span: Span,
        task: int = -1,
        level: int = -1,
        kind: PlaceClass = CONTROL,
        tokens: int = 0,
    ) -> Arcs:
        """A place that holds `tokens` at first; returns the arc to it."""
        ...

    def transition(
        self,
        id: str,
        role: str,
        inputs: Arcs,
        outputs: Arcs,
        *,
        step: int,
        span: Span,
        trigger: Trigger = NOW,
        guard: int = -1,
        fault: bool = False,
        task: int = -1,
        level: int = -1,
        arc: int = -1,
        outcome: str = "",
    ) -> None:
        """A transition: the server fires it in the same turn, or it waits for what its trigger says (a report, a time,
        a signal, a change of ctx).
        """
        ...


class NetMaker:
    """Collects the elements of a net."""

    def __init__(self) -> None:
        self._places: list[Place] = []
        self._transitions: list[Transition] = []
        self._initial: list[tuple[int, int]] = []

    def place(
        self,
        id: str,
        role: str,
        step: int,
        *,
        span: Span,
        task: int = -1,
        level: int = -1,
        kind: PlaceClass = CONTROL,
        tokens: int = 0,
    ) -> Arcs:
        index = len(self._places)
        self._places.append(_new(Place, (id, kind, role, step, task, level, span, "")))
        if tokens:
            self._initial.append((index, tokens))
        return (_new(Arc, (index, 1)),)

    def transition(
        self,
        id: str,
        role: str,
        inputs: Arcs,
        outputs: Arcs,
        *,
        step: int,
        span: Span,
        trigger: Trigger = NOW,
        guard: int = -1,
        fault: bool = False,
        task: int = -1,
        level: int = -1,
        arc: int = -1,
        outcome: str = "",
    ) -> None:
        self._transitions.append(
            _new(
                Transition,
                (id, trigger, role, inputs, outputs, guard, fault, step, task, level, arc, outcome, span, ""),
            )
        )

    def net(self) -> Net:
        """The net as it stands."""
        return Net(tuple(self._places), tuple(self._transitions), tuple(self._initial))


def times(arcs: Arcs, weight: int | Weight) -> Arcs:
    """Some arcs with another weight."""
    return tuple(Arc(arc.place, weight) for arc in arcs)
