"""A file migrated: read, lowered, rewritten, and the new text compiled again to see that it means the same.

    bytes → compile → changes → rewrite each document → compile → the same plans, nothing left to change → bytes

A file without legacy constructs stays as it is, byte for byte. Sugar that people write today (`choose`, `while`,
`until`) is no legacy: it stays in steps that have nothing else to lower.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from re import MULTILINE
from re import compile as pattern

from noetl_ir.collecting import uncollected
from noetl_ir.expr import Literal
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.bodies import BLOCK, all_tasks
from noetlc.ast.playbook import Playbook, Value
from noetlc.ast.printing import VERSION, Placed, as_tree, tree_of
from noetlc.ast.sugar import Declared, Guess, Sugar
from noetlc.ast.walk import outer_sugar, sugar_in
from noetlc.diag.change import Change
from noetlc.diag.codes import finding
from noetlc.diag.diagnostic import Diagnostic, Fix, Severity
from noetlc.diag.findings import sorted_findings
from noetlc.migrate.entries import Refusal
from noetlc.migrate.free_names import written_out
from noetlc.migrate.parts import Touched
from noetlc.migrate.rewriting import rewritten_document
from noetlc.migrate.same_plan import same_plan
from noetlc.older import AUTHORING, READ, is_asked_whole, playbook_as_written, reader_of
from noetlc.pipeline import Compiled, Document, compile_source, planned, understood
from noetlc.reading.idle import LEAVE_OUT
from noetlc.source.decoding import decode, encode
from noetlc.source.line_edits import line_edits
from noetlc.source.nodes import Mapping, Scalar, value_of
from noetlc.source.text import Source
from noetlc.source.yaml_reader import read_yaml

BY = "migrate"
NOWHERE = Span(1, 1, 1, 1)
_NO_LEGACY = Guess | BLOCK | Declared
"""Sugar that is no legacy."""

_NOTES = {"NL111": ("`{}` at the root", "`metadata.{}`"), "NL112": ("a short `{}`", "`else: {{then: …}}`")}
"""Notes about spellings that are no sugar, and what they are changed to."""

_VERSION = pattern(r"""^[ \t{,]*["']?apiVersion["']?\s*:\s*["']?([\w./-]+)""", MULTILINE)
_TOO_DEEP, _IDLE = "NL006", "NL110"
_LOST_ANCHOR, _ANCHOR = "NL008", pattern(r"&[^\s`]+")
_ODD_BREAKS = "\r\x85\u2028\u2029"


class Migration(NamedTuple):
    """The result of migrating a file: `after` is None where nothing may be written, and `problems` say why."""

    source: Source
    changes: tuple[Change, ...]
    problems: tuple[Diagnostic, ...]
    after: bytes | None

    @property
    def is_broken(self) -> bool:
        """Whether what is in the way is a mistake of ours."""
        return any(problem.code == "NL905" for problem in self.problems)


class Glance(NamedTuple):
    """The findings of a file without lowering it: where something is older than the canonical form."""

    source: Source
    places: tuple[Span, ...]
    problems: tuple[Diagnostic, ...]


class _Reads:
    """An observer that keeps the documents as they were read."""

    def __init__(self) -> None:
        self.playbooks: list[Playbook | None] = []

    def stage_begun(self, stage: str) -> None:
        """Nothing."""

    def stage_ended(self, stage: str, result: Playbook | Plan | None) -> None:
        """Keep what was read."""
        if stage == READ:
            assert not isinstance(result, Plan)
            self.playbooks.append(result)


def glanced(name: str, data: bytes) -> Glance:
    """Whether a file would change, and where: it is read, and lowered only where that does not tell."""
    with uncollected():
        # Without lowering: a look at a whole folder costs a fraction of a migration.
        reading = read_yaml(name, data)
        reader = reader_of(reading.source)
        read = [playbook_as_written(reader, node) for node in reading.documents if node is not None]
        playbooks = [playbook for playbook in read if playbook is not None]
        sugar = [node for playbook in playbooks for node in _sugar_of(playbook)]
    problems = [found for found in (*reading.diagnostics, *reader.findings) if found.severity >= Severity.ERROR]
    places: list[Span] = [getattr(node, "span", NOWHERE) for node in sugar if not isinstance(node, _NO_LEGACY)]
    places += [change.span for change in reader.changes]
    places += [note.span for note in reader.findings if note.code in _NOTES]
    is_open = any(isinstance(node, Guess) for node in sugar) or any(map(is_asked_whole, playbooks))
    if not places and not problems and is_open:
        full = changes_of_file(name, data)
        return Glance(full.source, tuple([change.span for change in full.changes]), full.problems)
    return Glance(reading.source, tuple(sorted(places)), sorted_findings(problems))


def changes_of_file(name: str, data: bytes) -> Migration:
    """The changes that a file would have: it is read and lowered, no more."""
    with uncollected():
        reading = read_yaml(name, data)
        documents = [understood(reading.source, node) for node in reading.documents if node is not None]
    findings = (*reading.diagnostics, *(found for document in documents for found in document.diagnostics))
    compiled = Compiled(reading.source, tuple(documents), findings)
    _, said, refused = _written_out(compiled)
    problems = _errors(compiled) or refused
    if not problems and any(found.code == _IDLE for found in findings):
        return migrated(name, data)._replace(after=None)  # which of them are left out, only the new text tells
    return Migration(reading.source, () if problems else _with(said, _changes(compiled)), problems, None)


def migrated(name: str, data: bytes) -> Migration:
    """A file migrated. Never raises for any bytes."""
    reads = _Reads()
    compiled = compile_source(name, data, observer=reads)
    problems, changes = _errors(compiled), _changes(compiled)
    # A file without older constructs keeps its names as they are: there they are errors, and not the payload's.
    if not problems and changes:
        compiled, said, problems = _written_out(compiled)
        changes = _with(said, changes)
    if problems or not changes:
        return Migration(compiled.source, () if problems else changes, problems, None if problems else data)
    try:
        after = _rewritten(compiled, reads.playbooks, changes, data)
    except Refusal as refusal:
        problem = finding("NL904", str(refusal), refusal.node.span)
        return Migration(compiled.source, changes, (problem,), None)
    # The new text is compiled whenever there is any: a migration that changes a playbook's meaning is the one fault
    # that nobody would find.
    again = compile_source(name, after)
    problems = tuple(_differences(compiled, again))
    changes = _with(tuple(_left_out(compiled, again)), changes)
    return Migration(compiled.source, changes, problems, None if problems else after)


def _written_out(compiled: Compiled) -> tuple[Compiled, tuple[Change, ...], tuple[Diagnostic, ...]]:
    """The file with the free names of its documents written out, what was changed, and where that cannot be."""
    written = [written_out(document) for document in compiled.documents]
    said = tuple([change for one in written for change in one.changes])
    refused = tuple([problem for one in written for problem in one.refused])
    return compiled._replace(documents=tuple([one.document for one in written])), said, refused


def _with(said: tuple[Change, ...], changes: tuple[Change, ...]) -> tuple[Change, ...]:
    return tuple(sorted((*changes, *said), key=lambda change: change.span))


def _errors(compiled: Compiled) -> tuple[Diagnostic, ...]:
    return tuple(found for found in compiled.diagnostics if found.severity >= Severity.ERROR)


def _changes(compiled: Compiled) -> tuple[Change, ...]:
    """The edits, by place: empty where nothing is legacy."""
    found = [change for document in compiled.documents for change in _legacy_of(compiled.source, document)]
    if not found:
        return ()
    for document in compiled.documents:
        # Only in files that change anyway: sugar of today is no reason to touch a file.
        found += _lowered_sugar(document, found)
        found += _old_version(compiled.source, document)
    return tuple(sorted(found, key=lambda change: change.span))


def _legacy_of(source: Source, document: Document) -> Iterator[Change]:
    yield from (change for change in document.changes if change.by not in AUTHORING)
    for note in document.diagnostics:
        if note.code in _NOTES:
            construct, became = _NOTES[note.code]
            word = source.text[source.offset_of(*note.span[:2]) : source.offset_of(*note.span[2:])]
            yield Change(BY, note.span, construct.format(word), "exact", became.format(word))


def _lowered_sugar(document: Document, legacy: list[Change]) -> Iterator[Change]:
    """The sugar in steps that change for another reason."""
    sugar = [change for change in document.changes if change.by in AUTHORING]
    if not sugar or document.playbook is None:
        return
    places = sorted([change.span for change in legacy])
    for step in document.playbook.steps:
        start, stop = step.span[:2], step.span[2:]
        # Searched, since a large file has as many changes as steps.
        first = bisect_left(places, start)
        if first < len(places) and places[first][:2] < stop:
            yield from [change for change in sugar if start <= change.span[:2] < stop]


def _old_version(source: Source, document: Document) -> Iterator[Change]:
    """The version of a document that changes."""
    if document.playbook is None:
        return
    found = _VERSION.search(source.text, source.offset_of(*document.playbook.span[:2]))
    if found is not None and found[1] != VERSION:
        span = source.span_of(*found.span(1))
        yield Change(BY, span, f"`apiVersion: {found[1]}`", "exact", f"`{VERSION}`")


def _rewritten(compiled: Compiled, reads: list[Playbook | None], changes: tuple[Change, ...], data: bytes) -> bytes:
    """The new content of a file. Raises Refusal."""
    text = decode("", data)[0].text
    breaks = "\r\n" if "\r\n" in text else "\n"
    # One sort of break inside, the file's own at the end: edits need not know of two characters.
    plain = text.replace(breaks, "\n")
    reading = read_yaml(compiled.source.name, plain.encode())
    nodes = [node for node in reading.documents if node is not None]
    # Mixed breaks could not be put back where they were.
    if any(odd in plain for odd in _ODD_BREAKS) or plain.replace("\n", breaks) != text:
        raise Refusal("its lines end in different ways: let all of them end the same way", nodes[0])
    told = [change for document in compiled.documents for change in document.changes]
    touched = _touched(reading.source, [*changes, *told], _legacy_places(reads))
    documents = list(zip(compiled.documents, reads, nodes, strict=True))
    # From the last to the first, so that offsets of those before stay right.
    for document, read, node in reversed(documents):
        if document.playbook is not None and read is not None and isinstance(node, Mapping):
            tree, was = _as_wanted(document.playbook, node), _as_written(read, node)
            _put_declared(tree, read)
            plain = rewritten_document(plain, node, tree, was, touched)
    return encode(plain.replace("\n", breaks), data)


def _sugar_of(playbook: Playbook) -> list[Sugar]:
    """The sugar of a playbook; what stands inside of older constructs goes with them and is left out where that is
    all.
    """
    outer = list(outer_sugar(playbook))
    return list(sugar_in(playbook)) if any(isinstance(node, BLOCK) for node in outer) else outer


def _legacy_places(reads: list[Playbook | None]) -> Iterator[Span]:
    """Where older constructs were read, also those of which no pass had anything to say."""
    for read in reads:
        for node in _sugar_of(read) if read is not None else ():
            if not isinstance(node, _NO_LEGACY):
                yield getattr(node, "span", NOWHERE)


def _touched(source: Source, changes: Iterable[Change], places: Iterable[Span]) -> Touched:
    """Where the changes are, and the older constructs."""
    sugar, legacy = list[int](), [source.offset_of(*span[:2]) for span in places]
    for change in changes:
        (sugar if change.by in AUTHORING else legacy).append(source.offset_of(*change.span[:2]))
    return Touched(sorted(legacy), sorted(sugar))


def _as_written(playbook: Playbook, node: Mapping) -> Placed:
    """The tree of a playbook as it was read, with the version and the metadata that stand there."""
    tree = tree_of(playbook)
    version, metadata = node.get("apiVersion"), node.get("metadata")
    tree["apiVersion"] = version.text if isinstance(version, Scalar) else None
    written = metadata.index if isinstance(metadata, Mapping) else {}
    tree["metadata"] = {key: as_tree(value) for key, value in playbook.metadata.items() if key in written}
    return tree


def _as_wanted(playbook: Playbook, node: Mapping) -> Placed:
    """The canonical tree; what stands at the root and belongs to the metadata has its place there."""
    tree = tree_of(playbook)
    metadata = {key: as_tree(value) for key, value in playbook.metadata.items()}
    written = node.get("metadata")
    for key in ("name", "path"):
        moved = node.get(key)
        if moved is not None and not (isinstance(written, Mapping) and key in written.index):
            # With its place, so that the value is copied from the root, with its quotes and comment.
            metadata[key] = Value(Literal(playbook.metadata[key]), moved.span, moved)
    tree["metadata"] = metadata
    return tree


def _put_declared(tree: Placed, read: Playbook) -> None:
    """Put what tasks declare into the tree, which no plan has: a task may have moved out of the mapping it stood in."""
    tasks = [task for step in read.steps for task in all_tasks(step.tasks, step.extras)]
    written = {
        # With its node: it says that what stands at that place is what is meant, comments and all.
        (task.span, task.name): Value(Literal(value_of(extra.node)), extra.node.span, extra.node)
        for task in (*tasks, *(task for _, task in read.workbook))
        for extra in task.extras
        if isinstance(extra, Declared)
    }
    steps = tree["workflow"] if written and isinstance(tree["workflow"], list) else []
    lists = [tree.get("workbook"), *(step.get("tool") for step in steps if isinstance(step, dict))] if written else []
    for listed in lists:
        for item in listed if isinstance(listed, list) else ():
            if isinstance(item, Placed) and (item.span, item.get("name")) in written:
                item["assert"] = written[item.span, str(item["name"])]


def _differences(before: Compiled, after: Compiled) -> Iterator[Diagnostic]:
    """The faults of the new text: nothing, or there is a mistake of ours."""
    # Two faults are the file's own and not ours: an anchor that was rewritten away, and depth.
    for problem in _errors(after):
        anchor = _ANCHOR.search(problem.message) if problem.code == _LOST_ANCHOR else None
        if anchor is not None:
            at = before.source.text.find(anchor[0])
            message = f"the anchor `{anchor[0]}` stands in a construct that changes: write out its aliases"
            yield finding("NL904", message, before.source.span_of(at, at + len(anchor[0])))
        elif problem.code == _TOO_DEEP:
            yield finding(
                "NL904", "as canonical source it would nest deeper than files may: build a part in a step", NOWHERE
            )
        else:
            yield finding(
                "NL905", f"the new text does not compile: line {problem.span.line}: {problem.message}", NOWHERE
            )
        return
    # A second migration must find nothing: else the first one left half of an older form.
    for change in _changes(after):
        yield finding("NL905", f"the new text has {change.construct} in line {change.span.line}", NOWHERE)
        return
    plans = _plans(before)
    if len(plans) != len(after.plans) or not all(map(same_plan, plans, after.plans)):
        yield finding("NL905", "the new text compiles to another plan", NOWHERE)


def _left_out(before: Compiled, after: Compiled) -> Iterator[Change]:
    """The keys without an effect that the new text has no more: each to be looked at, as its author meant something."""
    kept = Counter(found.message for found in after.diagnostics if found.code == _IDLE)
    for found in before.diagnostics:
        if found.code != _IDLE:
            continue
        kept[found.message] -= 1
        if kept[found.message] < 0:
            word = found.message.partition(" is ")[0]
            instead = "" if found.help == LEAVE_OUT else f"; {found.help}"
            yield Change(BY, found.span, word, "review", f"nothing: it has no effect here{instead}")


def _plans(compiled: Compiled) -> tuple[Plan, ...]:
    """The plans of all documents, anew for those whose free names were written out."""
    documents = [planned(compiled.source.name, one) if one.unknown else one for one in compiled.documents]
    return tuple([one.plan for one in documents if one.plan is not None])


# The migration of a file as the fix of its notes about older forms.
#
# One construct is not rewritten alone: what a `vars` becomes decides how others read it, and a file in which something
# older is left is read by other rules than one without. So the notes of a file share one fix, its whole migration. It
# is safe where every change is `exact` or `safe`, and there is none where a comment takes one of the notes back.
def with_migration(compiled: Compiled, data: bytes, left: list[Diagnostic], codes: frozenset[str]) -> list[Diagnostic]:
    """The findings that are left of a compiled file; the notes of those codes with the fix that rewrites it."""
    notes = [one for one in left if one.code in codes]
    # A note that a comment takes back says that its author wants the old form kept.
    if compiled.count_of(Severity.ERROR) or len(notes) < sum(one.code in codes for one in compiled.diagnostics):
        return left
    fix = _fix(compiled.source.name, data)
    return [one._replace(fix=fix) if fix and one.code in codes and one.fix is None else one for one in left]


def _fix(name: str, data: bytes) -> Fix | None:
    """The migration of a file, None where it cannot be migrated."""
    made = migrated(name, data)
    if made.after is None or made.after == data:
        return None
    # As edits of lines, which is how fixes are shown and put together with others.
    (span, text), *rest = line_edits(decode("", data)[0].text, decode("", made.after)[0].text)
    is_safe = all(change.klass in ("exact", "safe") for change in made.changes)
    return Fix(span, text, "migrate the whole file", is_safe, tuple(rest))
