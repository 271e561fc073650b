"""What a diagnostic code stands for."""

from typing import NamedTuple

from noetlc.diag.diagnostic import Severity


class Code(NamedTuple):
    """One entry of a table of codes. `why`, `example` and `instead` are what `noetlc explain` prints, and of lint rules
    `ignore`: when the finding may be ignored.
    """

    slug: str
    severity: Severity
    title: str
    why: str
    example: str
    instead: str
    ignore: str = ""
