"""The older dialects: a document in whatever mix of them in, the canonical playbook and what was changed out.

`read` is the door, and `pipeline`, `migrate` and the schemas are the only ones who come through it. Inside is one
file a construct: its nodes, its reader, the pass that removes them. Constructs are recognised one by one and mix
freely in a file, also with those of today (`choose`, `while`, `until`), whose passes stand in the same order.
"""

from collections.abc import Iterable
from functools import cache

from noetl_ir.records import NamedTuple
from noetlc.ast.playbook import Playbook
from noetlc.diag.change import Change
from noetlc.diag.diagnostic import Diagnostic
from noetlc.dialects import PACKAGE as CANONICAL
from noetlc.dialects import canonical, dialects_of, merged_tables
from noetlc.older.absent import ABSENT
from noetlc.older.dialects import by
from noetlc.older.hints import hints_of
from noetlc.older.passes import AUTHORING, LOWERING, BrokenPass, Lowering, PassObserver, is_asked_whole, lowered
from noetlc.reading.document import read_document
from noetlc.reading.drafts import StepDraft
from noetlc.reading.reader import Forms, KeptSteps, Legacy, Reader, Tables
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence
from noetlc.source.text import Source

__all__ = [
    "ABSENT", "AUTHORING", "LOWERING", "PACKAGE", "READ", "BrokenPass", "Canonical", "Lowering", "combined", "forks_of",
    "is_asked_whole", "read", "reader_of", "written",
]  # fmt: skip

PACKAGE = "noetlc.older.dialects"

READ = "read"
"""The name of the stage before all passes."""


class Canonical(NamedTuple):
    """The result of reading a document.

    `playbook` is the canonical one, None where the document is no mapping; `was` the playbook as it was written.
    `changes` are in the order of the passes, those of reading first. `reader` has the findings about the form.
    """

    playbook: Playbook | None
    changes: tuple[Change, ...]
    reader: Reader
    was: Playbook | None


def read(source: Source, node: Node | None, observer: PassObserver, kept: KeptSteps | None = None) -> Canonical:
    """Read a document in whatever dialects it is written, and lower it to canonical form. Never raises. Steps that are
    `kept` are not read again.

    With an error among the findings of the reader the playbook holds what could be understood.
    """
    observer.stage_begun(READ)
    r = reader_of(source, kept)
    was = playbook = playbook_as_written(r, node)
    observer.stage_ended(READ, playbook)
    changes = list(r.changes)
    if playbook is not None:
        playbook = lowered(playbook, changes.append, observer)
    return Canonical(playbook, tuple(changes), r, was)


def reader_of(source: Source, kept: KeptSteps | None = None) -> Reader:
    """A reader of a file for all dialects at once."""
    return Reader(source, *combined(), _FORMS, canonical(), kept)


def playbook_as_written(r: Reader, node: Node | None) -> Playbook | None:
    """The playbook as it is written, with the sugar of all dialects; None where the document is no mapping."""
    return read_document(r, node)


def forks_of(playbook: Playbook) -> Iterable[Diagnostic]:
    """The findings about the forks of a lowered playbook that was of an older dialect."""
    from noetlc.older.ending_apart import ending_apart

    return ending_apart(playbook)


@cache
def combined() -> tuple[Tables, Legacy]:
    """The tables of all dialects, and what is recognised by some and read by none."""
    older = dialects_of(PACKAGE)
    tables = merged_tables([*older, *dialects_of(CANONICAL)])
    legacy: dict[str, dict[str, str]] = {}
    for dialect in older:
        for scope, keys in dialect.legacy.items():
            taken = getattr(tables, scope, {})
            own = legacy.setdefault(scope, {})
            own.update({key: f"`{key}` ({dialect.title})" for key in keys if key not in taken and key not in own})
    return tables, legacy


def _unfold(r: Reader, draft: StepDraft, node: Node) -> Node | None:
    tasks = node.items if isinstance(node, Sequence) else (node,)
    if not any(isinstance(task, Mapping) and _may_loop(task) for task in tasks):
        return node
    from noetlc.older.iterators import unfolded_iterator, unfolded_list

    return (
        unfolded_iterator(r, draft, node) if isinstance(node, Mapping) else unfolded_list(r, draft, tuple(tasks), node)
    )


def _may_loop(task: Mapping) -> bool:
    kind = task.get("kind")
    is_loop = isinstance(kind, Scalar) and kind.text == "iterator"
    return is_loop or task.get("iterator") is not None or task.get("loop") is not None


def _next(r: Reader, draft: StepDraft, node: Node) -> None:
    from noetlc.older.targets import take_targets

    take_targets(r, draft, node)


_FORMS = Forms(_unfold, _next, by("sinks", "take_sink"), hints_of)
