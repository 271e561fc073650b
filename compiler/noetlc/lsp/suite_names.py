"""The names of a playbook in its files of tests (`NAME.test.yaml`): where they stand, and what they mean there.

A file of tests names steps and tasks of its playbook, and in outcomes those of the playbooks that it calls, too; keys
of `ctx` and of the workload, secrets, and the paths of playbooks that are called.
"""

import posixpath
from collections.abc import Iterator

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetl_ir.suite import SUFFIXES
from noetlc.lsp.files_index import FilesIndex, ReadFiles
from noetlc.lsp.project import Project
from noetlc.lsp.symbols import Occurrence, Scalars, Symbol, scalars_in
from noetlc.source.decoding import bytes_of
from noetlc.source.nodes import Mapping, Scalar
from noetlc.source.text import Source
from noetlc.source.yaml_reader import read_yaml


class SuiteName(NamedTuple):
    """A name in a file of tests: the sort of symbol that it is, the step that it belongs to, "" where none is said, and
    its place. `of_children` says that it may be that of a playbook that the tested one calls.
    """

    sort: str
    name: str
    owner: str
    span: Span
    of_children: bool = False


class NamedSuite(NamedTuple):
    """A file of tests with the file of its playbook, and its names."""

    source: Source
    playbook: str
    names: tuple[SuiteName, ...]


def is_suite(name: str) -> bool:
    """Whether a file is one of tests, by its name."""
    return name.endswith(SUFFIXES)


class SuitesIndex:
    """The files of tests of a project."""

    def __init__(self, project: Project, index: FilesIndex) -> None:
        self._project = project
        self._index = index
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
            if not own and symbol.sort != "playbook" and file not in self.called_by(suite.playbook):
                continue
            for each in suite.names:
                if (each.sort, each.name) != (symbol.sort, symbol.name):
                    continue
                means = symbol.sort == "playbook" or (own and each.owner in ("", symbol.owner))
                if means or (each.of_children and self._is_of_child(suite, each, symbol)):
                    yield name, suite, each

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
    playbook = name
    names: list[SuiteName] = []
    if isinstance(root, Mapping):
        playbook = _playbook_of(name, root)
        names = [each for one in scalars_in(root) for each in _names(reading.source, one)]
    return NamedSuite(reading.source, playbook, tuple(names))


def _playbook_of(name: str, root: Mapping) -> str:
    named = root.get("playbook")
    if isinstance(named, Scalar):
        return posixpath.normpath(posixpath.join(posixpath.dirname(name), named.text))
    suffix = next((each for each in SUFFIXES if name.endswith(each)), "")
    return name.removesuffix(suffix) + suffix.removeprefix(".test")


def _names(source: Source, one: Scalars) -> Iterator[SuiteName]:
    name, path = one.scalar.text, one.path
    if not name or "{{" in name:
        return
    # What stands in a case may stand beside the cases, for all of them.
    inner = path[2:] if path[:1] == ("cases",) and len(path) > 2 else path
    span = source.inner_span(one.scalar, 0, len(name))
    if one.is_key:
        sort = _KEYS.get(inner[:-1])
        if sort is not None:
            yield SuiteName(sort, name, "", span)
        return
    match inner:
        case ("outcomes", int(), "step") | ("expect", "calls", int(), "step"):
            yield SuiteName("step", name, "", span, of_children=inner[0] == "outcomes")
        case ("outcomes", int(), "task") | ("expect", "calls" | "events", int(), "task") | ("expect", "error", "task"):
            yield SuiteName("task", name, _step_beside(one), span, of_children=inner[0] == "outcomes")
        case ("expect", "steps" | "steps_in_any_order" | "not_run", int()):
            yield SuiteName("step", name, "", span)
        case ("expect", "events", int(), "step") | ("expect", "error", "step"):
            yield SuiteName("step", name, "", span)
        case ("expect", "calls", int(), "fields", "path"):
            yield SuiteName("playbook", name, "", span)
        case _:
            return


_KEYS: dict[tuple[str | int, ...], str] = {
    ("expect", "results"): "step",
    ("expect", "ctx"): "ctx",
    ("payload",): "workload",
    ("keychain",): "secret",
}
"""Where keys are names, and of what."""


def _step_beside(one: Scalars) -> str:
    """The step that the entry around a scalar names."""
    node = one.levels[-1].node
    step = node.get("step") if isinstance(node, Mapping) else None
    return step.text if isinstance(step, Scalar) else ""
