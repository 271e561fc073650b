"""Operations on what tasks print: who looks at an execution reads it, and workers hand it in."""

from collections.abc import Sequence
from itertools import islice
from typing import Annotated, Literal

from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import Body, body_of, number_of
from noetl.api.handlers import execution_of, service_of
from noetl.api.pages import LAST_POSITION, limit_of, page, position_of
from noetl.api.responses import JSONResponse
from noetl.api.scoping import shown_execution
from noetl.api.service import ApiService, faults_told
from noetl.app.task_output import OutputFilter, check_filter, output_rows, row_document
from noetl.ports.output import CHUNK, OutputChunk, chunk_of
from noetl.ports.scopes import scope_now
from noetl_ir.expr import Json

PAGE_CHARACTERS = 1 << 20
"""The most characters of output in a response."""

Number = Annotated[int, Field(ge=0, le=LAST_POSITION)]
_Text = Annotated[str, Field(max_length=1024)]


class ChunkBody(Body):
    """A piece of the output of one attempt."""

    execution_id: _Text
    step: _Text
    run: Number
    path: Annotated[list[Number], Field(max_length=100)]
    task: _Text
    visit: Number
    attempt: Number
    claim: Number
    stream: Literal["stdout", "stderr", "tool", "cut"]
    offset: Number = Field(description="Characters of the attempt before it, over all streams.")
    at: Number = Field(description="Microseconds since the epoch.")
    text: Annotated[str, Field(max_length=CHUNK)]
    mac: _Text = Field("", description="The code that came with the order of the attempt.")


class LogsBody(Body):
    """Output of tasks, in its order."""

    logs: Annotated[list[ChunkBody], Field(max_length=2_000)]


async def get_logs(request: Request) -> Response:
    """The output of tasks behind position `after`; of one `step`, and of one `attempt`, where that is asked."""
    wanted = OutputFilter(request.query_params.get("step", ""), number_of(request, "attempt", 0, 0, LAST_POSITION))
    asked = execution_of(request), position_of(request), limit_of(request), wanted
    rows, behind = await run_in_threadpool(_logs, service_of(request), *asked)
    return page("logs", rows, behind)


async def add_logs(request: Request) -> Response:
    """Keep what tasks print; for workers that have the order of its attempt, whose code each piece repeats. What is of
    another one is left out, as is what is there already, or beyond the limit.
    """
    body = await body_of(request, LogsBody)
    chunks = [chunk_of(each.model_dump()) for each in body.logs]
    heard = await run_in_threadpool(_heard, service_of(request), chunks)
    return JSONResponse({"heard": heard}, 202)


def _heard(service: ApiService, chunks: Sequence[OutputChunk]) -> int:
    if not scope_now().paths:
        return service.add_output(chunks)
    names = {chunk.execution_id for chunk in chunks}
    shown = {name for name in names if shown_execution(service.runtime.store, name) is not None}
    return service.add_output([chunk for chunk in chunks if chunk.execution_id in shown])


def _logs(
    service: ApiService, execution_id: str, after: int, limit: int, wanted: OutputFilter
) -> tuple[list[Json], int | None]:
    """A page of chunks, and the position to ask behind; None where there is nothing more for now."""
    service.execution_row(execution_id)
    found, characters = list[Json](), 0
    with faults_told():
        check_filter(service.runtime, execution_id, wanted)
        for row in islice(output_rows(service.runtime, execution_id, after, wanted), limit):
            found.append(row_document(row))
            characters += len(row.chunk.text)
            if characters >= PAGE_CHARACTERS or len(found) == limit:
                return found, row.position
    return found, None
