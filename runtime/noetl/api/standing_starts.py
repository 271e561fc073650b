"""Starts that a server makes by itself, for schedules and triggers: whole, or refused for now."""

from concurrent.futures import TimeoutError as NotInTime

from noetl.api.problems import Faulty, Rejected, Unknown
from noetl.api.service import ApiService, Start, StartedExecution
from noetl.ports import Busy
from noetl.ports.namespaces import QuotaExceeded
from noetl.server.schedules.starter import StartRefused
from noetl.server.workers.preflight import WITHIN

BEGINS_WITHIN = 60.0
"""Seconds that the driving thread has to begin a start."""


def begin_standing(service: ApiService, asked: Start) -> StartedExecution:
    """The execution of a start, which is on disk then; that of an earlier one with its key. Raises StartRefused."""
    try:
        prepared = service.prepare(asked)
        try:
            if lacking := prepared.lacking.result(WITHIN):
                raise StartRefused("; ".join(lacking))
        except NotInTime:
            pass  # who has not answered by then may still have the secrets
        return prepared.begin().result(BEGINS_WITHIN)
    except QuotaExceeded as problem:
        raise StartRefused(str(problem), problem) from None
    except (Unknown, Rejected, Faulty, Busy, NotInTime) as problem:
        raise StartRefused(str(problem) or "the server is busy") from None
