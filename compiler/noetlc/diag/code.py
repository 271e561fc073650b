"""What a diagnostic code stands for."""

from noetl_ir.rows import NamedTuple
from noetlc.diag.diagnostic import Severity


class Code(NamedTuple):
    """One entry of a table of codes. `why`, `example`, `instead` and `ignore`, when it may be ignored, are what
    `noetlc explain` prints.
    """

    slug: str
    severity: Severity
    title: str
    why: str
    example: str
    instead: str
    ignore: str = ""

    @property
    def sections(self) -> tuple[tuple[str, str], ...]:
        """The parts of its page, each with its heading."""
        bodies = (self.why, self.example, self.instead, self.ignore or _NEVER)
        return tuple([(heading, body.strip("\n")) for heading, body in zip(_HEADINGS, bodies, strict=True)])


_HEADINGS = ("Why it matters", "Example", "Instead", "When to ignore")
_NEVER = "Never: it is an error, and `noetlc compile` reads no comments."
