"""duckdb: SQL on a DuckDB file inside the worker's root, or on a database in memory (LANGUAGE §7).

Error codes: those of `noetl.clients.duckdb_statements`, which says what SQL may reach, and `extra.missing`.
"""

from noetl.clients.duckdb_statements import DatabaseWork, outcome_of, work_of
from noetl.host.confined_files import inside
from noetl.ports import Env, ToolCall
from noetl_ir.kinds import misfits
from noetl_ir.kinds.duckdb import KIND
from noetl_ir.outcome import Outcome, error
from noetl_ir.registry import can_import


async def run(call: ToolCall, env: Env) -> Outcome:
    """Run the statements; the result is that of the last one."""
    if not can_import("duckdb"):
        return error("extra.missing", "the duckdb tool needs the extra: pip install 'noetlc[duckdb]'")
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))

    def work() -> DatabaseWork:
        database = call.fields.get("database")
        return work_of(call, env.root(), None if database in (None, ":memory:") else inside(env.root(), str(database)))

    return await outcome_of(work)
