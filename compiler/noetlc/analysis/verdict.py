"""An answer to a question about a plan: proved, refuted with a run, or unknown with the limit that was hit."""

from collections.abc import Callable, Iterable
from enum import StrEnum

from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.analysis.origin import TooLong
from noetlc.diag.internal import Bug, bug_of

STUCK, CYCLES, PARTS, BOUNDED = (
    "nothing can get stuck", "every cycle has an exit", "every part can run", "tokens are bounded",
)  # fmt: skip
"""The questions of `soundness`."""


class TooLarge(Exception):
    """The markings of a net of so many places and transitions are not looked at, since each would cost too much."""

    def __init__(self, places: int, transitions: int) -> None:
        super().__init__(places, transitions)

    def __str__(self) -> str:
        places, transitions = self.args
        size = f"{places:,} places and {transitions:,} transitions"
        return f"the net has {size} when it is reduced, too many to look at its markings"


class Status(StrEnum):
    """Three values; never a boolean out of a timeout."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


class StoryLine(NamedTuple):
    """One line of a story: what happens, and where the author wrote it."""

    text: str
    span: Span | None


class Story(NamedTuple):
    """A run: what happens, how it ends, and other places in the file that belong to it. `run` are transition ids."""

    lines: tuple[StoryLine, ...]
    end: str
    related: tuple[StoryLine, ...]
    run: tuple[str, ...]


class WitnessScript(NamedTuple):
    """A run that replays: `document` is what `noetl run --script` reads, `payload` what `--payload` does."""

    document: dict[str, Json]
    payload: dict[str, Json]


class Verdict(NamedTuple):
    """The answer to `question`. `about` names steps, tasks or arcs; `detail` says what was found, or hit.

    A story with a `script` is one that replays; without it guards may exclude it, and `sought` says that data were
    looked for. A `bug` is why the answer is not known.
    """

    question: str
    status: Status
    detail: str
    assumptions: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    span: Span | None = None
    story: Story | None = None
    script: WitnessScript | None = None
    bug: Bug | None = None
    sought: bool = False


class Defect(NamedTuple):
    """Something wrong: what `verdict` says. It is `sure` when a run replays, or when no run at all is needed."""

    verdict: Verdict
    sure: bool


def attempted(question: str, find: Callable[[], Iterable[Verdict]]) -> list[Verdict]:
    """The verdicts on a question; one that it is unknown where finding them fails, by a mistake of ours or a limit."""
    try:
        return list(find())
    # A proof that fails by our mistake must not look like one that found nothing: it is `unknown`, with the bug.
    except Exception as error:
        return [failed(question, error)]


def failed(question: str, error: Exception) -> Verdict:
    """The verdict `unknown` after an exception: TooLong and TooLarge give their text, any other is a bug of ours."""
    if isinstance(error, TooLong | TooLarge):
        return Verdict(question, Status.UNKNOWN, str(error))
    bug = bug_of(error)
    return Verdict(question, Status.UNKNOWN, f"an internal error: {bug}", bug=bug)
