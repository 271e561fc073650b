"""Where on a bus each kind of message is said, so that rights follow from who speaks (`permissions`).

Servers have `servers` as their part, workers `pool.POOL`. What somebody may say only to the one or as the other lies on
a subject with that part in it, which NATS guards where it is told to.
"""

from noetl.bus.nats.names import token_of

SERVERS = "servers"

_BATCHES = "batches-"
"""In front of the token of a server that reads batches: orders tell a worker the address, and so tell it that too."""


class BusSubjects:
    """The subjects of one who speaks on the bus of a prefix: a worker of a pool, or a server (None)."""

    def __init__(self, prefix: str, pool: str | None) -> None:
        self.prefix = prefix
        self.is_server = pool is None
        own = SERVERS if pool is None else _part(pool)
        self.inbox = f"{prefix}.in.{own}"
        """Under this answers come to it, and to nobody else."""
        self.broadcasts = f"{prefix}.broadcasts.{own}"
        """Where it broadcasts."""
        self.heard = f"{prefix}.broadcasts.>" if pool is None else f"{prefix}.broadcasts.{SERVERS}"
        """Whose broadcasts it hears: servers hear all, workers hear servers."""
        self.any_server = f"{prefix}.report.any"
        """Where a report goes whose server is not known: to one of them."""
        self.all_servers = f"{prefix}.report.all"
        """Where a server hands on what is for another one, and where a report goes whose server says nothing."""
        self.dead_letters = f"{prefix}.dead_letters"
        self.sessions = f"{prefix}_sessions"
        """The key-value bucket of the sessions of users, for servers."""

    def reports_to(self, server: str) -> str:
        """Where reports to one server go; `server` is a token that only it has."""
        return f"{self.prefix}.report.to.{server}"

    def batches_to(self, server: str) -> str:
        """`reports_to` of a server that reads batches."""
        return self.reports_to(f"{_BATCHES}{server}")

    def takes_batches(self, subject: str) -> bool:
        """Whether the server whose reports go there reads batches; of any or all of them nobody knows."""
        return subject.startswith(self.reports_to(_BATCHES))

    def address(self, address: str) -> str:
        """Where what is sent to an address goes: `@stops`, or that of one worker (`noetl.ports.address_of`)."""
        pool, _, worker = address[1:].partition("\0")
        return f"{self.prefix}.to.{token_of(pool)}.{token_of(worker)}" if worker else f"{self.prefix}.{token_of(pool)}"

    def may_be_answered(self, reply: str) -> bool:
        """Whether a subject to answer on is an inbox: a server would else speak on any subject, with its own rights."""
        return reply.startswith(f"{self.prefix}.in.")

    def may_say(self, subject: str, pool: str | None) -> bool:
        """Whether a broadcast may be said there: one of a worker of `pool`, or one that is for servers (None)."""
        said_as = subject[len(f"{self.prefix}.broadcasts.") :]
        return said_as == SERVERS or (pool is not None and said_as == _part(pool))


def _part(pool: str) -> str:
    return f"pool.{token_of(pool)}"
