"""Documents that a store keeps beside playbooks, as commands ask for them, of a server or of the store itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from noetl.app.runtime import Runtime
from noetl.app.standing_book import NoSuchDocument, StandingBook
from noetl.cli.acting import by_user, record_alone
from noetl.cli.document_files import DocumentFile
from noetl.cli.remote import all_pages, ask_server
from noetl.cli.stores import existing_runtime, is_remote, opened_runtime, runtime_to_change
from noetl.cli.text import Problem, escaped
from noetl.server.checked_documents import BadDocument
from noetl_ir.expr import Json

KeptBook = TypeVar("KeptBook", bound=StandingBook[Any])


class StandingDocuments(Generic[KeptBook]):
    """The documents of one kind, at an address of the API. `read` raises BadDocument for what is none, and `book` is
    where a store has them.
    """

    def __init__(
        self,
        kind: str,
        address: str,
        read: Callable[[Json], object],
        book: Callable[[Runtime], KeptBook],
    ) -> None:
        self._kind = kind
        self._address = address
        self._read = read
        self._book = book

    def check_file(self, file: DocumentFile) -> None:
        """Raises Problem where a file has no document of this kind, as far as that can be seen before it is kept."""
        try:
            self._read(file.of_kind(self._kind))
        except BadDocument as problem:
            raise file.refused(problem) from None

    def put(self, url: str, file: DocumentFile) -> dict[str, Json]:
        """Keep the document in a file; slips are told with their lines. Raises Problem."""
        told = self._put(url, file)
        file.warn(list_in(told, "warnings"))
        return told

    def _put(self, url: str, file: DocumentFile) -> dict[str, Json]:
        document = file.of_kind(self._kind)
        if not is_remote(url):
            with opened_runtime(url) as runtime, by_user():
                try:
                    return self._book(runtime).put(document)
                except BadDocument as problem:
                    raise file.refused(problem) from None
        metadata = document.get("metadata")
        name = str(metadata.get("name", "")) if isinstance(metadata, dict) else ""
        try:
            return ask_server(url, "PUT", self.path_of(name or "-"), document)
        except Problem as problem:
            raise self._refused_there(file, problem) from None

    def _refused_there(self, file: DocumentFile, problem: Problem) -> Problem:
        """The refusal of a server, with the file; with the line too where it is refused here as well."""
        try:
            self._read(file.value)
        except BadDocument as known:
            return file.refused(known)
        return type(problem)(f"{escaped(file.name)}: {problem}")

    def rows(self, url: str) -> list[dict[str, Json]]:
        """All of them, by name. Raises Problem."""
        if is_remote(url):
            return all_pages(url, self._address)
        with existing_runtime(url) as runtime:
            return self._book(runtime).documents()

    def asked(
        self, url: str, name: str, method: str, what: str, here: Callable[[KeptBook], dict[str, Json]], deed: str = ""
    ) -> dict[str, Json]:
        """The answer of a server about one of them, or of the book of a store; there a `deed` is recorded first that
        changes nothing which is recorded by itself. Raises Problem.
        """
        if is_remote(url):
            return ask_server(url, method, f"{self.path_of(name)}{what}")
        with (existing_runtime if method == "GET" else runtime_to_change)(url) as runtime:
            try:
                book = self._book(runtime)
                if deed:
                    record_alone(runtime.store, deed, name)
                with by_user():
                    return here(book)
            except NoSuchDocument as problem:
                raise Problem(str(problem)) from None

    def path_of(self, name: str) -> str:
        """The address of one of them."""
        return f"{self._address}/{quote(name, safe='')}"


def list_in(document: dict[str, Json], key: str) -> list[Json]:
    """The list under a key, empty where there is none."""
    found = document.get(key)
    return found if isinstance(found, list) else []
