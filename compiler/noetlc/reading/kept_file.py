"""The reading of a file's last text, kept so that of the next one only a change is read: for editors, after each key.

A step whose node is that of the last reading (`noetlc.source.rereading`) is read as it was, with what was said of it.
"""

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.playbook import Step
from noetlc.diag.change import Change
from noetlc.diag.diagnostic import Diagnostic
from noetlc.reading.reader import Reader
from noetlc.reading.step import read_step
from noetlc.source.nodes import Node
from noetlc.source.rereading import reread
from noetlc.source.yaml_reader import Reading, read_yaml


class _ReadStep(NamedTuple):
    """A step as it was read from a node, with what the reader had to say."""

    node: Node
    step: Step | None
    findings: list[Diagnostic]
    changes: list[Change]
    meant: dict[Span, str]
    is_alone: bool
    """Whether it would be read so whatever stands around it."""


class KeptFile:
    """The last text of a file that could be read, and its steps. For one thread at a time."""

    def __init__(self) -> None:
        self._reading: Reading | None = None
        self._before: dict[int, _ReadStep] = {}
        self._steps: dict[int, _ReadStep] = {}

    def read(self, name: str, data: bytes) -> Reading:
        """The content of the file, as `read_yaml` gives it."""
        reading = None if self._reading is None else reread(self._reading, name, data)
        reading = reading or read_yaml(name, data)
        # A text that is broken for the moment says nothing about the next one; the text before it does.
        if None not in reading.documents:
            self._reading, self._before, self._steps = reading, self._steps, {}
        return reading

    def step(self, r: Reader, node: Node) -> Step | None:
        """A step, as `read_step` gives it."""
        # Nodes are kept, so that no other one has the number of theirs.
        found = self._before.get(id(node)) or _read(r, node)
        r.findings += found.findings
        r.changes += found.changes
        r.meant |= found.meant
        if found.is_alone:
            self._steps[id(node)] = found
        return found.step


def _read(r: Reader, node: Node) -> _ReadStep:
    before, was_legacy = (r.findings, r.changes, r.meant), r.legacy_seen
    r.findings, r.changes, r.meant, r.legacy_seen = [], [], {}, False
    step = read_step(r, node)
    # What an older form means may depend on other steps (`names_in_scope`), so that it is read anew each time.
    found = _ReadStep(node, step, r.findings, r.changes, r.meant, not r.legacy_seen)
    r.findings, r.changes, r.meant = before
    r.legacy_seen = r.legacy_seen or was_legacy
    return found
