"""The shapes that are laid out: sizes, points, and links between boxes."""

from typing import TypeAlias

from noetl_ir.records import NamedTuple

Point: TypeAlias = tuple[float, float]


class Size(NamedTuple):
    """Width and height."""

    width: float
    height: float


NOTHING = Size(0.0, 0.0)


class Link(NamedTuple):
    """A link between two boxes; `kind` says what may share bends with it; `label` is the size of its text."""

    source: int
    target: int
    kind: str
    label: Size = NOTHING
