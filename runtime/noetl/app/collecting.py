"""The collector of blobs that no log names: those of reports that were refused or lost, and of messages too large for
the bus.

A blob is stored before the event that names it, so one without a name may still get one. The collector therefore looks
only at executions that have been over for an hour, and owns each while it looks. A blob stays where an event of the log
names it, or another blob that stays. Where the log is damaged, or a blob that it names is missing, all stay: whoever
mends the log may need them. A folder without an execution stays too: its store may be elsewhere.
"""

import re
from collections.abc import Callable

from noetl.app.runtime import Runtime
from noetl.ports import Clock, Collectable, Owned, StoreFailure
from noetl_ir.codec import CodecError
from noetl_ir.events import read_event
from noetl_ir.records import NamedTuple

AFTER = 3_600_000_000
"""Microseconds that an execution has been over before it is looked at: by then workers store nothing for it."""

_PAGE = 1_000
_NAME = 64
_HEX = re.compile(rb"[0-9a-f]{%d,}" % _NAME)


class Collected(NamedTuple):
    """How many values were removed, and how many bytes they had."""

    values: int = 0
    size: int = 0


class Collector:
    """Looks at the folders of blobs one after the other. `clock` is the one by which executions have ended; one is
    looked at `after` microseconds.
    """

    def __init__(self, runtime: Runtime, clock: Clock, after: int = AFTER) -> None:
        self._runtime = runtime
        self._clock = clock
        self._after = after

    def collect(self, pause: Callable[[], bool] = lambda: True) -> Collected:
        """Collect all folders. `pause` is called after each, and returns whether to go on. Raises StoreFailure."""
        blobs, folder, values, size = self._runtime.blobs, "", 0, 0
        if not isinstance(blobs, Collectable):
            return Collected()
        while page := blobs.uncollected(folder, _PAGE):
            for folder in page:
                found = self._collect(blobs, folder)
                values, size = values + found.values, size + found.size
                if not pause():
                    return Collected(values, size)
        return Collected(values, size)

    def keep_up(self, pause: Callable[[], bool]) -> str:
        """`collect`, as a job of upkeep: what it removed, in words."""
        found = self.collect(pause)
        return f"removed values that nothing names: {found.values:,} ({found.size:,} bytes)" if found.values else ""

    def _collect(self, blobs: Collectable, folder: str) -> Collected:
        """Collect the folder of one execution. Its name is the execution's id; a folder of another name is left
        alone.
        """
        if not self._is_long_over(folder):
            return Collected()
        try:
            # Looked at once before it is owned, as that costs a lock file each, and once after, as somebody may have
            # gone on with it in between (`retry-fault`).
            with self._runtime.store.own(folder):
                if not self._is_long_over(folder):
                    return Collected()
                unnamed = self._unnamed(blobs, folder)
                return Collected() if unnamed is None else Collected(len(unnamed), blobs.collect(folder, unnamed))
        # Whoever drives it may be about to name a value.
        except Owned:
            return Collected()

    def _is_long_over(self, execution_id: str) -> bool:
        row = self._runtime.store.execution(execution_id)
        return row is not None and row.ended is not None and self._clock.now() - row.ended >= self._after

    def _unnamed(self, blobs: Collectable, folder: str) -> set[str] | None:
        """The values that neither the log names nor a value that it names; None where the log or such a value is not
        whole.
        """
        there, body = blobs.names(folder), b""
        unnamed, found = {*there}, set[str]()
        keys = re.compile(re.escape(folder).encode() + rb"/([0-9a-f]{%d})" % _NAME)

        def look(data: bytes) -> None:
            # A log that names what is gone is damaged. Whoever mends it may need all that is left, so nothing of it
            # is removed.
            if any(name.decode() not in there for name in keys.findall(data)):
                raise KeyError(f"a value of {folder} is gone")
            found.update(_named(data, unnamed))

        try:
            for record in self._runtime.store.read(folder):
                body = record.body
                look(body)
            if not body or read_event(body).event_type != "playbook.processed":
                return None
            while found and unnamed:
                unnamed -= found
                named = [*found]
                found.clear()
                for name in named:
                    look(blobs.content(folder, name))
        except (StoreFailure, CodecError, KeyError):
            return None
        return unnamed


def _named(data: bytes, names: set[str]) -> set[str]:
    """The names among some that stand anywhere in some bytes."""
    found: set[str] = set()
    for run in {match.decode() for match in _HEX.findall(data)}:
        found |= {run} & names if len(run) == _NAME else {name for name in names if name in run}
    return found
