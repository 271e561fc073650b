"""python: program text of a playbook, run in a warm subprocess (LANGUAGE §7).

`run` is the tool, `warm` starts subprocesses ahead of their use and `close` ends those that are idle.
This module imports nothing heavy: the subprocess passes through it on its way to `child`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from noetl.ports import Env, ToolCall
    from noetl_ir.outcome import Outcome


async def run(call: "ToolCall", env: "Env") -> "Outcome":
    """Run the task's code; see `noetl.tools.python.tool`."""
    from noetl.tools.python.tool import run_code

    return await run_code(call, env)


def warm(count: int) -> None:
    """Have at least `count` subprocesses ready."""
    from noetl.tools.python.pool import POOL

    POOL.warm(count)


def close() -> None:
    """End the subprocesses that wait for work; those that run end with their task."""
    from noetl.tools.python.pool import close

    close()
