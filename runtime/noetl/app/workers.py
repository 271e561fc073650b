"""The workers of a server as they say of themselves, and why none of them begins what waits."""

from collections.abc import Mapping, Sequence

from noetl.server.workers.tracker import DEFAULT_POOL
from noetl_ir.expr import Json
from noetl_ir.orders import WorkerHeartbeat

EVERY_POOL = "*"
"""The pool of the worker in a server's own process, which takes from all."""


def worker_document(heartbeat: WorkerHeartbeat, ago: int) -> dict[str, Json]:
    """A worker as the API shows it, heard of so many microseconds ago."""
    return {
        "name": heartbeat.worker,
        "pool": heartbeat.pool,
        "slots": heartbeat.slots,
        "busy": heartbeat.busy,
        "state": heartbeat.state,
        "reason": heartbeat.trouble,
        "heard": ago / 1_000_000,
    }


def pool_documents(workers: Sequence[WorkerHeartbeat], limits: Mapping[str, int]) -> list[dict[str, Json]]:
    """The pools that have workers or a limit, and the one by default, by name: who takes from each, how many slots they
    have, how many of these are at work, how many of the pool may run at once (null for any), and what is in the way.
    """
    names = {DEFAULT_POOL, *limits, *(each.pool for each in workers)} - {EVERY_POOL}
    found: list[dict[str, Json]] = []
    for name in sorted(names):
        own = [each for each in workers if each.pool in (name, EVERY_POOL)]
        found.append(
            {
                "name": name,
                "workers": [*sorted(each.worker for each in own)],
                "slots": sum(each.slots for each in own),
                "busy": sum(each.busy for each in own),
                "limit": limits.get(name),
                "hindrance": hindrance(name, workers, {}),  # that its limit is reached shows where something waits
            }
        )
    return found


def hindrance(pool: str, workers: Sequence[WorkerHeartbeat], limits: Mapping[str, int]) -> str:
    """Why no worker begins anything of a pool now; empty where one may. An empty pool is the one by default."""
    name = pool or DEFAULT_POOL
    staying = [each for each in workers if each.pool in (name, EVERY_POOL)]
    if not staying:
        return f"no worker of pool `{name}` is there"
    staying = [each for each in staying if not each.draining]
    if not staying:
        return f"all workers of pool `{name}` are leaving"
    able = [each for each in staying if not each.trouble]
    if not able:
        return f"no worker of pool `{name}` can begin it; {staying[0].worker}: {staying[0].trouble}"
    if all(each.busy >= each.slots for each in able):
        return f"all slots of pool `{name}` are taken"
    return f"at most {limits[name]} of pool `{name}` run at once" if name in limits else ""
