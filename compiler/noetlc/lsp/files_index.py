"""The playbooks of a workspace by their path, and who calls whom: of each file no more is read than its YAML."""

from collections import abc
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.codegen.child_inputs import CARRIERS
from noetlc.lsp.completion import referred
from noetlc.lsp.project import Project
from noetlc.lsp.repair import BROKEN, repaired
from noetlc.lsp.symbols import Scalars, scalars_in
from noetlc.source.decoding import bytes_of
from noetlc.source.nodes import Mapping, Scalar
from noetlc.source.text import Source
from noetlc.source.yaml_reader import Reading, read_yaml

_T = TypeVar("_T")


class NamedPlaybook(NamedTuple):
    """A playbook of a file: its path, where that stands, and the document that it is."""

    path: str
    span: Span
    document: Span


class PlaybookCall(NamedTuple):
    """A call of the playbook `path`, where the path stands, and the caller's path."""

    path: str
    span: Span
    caller: str


class CarryingCall(NamedTuple):
    """A call with what it brings to the workload of its child: the child's path as it is written, which may be a
    template, where that stands, the step, "" in the workbook, and the keys with their places. `open` is the place of
    a template that says what is brought, None where all keys are written out.
    """

    path: str
    span: Span
    step: str
    keys: tuple[tuple[str, Span], ...]
    open: Span | None


class FileIndex(NamedTuple):
    """The playbooks and calls of a file, what the calls bring, and the names of all steps in it."""

    source: Source
    playbooks: tuple[NamedPlaybook, ...]
    calls: tuple[PlaybookCall, ...]
    steps: frozenset[str] = frozenset()
    carrying: tuple[CarryingCall, ...] = ()


class ReadFiles(Generic[_T]):
    """Files as one reader has them; a file is read again when its text is another one."""

    def __init__(self, read: Callable[[str, str], _T]) -> None:
        self._read = read
        self._known: dict[str, tuple[str, _T]] = {}

    def by_name(self, texts: abc.Mapping[str, str]) -> dict[str, _T]:
        """Each of these texts, read; those that are not among them are forgotten."""
        # Compared by text and not by time: editors write files within one tick of a clock, and texts are held anyway.
        for name in self._known.keys() - texts.keys():
            del self._known[name]
        for name, text in texts.items():
            if name not in self._known or self._known[name][0] != text:
                self._known[name] = text, self._read(name, text)
        return {name: found for name, (_, found) in self._known.items()}


class FilesIndex:
    """The index of a project's files."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._read: ReadFiles[FileIndex] = ReadFiles(indexed)

    def files(self) -> dict[str, FileIndex]:
        """The index of every file by its name."""
        return self._read.by_name(self._project.texts())

    def paths(self) -> Iterator[str]:
        """The paths of all playbooks, each once."""
        yield from sorted({one.path for index in self.files().values() for one in index.playbooks})

    def named(self, path: str) -> Iterator[tuple[str, FileIndex, NamedPlaybook]]:
        """The playbooks of a path: their file and place."""
        for name, index in self.files().items():
            yield from ((name, index, one) for one in index.playbooks if one.path == path)

    def calls(self, path: str) -> Iterator[tuple[str, FileIndex, PlaybookCall]]:
        """The calls of a path in all files."""
        for name, index in self.files().items():
            yield from ((name, index, one) for one in index.calls if one.path == path)


def indexed(name: str, text: str) -> FileIndex:
    """The index of one file, as far as it can be read."""
    reading = _read(name, text)
    playbooks: list[NamedPlaybook] = []
    calls: list[PlaybookCall] = []
    steps: set[str] = set()
    carrying: list[CarryingCall] = []
    for root in reading.documents:
        if not isinstance(root, Mapping):
            continue
        own = ""
        found: list[PlaybookCall] = []
        for one in scalars_in(root):
            if one.is_key or not one.scalar.text:
                continue
            is_call = one.path[-1:] == ("path",) and referred(one.levels) == "playbook"
            if is_call:
                carrying.append(_carried(reading.source, one))
            # A path that is a template names no file before the run.
            if "{{" in one.scalar.text:
                continue
            if one.path in (("metadata", "path"), ("path",)):
                own = own or one.scalar.text
                playbooks.append(NamedPlaybook(one.scalar.text, _inside(reading.source, one.scalar), root.span))
            elif one.path[:1] == ("workflow",) and len(one.path) == 3 and one.path[2] == "step":
                steps.add(one.scalar.text)
            elif is_call:
                found.append(PlaybookCall(one.scalar.text, _inside(reading.source, one.scalar), ""))
        # Only now: the path of the playbook may stand below its calls.
        calls += [call._replace(caller=own) for call in found]
    return FileIndex(reading.source, tuple(playbooks), tuple(calls), frozenset(steps), tuple(carrying))


def _carried(source: Source, one: Scalars) -> CarryingCall:
    """The call whose path a scalar is."""
    task, step = one.levels[-1].node, one.levels[2].node if len(one.levels) > 2 else None
    keys: list[tuple[str, Span]] = []
    open_: Span | None = None
    for carrier in CARRIERS:
        value = task.get(carrier) if isinstance(task, Mapping) else None
        if isinstance(value, Mapping):
            keys += [(key.text, _inside(source, key)) for key, _ in value.entries]
        elif value is not None:
            open_ = open_ or value.span
    name = step.get("step") if isinstance(step, Mapping) else None
    return CarryingCall(
        one.scalar.text, _inside(source, one.scalar), name.text if isinstance(name, Scalar) else "", tuple(keys), open_
    )


def _read(name: str, text: str) -> Reading:
    """The YAML of a text; where it is broken at the moment, that of the text without the broken lines."""
    reading = read_yaml(name, bytes_of(text))
    whole = repaired(text) if any(found.code in BROKEN for found in reading.diagnostics) else None
    return reading if whole is None else read_yaml(name, bytes_of(whole.text))


def _inside(source: Source, scalar: Scalar) -> Span:
    """The characters of a scalar, without its quotes."""
    return source.inner_span(scalar, 0, len(scalar.text))
