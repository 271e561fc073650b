"""The schedules of a server: the thread that starts what is due, and what the API asks of schedules."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import Body, body_of
from noetl.api.handlers import lasting_of, once_key
from noetl.api.problems import BadRequest, Rejected, Unknown
from noetl.api.refused_starts import refusal_of
from noetl.api.responses import JSONResponse
from noetl.api.service import ApiService, Start
from noetl.api.standing import StandingBody, done_with, kept, page_of, removed, told_of
from noetl.api.standing_starts import begin_standing
from noetl.app.clock import WallClock
from noetl.app.schedule_book import ScheduleBook
from noetl.host.log_lines import log_line
from noetl.ports import StoreFailure
from noetl.ports.idempotency import StartKey
from noetl.ports.schedules import Scheduled
from noetl.server.schedules.starter import ScheduledStart, ScheduleStarter, StartRefused
from noetl.server.schedules.times import BadTimes
from noetl_ir.expr import Json

EVERY = 1.0
"""Seconds between two looks at what is due: cron has no times between minutes, and intervals are whole seconds."""

MOST_BACKFILLED = 1_000
"""The most times that one request starts."""


class LooksAgain(Protocol):
    """A starter of schedules or triggers."""

    def look(self) -> None:
        """Start all that is due. Raises StoreFailure."""
        ...


class Scheduling(threading.Thread):
    """Looks at what is due, for as long as the server lives. `say` hears of what could not be started."""

    def __init__(
        self,
        starter: LooksAgain,
        say: Callable[[str], None],
        every: float = EVERY,
        name: str = "schedules",
        close: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(name=f"noetl-{name}", daemon=True)
        self._starter = starter
        self._say = say
        self._every = every
        self._close = close
        self._ended = threading.Event()

    def run(self) -> None:
        """Until it is ended. A store that fails is asked again; the service says what is wrong with it."""
        while not self._ended.wait(self._every):
            try:
                self._starter.look()
            except StoreFailure:
                continue
            except Exception as error:
                text = f"internal error in {self.name}: {type(error).__name__}: {error} (please report)"
                self._say(log_line("error", text))
        self._close()

    def end_soon(self) -> None:
        """Start nothing more."""
        self._ended.set()


def starter_of(service: ApiService, say: Callable[[str], None]) -> ScheduleStarter | None:
    """The starter of a server, by its own starts; None for a store that has no schedules."""
    store, measures, clock = service.runtime.store, service.measures, WallClock()
    if not isinstance(store, Scheduled):
        return None

    def begin(start: ScheduledStart) -> str:
        asked = Start(
            "", start.schedule.playbook, start.schedule.version, start.payload,
            StartKey(start.key, ""), started_by=start.started_by,
        )  # fmt: skip
        found = begin_standing(service, asked)
        if found.fresh:
            became = "started" if start.due else "asked" if start.started_by.get("asked") else "backfilled"
            measures.count("noetl_schedule_times", became)
            if start.due:
                measures.observe("noetl_schedule_late_seconds", (clock.now() - start.due) / 1e6)
        return found.execution_id

    def cancel(execution_id: str) -> None:
        # What ends by itself meanwhile needs no more.
        try:
            service.ask(execution_id, "cancel", None)
        except (Unknown, Rejected):
            return

    def passed(why: str, count: int) -> None:
        measures.count("noetl_schedule_times", why, by=count)

    return ScheduleStarter(store, store.scheduling, clock, begin, cancel, say, passed)


class ScheduleBody(StandingBody):
    """A schedule, as `noetl schedules put` takes it."""


class BackfillBody(Body):
    """Times that were to be started, and were not: those from the one to before the other."""

    since: str
    until: str
    limit: int = Field(100, ge=1, le=MOST_BACKFILLED)
    dry_run: bool = False


async def list_schedules(request: Request) -> Response:
    """Schedules by name: what each starts, when next, and what hinders it."""
    return await page_of(request, "schedules", _book(request))


async def get_schedule(request: Request) -> Response:
    """A schedule, with its next times and what became of the last ones."""
    return await told_of(request, _book(request).document)


async def put_schedule(request: Request) -> Response:
    """Keep a schedule under its name; one that is there is replaced. A new one begins with the next time."""
    body = await body_of(request, ScheduleBody)
    return await run_in_threadpool(kept, request, _book(request), body)


async def delete_schedule(request: Request) -> Response:
    """Keep a schedule no more; what it has started goes on."""
    return await removed(request, _book(request))


async def pause_schedule(request: Request) -> Response:
    """Start nothing by it until it is resumed."""
    return await told_of(request, _book(request).pause)


async def resume_schedule(request: Request) -> Response:
    """Go on with the next time: those of the pause are passed."""
    return await told_of(request, _book(request).resume)


async def start_schedule(request: Request) -> Response:
    """Start what it starts, now and whatever runs. What has one `Idempotency-Key` starts one."""
    starter, key = _starter(request), once_key(request)

    def begun(name: str) -> dict[str, Json]:
        return {"execution_id": starter.start_now(_book(request).row(name), key)}

    try:
        return JSONResponse(await lasting_of(request).run(done_with, request, begun), 201)
    except StartRefused as problem:
        raise refusal_of(problem) from None


async def backfill(request: Request) -> Response:
    """Start the times of a range that have passed, each once: one that had a start is answered with that."""
    body = await body_of(request, BackfillBody)
    starter, book = _starter(request), _book(request)

    def filled(name: str) -> dict[str, Json]:
        found = book.passed_times(name, body.since, body.until, body.limit)
        rest: dict[str, Json] = {"left_out": found.left_out, "coming": found.coming}
        there = {time: book.execution_at(found.row, time) for time, _ in found.times}
        if body.dry_run:
            return {"starts": [{"time": text, "execution_id": there[time]} for time, text in found.times], **rest}
        starts, texts = list[Json](), dict(found.times)
        try:
            for time, began in starter.backfill(found.row, iter(texts)):
                starts.append({"time": texts[time], "execution_id": began, "fresh": there[time] is None})
        except StartRefused as problem:
            if not starts:
                raise
            # Those before it have begun, and whoever asks again has them answered with that.
            rest |= {"left_out": found.times[len(starts)][1], "refused": str(problem)}
        return {"starts": starts, **rest}

    try:
        return JSONResponse(await lasting_of(request).run(done_with, request, filled))
    except BadTimes as problem:
        raise BadRequest(str(problem)) from None
    except StartRefused as problem:
        raise refusal_of(problem) from None


def _book(request: Request) -> ScheduleBook:
    book: ScheduleBook = request.app.state.schedules
    return book


def _starter(request: Request) -> ScheduleStarter:
    """Raises Rejected for a store that has no schedules."""
    starter: ScheduleStarter | None = request.app.state.starter
    if starter is None:
        raise Rejected("this store has no schedules")
    return starter
