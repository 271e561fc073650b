"""Values of a payload that are of another type than those of `workload` in whose place they come.

`n: 3` and `--set n=three`: where the run compares or counts, it does something else, and completes. What inputs
declare is checked and refused; without them the values as written say what is meant, and another type is a warning.
A value that is null or a template says nothing.
"""

from collections.abc import Iterator, Mapping

from noetl.engine.program import Program
from noetl_ir.evaluate.access import kind_of
from noetl_ir.expr import Json, Literal, MapTemplate, Template, entries_of

_MOST = 20
"""How many values are told one by one."""
_LONGEST = 200
"""Characters of a path that are told."""


def retyped(program: Program, payload: Mapping[str, Json]) -> tuple[str, ...]:
    """A sentence for each such value of a payload; none where inputs are declared."""
    plan = program.plan
    if plan.inputs is not None or plan.workload < 0 or not payload:
        return ()
    found = list(_changed(plan.templates[plan.workload], payload))
    told = [
        f"`{path[:_LONGEST]}` is {kind_of(value)}, and {kind_of(written)} in `workload`{_instead(path, written, value)}"
        for path, written, value in found[:_MOST]
    ]
    return (*told, *((f"so are {len(found) - _MOST} other values of the payload",) if len(found) > _MOST else ()))


def _changed(template: Template, payload: Mapping[str, Json]) -> Iterator[tuple[str, Json, Json]]:
    """The paths whose type differs, with the value that is written and the one that is given."""
    # Iterative: a payload may nest as deeply as its reader allows.
    waiting: list[tuple[str, Template, Json]] = [("", template, dict(payload))]
    while waiting:
        path, here, value = waiting.pop()
        if isinstance(value, dict) and (inner := entries_of(here)) is not None:
            waiting += [
                (f"{path}.{key}" if path else key, inner[key], part) for key, part in value.items() if key in inner
            ][::-1]
        elif isinstance(here, Literal):
            if _differ(here.value, value):
                yield path, here.value, value
        elif isinstance(here, MapTemplate) and value is not None:
            yield path, {}, value


def _differ(written: Json, value: Json) -> bool:
    return written is not None and value is not None and kind_of(written) != kind_of(value)


def _instead(path: str, written: Json, value: Json) -> str:
    """The way to bring a text that looks like something else; there is no other to guess."""
    if not isinstance(written, str) or isinstance(value, list | dict):
        return ""
    shown = "true" if value is True else "false" if value is False else str(value)
    return f": for the text write `--set '{path[:_LONGEST]}=\"{shown[:_LONGEST]}\"'`, or quotes in the payload"
