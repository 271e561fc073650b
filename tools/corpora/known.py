"""Outcomes that are known, from a YAML file outside of this repository: what an author says must come out.

hosts: {test-server:5555: pages}        # further hosts of the services here, by their names in `more_sites`
credentials: [warehouse]                # names that stored credentials have, all of them for the PostgreSQL here
outcomes:
- path: folder/some_*.yaml              # a glob of the path inside the day's folder
  days: ['2026-02-*']                   # of the day; every day when not given
  payload: {n: 3}
  status: completed                     # not given: completed
  results: {check.total: 35}            # step, and keys below its result; `*` beside a step: any value
  steps: {fetch: 4}                     # how often steps end well; 0: they do not run
  skip: why it is not run
"""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import yaml

from corpora.files import File
from corpora.outcomes import Outcome
from noetl_ir.expr import Json


class Expected(NamedTuple):
    """One known outcome."""

    path: str
    days: tuple[str, ...]
    payload: Json
    status: str
    results: Mapping[str, Json]
    steps: Mapping[str, int]
    skip: str
    before: tuple[str, ...] = ()
    is_outcome: bool = True
    """Whether it says how the run ends, and not only what the run needs."""


class Known(NamedTuple):
    """Content of a file of known outcomes."""

    hosts: Mapping[str, str] = {}
    credentials: tuple[str, ...] = ()
    outcomes: tuple[Expected, ...] = ()

    def of(self, file: File) -> Expected | None:
        """The known outcome of a file: the first that fits."""
        for one in self.outcomes:
            # Case counts on every system.
            if fnmatchcase(file.path, one.path) and any(fnmatchcase(file.day, day) for day in one.days):
                return one
        return None


def known_of(path: Path | None) -> Known:
    """Read a file of known outcomes; without one nothing is known. Raises what reading raises."""
    if path is None:
        return Known()
    told = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    return Known(told.get("hosts") or {}, tuple(told.get("credentials") or ()), tuple(map(_expected, told["outcomes"])))


def _expected(told: dict[str, Json]) -> Expected:
    days, results, steps = told.get("days") or ["*"], told.get("results") or {}, told.get("steps") or {}
    before = told.get("before") or []
    if not (isinstance(days, list) and isinstance(results, dict) and isinstance(steps, dict)):
        raise ValueError(f"{told.get('path')}: days are a list, results and steps mappings")
    if not isinstance(before, list):
        raise ValueError(f"{told.get('path')}: before is a list")
    return Expected(
        str(told["path"]), tuple(map(str, days)), told.get("payload"), str(told.get("status") or "completed"), results,
        {step: int(str(count)) for step, count in steps.items()}, str(told.get("skip") or ""),
        tuple(map(str, before)), not told.keys().isdisjoint(("status", "results", "steps")),
    )  # fmt: skip


def misses(expected: Expected, outcome: Outcome) -> Iterator[str]:
    """In what an outcome is not as expected, as sentences."""
    if outcome.status != expected.status:
        yield f"{outcome.status} {outcome.code} {outcome.step}, not {expected.status}".replace("  ", " ")
    for step, count in expected.steps.items():
        if outcome.done.get(step, 0) != count:
            yield f"{step} ran {outcome.done.get(step, 0)} times, not {count}"
    for place, wanted in expected.results.items():
        if (found := _at({**outcome.results, "tables": dict(outcome.tables)}, place)) != wanted and wanted != "*":
            yield f"{place} is {found!r}, not {wanted!r}"[:300]


def _at(results: Mapping[str, Json], place: str) -> Json:
    value: Json = dict(results)
    for key in place.split("."):
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.lstrip("-").isdigit() and -len(value) <= int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value
