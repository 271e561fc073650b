"""Which executions of a store in memory fit a condition: the plainest statement of what queries mean."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from noetl.clients.conditions import by_count, small
from noetl.ports import ExecutionRow
from noetl.ports.queries import (
    DURATION,
    TIMES,
    Condition,
    ExecutionAttribute,
    Junction,
    Negation,
    QueryTerm,
    number_of,
    tokens_of,
)

PlanVersions = Callable[[ExecutionRow], Iterable[int]]
"""The versions of its path that the plan of an execution is."""

_FITS: dict[str, Callable[[float, float], bool]] = {
    "=": lambda one, other: one == other,
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
}


def is_found(
    condition: Condition | None, row: ExecutionRow, attributes: Mapping[str, ExecutionAttribute], versions: PlanVersions
) -> bool:
    """Whether an execution fits a condition."""
    match condition:
        case None:
            return True
        case Negation(inner=inner):
            return not is_found(inner, row, attributes, versions)
        case Junction(parts=parts, any_of=any_of):
            return (any if any_of else all)(is_found(part, row, attributes, versions) for part in parts)
        case QueryTerm(field="version", comparison=comparison, value=value):
            return any(_FITS[comparison](version, float(value)) for version in versions(row))
        case QueryTerm(field="is", value=value):
            return _is(row, str(value))
        case QueryTerm(field="text", value=value):
            text = small(str(value))
            return text in small(row.playbook) or small(row.execution_id).startswith(text)
        case QueryTerm(field=field) if field in (*TIMES, DURATION):
            return _is_at(condition, row)
        case QueryTerm(field=field, value=value) if "." in field:
            return _has(condition, attributes.get(field))
    names = {"id": "execution_id", "parent": "parent_execution_id"}
    return _fits(str(condition.value), getattr(row, names.get(condition.field, condition.field)))


def _is(row: ExecutionRow, flag: str) -> bool:
    return {
        "open": row.ended is None,
        "over": row.ended is not None,
        "top": row.parent_execution_id is None,
        "child": row.parent_execution_id is not None,
        "rerun": row.rerun_of is not None,
    }[flag]


def _is_at(term: QueryTerm, row: ExecutionRow) -> bool:
    at = row.started if term.field == "started" else row.ended
    if at is None:
        return False
    return _FITS[term.comparison](at - row.started if term.field == DURATION else at, float(term.value))


def _has(term: QueryTerm, attribute: ExecutionAttribute | None) -> bool:
    if attribute is None:
        return False
    if term.comparison != "=":
        return attribute.kind == term.kind and _FITS[term.comparison](attribute.number or 0.0, float(term.value))
    number = number_of(str(term.value))
    return _fits(str(term.value), attribute.text) or (
        number is not None and attribute.kind == "number" and attribute.number == number
    )


def _fits(pattern: str, text: str | None) -> bool:
    signs = {"*": ".*", "?": "."}
    form = "".join([signs[token] if len(token) == 1 else re.escape(token[1]) for token in tokens_of(pattern)])
    return text is not None and re.fullmatch(form, text, re.DOTALL) is not None


def tally_of(
    rows: Iterable[tuple[ExecutionRow, Mapping[str, ExecutionAttribute]]], group: str
) -> tuple[tuple[str | None, int], ...]:
    """`Store.tally` over rows."""

    def value(row: ExecutionRow, attributes: Mapping[str, ExecutionAttribute]) -> str | None:
        if "." not in group:
            text: str | None = getattr(row, group)
            return text
        return attributes[group].text if group in attributes else None

    return by_count([*Counter(value(*each) for each in rows).items()])
