"""Runs tools beside the worker, on an event loop that exists only once a tool has to wait.

Tools without effects never wait: they are stepped once, on the spot, and asyncio is never imported for them. The
loop runs while the driver has nothing else to do (`pass_time`), and for moments beside what it does (`poll`), so the
worker and the server share one thread without locks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import FunctionType
from typing import TYPE_CHECKING, TypeAlias

from noetl.ports import Clock, Env, ToolCall
from noetl.worker.fields import kind_of
from noetl.worker.output import OutputWriter
from noetl.worker.schemas import OutcomeCheck, checked_by
from noetl_ir import codec, registry
from noetl_ir.expr import Json
from noetl_ir.kinds import seconds_of
from noetl_ir.outcome import Handle, Outcome, error

if TYPE_CHECKING:
    import asyncio

_Run: TypeAlias = "Callable[[ToolCall, Env], Coroutine[object, None, Outcome]]"

DEEPEST = 200
"""Levels of nesting in a value that a tool gives, as in one that leaves an expression."""
MOST_PARTS = 50_000_000
"""Values inside one another in what a tool gives; a stored result is read back with the same limit."""

LONGEST_SLEEP = 0.2
"""Seconds; requests from outside are seen within this time."""

POLL_EVERY = 0.01
"""Seconds between two looks at tools beside work that never waits."""
_TURNS = 10
"""Turns of the loop in such a look."""


def limit_of(call: ToolCall) -> float | None:
    """How many seconds an attempt may take; None without a limit."""
    return seconds_of(call.timeout) if not isinstance(call.timeout, dict) else None


def over_limit(seconds: float) -> Outcome:
    """The outcome of an attempt that was not done in so many seconds."""
    return error("timeout", f"the attempt was not done within {seconds:g} s")


class AsyncLauncher:
    """The launcher of real tools. `env_of` gives the environment of a call, and `output` has what they print kept."""

    def __init__(self, env_of: Callable[[ToolCall], Env], clock: Clock, output: OutputWriter | None = None) -> None:
        self._env_of = env_of
        self.ended: Callable[[ToolCall, Outcome, float], None] | None = None
        """Called with each outcome of a tool that was launched, and the seconds that it took."""
        self._output = output
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._stopped: list[asyncio.Task[None]] = []
        self._outcomes: list[tuple[object, Outcome]] = []
        self._woken: asyncio.Event | None = None
        self._is_told = False
        self._poll_due = 0.0

    def immediate(self, call: ToolCall) -> Outcome | None:
        kind = kind_of(call.kind)
        if not kind.available:
            return error("kind.unavailable", f"the tool kind `{call.kind}` is not available in this version")
        if kind.has_effect(call.fields, call.args):
            return None
        env = self._env_of(call)
        # The schema is looked up before the tool runs: an effect whose result cannot be checked is better not begun.
        check = checked_by(call, env.root()) if call.knobs else None
        if isinstance(check, Outcome):
            return check
        coroutine = _tool(call.kind)(call, env)
        try:
            coroutine.send(None)
        except StopIteration as done:
            return _checked(call, done.value, check)
        except Exception as problem:  # a tool must not take the worker down
            return _crashed(call, problem)
        # The tool gave up control, so it waits for something. Nothing will ever step it again, and its `finally`
        # blocks are to run now.
        coroutine.close()
        return error("tool.broken", f"the tool `{call.kind}` says that it has no effects and waited for something")

    def launch(self, ticket: object, call: ToolCall) -> None:
        task = self._ensure().create_task(self._run(ticket, call))
        # The ticket is a slot, which the worker keeps for as long as the task runs. So its id is not given to another
        # object meanwhile.
        self._tasks[id(ticket)] = task

    def finished(self) -> list[tuple[object, Outcome]]:
        done, self._outcomes = self._outcomes, []
        return done

    def stop(self, ticket: object) -> None:
        task = self._tasks.pop(id(ticket), None)
        if task is not None:
            task.cancel()
            # A cancelled task still has to end its process or connection. `close` waits for that, so that none
            # outlives the worker.
            self._stopped.append(task)

    def pass_time(self, due: int | None) -> bool:
        """Let tools run until one is done, something wakes, or it is `due` (at most `LONGEST_SLEEP` from now)."""
        left = LONGEST_SLEEP if due is None else (due - self._clock.now()) / 1_000_000
        limit = min(max(left, 0.0), LONGEST_SLEEP)
        if self._loop is None:
            # Without a loop no tool runs, and whoever could wake it has called `open` first: sleeping blocks nobody.
            time.sleep(limit)
        else:
            self._loop.run_until_complete(self._pause(limit))
        return True

    def poll(self) -> None:
        """Let tools run for a moment, without waiting for anything. Called beside work that never waits itself; calls
        that come too soon after each other do nothing.
        """
        if self._loop is None or not self._tasks or (now := time.monotonic()) < self._poll_due:
            return
        self._loop.run_until_complete(_turns())
        self._poll_due = now + POLL_EVERY

    def open(self) -> None:
        """Make the loop now: before that `wake` ends no wait."""
        self._ensure()

    def wake(self) -> None:
        """End `pass_time` early; from any thread or signal handler."""
        # Who is told already looks once for all that came until then: a call for each of a hundred messages costs more
        # than to read them.
        if self._loop is not None and self._woken is not None and not self._is_told:
            self._is_told = True
            with suppress(RuntimeError):  # it is closed at this very moment
                self._loop.call_soon_threadsafe(self._woken.set)

    def close(self) -> None:
        """Stop every tool and end the loop; returns when their processes are gone, and what they printed is kept."""
        self._close_loop()
        if self._output is not None:
            self._output.close()

    def _close_loop(self) -> None:
        if self._loop is None:
            return
        left = [*self._tasks.values(), *self._stopped]
        for task in left:
            task.cancel()
        if left:
            # Each is awaited after the cancel: a tool kills its child process in that time.
            self._loop.run_until_complete(_all_done(left))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()
        self._loop = None

    def _ensure(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            import asyncio

            self._loop = asyncio.new_event_loop()
            self._woken = asyncio.Event()
            self._is_told = False
        return self._loop

    async def _pause(self, seconds: float) -> None:
        import asyncio

        woken = self._woken
        assert woken is not None
        try:
            async with asyncio.timeout(seconds):
                await woken.wait()
        except TimeoutError:
            pass
        # Cleared after the wait and not before it: a wake that came while nobody waited ends the next wait at once. The
        # mark goes first, so that a wake in between is told again.
        self._is_told = False
        woken.clear()

    async def _run(self, ticket: object, call: ToolCall) -> None:
        import asyncio

        limit, began = limit_of(call), time.monotonic()
        try:
            # The limit holds for the schema and the environment too, as both may read files.
            async with asyncio.timeout(limit):
                env = self._env_of(call)
                check = checked_by(call, env.root())
                outcome = (
                    check if isinstance(check, Outcome) else _checked(call, await _tool(call.kind)(call, env), check)
                )
        except TimeoutError:
            outcome = over_limit(limit or 0)
        except Exception as problem:  # a tool must not take the worker down
            outcome = _crashed(call, problem)
        if self.ended is not None:
            self.ended(call, outcome, time.monotonic() - began)
        if self._output is not None:
            # What a task printed is there before its end is: who looks at a task that has ended sees all of it.
            await self._output.settled(call)
        self._tasks.pop(id(ticket), None)
        self._outcomes.append((ticket, outcome))
        if self._woken is not None:
            self._woken.set()


async def _turns() -> None:
    """Run several turns of the loop: a tool takes more than one to get from one thing that it waits for to the next."""
    import asyncio

    for _ in range(_TURNS):
        await asyncio.sleep(0)


async def _all_done(tasks: list[asyncio.Task[None]]) -> None:
    import asyncio

    await asyncio.gather(*tasks, return_exceptions=True)


def _tool(kind: str) -> _Run:
    tool = _TOOLS.get(kind)
    if tool is None:
        tool = _TOOLS[kind] = registry.load("noetl.tools", kind, "run", FunctionType)
    return tool


# A module is imported once a process, when its first task runs: most playbooks use two or three of the kinds, and
# some kinds import large packages.
_TOOLS: dict[str, _Run] = {}


def _checked(call: ToolCall, outcome: object, check: OutcomeCheck | None = None) -> Outcome:
    """The outcome, if it is one that the log can hold and give back, and what its schema says; else an error."""
    if isinstance(outcome, Outcome):
        parts = [part for part in (outcome.result, outcome.error, outcome.extras) if part is not None and part != {}]
        try:
            if parts:
                codec.check(parts, Handle, max_depth=DEEPEST + 1, max_items=MOST_PARTS)
        except codec.CodecError as problem:
            return error("result.type", f"the outcome of `{call.kind}` cannot be kept: {problem}")
        return outcome if check is None else check(outcome)
    return error("tool.broken", f"the tool `{call.kind}` returned {type(outcome).__name__} instead of an outcome")


def _crashed(call: ToolCall, problem: Exception) -> Outcome:
    text: Json = f"the tool `{call.kind}` failed unexpectedly: {type(problem).__name__}: {problem}"
    return error("tool.crashed", str(text))
