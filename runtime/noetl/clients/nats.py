"""A connection to NATS as fields and credentials describe it, for a task or a look-up: made once, never made again."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

from noetl.clients.egress import address_of
from noetl.ports import Fence
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    from nats.aio.client import Client

_Result = TypeVar("_Result")

SECONDS = 30.0
PORT = 4222
EXTRA = "needs the extra: pip install 'noetlc[nats]'"

_LOGIN = {
    "user": ("nats_user", "user", "username"),
    "password": ("nats_password", "password"),
    "token": ("nats_token", "token"),
    "creds": ("nats_creds", "creds"),
}
"""What a login has → the fields of a credential that may hold it, the first that is there."""


AGAIN = 0.2
"""Seconds after which what goes on although it was cancelled is cancelled again."""


class NatsUnreachable(Exception):
    """There is no connection; the text says to where and why, without secrets."""


INBOX = "_INBOX"
"""Under which answers come to a client of NATS that says nothing else."""


class NatsLogin(NamedTuple):
    """A server, without its secrets, and what to log in with."""

    scheme: str
    host: str
    port: int
    login: dict[str, str]


def is_there() -> bool:
    """Whether the driver is installed."""
    try:
        import nats  # noqa: F401
    except ImportError:
        return False
    return True


def target_of(url: Json, credential: Mapping[str, Json]) -> NatsLogin:
    """The server of an address, else of a credential, and the login. Raises ValueError, which says what is wrong."""
    for name in ("nats_url", "url", "value"):
        url = credential.get(name) if url is None else url
    if url is None:
        raise ValueError("nothing says which server: give url, or auth with nats_url")
    text = str(url)
    try:
        parts = urlsplit(text if "://" in text else f"nats://{text}")
        host, port = parts.hostname, parts.port or PORT
    except ValueError:
        host, port = None, 0
    if host is None or parts.scheme not in ("nats", "tls"):
        raise ValueError("a server is written nats://HOST:PORT or tls://HOST:PORT")
    login = {name: unquote(value) for name, value in (("user", parts.username), ("password", parts.password)) if value}
    for name, keys in _LOGIN.items():
        if (value := next((credential[key] for key in keys if credential.get(key) is not None), None)) is not None:
            login[name] = str(value)
    return NatsLogin(parts.scheme, host, port, login)


@asynccontextmanager
async def connected(target: NatsLogin, fence: Fence | None) -> "AsyncIterator[Client]":
    """A connection, closed on leaving. Raises NotAllowed, Unreachable."""
    client = await open_client(target, fence)
    try:
        yield client
    finally:
        await _close(client)


async def open_client(target: NatsLogin, fence: Fence | None, inbox: str = INBOX) -> "Client":
    """A connection, which its caller closes; answers come under `inbox`. Raises NotAllowed, Unreachable."""
    from nats.aio.client import Client

    try:
        # Connected to by the address that was checked: the name could lead elsewhere at the next look-up (DNS
        # rebinding).
        host = target.host if fence is None else await address_of(target.host, target.port, fence)
    except (OSError, UnicodeError) as problem:
        raise _unreachable(target, problem) from None
    client = Client()
    try:
        failure = await _connect(client, host, target, inbox)
    except BaseException:
        await _close(client)
        raise
    if failure is not None:
        await _close(client)
        raise _unreachable(target, failure)
    return client


async def _close(client: "Client") -> None:
    from nats.errors import Error

    with suppress(Error, OSError, AssertionError):  # the last when it was cancelled before it began to connect
        # Shielded, as the task that owns it may be cancelled at this moment, and the socket would stay open.
        await asyncio.shield(asyncio.ensure_future(client.close()))


async def cancellable(work: Coroutine[Any, Any, _Result]) -> _Result:
    """The result of some work with the driver, which is cancelled when the caller is; returns when it is over.

    The driver waits for each reply by `asyncio.wait_for`, which before Python 3.12 forgets a cancellation that comes
    in the same turn as the reply (CPython gh-86296); the work would go on, without any limit of time.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        while not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError):  # who ends the worker cancels all once more
                await asyncio.wait([task], timeout=AGAIN)
        if not task.cancelled():
            task.exception()  # else it is said that nobody asked for it
        raise
    return task.result()


async def kept_values(target: NatsLogin, fence: Fence | None, bucket: str, keys: Sequence[str]) -> dict[str, bytes]:
    """The values of some keys of a key-value bucket. Raises NotAllowed, Unreachable, ValueError."""
    from nats.errors import Error

    async with connected(target, fence) as client:
        try:
            store = await client.jetstream(timeout=SECONDS).key_value(bucket)
            return {key: (await store.get(key)).value or b"" for key in keys}
        except Error as problem:
            raise ValueError(f"the bucket {bucket} does not give the value: {type(problem).__name__}") from None


async def _connect(client: "Client", host: str, target: NatsLogin, inbox: str) -> Exception | None:
    """Connect once to a host or address; what went wrong, if anything did."""
    from nats.aio.client import RawCredentials
    from nats.errors import Error

    login = dict(target.login)
    creds = login.pop("creds", None)
    connecting = True

    async def erred(problem: Exception) -> None:
        """While connecting, the first problem ends it; later ones are raised where they are waited for."""
        # The driver would go on trying by itself; a task wants to know at once.
        if connecting:
            raise problem

    try:
        place = f"[{host}]" if ":" in host else host
        await client.connect(
            f"{target.scheme}://{place}:{target.port}", name="noetl", allow_reconnect=False, error_cb=erred,
            connect_timeout=SECONDS, inbox_prefix=inbox,  # type: ignore[arg-type]
            tls_hostname=target.host if target.scheme == "tls" else None,
            user=login.get("user"), password=login.get("password"), token=login.get("token"),
            user_credentials=None if creds is None else RawCredentials(creds),
        )  # fmt: skip
    except (Error, OSError, ValueError, ImportError) as problem:
        return client.last_error or problem
    finally:
        connecting = False
    return None


def _unreachable(target: NatsLogin, problem: Exception) -> NatsUnreachable:
    reason = str(problem) or type(problem).__name__
    return NatsUnreachable(f"no connection to {target.host}:{target.port}: {reason}")
