"""The rights of servers and workers on a bus, as NATS takes it: users with rights by subject.

A worker of a pool takes the orders of its pool and nobody else's, reports, and says that it is there; it makes, changes
and deletes nothing. Servers need more, and get nothing outside of the bus but the streams that they make.
"""

import re
from collections.abc import Iterator, Sequence

from noetl.bus.nats.names import PREFIX, token_of
from noetl.bus.nats.queues import CONSUMER, stream_of
from noetl.bus.nats.subjects import BusSubjects
from noetl.ports.bus import STOPS, address_of, lane_of
from noetl_ir.records import NamedTuple

_API = "$JS.API"


class User(NamedTuple):
    """A user of NATS: its name, the variable that NATS takes its password from, and its subjects."""

    name: str
    variable: str
    publish: tuple[str, ...]
    subscribe: tuple[str, ...]


def server(prefix: str, pools: Sequence[str] = ()) -> User:
    """The rights of the servers of a bus; of these queues of pools, and lanes, they may take orders back."""
    spoken = BusSubjects(prefix, None)
    streams = ("STREAM.CREATE.*", "STREAM.UPDATE.*", "STREAM.INFO.*", "STREAM.MSG.GET.*")
    consumers = (f"CONSUMER.DURABLE.CREATE.*.{CONSUMER}", f"CONSUMER.CREATE.*.{CONSUMER}")
    queues = (f"STREAM.PURGE.{stream_of(prefix, pool)}" for pool in pools)
    sessions = (f"$KV.{spoken.sessions}.>", f"{_API}.DIRECT.GET.KV_{spoken.sessions}.>")
    publish = (f"{prefix}.>", *(f"{_API}.{word}" for word in (*streams, *consumers, *queues)), *sessions)
    return User(
        f"{prefix}-server", "NOETL_NATS_SERVER", publish,
        (f"{spoken.inbox}.>", spoken.reports_to("*"), spoken.any_server, spoken.all_servers, spoken.heard),
    )  # fmt: skip


def worker(prefix: str, pool: str, namespaces: Sequence[str] = ()) -> User:
    """The rights of the workers of a pool, in which these namespaces have lanes."""
    spoken, name = BusSubjects(prefix, pool), token_of(pool)
    streams = [stream_of(prefix, queue) for queue in _queues(pool, namespaces)]
    publish = (
        spoken.any_server, spoken.all_servers, spoken.reports_to("*"), spoken.broadcasts, spoken.dead_letters,
        *(subject for stream in streams for subject in _of_queue(stream)),
    )  # fmt: skip
    mine = spoken.address(address_of(pool, "*")).rpartition(".")[0]
    subscribe = (f"{spoken.inbox}.>", spoken.heard, spoken.address(STOPS), f"{mine}.*")
    variable = re.sub(r"\W", "_", name).upper()
    return User(f"{prefix}-worker-{name}", f"NOETL_NATS_WORKER_{variable}", publish, subscribe)


def _queues(pool: str, namespaces: Sequence[str]) -> list[str]:
    return [pool, *(lane_of(pool, namespace) for namespace in namespaces)]


def _of_queue(stream: str) -> tuple[str, ...]:
    """The subjects by which a queue is taken from."""
    return (
        f"{_API}.CONSUMER.INFO.{stream}.{CONSUMER}", f"{_API}.CONSUMER.MSG.NEXT.{stream}.{CONSUMER}",
        # With the domain and the account in front where NATS has them in (JetStream's second form of acknowledgements).
        f"$JS.ACK.{stream}.{CONSUMER}.>", f"$JS.ACK.*.*.{stream}.{CONSUMER}.>",
    )  # fmt: skip


def permissions_text(pools: Sequence[str], prefix: str = PREFIX, namespaces: Sequence[str] = ()) -> str:
    """The part of a configuration of NATS with these users; their passwords come from its environment. `namespaces` may
    have limits of their own in these pools.
    """
    users = [server(prefix, [queue for pool in pools for queue in _queues(pool, namespaces)])]
    for pool in pools:
        user = worker(prefix, pool, namespaces)
        if any(other.variable == user.variable for other in users):  # `a-b` beside `a_b`
            user = user._replace(variable=f"{user.variable}_{len(users)}")
        users.append(user)
    return "\n".join(
        [
            "# Who may say and hear what on a bus. NATS takes the passwords from its environment.",
            "authorization {",
            "  users = [",
            *(line for user in users for line in _lines(user)),
            "  ]",
            "}",
            "",
        ]
    )


def _lines(user: User) -> Iterator[str]:
    yield f'    {{ user: "{user.name}", password: ${user.variable}'
    yield "      permissions {"
    for word, subjects in (("publish", user.publish), ("subscribe", user.subscribe)):
        yield f"        {word} = ["
        yield from (f'          "{subject}"' for subject in subjects)
        yield "        ]"
    yield "      }"
    yield "    }"
