"""Paths into the results of SQL: older engines had them under `data`.

shorten_sql_paths: the `data` between an old word for the result and a key of a SQL result goes (REAL.md, values), and a
number behind a statement is that of a row.

    tool: {kind: postgres, …}, vars: {n: "{{ result.data.command_0.rows[0].n }}"}
        →  vars: {n: "{{ result.command_0.rows[0].n }}"}

    n: "{{ ask.command_0[0].n }}"   →   n: "{{ ask.command_0.rows[0].n }}"

By the name of a step or task `s.data` is the whole already, where there is no such key; old words in rules are paths
into the outcome, which say no more than is written.
"""

import re
from collections.abc import Callable

from noetl_ir.expr import Attribute, Const, Expr, Item
from noetl_ir.paths import static_path
from noetl_ir.span import Span
from noetlc.ast.bodies import all_taken, all_tasks
from noetlc.ast.playbook import Playbook, Step
from noetlc.ast.sugar import Guess
from noetlc.diag.change import RecordChange
from noetlc.expr.rewrite import Replace, rewritten
from noetlc.expr.templates import Templated, map_all_templated, map_templated
from noetlc.older.legacy_names import declared_in, declared_names
from noetlc.older.recording import recording


class SqlData(Guess):
    """Some text of the file may read a SQL result under `data`, or rows behind a statement."""

    span: Span


SQL = frozenset({"postgres", "sqlite", "duckdb", "snowflake"})
_STATEMENT = re.compile(r"command_\d+(?:_rows)?")
_KEYS = frozenset({"rows", "row_count", "columns"})
_RESULTS = frozenset(
    {
        ("response",),
        ("result",),
        ("this", "result"),
        ("this", "data"),
        ("this", "response"),
        ("output", "result"),
        ("output", "data"),
        ("output", "response"),
        ("outcome", "result"),
        ("outcome", "response"),
        ("event", "result"),
    }
)
"""The name that stands for the result of the tool."""

BY = "shorten_sql_paths"


def shorten_sql_paths(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook that reads keys of SQL results where they are."""
    shared = declared_names(playbook)
    _, playbook = all_taken(playbook, SqlData)
    results = _of_results(frozenset(["workload", *(key for key, _ in playbook.workload)]))
    rows = recording(results, record, BY, "a row of a statement", "safe", "`.rows[N]` of its result")
    return playbook._replace(
        executor=map_templated(playbook.executor, rows),
        steps=tuple([_shortened(step, declared_in(step, shared), rows, record) for step in playbook.steps]),
    )


def _shortened(step: Step, known: frozenset[str], rows: Callable[[Templated], Templated], record: RecordChange) -> Step:
    """The step with rows of statements where they are, and if all its tools are SQL, shortened."""
    step = map_all_templated(step, rows)
    if not {task.kind for task in step.tasks} <= SQL:
        return step
    kinds = {task.kind for task in all_tasks(step.tasks, step.extras) if not task.generated}
    replace = _replacing(known, _KEYS if kinds <= SQL else frozenset())
    became = "the result itself: it has no such key"
    return map_all_templated(step, recording(replace, record, BY, "`data` of a SQL result", "safe", became))


def _of_results(own: frozenset[str]) -> Replace:
    """A row by its number: the first engines gave a statement's rows alone. What the author has written out under one
    of the names in `own` is read as it is; args and `ctx` are given results.
    """

    def rows(expr: Expr) -> Expr | None:
        match expr:
            case Item(
                of=Attribute(name=name) | Item(key=Const(value=str(name))) as statement, key=Const(value=int(number))
            ):
                if (static_path(statement) or ("",))[0] in own:
                    return None
                if _STATEMENT.fullmatch(name) and not name.endswith("_rows") and not isinstance(number, bool):
                    return Item(Attribute(rewritten(statement, rows), "rows"), expr.key)
        return None

    return rows


def _replacing(known: frozenset[str], keys: frozenset[str]) -> Replace:
    """Takes `data` away before `keys` and the results of statements."""

    def replace(expr: Expr) -> Expr | None:
        match expr:
            case Attribute(of=Attribute() | Item() as data, name=key) if _STATEMENT.fullmatch(key) or key in keys:
                here = static_path(data)
                if here and here[-1] == "data" and here[:-1] in _RESULTS and here[0] not in known:
                    return Attribute(rewritten(data.of, replace), key)
        return None

    return replace
