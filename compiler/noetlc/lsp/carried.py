"""The keys that calls of playbooks bring to the workload of their child, by `args` and `payload`.

A child's key of the workload is named by each caller, and in tests by what is expected of a call. So it has another
name only together with these; where a call may bring it in a way that no file shows, it keeps its name.
"""

import re
from collections.abc import Iterator

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.codegen.family import names_of
from noetlc.lsp.cursor import touches
from noetlc.lsp.files_index import CarryingCall, FilesIndex
from noetlc.lsp.project import Project


class CarriedKey(NamedTuple):
    """A key that a call brings: its file, the call, and its place."""

    file: str
    call: CarryingCall
    name: str
    span: Span


class CarriedKeys:
    """The keys that the calls of a project bring."""

    def __init__(self, project: Project, index: FilesIndex) -> None:
        self._project = project
        self._index = index

    def at(self, file: str, line: int, column: int) -> CarriedKey | None:
        """The key at a place of a file."""
        index = self._index.files().get(file)
        for call in index.carrying if index is not None else ():
            for name, span in call.keys:
                if touches(span, line, column):
                    return CarriedKey(file, call, name, span)
        return None

    def children(self, file: str, call: CarryingCall) -> list[tuple[str, str]]:
        """The playbook that a call of a file means, as its file and path; none where it is not known."""
        if "{{" in call.path or "{%" in call.path:
            return []
        files = self._index.files()
        for path in names_of(call.path, file):
            if named := [(name, one.path) for name, _, one in self._index.named(path)]:
                return named
            found = self._project.find(path)
            if found is not None and found[0] in files and files[found[0]].playbooks:
                return [(found[0], files[found[0]].playbooks[0].path)]
        return []

    def of_key(self, file: str, path: str, key: str) -> Iterator[CarriedKey]:
        """Every place that brings a key to the playbook of a path in a file."""
        for name, call in self._calls():
            if any(each == key for each, _ in call.keys) and (file, path) in self.children(name, call):
                yield from (CarriedKey(name, call, key, span) for each, span in call.keys if each == key)

    def why_kept(self, file: str, path: str, key: str, new: str) -> str:
        """Why a key of a playbook's workload cannot have another name with its callers; "" where it can."""
        places = {(each.file, each.span) for each in self.of_key(file, path, key)}
        if places and len([*self._index.named(path)]) > 1:
            return f"there are several playbooks `{path}`, and a call means one of them: give them paths of their own"
        for name, call in self._calls():
            where = f"line {call.span.line} of {name.rpartition('/')[2]}"
            children = self.children(name, call)
            if (file, path) not in children:
                if any((name, span) in places for _, span in call.keys):
                    return f"{where} brings `{key}` to another playbook by the same lines: write them for each call"
                if not children and call.open is None and not any(each == key for each, _ in call.keys):
                    continue
                if _may_mean(call.path, path):
                    return f"{where} calls a playbook that a template names, perhaps this one: rename `{key}` by hand"
            elif call.open is not None:
                return (
                    f"a template in line {call.open.line} of {name.rpartition('/')[2]} says what the call brings, "
                    f"perhaps `{key}`: rename it by hand"
                )
            elif any(each == key for each, _ in call.keys) and any(each == new for each, _ in call.keys):
                return f"the call in {where} brings a `{new}` already"
        return ""

    def _calls(self) -> Iterator[tuple[str, CarryingCall]]:
        for name, index in self._index.files().items():
            yield from ((name, call) for call in index.carrying)


def _may_mean(template: str, path: str) -> bool:
    """Whether a path that is a template may be another path, by what stands around its braces."""
    if "{{" not in template and "{%" not in template:
        return False
    parts = re.split(r"\{\{.*?\}\}|\{%.*?%\}", template, flags=re.DOTALL)
    return re.fullmatch(".*".join(map(re.escape, parts)), path, flags=re.DOTALL) is not None
