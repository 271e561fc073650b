"""The attributes that stores find an execution by: labels and search attributes, as far as these have their types."""

from noetl.engine.execution import Execution
from noetl.engine.found_by import labels_now, search_values
from noetl.engine.program import Program
from noetl.ports.queries import LABEL, SEARCH, ExecutionAttribute, span_of_time
from noetl_ir.correlation import is_storable
from noetl_ir.events import iso_of
from noetl_ir.expr import Json
from noetl_ir.plan import LONGEST_LABEL

_SECRET = "[[secret:"
"""How the marker of a secret begins."""

_EXACT = 1 << 53
"""Beyond that a number of a column is not the number any more."""


def attributes_of(program: Program, execution: Execution) -> tuple[ExecutionAttribute, ...]:
    """The attributes of an execution, by name. A value that has not its type, is too long or has a secret is left
    out: nobody is to find an execution by what it has not.
    """
    found = [ExecutionAttribute(LABEL + name, "string", text) for name, text in labels_now(program, execution).items()]
    if program.plan.search:
        types = {row.name: row.type for row in program.plan.search}
        values = search_values(program, execution)
        found += [one for name, value in values.items() if (one := _attribute(name, types[name], value)) is not None]
    return tuple(sorted([one for one in found if _is_kept(one.text)]))


def _attribute(name: str, kind: str, value: Json) -> ExecutionAttribute | None:
    name = SEARCH + name
    if kind == "bool":
        return ExecutionAttribute(name, kind, str(value).lower(), float(value)) if isinstance(value, bool) else None
    if kind == "number":
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        # Infinities and NaN fail the comparison.
        if not is_number or not -_EXACT <= value <= _EXACT:  # type: ignore[operator]
            return None
        number = float(value)  # type: ignore[arg-type]
        return ExecutionAttribute(name, kind, str(int(number) if number.is_integer() else number), number)
    if kind == "time":
        span = span_of_time(value) if isinstance(value, str) else None
        return None if span is None else ExecutionAttribute(name, kind, iso_of(span[0]), float(span[0]))
    if isinstance(value, bool):
        value = str(value).lower()
    elif isinstance(value, int | float):
        value = str(value)  # a number is text too, as in names
    return ExecutionAttribute(name, "string", value) if isinstance(value, str) else None


def _is_kept(text: str) -> bool:
    return len(text) <= LONGEST_LABEL and _SECRET not in text and "\0" not in text and is_storable(text)
