"""Rows of the benchmark, and their readings: figures of the product and of its peer, beside the bar."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / ".bench"


class NotMeasured(Exception):
    """A figure could not be had; the text says why and stands in the table."""


class Bench(NamedTuple):
    """How to measure: runs of each pair, a folder for inputs and stores, the project's programs."""

    runs: int
    folder: Path
    python: Path
    noetlc: Path
    noetl: Path

    def file(self, name: str, text: str) -> Path:
        """Write an input file once."""
        path = self.folder / name
        # Inputs are written once, so that all rounds read the same file.
        if not path.exists():
            path.write_text(text)
        return path


class Reading(NamedTuple):
    """One line of the table. `ratio` is what the bar is about; `met` is None where no figure or no bar is.

    `product` and `base` are in `unit` (`s`, `µs`, `/s`, `MB`); `base_name` says what the base is. `before` is the
    figure before the bar was worked on, of another machine and day: a ratio can be held against it, seconds cannot.
    `tried` says why the bar is missed where that is known, and is told where it is.
    """

    label: str
    product: float | None
    base: float | None
    unit: str
    base_name: str
    ratio: float | None
    bar: str
    met: bool | None
    remark: str = ""
    before: str = ""
    tried: str = ""

    def beside(self, before: str, tried: str = "") -> "Reading":
        """The reading with what it was before, and what was tried for it."""
        return self._replace(before=before, tried=tried)


class Row(NamedTuple):
    """A row of the bars: `measure` gives its lines or raises NotMeasured."""

    name: str
    group: str
    bar: str
    measure: Callable[[Bench], list[Reading]]


class Pair(NamedTuple):
    """Two works side by side: median figures, the median ratio of the rounds, a warning if those differ."""

    product: float
    base: float
    ratio: float
    remark: str


def at_most(label: str, product: float, base: float, *, times: float, unit: str, base_name: str) -> Reading:
    """The product may take `times` the base."""
    # A ratio to something that was measured beside it: a figure in seconds says nothing on another machine.
    ratio = product / base
    return Reading(label, product, base, unit, base_name, ratio, f"≤ {times:g} ×", ratio <= times)


def reaches(label: str, pair: Pair, *, times: float, known: float, base_name: str) -> Reading:
    """The ratio of the rounds must reach `times`; rates a second.

    `known` is the peer's rate on a quiet machine of this kind. A loaded machine slows a peer with many threads far
    more than the product, in every round alike, so that the ratio looks steady and flatters: below half of `known`
    there is no verdict.
    """
    bar = f"≥ {times:g} ×"
    # A verdict from a loaded machine would be too good, and nobody would look at it again.
    if pair.base < known / 2:
        remark = (
            f"no verdict: {base_name} ran at {pair.base:.0f}/s, {known:.0f}/s is known of it; the machine is loaded"
        )
        return Reading(label, pair.product, pair.base, "/s", base_name, pair.ratio, bar, None, remark)
    return Reading(label, pair.product, pair.base, "/s", base_name, pair.ratio, bar, pair.ratio >= times, pair.remark)


def limit(label: str, product: float, most: float, *, unit: str, remark: str = "") -> Reading:
    """The product's figure has a limit of its own."""
    return Reading(label, product, most, unit, "limit", product / most, f"≤ {most:g} {unit}", product <= most, remark)


def missing(label: str, bar: str, why: str) -> Reading:
    """A line without a figure, which says why."""
    return Reading(label, None, None, "", "", None, bar, None, f"not measured: {why}")
