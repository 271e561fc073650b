"""Preflight: before a start, workers are asked whether they can resolve the secrets that the plan declares."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress

from noetl.ports import Busy
from noetl.ports.bus import Broadcasts, MessageTooLarge
from noetl_ir.orders import Check, Checked, WorkerHeartbeat
from noetl_ir.records import NamedTuple

WITHIN = 5.0
"""Seconds that a check is waited for; what is not known by then does not hold up a start."""

MOST_OPEN = 1_000
"""How many starts may wait for checks."""

MOST_CHECKED = 1_000
"""How many results of a check are kept. Anybody who can speak on the bus can send them, so there has to be a bound."""


class _OpenCheck(NamedTuple):
    pools: Sequence[str]
    checked: dict[str, Checked]
    lacking: "Future[tuple[str, ...]]"


class Preflight:
    """Asks workers by broadcast; `workers` gives the last heartbeat of each. `ask` may be called from any thread,
    `hear_checked` from one.
    """

    def __init__(self, broadcasts: Broadcasts, workers: Callable[[], Sequence[WorkerHeartbeat]]) -> None:
        self._broadcasts = broadcasts
        self._workers = workers
        self._open: dict[str, _OpenCheck] = {}

    def ask(self, check: Check) -> "Future[tuple[str, ...]]":
        """A future of the pools in which no worker has all secrets, a sentence each. Raises Busy.

        It is done as soon as one worker of each pool has all secrets, or all ready workers of one pool lack some. The
        caller cancels it when it has waited long enough. Where no worker is ready, or the check is too large for the
        bus, it is empty at once.
        """
        lacking: Future[tuple[str, ...]] = Future()
        if not any(self._ready(pool) for pool in check.pools):
            lacking.set_result(())
            return lacking
        if len(self._open) >= MOST_OPEN:
            raise Busy(f"{MOST_OPEN} starts wait already until it is known whether their secrets can be had")
        self._open[check.execution_id] = _OpenCheck(check.pools, {}, lacking)
        lacking.add_done_callback(lambda _: self._open.pop(check.execution_id))
        try:
            self._broadcasts.say(check)
        except MessageTooLarge:
            lacking.set_result(())
        return lacking

    def hear_checked(self, checked: Checked) -> None:
        """Take in the result of a check; it is dropped where nobody waits for it any more."""
        asked = self._open.get(checked.execution_id)
        if asked is None or len(asked.checked) >= MOST_CHECKED:
            return
        asked.checked[checked.worker] = checked
        lacks = tuple(filter(None, (self._lack(pool, asked.checked) for pool in asked.pools)))
        if lacks or all(_has_all(pool, asked.checked) or not self._ready(pool) for pool in asked.pools):
            with suppress(InvalidStateError):  # it was given up at this very moment
                asked.lacking.set_result(lacks)

    def _lack(self, pool: str, checked: Mapping[str, Checked]) -> str:
        """Why no worker of a pool can begin; empty where one can, or where some ready worker has not answered yet."""
        ready = self._ready(pool)
        if not ready or _has_all(pool, checked) or not all(worker in checked for worker in ready):
            return ""
        return f"no worker of pool `{pool}` has its secrets; {ready[0]}: {'; '.join(checked[ready[0]].problems)}"

    def _ready(self, pool: str) -> list[str]:
        return [each.worker for each in self._workers() if each.pool == pool and each.state == "ready"]


def _has_all(pool: str, checked: Mapping[str, Checked]) -> bool:
    return any(each.pool == pool and not each.problems for each in checked.values())
