"""The connection of a bus: a thread with an event loop of its own, so that nobody who uses the bus ever waits.

Other threads leave messages in the outbox and functions for the loop. While NATS is away the outbox keeps what it
has; what may be put in is bounded by those who do. The driver of NATS connects again by itself, ten times a second.
"""

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from nats.errors import MaxPayloadError
from nats.js import JetStreamContext

from noetl.bus import BusFailure
from noetl.bus.nats.fenced_loop import FencedLoop
from noetl.bus.nats.names import NatsAddress, host_of
from noetl.bus.nats.subjects import BusSubjects
from noetl.clients.egress import NotAllowed, address_of
from noetl.ports import Fence
from noetl_ir.records import NamedTuple

CONNECT_WITHIN = 10.0
"""Seconds in which the first connection must come about."""

AGAIN_EVERY = 0.1
"""Seconds between two attempts at a connection; the driver's own 2 s would be lost each time a server starts."""

MOST_REFUSALS = 20
"""Of subjects that are not allowed, so many are told."""

SLACK = 4096
"""Bytes of the largest message that headers may take."""

CALL_WITHIN = 5.0
_T = TypeVar("_T")


class Message(NamedTuple):
    """A message in the outbox."""

    subject: str
    data: bytes
    reply: str = ""
    headers: dict[str, str] | None = None


class NatsConnection:
    """A connection that lasts, of a worker of a pool, or of a server (None). `opened` holds what is called in the loop
    when it comes back; `say` hears what NATS does not allow. With a fence it connects to no address that this refuses.
    """

    def __init__(
        self,
        address: NatsAddress,
        pool: str | None = None,
        say: Callable[[str], None] = lambda _: None,
        fence: Fence | None = None,
    ) -> None:
        self.address = address
        self._say = say
        self._refused: set[str] = set()
        self.subjects = BusSubjects(address.prefix, pool)
        self.opened: list[Callable[[], None]] = []
        self._listeners: tuple[Callable[[], None], ...] = ()
        self._client = Client()
        self._outbox: deque[Message] = deque()
        self._fence = fence
        self._loop = asyncio.new_event_loop() if fence is None else FencedLoop(fence)
        self._filled = asyncio.Event()
        self._is_told = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False
        self._thread = threading.Thread(target=self._loop.run_forever, name="noetl-nats", daemon=True)
        self._thread.start()
        try:
            # Longer than the connection itself is given, so that its own reason is told and not that nobody waited.
            self.wait(self._connect(), CONNECT_WITHIN + 5)
        # Without an end, the thread and its loop would go on for a bus that nobody got.
        except BaseException:
            self._end()
            raise
        self.soon(lambda: self.spawn(self._publish()))

    @property
    def is_up(self) -> bool:
        """Whether NATS can be reached now."""
        return not self._closed and self._client.is_connected

    @property
    def largest(self) -> int:
        """The most bytes that a message may have."""
        return max(self._client.max_payload - SLACK, 0)

    @property
    def inbox(self) -> str:
        """Where others can answer this bus: a subject that has not been used before."""
        return str(self._client.new_inbox())

    @property
    def streams(self) -> JetStreamContext:
        """JetStream; for use in the loop."""
        return self._client.jetstream(timeout=CALL_WITHIN)

    def listen(self, callback: Callable[[], None]) -> None:
        """Call back on `wake`."""
        self._listeners += (callback,)

    def wake(self) -> None:
        """Tell whoever listens."""
        for callback in self._listeners:
            callback()

    def send(self, message: Message) -> None:
        """Have a message published; from any thread, in order."""
        # Appended before the loop is told: in the other order it may look, find nothing, and sleep on the message.
        self._outbox.append(message)
        if not self._is_told:  # whoever is told takes all that is there
            self._is_told = True
            self.soon(self._filled.set)

    def soon(self, function: Callable[..., object], *arguments: object) -> None:
        """Have something called in the loop; nothing happens once the connection is closed."""
        if not self._closed:
            self._loop.call_soon_threadsafe(function, *arguments)

    def later(self, seconds: float, function: Callable[..., object], *arguments: object) -> None:
        """Have something called in the loop after a time; only from there."""
        self._loop.call_later(seconds, function, *arguments)

    def spawn(self, work: Coroutine[Any, Any, object]) -> None:
        """Begin something in the loop; only from there."""
        task = self._loop.create_task(work)
        # asyncio keeps only weak references to tasks: one that nobody holds may be collected in the middle of its
        # work.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def wait(self, work: Coroutine[Any, Any, _T], seconds: float = CALL_WITHIN) -> _T:
        """The result of something in the loop; from other threads. Raises TimeoutError, also once it is closed."""
        if self._closed:
            # Python warns of a coroutine that nobody ever ran.
            work.close()
            raise TimeoutError("the bus is closed")
        # The time is kept in the loop: a wait that only gave up here would leave the work running.
        future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, seconds), self._loop)
        return future.result()

    async def ask(self, subject: str, body: bytes) -> bytes:
        """The answer to a request; in the loop. Raises TimeoutError, NatsError."""
        return bytes((await self._client.request(subject, body, timeout=CALL_WITHIN)).data)

    async def hear(self, subject: str, callback: Callable[[Msg], None], queue: str = "") -> Subscription:
        """Subscribe; returns once NATS knows, or is away: then it is told when it comes back."""

        async def heard(message: Msg) -> None:
            callback(message)

        subscription = await self._client.subscribe(subject, queue=queue, cb=heard)
        # A subscription is on its way when the call returns. The answer to a ping says that NATS has it, so that
        # nothing that is sent from now on is missed.
        with contextlib.suppress(TimeoutError, NatsError):
            await self._client.flush(timeout=1)
        return subscription

    def close(self) -> None:
        """Publish what is in the outbox if NATS is there, and hang up."""
        if not self._closed:
            with contextlib.suppress(TimeoutError, NatsError, OSError):
                self.wait(self._drained())
            self._end()

    async def _connect(self) -> None:
        options: dict[str, Any] = {"inbox_prefix": self.subjects.inbox}
        if self.address.credentials is not None:
            options["user_credentials"] = self.address.credentials
        await self._check_addresses()
        try:
            await asyncio.wait_for(
                self._client.connect(
                    list(self.address.servers), name="noetl", connect_timeout=2, reconnect_time_wait=AGAIN_EVERY,  # type: ignore[arg-type]
                    max_reconnect_attempts=-1, ping_interval=10, error_cb=self._erred, reconnected_cb=self._back,
                    **options,
                ),
                CONNECT_WITHIN,
            )  # fmt: skip
        except (TimeoutError, OSError, NatsError, ValueError) as problem:
            reason = self._client.last_error or problem
            raise BusFailure(f"{self.address.shown} cannot be reached: {reason or type(reason).__name__}") from None

    async def _check_addresses(self) -> None:
        """Raise BusFailure where the fence refuses a server; the driver would try it again and again."""
        if self._fence is None:
            return
        for server in self.address.servers:
            try:
                await address_of(*host_of(server), self._fence)
            except (NotAllowed, OSError, UnicodeError) as problem:
                raise BusFailure(f"{self.address.shown} cannot be reached: {problem}") from None

    async def _publish(self) -> None:
        while True:
            await self._filled.wait()
            self._filled.clear()
            # Cleared before the outbox is read: what is appended from here on tells the loop again, and is not left
            # lying.
            self._is_told = False
            while self._outbox and self._client.is_connected:
                message = self._outbox.popleft()
                try:
                    await self._client.publish(*message)
                except MaxPayloadError:
                    continue  # the server lowered its limit; what is sent again is refused then
                except NatsError:
                    # First again, as orders about one thing have to stay in order.
                    self._outbox.appendleft(message)
                    break

    async def _erred(self, problem: Exception) -> None:
        """Ignore errors of the connection: the driver reconnects, and lost messages are sent again. A missing right
        does not heal by itself, so it is told, once for each subject.
        """
        text = str(problem)
        if "violation" in text.lower() and text not in self._refused and len(self._refused) < MOST_REFUSALS:
            self._refused.add(text)
            self._say(f"{self.address.shown} refuses what this process needs ({text}): see `noetl bus permissions`")

    async def _back(self) -> None:
        for callback in self.opened:
            callback()
        self._filled.set()
        self.wake()

    async def _drained(self) -> None:
        while self._outbox and self._client.is_connected:
            await asyncio.sleep(0)
        await self._client.flush(timeout=1)

    def _end(self) -> None:
        self._closed = True

        async def ended() -> None:
            # AssertionError: the client has not begun to connect.
            with contextlib.suppress(TimeoutError, NatsError, OSError, AssertionError):
                await asyncio.wait_for(self._client.close(), 2)
            # The driver has tasks of its own. A loop that is closed over them prints an error for each.
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(ended(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def status_of(message: Msg) -> str:
    """The status that NATS itself gives in a message without a body, `503` for one that nobody hears; else empty."""
    return (message.headers or {}).get("Status", "") if message.headers and not message.data else ""
