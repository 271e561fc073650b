"""Files with documents that a store keeps beside playbooks, and where in them something is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from noetl.cli.inputs import document_of, read_input
from noetl.cli.text import Problem, escaped, warn
from noetl.server.checked_documents import BadDocument
from noetl_ir.expr import Json
from noetl_ir.words import STANDING

_COMMANDS = {"Playbook": "noetl register", **STANDING}
"""The commands that keep documents, by their kind."""


class DocumentFile:
    """A file with one document; `value` is that."""

    def __init__(self, name: str) -> None:
        """Read a file. Raises UsageError."""
        self.name = name
        self._data = read_input(name)
        self.value: Json = document_of(name, self._data)

    def of_kind(self, kind: str) -> dict[str, Json]:
        """The document, which is of a kind as far as it says. Raises Problem."""
        found = self.value.get("kind") if isinstance(self.value, dict) else None
        if not isinstance(self.value, dict):
            raise Problem(f"{escaped(self.name)}: a document has apiVersion, kind: {kind}, metadata and spec")
        if isinstance(found, str) and found != kind and found in _COMMANDS:
            text = f"it is a {found}, and no {kind}: `{_COMMANDS[found]}` keeps those"
            raise Problem(f"{self._at([('kind',)])[0]}: {text}")
        return self.value

    def refused(self, problem: BadDocument) -> Problem:
        """The refusal of the document, with its line."""
        return Problem(
            f"{self._at([problem.key])[0]}: {problem}" if problem.key else f"{escaped(self.name)}: {problem}"
        )

    def warn(self, slips: Iterable[Json]) -> None:
        """Tell slips that stop nothing, each with its line."""
        rows = [slip for slip in slips if isinstance(slip, dict)]
        keys = [[str(part) for part in key] for row in rows if isinstance(key := row.get("key"), list)]
        if len(keys) == len(rows) and rows:
            warn(f"{at}: {row.get('text')}" for at, row in zip(self._at(keys), rows, strict=True))

    def _at(self, keys: Sequence[Sequence[str]]) -> list[str]:
        from noetl.clients.compiler import CompileError, places_in

        try:
            places = places_in(self.name, self._data, keys)
        except CompileError:
            return [self.name] * len(keys)
        return [f"{self.name}:{line}:{column}" for line, column in places]
