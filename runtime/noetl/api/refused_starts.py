"""Starts that a quota of their namespace refuses: counted, and told to whoever asked."""

from collections.abc import Iterator
from contextlib import contextmanager

from noetl.api.problems import Rejected
from noetl.host.measures import Measures
from noetl.ports.namespaces import QuotaExceeded
from noetl.server.schedules.starter import StartRefused


@contextmanager
def refusals_counted(measures: Measures) -> Iterator[None]:
    """A start, whose refusal by a quota is counted."""
    try:
        yield
    except QuotaExceeded as problem:
        measures.count("noetl_refused_starts", problem.namespace, problem.quota)
        raise


def refusal_of(problem: StartRefused) -> Exception:
    """The exception by which the API says why a schedule starts nothing now."""
    return problem.quota or Rejected(str(problem))
