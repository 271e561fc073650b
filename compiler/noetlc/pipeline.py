"""The order of the stages, and the only place that knows it.

    bytes → documents → playbook → LOWERING → rules, refusals → children → plan → TRANSFORMS

A pass is a row of a table. The order is written there and checked, never solved: `order_problems` says what
breaks an `after`. The loop, and only the loop, tells the observer and checks what must hold between passes:
sugar that a pass removes never comes back, and `verify` finds nothing in a plan. Findings are values; a stage
that finds errors ends the way of its document, and the others go on.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from noetl_ir.collecting import uncollected
from noetl_ir.plan import Child, Plan
from noetlc.ast.playbook import Playbook
from noetlc.ast.sugar import Sugar, sugar_in
from noetlc.build.family import (
    BROKEN,
    COMPUTED,
    NOT_FOUND,
    TOO_LARGE,
    Family,
    Member,
    calls_of,
    family_of,
    obstacle_finding,
)
from noetlc.build.refusals import refusals_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.diag.findings import sorted_findings
from noetlc.dialects import read_playbook
from noetlc.rules import check_playbook
from noetlc.source.nodes import Node
from noetlc.source.text import Source
from noetlc.source.yaml_reader import read_yaml

Form = TypeVar("Form", Playbook, Plan)


class Pass(NamedTuple, Generic[Form]):
    """A row: `fn` maps a form to itself, `removes` are the sugar nodes that it lowers, `after` names
    passes.
    """

    fn: Callable[[Form], Form]
    removes: tuple[type[Sugar], ...] = ()
    after: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What `dump --after` calls it."""
        return self.fn.__name__


LOWERING: tuple[Pass[Playbook], ...] = ()
"""Playbook to playbook, sugar to canonical form."""

TRANSFORMS: tuple[Pass[Plan], ...] = ()
"""Plan to plan. None pays yet: what could be pruned, unreachable steps, is what findings are about."""

READ, BUILD = "read", "build"
"""The names of the stages that are no passes."""


class Observer(Protocol):
    """Told of every stage of the outermost file. Timing and dumps live in the command line."""

    def begun(self, stage: str) -> None: ...
    def ended(self, stage: str, result: Playbook | Plan | None) -> None: ...


class Catalogue(Protocol):
    """Where child playbooks are looked up."""

    def find(self, path: str) -> tuple[str, bytes] | None:
        """The file that holds the playbook of that path: its name and content."""
        ...


class Document(NamedTuple):
    """What became of one document: `plan` is None with an error among its findings, or when none was asked."""

    playbook: Playbook | None
    plan: Plan | None
    diagnostics: tuple[Diagnostic, ...]


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


class NoCatalogue:
    """The catalogue in which nothing is."""

    def find(self, path: str) -> tuple[str, bytes] | None:
        """None."""
        return None


QUIET, NO_CATALOGUE = Quiet(), NoCatalogue()
MAX_EMBEDDED = 1 << 26
"""The largest plan, in bytes, that is embedded in another."""


def compile_source(name: str, data: bytes, catalogue: Catalogue = NO_CATALOGUE, observer: Observer = QUIET) -> Compiled:
    """Compile every document of a file called `name`. Never raises for any bytes."""
    with uncollected():
        return _Run(catalogue, observer).compiled(name, data)


def check_source(name: str, data: bytes, observer: Observer = QUIET) -> Compiled:
    """Everything that there is to say about a file, without plans."""
    with uncollected():
        return _Run(NO_CATALOGUE, observer).checked(name, data)


def order_problems(table: Sequence[Pass[Form]]) -> Iterator[str]:
    """What breaks the order that the rows ask for."""
    seen: set[str] = set()
    for row in table:
        yield from (f"{row.name} must come after {name}" for name in row.after if name not in seen)
        seen.add(row.name)


def base_name(name: str) -> str:
    """The last part of a file's name, whichever way its folders are written."""
    return name.replace("\\", "/").rpartition("/")[2]


class _Run:
    """One call: the catalogue, the observer, and the children looked up so far."""

    def __init__(self, catalogue: Catalogue, observer: Observer) -> None:
        self._catalogue = catalogue
        self._observer = observer
        self._seen: dict[str, Member | str] = {}

    def compiled(self, name: str, data: bytes) -> Compiled:
        return self._documents(name, data, self._plan)

    def checked(self, name: str, data: bytes) -> Compiled:
        return self._documents(name, data, self._check)

    def _documents(self, name: str, data: bytes, each: Callable[[Source, Node], Document]) -> Compiled:
        reading = read_yaml(name, data)
        documents = tuple([each(reading.source, node) for node in reading.documents if node is not None])
        findings = [*reading.diagnostics, *(found for one in documents for found in one.diagnostics)]
        return Compiled(reading.source, documents, sorted_findings(findings))

    def _check(self, source: Source, node: Node) -> Document:
        self._observer.begun(READ)
        playbook, findings = read_playbook(source, node)
        self._observer.ended(READ, playbook)
        if playbook is None:
            return Document(None, None, tuple(findings))
        playbook = self._lowered(playbook)
        findings += check_playbook(source, playbook)
        if not _has_errors(findings):
            findings += refusals_of(playbook)
            computed = [span for path, span in calls_of(playbook) if path is None]
            findings += [obstacle_finding(COMPUTED, span, "") for span in computed]
        return Document(playbook, None, tuple(findings))

    def _lowered(self, playbook: Playbook) -> Playbook:
        gone: tuple[type[Sugar], ...] = ()
        for row in LOWERING:
            self._observer.begun(row.name)
            playbook = row.fn(playbook)
            self._observer.ended(row.name, playbook)
            gone += row.removes
            for node in sugar_in(playbook):
                if isinstance(node, gone):
                    raise BrokenPass(f"after {row.name} there is a {type(node).__name__} again")
        return playbook

    def _plan(self, source: Source, node: Node) -> Document:
        document = self._check(source, node)
        playbook = document.playbook
        if playbook is None or _has_errors(document.diagnostics):
            return document
        from noetl_ir.plan_format import digest_of, write_plan  # lint does without them and starts sooner

        family, root = family_of(Member(source.name, playbook), self._look)
        made: dict[str, Child] = {}
        for key in family.order:
            if key != root:
                children = _children(family, key, made)[0]
                data = write_plan(self._built(family.members[key], children, QUIET))
                made[key] = Child("", digest_of(data), data)
        children, findings = _children(family, root, made)
        plan = self._built(family.members[root], children, self._observer)
        return Document(playbook, plan, (*document.diagnostics, *findings))

    def _look(self, path: str) -> Member | str:
        """The playbook of a path, checked, or the code that says what is in the way."""
        if path not in self._seen:
            self._seen[path] = self._looked_up(path)
        return self._seen[path]

    def _looked_up(self, path: str) -> Member | str:
        file = self._catalogue.find(path)
        if file is None:
            return NOT_FOUND
        compiled = _Run(NO_CATALOGUE, QUIET).checked(*file)
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


def _children(family: Family, caller: str, made: dict[str, Child]) -> tuple[tuple[Child, ...], list[Diagnostic]]:
    """The children that a playbook embeds, each once, and why it does not embed the others it names."""
    found: dict[str, Child] = {}
    findings: list[Diagnostic] = []
    for path, span in calls_of(family.members[caller].playbook):
        if path is None:  # reported by the check
            continue
        code = family.obstacle(caller, path)
        child = made.get(family.keys[path]) if not code else None
        if child is not None and len(child.data) > MAX_EMBEDDED:
            code = TOO_LARGE
        if code or child is None:
            findings.append(obstacle_finding(code or BROKEN, span, path))
        else:
            found[path] = child._replace(path=path)
    return tuple(found.values()), findings


def _verified(stage: str, plan: Plan) -> Plan:
    from noetl_ir.verify import verify

    problems = verify(plan)
    if problems:
        raise BrokenPass(f"the plan of {plan.name!r} is not sound after {stage}: {problems[0]}")
    return plan


def _has_errors(findings: Sequence[Diagnostic]) -> bool:
    return any(finding.severity is Severity.ERROR for finding in findings)
