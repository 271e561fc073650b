"""The order of the stages, and the only place that knows it.

    bytes → documents → playbook → LOWERING → rules, refusals → children → plan

Reading and LOWERING, whose table is in `noetlc.older.passes`, come through one door. The order of that table is written
there and checked, never solved: `order_problems` says what breaks an `after`. `verify` finds nothing in a plan that was
made. Findings are values; a stage that finds errors ends the way of its document, and the others go on.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Mapping as MappingOf
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeAlias

from noetl_ir.collecting import uncollected
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.playbook import Playbook
from noetlc.codegen.child_inputs import unfit_calls
from noetlc.codegen.family import (
    BROKEN,
    COMPUTED,
    NO_CATALOGUE,
    NOT_FOUND,
    Member,
    PlaybookCatalogue,
    calls_of,
    embedded_in,
    family_of,
    obstacle_finding,
    obstacles_of,
)
from noetlc.codegen.forks import refusals_of
from noetlc.diag.change import Change, change_finding
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.diag.findings import hides, sorted_findings, without_consequences
from noetlc.diag.suggesting import with_suggestion
from noetlc.older import AUTHORING, LOWERING, READ, BrokenPass, Lowering, forks_of, read
from noetlc.reading.check import check_document
from noetlc.reading.places import UndeclaredName
from noetlc.rules import check_net, check_playbook
from noetlc.source.nodes import Mapping, Node
from noetlc.source.resolve import as_meant, besides_anchors
from noetlc.source.text import Source, lines_of
from noetlc.source.uses import at_their_uses
from noetlc.source.yaml_reader import Reading, read_yaml

if TYPE_CHECKING:  # lint makes no plans, and starts sooner
    from noetl_ir.plan import Child, Plan
    from noetlc.reading.kept_file import KeptFile

_Seen: TypeAlias = dict[str, Member | str]
"""Path → the child there, checked, or the code that says what is in the way."""

BUILD = "build"
"""The name of the stage that makes the plan."""

STAGES = (READ, *(row.name for row in LOWERING), BUILD)
"""The names of all stages, in their order."""


class Observer(Protocol):
    """Told of every stage of the outermost file. Timing and dumps live in the command line."""

    def stage_begun(self, stage: str) -> None: ...
    def stage_ended(self, stage: str, result: "Playbook | Plan | None") -> None: ...


class Document(NamedTuple):
    """The result for the document `node`: `playbook` is canonical, `was` it before lowering, None where it is no
    mapping; `plan` is None with an error in its findings, or when none was asked; `changes` are what lowering changed,
    in the order of the passes; `called` the paths that lint looked up, `unknown` the names that nothing declares where
    that is no error, and `meant` what plain scalars are that YAML versions read differently, see `Reader`. `embedded`
    are the sources of the plans that the plan embeds, by their digests.
    """

    playbook: Playbook | None
    plan: "Plan | None"
    diagnostics: tuple[Diagnostic, ...]
    changes: tuple[Change, ...] = ()
    node: Node | None = None
    called: tuple[str, ...] = ()
    unknown: tuple[UndeclaredName, ...] = ()
    meant: MappingOf[Span, str] = MappingProxyType({})
    was: Playbook | None = None
    embedded: MappingOf[str, bytes] = MappingProxyType({})


class Compiled(NamedTuple):
    """The result for one file; `diagnostics` are all findings, sorted."""

    source: Source
    documents: tuple[Document, ...]
    diagnostics: tuple[Diagnostic, ...]

    def count_of(self, severity: Severity) -> int:
        """How many findings are of that severity or worse."""
        return sum(finding.severity >= severity for finding in self.diagnostics)

    @property
    def plans(self) -> "tuple[Plan, ...]":
        """The plans of all documents; empty when any of them has an error."""
        if self.count_of(Severity.ERROR):
            return ()
        return tuple([document.plan for document in self.documents if document.plan is not None])


class Quiet:
    """The observer that looks away."""

    def stage_begun(self, stage: str) -> None:
        """Nothing."""

    def stage_ended(self, stage: str, result: "Playbook | Plan | None") -> None:
        """Nothing."""


QUIET = Quiet()


def compile_source(
    name: str,
    data: bytes,
    catalogue: PlaybookCatalogue = NO_CATALOGUE,
    observer: Observer = QUIET,
    *,
    at_least: Severity = Severity.ERROR,
) -> Compiled:
    """Compile every document of a file called `name`. Never raises for any bytes.

    Rules that never find anything as bad as `at_least` are not asked: they cannot stop a compile, and lint asks them.
    """
    # Trees hold no cycles, and the collector would walk millions of nodes for nothing.
    with uncollected():
        return _Run(catalogue, observer, at_least).documents(name, data, _Run.plan)


def check_source(
    name: str,
    data: bytes,
    catalogue: PlaybookCatalogue = NO_CATALOGUE,
    seen: _Seen | None = None,
    kept: "KeptFile | None" = None,
) -> Compiled:
    """Everything to say about a file, also by the rules on nets, without plans; `seen` keeps children between files,
    and `kept` what was read of the file's last text.
    """
    with uncollected():
        return _Run(catalogue, QUIET, min(Severity), seen, kept).documents(name, data, _Run.lint)


def understood(
    source: Source, node: Node | None, observer: Observer = QUIET, kept: "KeptFile | None" = None
) -> Document:
    """Read a document in whatever dialects it is written, lower it, and check what its names mean; no rule is asked."""
    playbook, changes, r, was = read(source, node, observer, kept)
    unknown: tuple[UndeclaredName, ...] = ()
    if playbook is not None:
        assert isinstance(node, Mapping)
        # Before names are checked: in a file with older constructs a name that nothing declares is a warning.
        r.legacy_seen = r.legacy_seen or any(change.by not in AUTHORING for change in changes)
        unknown = check_document(r, playbook, node)
    findings = [*r.findings, *(change_finding(change) for change in changes if change.by not in AUTHORING)]
    # Where branches of an older file end apart, the old engines' result was another: its author is told, of that file
    # alone.
    if playbook is not None and r.legacy_seen:
        findings += forks_of(playbook)
    return Document(
        playbook,
        None,
        sorted_findings(without_consequences(findings)),
        changes,
        unknown=unknown,
        meant=r.meant,
        was=was,
    )


def planned(name: str, document: Document) -> Document:
    """A checked document of the file called `name` with the plan of its playbook; no child is looked up."""
    return _Run(NO_CATALOGUE, QUIET, Severity.ERROR).planned(name, document)


def order_problems(table: Sequence[Lowering]) -> Iterator[str]:
    """The rows that break the order that the rows ask for."""
    seen: set[str] = set()
    for row in table:
        yield from (f"{row.name} must come after {name}" for name in row.after if name not in seen)
        seen.add(row.name)


def base_name(name: str) -> str:
    """The last part of a file's name, whichever way its folders are written."""
    return name.replace("\\", "/").rpartition("/")[2]


class _Run:
    """One call: the catalogue, the observer, which rules are asked, and the children looked up so far."""

    def __init__(
        self,
        catalogue: PlaybookCatalogue,
        observer: Observer,
        at_least: Severity,
        seen: _Seen | None = None,
        kept: "KeptFile | None" = None,
    ) -> None:
        self._catalogue = catalogue
        self._observer = observer
        self._at_least = at_least
        self._seen: _Seen = {} if seen is None else seen
        self._kept = kept

    def documents(self, name: str, data: bytes, each: Callable[["_Run", Source, Node], Document]) -> Compiled:
        reading = read_yaml(name, data) if self._kept is None else self._kept.read(name, data)
        nodes = [node for node in reading.documents if node is not None]
        documents = tuple([each(self, reading.source, node)._replace(node=node) for node in nodes])
        findings: Iterable[Diagnostic] = _findings(reading, documents)
        if reading.uses:
            findings = at_their_uses(tuple(findings), reading.uses, lambda: self._at_uses(name, data, each))
        told = sorted_findings(besides_anchors(reading.source, findings))
        return Compiled(reading.source, documents, tuple([with_suggestion(reading.source, one) for one in told]))

    def _at_uses(self, name: str, data: bytes, each: Callable[["_Run", Source, Node], Document]) -> list[Diagnostic]:
        """The findings of a file in which each alias is a copy at its own place."""
        # Quiet: whoever observes has been told of these stages. The children that were looked up are taken along.
        run, reading = _Run(self._catalogue, QUIET, self._at_least, self._seen), read_yaml(name, data, at_uses=True)
        look = _Run.lint if each is _Run.lint else _Run.check
        return _findings(reading, [look(run, reading.source, node) for node in reading.documents if node is not None])

    def check(self, source: Source, node: Node) -> Document:
        document = understood(source, node, self._observer, self._kept)
        if (playbook := document.playbook) is None:
            return document
        # Where a part could not be read, rules on what is missing would blame its author for what we do not see.
        partial = any(map(hides, document.diagnostics))
        rules = check_playbook(source, playbook, self._at_least, document.was, partial=partial)
        findings = [*document.diagnostics, *rules]
        # A net of a wrong playbook proves nothing; its errors are told first.
        if not _has_errors(findings):
            findings += refusals_of(playbook)
            computed = [span for path, span in calls_of(playbook) if path is None]
            findings += [obstacle_finding(COMPUTED, span, "") for span in computed]
        return document._replace(diagnostics=tuple(findings))

    def lint(self, source: Source, node: Node) -> Document:
        document = self.check(source, node)
        if document.playbook is None or _has_errors(document.diagnostics):
            return document
        found = (*document.diagnostics, *check_net(source, document.playbook, document.was))
        document = document._replace(diagnostics=found)
        # Without a folder to look in every child would be missing.
        if self._catalogue is NO_CATALOGUE or document.playbook is None:
            return document
        family, root = family_of(Member(source.name, document.playbook), self._look)
        found = (*document.diagnostics, *obstacles_of(family, root), *unfit_calls(family, root))
        return document._replace(diagnostics=found, called=family.asked)

    def plan(self, source: Source, node: Node) -> Document:
        return self.planned(source.name, self.check(source, node))

    def planned(self, name: str, document: Document) -> Document:
        if (playbook := document.playbook) is None or _has_errors(document.diagnostics):
            return document
        from noetl_ir.plan import Child
        from noetl_ir.plan_format import digest_of, write_plan

        family, root = family_of(Member(name, playbook), self._look)
        made: dict[str, Child] = {}
        sources: dict[str, dict[str, bytes]] = {}
        # Children first: the plan of a caller holds theirs.
        for key in family.order:
            if key != root:
                children = embedded_in(family, key, made)[0]
                data = write_plan(self._built(family.members[key], children, QUIET))
                made[key] = Child("", digest_of(data), data)
                sources[made[key].digest] = {made[key].digest: family.members[key].data, **_embedded(children, sources)}
        children, findings = embedded_in(family, root, made)
        plan = self._built(family.members[root], children, self._observer)
        findings += unfit_calls(family, root)
        found = (*document.diagnostics, *findings)
        return document._replace(plan=plan, diagnostics=found, embedded=_embedded(children, sources))

    def _look(self, path: str) -> Member | str:
        """The playbook of a path, checked, or the code that says what is in the way."""
        if path not in self._seen:
            self._seen[path] = self._looked_up(path)
        return self._seen[path]

    def _looked_up(self, path: str) -> Member | str:
        file = self._catalogue.find(path)
        if file is None:
            return NOT_FOUND
        # Checked alone: its own calls are looked up by the family, which sees circles.
        compiled = _Run(NO_CATALOGUE, QUIET, Severity.ERROR).documents(*file, _Run.check)
        # A file may hold several playbooks; the one of that path is meant, else the first.
        named = [one for one in compiled.documents if one.playbook is not None and one.playbook.path == path]
        chosen = (named or compiled.documents)[:1]
        if not chosen or chosen[0].playbook is None or compiled.count_of(Severity.ERROR):
            return BROKEN
        data = file[1] if len(compiled.documents) == 1 else _alone(compiled.source, chosen[0].node)
        return Member(file[0], chosen[0].playbook, data)

    def _built(self, member: Member, children: "tuple[Child, ...]", observer: Observer) -> "Plan":
        from noetl_ir.verify import verify
        from noetlc.codegen.net import build_plan

        observer.stage_begun(BUILD)
        plan = build_plan(member.playbook, base_name(member.file), children)
        # Asked in every compile, not in tests alone: a plan that is not sound would run to a wrong value.
        if problems := verify(plan, assembled=True):
            raise BrokenPass(f"the plan of {plan.name!r} is not sound: {problems[0]}")
        observer.stage_ended(BUILD, plan)
        return plan


def _alone(source: Source, node: Node | None) -> bytes:
    """The text of one document of a file with several: its lines in their places, and nothing of the others. Whoever
    may see a playbook may not see those beside it.
    """
    lines = lines_of(source.text)
    first, last = (node.span.line, node.span.end_line) if node is not None else (0, 0)
    kept = [line if first <= at <= last else "\n" for at, line in enumerate(lines, 1)]
    return "".join(kept).encode("utf-8", "surrogatepass")


def _embedded(children: "Iterable[Child]", sources: MappingOf[str, MappingOf[str, bytes]]) -> dict[str, bytes]:
    """The sources of children and of what they embed, of which those of each child are known."""
    return {digest: source for child in children for digest, source in sources[child.digest].items()}


_DASH = "NL018"
"""A key that begins with a dash, which the scope of the key says too where it knows none such."""


def _findings(reading: Reading, documents: Iterable[Document]) -> list[Diagnostic]:
    """The findings in the text of a file, as far as reading its documents did not settle it, and in them."""
    documents = tuple(documents)
    # One slip, one finding: the scope that does not know the key says more than the dash alone.
    told = {found.span for one in documents for found in one.diagnostics if found.code == "NL101"}
    written = [found for found in reading.diagnostics if found.code != _DASH or found.span not in told]
    meant = {span: what for document in documents for span, what in document.meant.items()}
    return [*as_meant(written, meant), *(found for one in documents for found in one.diagnostics)]


def _has_errors(findings: Sequence[Diagnostic]) -> bool:
    return any(finding.severity is Severity.ERROR for finding in findings)
