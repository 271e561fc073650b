"""The order of the stages, and the only place that knows it.

    bytes → documents → playbook → LOWERING → rules, refusals → children → plan → TRANSFORMS

A pass is a row of a table. The order is written there and checked, never solved: `order_problems` says what
breaks an `after`. The loop, and only the loop, tells the observer and checks what must hold between passes:
sugar that a pass removes never comes back, and `verify` finds nothing in a plan. Findings are values; a stage
that finds errors ends the way of its document, and the others go on.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Mapping as MappingOf
from types import FunctionType, MappingProxyType
from typing import Protocol, TypeAlias

from noetl_ir import registry
from noetl_ir.collecting import uncollected
from noetl_ir.plan import Child, Plan
from noetl_ir.rows import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.bodies import Choose, Until, While
from noetlc.ast.cases import Case, CaseSetting
from noetlc.ast.iteration import Cursor, EndLoop, Frame, LoopOnError, Slicing, Where
from noetlc.ast.names import OldBlocks, OldNames, OldSecrets
from noetlc.ast.placeholders import without_placeholders
from noetlc.ast.playbook import Playbook
from noetlc.ast.repeat import OnError, Pages, Poll, Retry
from noetlc.ast.skips import Skip
from noetlc.ast.state import ArcSet, Assign, Result, RootVars, StepArgs, StepSet
from noetlc.ast.storage import Sink
from noetlc.ast.sugar import Sugar
from noetlc.ast.targets import ImplicitEnd, Targets
from noetlc.ast.walk import sugar_in, sugar_kinds
from noetlc.build.family import (
    BROKEN,
    COMPUTED,
    NO_CATALOGUE,
    NOT_FOUND,
    Catalogue,
    Member,
    calls_of,
    embedded_in,
    family_of,
    obstacle_finding,
    obstacles_of,
)
from noetlc.build.refusals import refusals_of
from noetlc.diag.change import Change, Note
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.diag.findings import sorted_findings
from noetlc.diag.told import told
from noetlc.dialects import read_playbook, reader_of
from noetlc.reading.check import check_document
from noetlc.reading.places import Unknown
from noetlc.rules import check_net, check_playbook
from noetlc.source.nodes import Mapping, Node
from noetlc.source.settled import as_meant, besides_anchors
from noetlc.source.text import Source
from noetlc.source.uses import at_their_uses
from noetlc.source.yaml_reader import Reading, read_yaml


class Pass(NamedTuple):
    """A row of `TRANSFORMS`: `fn` maps a plan to itself, `after` names passes."""

    fn: Callable[[Plan], Plan]
    after: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What `dump --after` calls it."""
        return self.fn.__name__


class Lowering(NamedTuple):
    """A row of `LOWERING`: `fn` maps a playbook to itself and notes its changes.

    `removes` are the sugar nodes that are gone after it. Where none of them, nor of `among`, is in a playbook, the
    pass has nothing to do and is not run.
    """

    fn: Callable[[Playbook, Note], Playbook]
    removes: tuple[type[Sugar], ...] = ()
    after: tuple[str, ...] = ()
    among: tuple[type[Sugar], ...] = ()

    @property
    def name(self) -> str:
        """What `dump --after` and notes call it."""
        return self.fn.__name__


def _part(name: str) -> Callable[[Playbook, Note], Playbook]:
    """The pass `noetlc.lower.<name>`, imported when it has something to do: canonical playbooks start sooner."""

    def run(playbook: Playbook, note: Note) -> Playbook:
        return registry.load("noetlc.lower", name, name, FunctionType)(playbook, note)  # type: ignore[no-any-return]

    run.__name__ = name
    return run


LOWERING: tuple[Lowering, ...] = (
    Lowering(_part("complete_http_paths")),
    Lowering(_part("share_workbook"), among=(Sink, Retry, Pages, Poll, Assign, OnError)),
    Lowering(_part("lower_args"), removes=(StepArgs,)),
    Lowering(_part("lower_loop"), removes=(Slicing, Where, LoopOnError), among=(Pages,)),
    Lowering(_part("lower_event_case"), among=(Case, CaseSetting)),
    Lowering(_part("lower_retry"), removes=(Retry, OnError), among=(Pages, Poll, Case)),
    Lowering(_part("lower_poll"), removes=(Poll,), after=("lower_retry",)),
    Lowering(_part("lower_pages"), removes=(Pages,), after=("lower_retry",)),
    Lowering(_part("lower_vars"), removes=(Assign,), after=("lower_retry", "lower_poll")),
    Lowering(_part("lower_sink"), removes=(Sink,), after=("lower_vars",)),
    Lowering(_part("lower_inclusive_case"), after=("lower_retry", "lower_sink", "lower_event_case"), among=(Case,)),
    Lowering(_part("lower_case"), removes=(Case, CaseSetting), after=("lower_inclusive_case",)),
    Lowering(_part("lower_next"), removes=(Targets,), after=("lower_case",)),
    Lowering(_part("lower_set"), removes=(StepSet, Result, ArcSet), after=("lower_sink", "lower_next")),
    Lowering(_part("lower_cursor"), removes=(Cursor, Frame), after=("lower_case", "lower_sink")),
    Lowering(_part("lower_root_vars"), removes=(RootVars,), after=("lower_vars", "lower_case", "lower_set")),
    Lowering(_part("lower_skip"), removes=(Skip,), after=("lower_set",)),
    Lowering(_part("enter_sugar"), among=(Choose, While, Until)),
    Lowering(_part("lower_choose"), removes=(Choose,), after=("enter_sugar",)),
    Lowering(_part("lower_until"), removes=(Until,), after=("enter_sugar",)),
    Lowering(_part("lower_while"), removes=(While,), after=("enter_sugar",)),
    Lowering(
        _part("lower_end_loop"), removes=(EndLoop,), after=("lower_next", "lower_set", "lower_skip", "lower_while")
    ),
    Lowering(_part("lower_end"), removes=(ImplicitEnd,), after=("lower_next",)),
    Lowering(_part("lower_blocks"), removes=(OldBlocks,), after=("lower_next", "lower_set", "lower_skip", "lower_end")),
    Lowering(_part("lower_secrets"), removes=(OldSecrets,), after=("lower_root_vars", "lower_until", "lower_while")),
    Lowering(_part("rename_names"), removes=(OldNames,), after=("lower_next", "lower_until", "lower_while")),
)
"""Playbook to playbook, sugar to canonical form."""

AUTHORING = frozenset({"lower_choose", "lower_while", "lower_until"})
"""Passes for what people write today: their changes are no notes."""

TRANSFORMS: tuple[Pass, ...] = ()
"""Plan to plan. None pays yet: what could be pruned, unreachable steps, is what findings are about."""

Seen: TypeAlias = dict[str, Member | str]
"""Path → the child there, checked, or the code that says what is in the way."""

READ, BUILD = "read", "build"  # the names of the stages that are no passes


class Observer(Protocol):
    """Told of every stage of the outermost file. Timing and dumps live in the command line."""

    def begun(self, stage: str) -> None: ...
    def ended(self, stage: str, result: Playbook | Plan | None) -> None: ...


class Document(NamedTuple):
    """What became of the document `node`: `playbook` is canonical, None where it is no mapping; `plan` is None with an
    error in its findings, or when none was asked; `changes` are what lowering changed, in the order of the passes;
    `called` the paths that lint looked up, `unknown` the names that nothing declares where that is no error, and
    `meant` what plain scalars are that YAML versions read differently, see `Reader`.
    """

    playbook: Playbook | None
    plan: Plan | None
    diagnostics: tuple[Diagnostic, ...]
    changes: tuple[Change, ...] = ()
    node: Node | None = None
    called: tuple[str, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    meant: MappingOf[Span, str] = MappingProxyType({})


class Compiled(NamedTuple):
    """What became of one file; `diagnostics` are all findings, sorted."""

    source: Source
    documents: tuple[Document, ...]
    diagnostics: tuple[Diagnostic, ...]

    def count_of(self, severity: Severity) -> int:
        """How many findings are of that severity or worse."""
        return sum(finding.severity >= severity for finding in self.diagnostics)

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plans of all documents; empty when any of them has an error."""
        if self.count_of(Severity.ERROR):
            return ()
        return tuple([document.plan for document in self.documents if document.plan is not None])


class BrokenPass(AssertionError):
    """A pass did what none may do: an error of ours."""


class Quiet:
    """The observer that looks away."""

    def begun(self, stage: str) -> None:
        """Nothing."""

    def ended(self, stage: str, result: Playbook | Plan | None) -> None:
        """Nothing."""


QUIET = Quiet()


def compile_source(
    name: str,
    data: bytes,
    catalogue: Catalogue = NO_CATALOGUE,
    observer: Observer = QUIET,
    *,
    at_least: Severity = Severity.ERROR,
) -> Compiled:
    """Compile every document of a file called `name`. Never raises for any bytes.

    Rules that never find anything as bad as `at_least` are not asked: they cannot stop a compile, and lint asks them.
    """
    with uncollected():
        return _Run(catalogue, observer, at_least).documents(name, data, _Run.plan)


def check_source(name: str, data: bytes, catalogue: Catalogue = NO_CATALOGUE, seen: Seen | None = None) -> Compiled:
    """Everything to say about a file, also by the rules on nets, without plans; `seen` keeps children between files."""
    with uncollected():
        return _Run(catalogue, QUIET, min(Severity), seen).documents(name, data, _Run.lint)


def understood(source: Source, node: Node | None, observer: Observer = QUIET) -> Document:
    """Read a document in whatever dialects it is written, lower it, and check what its names mean; no rule is asked."""
    observer.begun(READ)
    r = reader_of(source)
    playbook = read_playbook(r, node)
    observer.ended(READ, playbook)
    changes = list(r.changes)
    unknown: tuple[Unknown, ...] = ()
    if playbook is not None:
        playbook = _lowered(playbook, changes.append, observer)
        assert isinstance(node, Mapping)
        unknown = check_document(r, playbook, node)
    findings = [*r.findings, *(told(change) for change in changes if change.by not in AUTHORING)]
    return Document(playbook, None, sorted_findings(findings), tuple(changes), unknown=unknown, meant=r.meant)


def planned(name: str, document: Document) -> Document:
    """A checked document of the file called `name` with the plan of its playbook; no child is looked up."""
    return _Run(NO_CATALOGUE, QUIET, Severity.ERROR).planned(name, document)


def order_problems(table: Sequence[Pass] | Sequence[Lowering]) -> Iterator[str]:
    """What breaks the order that the rows ask for."""
    seen: set[str] = set()
    for row in table:
        yield from (f"{row.name} must come after {name}" for name in row.after if name not in seen)
        seen.add(row.name)


def base_name(name: str) -> str:
    """The last part of a file's name, whichever way its folders are written."""
    return name.replace("\\", "/").rpartition("/")[2]


def _lowered(playbook: Playbook, note: Note, observer: Observer) -> Playbook:
    """The playbook after all passes; without any sugar, itself."""
    there, gone = sugar_kinds(playbook), frozenset[type[Sugar]]()
    for row in LOWERING:
        concerned = {*row.removes, *row.among}
        observer.begun(row.name)
        if there & concerned or not concerned:
            before, playbook = playbook, row.fn(playbook, note)
            there = there if playbook is before else sugar_kinds(playbook)
            gone |= frozenset(row.removes)
            back = sorted(kind.__name__ for kind in there & gone)
            if back:
                raise BrokenPass(f"after {row.name} there is a {back[0]} again")
        observer.ended(row.name, playbook)
    for node in sugar_in(playbook) if there else ():
        span: Span = getattr(node, "span")  # noqa: B009 - every sugar node has one
        note(Change("read", span, f"`{type(node).__name__.lower()}` here", "refused", "no pass takes it at this place"))
    return without_placeholders(playbook) if gone else playbook


class _Run:
    """One call: the catalogue, the observer, which rules are asked, and the children looked up so far."""

    def __init__(self, catalogue: Catalogue, observer: Observer, at_least: Severity, seen: Seen | None = None) -> None:
        self._catalogue = catalogue
        self._observer = observer
        self._at_least = at_least
        self._seen: Seen = {} if seen is None else seen

    def documents(self, name: str, data: bytes, each: Callable[["_Run", Source, Node], Document]) -> Compiled:
        reading = read_yaml(name, data)
        nodes = [node for node in reading.documents if node is not None]
        documents = tuple([each(self, reading.source, node)._replace(node=node) for node in nodes])
        findings: Iterable[Diagnostic] = _findings(reading, documents)
        if reading.uses:
            findings = at_their_uses(tuple(findings), reading.uses, lambda: self._at_uses(name, data, each))
        return Compiled(reading.source, documents, sorted_findings(besides_anchors(reading.source, findings)))

    def _at_uses(self, name: str, data: bytes, each: Callable[["_Run", Source, Node], Document]) -> list[Diagnostic]:
        """The findings of a file in which each alias is a copy at its own place."""
        run, reading = _Run(self._catalogue, QUIET, self._at_least, self._seen), read_yaml(name, data, at_uses=True)
        look = _Run.lint if each is _Run.lint else _Run.check
        return _findings(reading, [look(run, reading.source, node) for node in reading.documents if node is not None])

    def check(self, source: Source, node: Node) -> Document:
        document = understood(source, node, self._observer)
        if (playbook := document.playbook) is None:
            return document
        findings = [*document.diagnostics, *check_playbook(source, playbook, self._at_least)]
        if not _has_errors(findings):
            findings += refusals_of(playbook)
            computed = [span for path, span in calls_of(playbook) if path is None]
            findings += [obstacle_finding(COMPUTED, span, "") for span in computed]
        return document._replace(diagnostics=tuple(findings))

    def lint(self, source: Source, node: Node) -> Document:
        document = self.check(source, node)
        if document.playbook is None or _has_errors(document.diagnostics):
            return document
        document = document._replace(diagnostics=(*document.diagnostics, *check_net(source, document.playbook)))
        if self._catalogue is NO_CATALOGUE or document.playbook is None:
            return document
        family, root = family_of(Member(source.name, document.playbook), self._look)
        found = (*document.diagnostics, *obstacles_of(family, root))
        return document._replace(diagnostics=found, called=(*family.keys, *family.missing))

    def plan(self, source: Source, node: Node) -> Document:
        return self.planned(source.name, self.check(source, node))

    def planned(self, name: str, document: Document) -> Document:
        if (playbook := document.playbook) is None or _has_errors(document.diagnostics):
            return document
        from noetl_ir.plan_format import digest_of, write_plan  # lint does without them and starts sooner

        family, root = family_of(Member(name, playbook), self._look)
        made: dict[str, Child] = {}
        for key in family.order:
            if key != root:
                children = embedded_in(family, key, made)[0]
                data = write_plan(self._built(family.members[key], children, QUIET))
                made[key] = Child("", digest_of(data), data)
        children, findings = embedded_in(family, root, made)
        plan = self._built(family.members[root], children, self._observer)
        return document._replace(plan=plan, diagnostics=(*document.diagnostics, *findings))

    def _look(self, path: str) -> Member | str:
        """The playbook of a path, checked, or the code that says what is in the way."""
        if path not in self._seen:
            self._seen[path] = self._looked_up(path)
        return self._seen[path]

    def _looked_up(self, path: str) -> Member | str:
        file = self._catalogue.find(path)
        if file is None:
            return NOT_FOUND
        compiled = _Run(NO_CATALOGUE, QUIET, Severity.ERROR).documents(*file, _Run.check)
        named = [one for one in compiled.documents if one.playbook is not None and one.playbook.path == path]
        chosen = (named or compiled.documents)[:1]
        if not chosen or chosen[0].playbook is None or compiled.count_of(Severity.ERROR):
            return BROKEN
        return Member(file[0], chosen[0].playbook)

    def _built(self, member: Member, children: tuple[Child, ...], observer: Observer) -> Plan:
        from noetlc.build.net import build_plan

        observer.begun(BUILD)
        plan = _verified(BUILD, build_plan(member.playbook, base_name(member.file), children))
        observer.ended(BUILD, plan)
        for row in TRANSFORMS:
            observer.begun(row.name)
            plan = _verified(row.name, row.fn(plan))
            observer.ended(row.name, plan)
        return plan


def _verified(stage: str, plan: Plan) -> Plan:
    from noetl_ir.verify import verify

    problems = verify(plan)
    if problems:
        raise BrokenPass(f"the plan of {plan.name!r} is not sound after {stage}: {problems[0]}")
    return plan


def _findings(reading: Reading, documents: Iterable[Document]) -> list[Diagnostic]:
    """What was found in the text of a file, as far as reading its documents did not settle it, and in them."""
    documents = tuple(documents)
    meant = {span: what for document in documents for span, what in document.meant.items()}
    return [*as_meant(reading.diagnostics, meant), *(found for one in documents for found in one.diagnostics)]


def _has_errors(findings: Sequence[Diagnostic]) -> bool:
    return any(finding.severity is Severity.ERROR for finding in findings)
