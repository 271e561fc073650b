"""Operations that may take minutes, such as compiling a playbook or folding a long log. Only a few run at once, so that
threads are left for all others.
"""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from starlette.concurrency import run_in_threadpool

from noetl.ports import Busy

AT_ONCE = 4
"""How many of them run at once, of the 40 threads that answer."""
WAITING = 100
"""How many more of them may wait."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Lasting:
    """Runs what lasts in threads, at most `at_once`; `waiting` more take their turn. For one event loop."""

    def __init__(self, at_once: int = AT_ONCE, waiting: int = WAITING) -> None:
        self._turns = asyncio.Semaphore(at_once)
        self._most = at_once + waiting
        self._here = 0

    async def run(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """The value of a function, when it has its turn. Raises Busy where too many wait; raises what it raises."""
        # Starlette has 40 threads for everything. Without a limit, forty large playbooks would keep `/healthz` from
        # being answered.
        if self._here >= self._most:
            raise Busy(f"{self._most} playbooks and logs are being read on this server; try again in a while")
        self._here += 1
        try:
            async with self._turns:
                return await run_in_threadpool(function, *args, **kwargs)
        finally:
            self._here -= 1
