"""The output of the tasks of an execution, of one step or attempt where that is asked."""

from collections.abc import Iterator

from noetl.app.runtime import Runtime
from noetl.app.snapshots import check_step, program_of
from noetl.ports.output import FULL, OutputChunk, OutputRow, chunk_document
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

_PAGE = 500


class OutputFilter(NamedTuple):
    """Which output is wanted; an empty field leaves nothing out. `attempt` counts the attempts at a task from 1."""

    step: str = ""
    attempt: int = 0

    def fits(self, chunk: OutputChunk) -> bool:
        """Whether it is wanted. That there is no more is wanted by everybody."""
        own = self.step in ("", chunk.step) and self.attempt in (0, chunk.attempt)
        return own or chunk.stream == FULL


def check_filter(runtime: Runtime, execution_id: str, wanted: OutputFilter) -> None:
    """Raises UnreadableExecution for a step that there is not, StoreFailure."""
    if wanted.step:
        check_step(program_of(runtime, execution_id), wanted.step)


def output_rows(runtime: Runtime, execution_id: str, after: int, wanted: OutputFilter) -> Iterator[OutputRow]:
    """The chunks behind a position that are wanted. Raises StoreFailure."""
    while page := runtime.outputs.read(execution_id, after, _PAGE):
        yield from (row for row in page if wanted.fits(row.chunk))
        if len(page) < _PAGE:  # it was the last one: a server need not be asked for one more
            return
        after = page[-1].position


def iteration_of(chunk: OutputChunk) -> str:
    """The iteration of a loop that a chunk is of, as `[2][0]`; empty outside of loops."""
    return "".join(f"[{index}]" for index in chunk.path)


def attempt_name(chunk: OutputChunk) -> str:
    """The attempt of a chunk, in words: its step and task, and what tells it from others of them."""
    more = [f"run {chunk.run}"] if chunk.run > 1 else []
    more += [f"visit {chunk.visit}"] if chunk.visit > 1 else []
    more += [f"attempt {chunk.attempt}"] if chunk.attempt > 1 else []
    more += [f"claim {chunk.claim}"] if chunk.claim > 1 else []
    return ", ".join([f"{chunk.step}{iteration_of(chunk)} / {chunk.task}", *more])


def row_document(row: OutputRow) -> dict[str, Json]:
    """A chunk as the API and `noetl logs --json` show it."""
    return {"position": row.position, **chunk_document(row.chunk)}
