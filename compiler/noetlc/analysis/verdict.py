"""An answer to a question about a plan: proved, refuted with a run, or unknown with the limit that was hit."""

from enum import StrEnum
from typing import NamedTuple

from noetl_ir.expr import Json
from noetl_ir.span import Span


class Status(StrEnum):
    """Three values; never a boolean out of a timeout."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


class Line(NamedTuple):
    """One line of a story: what happens, and where the author wrote it."""

    text: str
    span: Span | None


class Story(NamedTuple):
    """A run: what happens, how it ends, and other places in the file that belong to it. `run` are transition ids."""

    lines: tuple[Line, ...]
    end: str
    related: tuple[Line, ...]
    run: tuple[str, ...]


class Script(NamedTuple):
    """A run that replays: `document` is what `noetl run --script` reads, `payload` what `--payload` does."""

    document: dict[str, Json]
    payload: dict[str, Json]


class Verdict(NamedTuple):
    """The answer to `question`. `about` names steps, tasks or arcs; `detail` says what was found, or hit.

    A story with a `script` is one that replays; without it guards may exclude it.
    """

    question: str
    status: Status
    detail: str
    assumptions: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    span: Span | None = None
    story: Story | None = None
    script: Script | None = None


class Claim(NamedTuple):
    """Something wrong: what `verdict` says. It is `sure` when a run replays, or when no run at all is needed."""

    verdict: Verdict
    sure: bool
