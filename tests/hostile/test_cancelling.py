"""A tool that is told twice to stop has stopped when it says so, and nothing is left to fail behind its back."""

import asyncio
import gc
from pathlib import Path

import pytest

from noetl.tools import duckdb, sqlite
from tool_doubles import FakeEnv, call_of

ENDLESS = {
    "sqlite": "with recursive a(x) as (select 1 union all select x + 1 from a) select count(*) from a",
    "duckdb": "with recursive a(x) as (select 1 union all select x + 1 from a where x > 0) select count(*) from a",
}
RUN = {"sqlite": sqlite.run, "duckdb": duckdb.run}


@pytest.mark.parametrize("kind", RUN)
def test_a_second_cancellation_does_not_leave_the_thread_behind(kind: str, tmp_path: Path) -> None:
    told: list[dict[str, object]] = []

    async def cancelled_twice() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        task = asyncio.ensure_future(RUN[kind](call_of(kind, {"query": ENDLESS[kind]}), FakeEnv(tmp_path)))
        await asyncio.sleep(0.3)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled_twice())
    gc.collect()
    assert told == []
