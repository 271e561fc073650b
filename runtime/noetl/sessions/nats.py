"""Sessions in a NATS key-value bucket, for any number of servers (case-dialect §6).

`session.<hash of the token>` holds the value, `user.<hash of the user>.<hash of the token>` is the index. Both have the
session's time to live and are put again when it is kept alive, the index first, so that it never ends before its
session. NATS 2.11 or newer removes what is over.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, TypeVar

from noetl.clients.egress import NotAllowed
from noetl.clients.nats import INBOX, NatsLogin, NatsUnreachable, open_client
from noetl.ports import StoreFailure
from noetl.ports.user_sessions import Stale
from noetl.sessions import KeptValue

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js import JetStreamContext
    from nats.js.kv import KeyValue

SECONDS = 10.0
_WRONG_REVISION = 10071  # JetStream's code for a last sequence that is another one
_PURGE = {"KV-Operation": "PURGE", "Nats-Rollup": "sub"}
_MARK_SECONDS = 1.0
"""How long the mark of a key that is gone stays: the shortest time that there is."""
_EXPECTED = "Nats-Expected-Last-Subject-Sequence"
_T = TypeVar("_T")


class NatsSessions:
    """A `SessionStorage` in a bucket, which is made when it is missing. Its connection lives in a thread of its own."""

    def __init__(self, target: NatsLogin, bucket: str, inbox: str = INBOX) -> None:
        self._target = target
        self._inbox = inbox
        self._bucket = bucket
        self._client: Client | None = None
        self._opening = asyncio.Lock()
        self._loop = asyncio.new_event_loop()
        # The client belongs to the loop that made it, and whoever asks for sessions is a thread of the API with none.
        self._thread = threading.Thread(target=self._loop.run_forever, name="noetl-sessions", daemon=True)
        self._thread.start()

    def create(self, key: str, user: str, data: bytes, seconds: int) -> int:
        return self._done(lambda: self._put(key, user, KeptValue(data, 0), seconds))

    def get(self, key: str) -> KeptValue | None:
        return self._done(lambda: self._got(f"session.{key}"))

    def update(self, key: str, user: str, kept: KeptValue, seconds: int) -> int:
        return self._done(lambda: self._put(key, user, kept, seconds))

    def delete(self, key: str, user: str) -> None:

        async def deleted() -> None:
            await self._store()
            for name in (f"session.{key}", f"user.{user}.{key}"):
                # A mark that stayed would be there for good, two for each session that anybody ended.
                await self._streams().publish(f"$KV.{self._bucket}.{name}", headers=_PURGE, msg_ttl=_MARK_SECONDS)

        self._done(deleted)

    def of_user(self, user: str, after: str, most: int) -> Sequence[tuple[str, bytes]]:

        async def found() -> list[tuple[str, bytes]]:
            await self._store()
            # One answer has all. A watcher of the library is told by another answer than those that bring them how many
            # are on their way: where it overtakes them, as under load, the watcher ends without them.
            wanted = f"$KV.{self._bucket}.user.{user}.*"
            subjects = (await self._streams().stream_info(f"KV_{self._bucket}", wanted)).state.subjects or {}
            keys = [subject.rpartition(".")[2] for subject in subjects]
            page: list[tuple[str, bytes]] = []
            for key in sorted(key for key in keys if key > after):
                if len(page) == most:
                    break
                if (kept := await self._got(f"session.{key}")) is not None:
                    page.append((key, kept.data))
            return page

        return self._done(found)

    def close(self) -> None:
        if self._client is not None:
            asyncio.run_coroutine_threadsafe(self._client.close(), self._loop).result(SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SECONDS)
        self._loop.close()

    async def _put(self, key: str, user: str, kept: KeptValue, seconds: int) -> int:
        await self._store()
        streams, subject = self._streams(), f"$KV.{self._bucket}"
        # An index without a session is passed over; a session without an index would never be listed, and so never be
        # ended by an administrator.
        await streams.publish(f"{subject}.user.{user}.{key}", msg_ttl=float(seconds))
        # JetStream compares and stores in one step. Of two servers that change a session at once the second one is
        # told so.
        headers = {_EXPECTED: str(kept.revision)}
        done = await streams.publish(f"{subject}.session.{key}", kept.data, msg_ttl=float(seconds), headers=headers)
        return done.seq

    async def _got(self, key: str) -> KeptValue | None:
        from nats.js.errors import NotFoundError

        try:
            entry = await (await self._store()).get(key)
        except NotFoundError:
            return None
        return KeptValue(entry.value or b"", entry.revision or 0)

    async def _store(self) -> "KeyValue":
        from nats.js.errors import NotFoundError

        async with self._opening:
            # Under a lock, as two requests may find the connection gone at once, and one of two new ones would never
            # be closed.
            if self._client is None or not self._client.is_connected:
                self._client = await open_client(self._target, None, self._inbox)
        try:
            return await self._streams().key_value(self._bucket)
        except NotFoundError:
            return await self._streams().create_key_value(bucket=self._bucket)

    def _streams(self) -> "JetStreamContext":
        assert self._client is not None
        return self._client.jetstream(timeout=SECONDS)

    def _done(self, work: Callable[[], Coroutine[object, object, _T]]) -> _T:
        """The value of some work in the thread. Raises Stale, StoreFailure."""
        from nats.errors import Error
        from nats.js.errors import APIError

        async def bounded() -> _T:
            async with asyncio.timeout(SECONDS):
                return await work()

        try:
            return asyncio.run_coroutine_threadsafe(bounded(), self._loop).result()
        except APIError as problem:
            if problem.err_code == _WRONG_REVISION:
                raise Stale from None
            raise StoreFailure(f"the sessions in NATS: {problem.description}") from None
        except TimeoutError:
            lacking = "no answer; where NATS has rights, they are those of `noetl bus permissions`"
            raise StoreFailure(f"the sessions in NATS: {lacking}") from None
        except (NatsUnreachable, NotAllowed, Error, OSError, RuntimeError) as problem:
            raise StoreFailure(f"the sessions in NATS: {problem or type(problem).__name__}") from None
