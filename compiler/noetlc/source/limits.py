"""The limits of the reader: beyond these a file is refused, so that none can hang or fill the memory."""

from noetl_ir.records import NamedTuple
from noetlc.diag.diagnostic import Diagnostic


class FileLimits(NamedTuple):
    """Sizes of a file. A generated playbook of 20,000 steps has 20 MB, 2.4 million events and depth 12.

    An event is a scalar, an alias, or the beginning or end of a list or mapping; 4 million take some 1 GB, a quarter of
    what a compile for the runtime may have.
    Each of the `documents` can be told off on its own.
    `depth` counts mappings and lists inside each other, aliases followed. The aliased numbers are what all
    aliases together add to what is written out.
    """

    size: int = 32 * 1024 * 1024
    events: int = 4_000_000
    documents: int = 1_000
    depth: int = 100
    aliased_nodes: int = 250_000
    aliased_characters: int = 32 * 1024 * 1024


LIMITS = FileLimits()
"""What is read when nobody says otherwise."""


class LimitReached(Exception):
    """The file goes over a limit here; nothing after it is read."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic
