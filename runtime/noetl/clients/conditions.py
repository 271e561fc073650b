"""Which executions are wanted, as SQL for the stores that speak it: short forms and queries are one condition."""

from collections.abc import Callable
from typing import Any

from noetl.ports import Wanted
from noetl.ports.queries import (
    DURATION,
    LABEL,
    SEARCH,
    TIMES,
    Condition,
    Junction,
    Negation,
    QueryTerm,
    all_of,
    literal_of,
    number_of,
    pattern_for,
    tokens_of,
)
from noetl_ir.records import NamedTuple


class SqlDialect(NamedTuple):
    """The differences between stores.

    - `small_path`: the path in small ASCII letters.
    - `glob`: compares a column and a mark with a pattern, whose form `globbed` gives.
    - `written`: the stored form of a text; `collated` stands behind a column that is compared with one elsewhere.
    """

    small_path: str
    glob: str
    globbed: Callable[[str], str]
    written: Callable[[str], str]
    collated: str = ""


class SqlSelection(NamedTuple):
    """A condition behind WHERE, and its parameters, written `:name`."""

    where: str
    values: dict[str, Any]


def condition_of(wanted: Wanted) -> Condition | None:
    """The condition that short forms and query come to, without `before` and `limit`."""
    parts = list[Condition]()
    for field in ("status", "parent", "rerun_of"):
        if value := getattr(wanted, field):
            parts.append(QueryTerm(field, "=", pattern_for(value)))
    parts += [QueryTerm("is", "=", flag) for flag in ("open", "top") if getattr(wanted, flag)]
    if wanted.text:
        parts.append(QueryTerm("text", "=", wanted.text))
    if wanted.started_before:
        parts.append(QueryTerm("started", "<", wanted.started_before, "time"))
    if wanted.query is not None:
        parts.append(wanted.query)
    return all_of(parts)


def asks_open(condition: Condition | None) -> bool:
    """Whether whatever fits a condition is not over, as far as that is plain."""
    if isinstance(condition, Junction):
        return not condition.any_of and any(map(asks_open, condition.parts))
    return isinstance(condition, QueryTerm) and (condition.field, condition.value) == ("is", "open")


def selection_of(wanted: Wanted, dialect: SqlDialect) -> SqlSelection:
    """Which executions are wanted, in some dialect.

    Only what is asked stands in it: the rest would hide from the planner that few of many executions are open.
    """
    writer, condition = _Writer(dialect), condition_of(wanted)
    parts = ["true"] if condition is None else [writer.written(condition)]
    if wanted.before:
        mark = writer.mark(dialect.written(wanted.before))
        parts.append(f"(started, number) < (SELECT started, number FROM executions WHERE execution_id = {mark})")
    return SqlSelection(" AND ".join(parts), writer.values)


def small(text: str) -> str:
    """A text with its ASCII letters small: those that SQLite's `lower` knows, so that all stores find the same."""
    return "".join(c.lower() if c.isascii() else c for c in text)


def like_pattern(pattern: str) -> str:
    """A pattern as LIKE has it, with the escape `!`."""
    return "".join(
        {"*": "%", "?": "_"}[token] if len(token) == 1 else f"!{token[1]}" if token[1] in "!%_" else token[1]
        for token in tokens_of(pattern)
    )


_COLUMNS = {"status": "status", "error": "error", "playbook": "playbook", "id": "execution_id",
            "parent": "parent_execution_id", "rerun_of": "rerun_of"}  # fmt: skip
_FLAGS = {
    "open": "ended IS NULL",
    "over": "ended IS NOT NULL",
    "top": "parent_execution_id IS NULL",
    "child": "parent_execution_id IS NOT NULL",
    "rerun": "rerun_of IS NOT NULL",
}
_VERSION = (
    "EXISTS (SELECT 1 FROM catalogue WHERE catalogue.path = executions.playbook{collated}"
    " AND catalogue.digest = executions.plan_digest{collated} AND catalogue.version {comparison} {mark})"
)


class _Writer:
    """Writes conditions, and gathers their parameters."""

    def __init__(self, dialect: SqlDialect) -> None:
        self._dialect = dialect
        self.values: dict[str, Any] = {}

    def mark(self, value: str | float) -> str:
        """The mark of a parameter."""
        name = f"p{len(self.values)}"
        self.values[name] = value
        return f":{name}"

    def written(self, condition: Condition) -> str:
        match condition:
            case Negation(inner=inner):
                # What is not known (the end of what is not over) does not fit, and so it fits the opposite.
                return f"NOT coalesce({self.written(inner)}, false)"
            case Junction(parts=parts, any_of=any_of):
                return "(" + (" OR " if any_of else " AND ").join([self.written(part) for part in parts]) + ")"
        return self._term(condition)

    def _term(self, term: QueryTerm) -> str:
        field, value = term.field, term.value
        if field in _COLUMNS:
            return self._fits(_COLUMNS[field], str(value))
        if field in TIMES:
            return f"{field} {term.comparison} {self.mark(value)}"
        if field == DURATION:
            return f"ended - started {term.comparison} {self.mark(value)}"
        if field == "version":
            return _VERSION.format(comparison=term.comparison, mark=self.mark(value), collated=self._dialect.collated)
        if field == "is":
            return _FLAGS[str(value)]
        if field == "text":
            return self._text(str(value))
        assert field.startswith((LABEL, SEARCH)), field
        name, is_fit = self.mark(self._dialect.written(field)), self._attribute(term)
        return f"executions.number IN (SELECT execution FROM attributes WHERE name = {name} AND ({is_fit}))"

    def _attribute(self, term: QueryTerm) -> str:
        if term.comparison != "=":
            return f"kind = '{term.kind}' AND value {term.comparison} {self.mark(term.value)}"
        pattern = str(term.value)
        is_fit = self._fits("text", pattern)
        number = number_of(pattern)
        return is_fit if number is None else f"{is_fit} OR kind = 'number' AND value = {self.mark(number)}"

    def _fits(self, column: str, pattern: str) -> str:
        if pattern == "*":
            return f"{column} IS NOT NULL"
        if (literal := literal_of(pattern)) is not None:
            return f"{column} = {self.mark(self._dialect.written(literal))}"
        return self._dialect.glob.format(column, self.mark(self._dialect.globbed(pattern)))

    def _text(self, text: str) -> str:
        known = like_pattern(pattern_for(small(self._dialect.written(text))))
        in_path = f"{self._dialect.small_path} LIKE {self.mark(f'%{known}%')} ESCAPE '!'"
        return f"({in_path} OR lower(execution_id) LIKE {self.mark(f'{known}%')} ESCAPE '!')"


def counted_by(group: str, where: str) -> str:
    """The query of how many executions have which value of a group; the name of an attribute is `:group`."""
    if group in _COLUMNS:
        return f"SELECT {_COLUMNS[group]}, count(*) FROM executions WHERE {where} GROUP BY 1"
    return (
        "SELECT counted.text, count(*) FROM executions LEFT JOIN attributes AS counted"
        f" ON counted.execution = executions.number AND counted.name = :group WHERE {where} GROUP BY 1"
    )


def by_count(rows: list[tuple[str | None, int]]) -> tuple[tuple[str | None, int], ...]:
    """The value that most executions have first; of equals the first by its letters, and what has none last."""
    return tuple(sorted(rows, key=lambda row: (-row[1], row[0] is None, row[0] or "")))
