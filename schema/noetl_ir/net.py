"""The Petri net: places, transitions and arcs, with the source place that each stands for.

A net is immutable data. Element ids are functions of the source names (`take fetch 0`, `run fetch get`), so equal
source gives equal ids. Choices are total: of the `NOW` transitions that consume one place, tried in the order of
the net, the last is unguarded, and one marked `fault` exists wherever an expression is asked (NET.md).

The skeleton, which is what is analysed, is this net without guards and token keys.
"""

from collections.abc import Sequence
from enum import StrEnum

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span


class PlaceClass(StrEnum):
    """The class of a place's tokens: `control` is empty at the end, `slot` is a loop's resource, `memo` a join's
    memory.
    """

    # The classes are for the proofs: a slot or memory that is left at the end is no token that got stuck.
    CONTROL = "control"
    SLOT = "slot"
    MEMO = "memo"


class Trigger(StrEnum):
    """The cause that makes a transition fire once it is enabled (NET.md, Notation)."""

    NOW = "now"
    REPORT = "report"
    TIME = "time"
    SIGNAL = "signal"
    CTX = "ctx"


class Weight(StrEnum):
    """A weight that a loop run fixes: its number of items, or of slots."""

    # A number that only the run knows, and a name here: one net stands for loops of every size, and what is proved
    # of it holds for all of them.
    ITEMS = "n"
    SLOTS = "m"


class Place(NamedTuple):
    """A place.

    `role` is its word in NET.md (`in gate ready at run due parked out bad todo slot fin loop done failed c fly …`).

    `step`, `task` and `level` index the plan's step and task tables and the loop nesting (0 outermost); -1 where
    they do not apply. `span` is where the author wrote what it stands for; `maker` the pass that made it otherwise.
    """

    id: str
    kind: PlaceClass
    role: str
    step: int = -1
    task: int = -1
    level: int = -1
    span: Span | None = None
    # A finding points at what the author wrote; what a pass made points at what it was made of.
    maker: str = ""


class Arc(NamedTuple):
    """An arc between a transition and the place at index `place`, with its weight."""

    place: int
    weight: int | Weight = 1


class Transition(NamedTuple):
    """A transition.

    `role` is its word in NET.md (`take pass none admit deny begin start continue jump …`). `guard` indexes the
    plan's template pool, -1 for none. `fault` marks the alternative taken when a guard raises. `step`, `task`,
    `level` and `arc` index the plan's tables, -1 where they do not apply. `outcome` is `ok`, `error` or empty.
    """

    id: str
    trigger: Trigger
    role: str
    inputs: tuple[Arc, ...]
    outputs: tuple[Arc, ...]
    # An index and not the expression: the analysis looks at the net without guards, and a plan has each guard once.
    guard: int = -1
    fault: bool = False
    step: int = -1
    task: int = -1
    level: int = -1
    arc: int = -1
    outcome: str = ""
    span: Span | None = None
    maker: str = ""


class Net(NamedTuple):
    """Places and transitions in a fixed order; `initial` lists (place, tokens) of the initial marking.

    Those of a plan that runs are made when they are asked for.
    """

    places: Sequence[Place]
    transitions: Sequence[Transition]
    initial: tuple[tuple[int, int], ...]
