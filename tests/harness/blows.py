"""Blows that a cluster has to bear: one of its processes, or a service that it needs, is killed and begun anew."""

from random import Random

from harness.clusters import Cluster, Process, killed
from services import nats, postgres

KILLS = ("server", "worker", "nats", "postgres")


def deal(blow: str, cluster: Cluster, servers: list[Process], workers: list[Process], chance: Random) -> None:
    """Kill a server, a worker, or a service, and begin another one."""
    match blow:
        case "server":
            killed(servers.pop(chance.randrange(len(servers))))
            servers.append(cluster.server())
        case "worker":
            killed(workers.pop(chance.randrange(len(workers))))
            workers.append(cluster.worker("--slots", "8"))
        case "nats":
            nats().kill()
            nats().start()
        case "postgres":
            postgres().kill()
            postgres().start()
        case _:
            raise ValueError(blow)
