"""A picture before it has a form: boxes and arrows with what they say, what is painted on them, and where they are
written. Levels make pictures, painters and folding change them, and each format draws them.
"""

from enum import StrEnum

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span


class Shape(StrEnum):
    """The element that a box stands for. `FOLD` stands for several boxes; `END` is an undeclared `end`."""

    ENTRY = "entry"
    STEP = "step"
    LOOP = "loop"
    END = "end"
    TASK = "task"
    PLACE = "place"
    TRANSITION = "transition"
    STATE = "state"
    FOLD = "fold"


class ArrowKind(StrEnum):
    """The meaning of an arrow: `OK` a way on, `KO` a way that only a failure takes, `JUMP` a jump inside a step.

    No token takes the other two: at a `RESET` the source empties the target, at a `TEST` tokens in the source hold the
    target back.
    """

    OK = "ok"
    KO = "ko"
    JUMP = "jump"
    RESET = "reset"
    TEST = "test"


ASIDE = frozenset({ArrowKind.RESET, ArrowKind.TEST})
"""The kinds that no token takes. They count neither as forks nor as joins, and do not decide which box stands below."""


class Paint(StrEnum):
    """The paint on a box or an arrow, the worst last: it wins where two are painted on one."""

    NONE = ""
    IDLE = "idle"
    DONE = "done"
    PARTLY = "partly"
    CANCELLED = "cancelled"
    WAITING = "waiting"
    RUNNING = "running"
    TOLD = "told"
    WARNED = "warned"
    FAILED = "failed"
    BAD = "bad"


SEVERITY = {mark: number for number, mark in enumerate(Paint)}


# Ids are those of the plan and not numbers: coverage, runs and findings find a box by them, whatever was folded
# meanwhile.
class Box(NamedTuple):
    """A box.

    `title` is its name and `lines` what stands under it; `facts` are painted on it, as counts and times; `remarks` are
    what findings say about it. `joins` and `forks` say that it waits for several tokens and sends several. `inner` is
    what a fold hides, or the tasks of a step; `home` the step that a part of a net belongs to.
    """

    id: str
    shape: Shape
    title: str
    lines: tuple[str, ...] = ()
    span: Span | None = None
    mark: Paint = Paint.NONE
    facts: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    joins: bool = False
    forks: bool = False
    inner: "Picture | None" = None
    home: str = ""


# By position: names of steps are the author's, and two boxes of a net may have one.
class Edge(NamedTuple):
    """An arrow between two boxes, by their positions. `text` is all that it says."""

    id: str
    source: int
    target: int
    kind: ArrowKind = ArrowKind.OK
    text: str = ""
    span: Span | None = None
    mark: Paint = Paint.NONE
    facts: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


class Picture(NamedTuple):
    """Boxes, and the arrows between them. `level` is what it shows; `captions` are sentences to stand under it."""

    title: str
    level: str
    nodes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    captions: tuple[str, ...] = ()

    def saying(self, *captions: str) -> "Picture":
        """The picture with more captions."""
        return self._replace(captions=(*self.captions, *captions))


def worse(one: Paint, other: Paint) -> Paint:
    """The mark that wins."""
    return max(one, other, key=SEVERITY.__getitem__)
