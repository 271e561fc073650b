"""Needs: the values that one asker needs from elsewhere, such as plans, stored results and tokens, asked for by key.

A value that is not here yet is fetched beside whoever asks (`noetl.worker.background_fetches`). The computation that
asked for it ends in `Absent`, and `Needs.met` awaits the fetch and computes again. So a computation may ask in the
middle of an expression, where nothing can be awaited, and waits for no value that it does not read.

The asker remembers what was lacking, and does not rely on the exception. Code on the way may turn `Absent` into
something else (an expression makes a fault of each exception, a rule an error of a fault); that result is thrown away.
So a computation must have no effects but those that may happen twice.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Hashable
from typing import Generic, Protocol, TypeVar, cast

_T = TypeVar("_T")
_Result = TypeVar("_Result")


# An exception, as evaluation is code without a wait anywhere: to wait inside of it, each of its hundred functions would
# have to be a coroutine, in the server, too, where nothing is ever absent.
class Absent(Exception):
    """A value is not here yet; `Needs.met` waits for it."""


class Awaited(Protocol):
    """Something that is waited for: a coroutine of the worker's loop gives it up to the loop, as a future to asyncio.

    `problem` is why it did not come so far, empty where nothing went wrong.
    """

    problem: str

    @property
    def is_over(self) -> bool: ...

    def outcome(self) -> object:
        """The value that came; or raises what went wrong."""
        ...


class Needs:
    """The values that one asker asked for, kept until `forget`. `begin` starts work beside the asker and gives its
    fetch; without it (`None`) work is done on the spot, and nothing is ever absent.
    """

    __slots__ = ("_begin", "_fetches", "_lacking")

    def __init__(self, begin: Callable[[Hashable, Callable[[], object]], Awaited] | None = None) -> None:
        self._begin = begin
        self._fetches: dict[Hashable, Awaited] = {}
        self._lacking: Awaited | None = None

    def get(self, key: Hashable, work: Callable[[], _T]) -> _T:
        """The value that some work gives, whose `key` names it; or raises what the work raised, Absent until then."""
        if self._begin is None:
            return work()
        fetch = self._fetches.get(key)
        if fetch is None:
            # Kept by the asker from now on: a computation is made again, and has to find the same fetch, whether it
            # is over or not.
            fetch = self._fetches[key] = self._begin(key, work)
        if fetch.is_over:
            return cast("_T", fetch.outcome())
        self._lacking = fetch
        raise Absent

    def check(self) -> None:
        """Raise Absent where a value was lacking in this computation, so that nothing made without it is kept."""
        if self._lacking is not None:
            raise Absent

    async def met(self, compute: Callable[[], _T]) -> _T:
        """The result of a computation, once all values that it asks for are here; raises what it raises then."""
        while True:
            self._lacking = None
            try:
                found = compute()
            except Exception:
                # The exception may be what some layer made of `Absent`. Only where nothing was lacking is it the
                # computation's own.
                if self._lacking is None:
                    raise
            else:
                if self._lacking is None:
                    return found
            await _Wait(self._lacking)

    def forget(self) -> None:
        """Let go of everything: what nobody else waits for is fetched no further, and is fetched anew if asked for."""
        # Fetches are held by their askers alone, so this is also what ends those that nobody else asked for.
        self._fetches.clear()
        self._lacking = None


HERE = Needs()
"""Needs whose values are all made on the spot."""


class _Wait:
    __slots__ = ("_awaited",)

    def __init__(self, awaited: Awaited) -> None:
        self._awaited = awaited

    def __await__(self) -> Generator[Awaited, None, None]:
        # A loop, as whoever drives the coroutine may step it before it is time.
        while not self._awaited.is_over:
            yield self._awaited


async def wait_for(awaited: Awaited) -> None:
    """Wait in a coroutine of the worker's loop."""
    await _Wait(awaited)


class Waiting(Generic[_Result]):
    """A coroutine that a loop drives: `step` runs it until it waits for something that is not over (`awaited`)."""

    __slots__ = ("_coroutine", "awaited", "result")

    def __init__(self, coroutine: Coroutine[Awaited, None, _Result]) -> None:
        self._coroutine = coroutine
        self.awaited: Awaited | None = None
        self.result: _Result | None = None

    def step(self) -> bool:
        """Run it as far as it gets; whether it is at its end, with its `result`. Raises what it raises."""
        try:
            self.awaited = self._coroutine.send(None)
        except StopIteration as done:
            self.awaited = None
            self.result = done.value
            return True
        return False

    def close(self) -> None:
        """End it where it stands."""
        # Its `finally` blocks run now; Python would else warn of a coroutine that was never finished.
        self._coroutine.close()
