"""Paths into the results of SQL: older engines had them under `data`.

shorten_sql_paths: the `data` between an old word for the result and a key of a SQL result goes (REAL.md, values).

    tool: {kind: postgres, …}, vars: {n: "{{ result.data.command_0.rows[0].n }}"}
        →  vars: {n: "{{ result.command_0.rows[0].n }}"}

By the name of a step or task `s.data` is the whole already, where there is no such key; old words in rules are paths
into the outcome, which say no more than is written.
"""

import re
from typing import TypeVar, cast

from noetl_ir.expr import Attribute, Expr, Item
from noetl_ir.span import Span
from noetlc.ast.bodies import HasBodies, Tasks, map_lists, with_lists
from noetlc.ast.playbook import Guard, Playbook, Step
from noetlc.ast.sugar import Sugar
from noetlc.diag.change import Change, Note
from noetlc.expr.rewrite import Replace, rewritten
from noetlc.expr.shorthand import static_path
from noetlc.expr.templates import Held, guard_with, map_held, value_with
from noetlc.older.legacy_names import declared_in, declared_names


class SqlData(Sugar):
    """Some text of the file may read a SQL result under `data`."""

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
        ("event", "result"),
    }
)
"""What stands for the result of the tool."""

BY = "shorten_sql_paths"


def shorten_sql_paths(playbook: Playbook, note: Note) -> Playbook:
    """The playbook that reads keys of SQL results where they are."""
    shared = declared_names(playbook)
    extras = tuple(extra for extra in playbook.extras if not isinstance(extra, SqlData))
    steps = tuple([_shortened(step, declared_in(step, shared), note) for step in playbook.steps])
    return playbook._replace(steps=steps, extras=extras)


Kept = TypeVar("Kept", bound=Held)


def _shortened(step: Step, known: frozenset[str], note: Note) -> Step:
    """The step of which all tools are SQL, shortened; another as it is."""
    if not {task.kind for task in step.tasks} <= SQL:
        return step
    kinds: set[str] = set()

    def look(tasks: Tasks) -> Tasks:
        kinds.update(task.kind for task in tasks if not task.generated)
        return tasks

    for extra in (*step.extras, *(extra for task in step.tasks for extra in task.extras)):
        if isinstance(extra, HasBodies):
            with_lists(extra, look)
    replace = _replacing(known, _KEYS if kinds <= SQL else frozenset())

    def each(held: Kept) -> Kept:
        made = guard_with(held, replace) if isinstance(held, Guard) else value_with(held, replace)
        if made is not held:
            note(Change(BY, held.span, "`data` of a SQL result", "safe", "the result itself: it has no such key"))
        return cast(Kept, made)

    def of_list(tasks: Tasks) -> Tasks:
        return tuple([map_held(task, each) for task in tasks])

    step = map_held(step, each)
    extras = tuple([with_lists(extra, of_list) if isinstance(extra, HasBodies) else extra for extra in step.extras])
    return step._replace(tasks=map_lists(step.tasks, of_list), extras=extras)


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
