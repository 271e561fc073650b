"""Prints readings as a table for people or as JSON."""

import json
from collections.abc import Iterable

from benchmarks.row import Reading

_COLUMNS = ("row", "product", "peer or base", "ratio", "bar", "before", "verdict")


def verdict(reading: Reading) -> str:
    """`met`, `missed`, `not measured: …`, or the note of a line without a bar."""
    if reading.met is None:
        return reading.remark
    word = "met" if reading.met else "missed"
    told = "; ".join(filter(None, (reading.remark, "" if reading.met else reading.tried)))
    return f"{word} ({told})" if told else word


def lines(readings: Iterable[Reading]) -> list[str]:
    """The table as text, its columns aligned."""
    cells = [_COLUMNS, *(_cells(reading) for reading in readings)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(_COLUMNS) - 1)]
    return ["  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[-1]]).rstrip() for row in cells]


def _cells(reading: Reading) -> tuple[str, ...]:
    base = _figure(reading.base, reading.unit)
    return (
        reading.label,
        _figure(reading.product, reading.unit),
        f"{base} {reading.base_name}".strip(),
        "" if reading.ratio is None else f"{reading.ratio:.2f}",
        reading.bar,
        reading.before,
        verdict(reading),
    )


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    digits = 0 if value >= 100 else 1 if value >= 10 else 3
    return f"{value:,.{digits}f} {unit}"


def document(readings: Iterable[Reading]) -> str:
    """The readings as one JSON list."""
    return json.dumps([{**r._asdict(), "verdict": verdict(r)} for r in readings], indent=2, ensure_ascii=False)
