"""The names of a playbook in its files of tests (`NAME.test.yaml`): where they stand, and what they mean there.

A file of tests names steps and tasks of its playbook, and in outcomes those of the playbooks that it calls, too; keys
of `ctx` and of the workload, secrets, and the paths of playbooks that are called. What a case has from the rows of its
table is among them, at its place in the table.
"""

import posixpath
from collections.abc import Iterator

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetl_ir.suite import SUFFIXES
from noetlc.lsp.carried import CarriedKeys
from noetlc.lsp.cursor import CursorPath
from noetlc.lsp.files_index import FilesIndex, ReadFiles
from noetlc.lsp.project import Project
from noetlc.lsp.suite_rows import Filled, RowColumn, columns_in, filled_by_rows, rows_of, text_with
from noetlc.lsp.symbols import Occurrence, Symbol, scalars_in
from noetlc.source.decoding import bytes_of
from noetlc.source.nodes import Mapping, Scalar
from noetlc.source.text import Source
from noetlc.source.yaml_reader import read_yaml
from noetlc.suites.table import has_rows


class SuiteName(NamedTuple):
    """A name in a file of tests: the sort of symbol that it is, the step that it belongs to, "" where none is said, and
    its place. `of_children` says that it may be that of a playbook that the tested one calls.

    Of a cell in a table there is one for each use, with the sort "" where it is data and no name. `joined` says that
    the name is put together from a row, so that it stands nowhere.
    """

    sort: str
    name: str
    owner: str
    span: Span
    of_children: bool = False
    joined: bool = False


class NamedSuite(NamedTuple):
    """A file of tests with the file of its playbook, its names, and the columns of its tables."""

    source: Source
    playbook: str
    names: tuple[SuiteName, ...]
    columns: tuple[RowColumn, ...] = ()


def is_suite(name: str) -> bool:
    """Whether a file is one of tests, by its name."""
    return name.endswith(SUFFIXES)


class SuitesIndex:
    """The files of tests of a project."""

    def __init__(self, project: Project, index: FilesIndex) -> None:
        self._project = project
        self._index = index
        self._carried = CarriedKeys(project, index)
        self._read: ReadFiles[NamedSuite] = ReadFiles(suite_of)

    def suites(self) -> dict[str, NamedSuite]:
        """Every file of tests by its name."""
        return self._read.by_name(self._project.suites())

    def uses(self, file: str, symbol: Symbol) -> Iterator[tuple[str, NamedSuite, SuiteName]]:
        """The places in files of tests that mean a symbol of a playbook's file. Those of a task without its step are
        among them.
        """
        for name, suite in self.suites().items():
            own = suite.playbook == file
            if symbol.sort == "workload":
                yield from ((name, suite, each) for each in self._brought(suite, file, symbol.name))
            if not own and symbol.sort != "playbook" and file not in self.called_by(suite.playbook):
                continue
            for each in suite.names:
                if (each.sort, each.name) != (symbol.sort, symbol.name):
                    continue
                means = symbol.sort == "playbook" or (own and each.owner in ("", symbol.owner))
                if means or (each.of_children and self._is_of_child(suite, each, symbol)):
                    yield name, suite, each

    def _brought(self, suite: NamedSuite, file: str, key: str) -> Iterator[SuiteName]:
        """The places that say what a call of the tested playbook brings to a child in a file under a key."""
        named = [each for each in suite.names if (each.sort, each.name) == (BROUGHT, key)]
        index = self._index.files().get(suite.playbook) if named else None
        for call in index.carrying if index is not None else ():
            brings = any(each == key for each, _ in call.keys)
            if brings and any(child == file for child, _ in self._carried.children(suite.playbook, call)):
                yield from (each for each in named if each.owner in ("", call.step))

    def _is_of_child(self, suite: NamedSuite, each: SuiteName, symbol: Symbol) -> bool:
        step = each.name if symbol.sort == "step" else each.owner
        # The tested playbook's own step of that name is meant first.
        return step not in self._steps(suite.playbook) and each.owner in ("", symbol.owner) and bool(step)

    def called_by(self, file: str) -> list[str]:
        """The files of the playbooks that one calls, and that these call, the nearest first."""
        files, found, waiting = self._index.files(), list[str](), [file]
        while waiting:
            here = waiting.pop(0)
            for call in files[here].calls if here in files else ():
                for name, _, _ in self._index.named(call.path):
                    if name != file and name not in found:
                        found.append(name)
                        waiting.append(name)
        return found

    def files_for(self, suite: NamedSuite, each: SuiteName) -> list[str]:
        """The files in which the symbol of a name may be declared, the likeliest first."""
        return [suite.playbook, *(self.called_by(suite.playbook) if each.of_children else ())]

    def _steps(self, file: str) -> frozenset[str]:
        index = self._index.files().get(file)
        return index.steps if index is not None else frozenset()


def declared(found: list[Occurrence], each: SuiteName) -> Occurrence | None:
    """The declaration of what a name of a file of tests means, among the occurrences of a playbook's file."""
    return next((one for one in found if one.declares and _means(each, one.symbol)), None)


def _means(each: SuiteName, symbol: Symbol) -> bool:
    same = (each.sort, each.name) == (symbol.sort, symbol.name)
    return same and (symbol.sort != "task" or each.owner in ("", symbol.owner))


def suite_of(name: str, text: str) -> NamedSuite:
    """The names in a file of tests, as far as it can be read."""
    reading = read_yaml(name, bytes_of(text))
    root = reading.documents[0] if reading.documents else None
    if not isinstance(root, Mapping):
        return NamedSuite(reading.source, name, ())
    # Each once: what rows have no part in is the same with all of them.
    names = dict.fromkeys(
        each
        for one in scalars_in(root)
        for whole in filled_by_rows(one, rows_of(root, one))
        for each in _names(reading.source, whole)
    )
    return NamedSuite(reading.source, _playbook_of(name, root), tuple(names), tuple(columns_in(reading.source, root)))


def _playbook_of(name: str, root: Mapping) -> str:
    named = root.get("playbook")
    if isinstance(named, Scalar):
        return posixpath.normpath(posixpath.join(posixpath.dirname(name), named.text))
    suffix = next((each for each in SUFFIXES if name.endswith(each)), "")
    return name.removesuffix(suffix) + suffix.removeprefix(".test")


def _names(source: Source, whole: Filled) -> Iterator[SuiteName]:
    one = whole.one
    name, path = one.scalar.text, one.path
    if not name or "{{" in name:
        return
    # What stands in a case may stand beside the cases, for all of them.
    inner = path[2:] if path[:1] == ("cases",) and len(path) > 2 else path
    span = one.scalar.span if whole.joined else source.inner_span(one.scalar, 0, len(name))
    found = [*_meanings(inner, whole)]
    for sort, owner, of_children in found:
        yield SuiteName(sort, name, owner, span, of_children, whole.joined)
    # The name of a case is for people: it says another name as well as this one.
    if whole.cell and not found and inner != ("case",):
        yield SuiteName("", name, "", span)


def _meanings(inner: CursorPath, whole: Filled) -> Iterator[tuple[str, str, bool]]:
    """The names that a scalar at a path within a case is: sort of symbol, owner, whether it may be that of a child."""
    if whole.one.is_key:
        if (sort := _KEYS.get(inner[:-1])) is not None:
            yield sort, "", False
        elif inner[:2] == ("expect", "calls") and inner[3:-1] in _BRINGING:
            entry = whole.one.levels[len(whole.one.path) - len(inner) + 3].node
            named = entry.get("step") if isinstance(entry, Mapping) else None
            yield BROUGHT, named.text if isinstance(named, Scalar) and not has_rows(named.text) else "", False
        return
    match inner:
        case ("outcomes", int(), "step") | ("expect", "calls", int(), "step"):
            yield "step", "", inner[0] == "outcomes"
        case ("outcomes", int(), "task") | ("expect", "calls" | "events", int(), "task") | ("expect", "error", "task"):
            for owner in _steps_beside(whole):
                yield "task", owner, inner[0] == "outcomes"
        case ("expect", "steps" | "steps_in_any_order" | "not_run", int()):
            yield "step", "", False
        case ("expect", "events", int(), "step") | ("expect", "error", "step"):
            yield "step", "", False
        case ("expect", "calls", int(), "fields", "path"):
            yield "playbook", "", False


_KEYS: dict[tuple[str | int, ...], str] = {
    ("expect", "results"): "step",
    ("expect", "ctx"): "ctx",
    ("payload",): "workload",
    ("keychain",): "secret",
}
"""Where keys are names, and of what."""

BROUGHT = "brought"
"""The sort of a name that a call brings to its child: a key of the child's workload."""

_BRINGING = {("args",), ("fields", "args"), ("fields", "payload")}


def _steps_beside(whole: Filled) -> Iterator[str]:
    """The step that the entry around a scalar names, with each row; "" where it names none."""
    node = whole.one.levels[-1].node
    step = node.get("step") if isinstance(node, Mapping) else None
    text = step.text if isinstance(step, Scalar) else ""
    if not whole.rows or not has_rows(text):
        yield text
        return
    yield from dict.fromkeys(text_with(text, row) for row in whole.rows)
