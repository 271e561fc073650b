"""The commands that all documents beside playbooks have: put, list, show, pause, resume and delete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Generic

import click

from noetl.cli.document_files import DocumentFile
from noetl.cli.several import done_with_each
from noetl.cli.standing import KeptBook, StandingDocuments
from noetl.cli.stores import is_remote, json_option, server_option, store_option
from noetl.cli.text import escaped, json_text, table
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple


class StandingTable(NamedTuple):
    """How documents of one kind are shown.

    - `plural`: what they are called; `heads` and `cells`: the table of them.
    - `lines`: what is shown of one below its row; `shrinks`: the columns that give way where a terminal is narrow.
    - `way_on`: what carries them out, for whoever keeps one beside a store.
    """

    plural: str
    heads: tuple[str, ...]
    cells: Callable[[dict[str, Json]], Sequence[str]]
    lines: Callable[[dict[str, Json]], Iterable[str]]
    shrinks: tuple[int, ...] = ()
    way_on: str = ""

    def tell(self, rows: Sequence[dict[str, Json]], *, as_json: bool) -> None:
        """Show some, and what hinders each."""
        if as_json:
            click.echo(json_text([*rows]))
        elif rows:
            click.echo(table(self.heads, map(self.cells, rows), shrinks=self.shrinks))
            for row in rows:
                # Whoever has just kept one was warned of it, with its line.
                if row.get("trouble") and str(row["trouble"]) not in str(row.get("warnings")):
                    click.echo(f"{escaped(str(row['name']))}: {escaped(str(row['trouble']))}", err=True)
        else:
            click.echo(f"no {self.plural}", err=True)


class StandingCommands(Generic[KeptBook]):
    """The commands of one kind of documents."""

    def __init__(self, kept: StandingDocuments[KeptBook], shown: StandingTable) -> None:
        self._kept = kept
        self._shown = shown

    def add_to(self, group: click.Group, texts: Mapping[str, tuple[str, str]]) -> None:
        """Add them to a group. `texts` are those of their help, by command: the short one, and the whole."""
        files = (click.argument("files", nargs=-1, required=True, metavar="FILE..."),)
        name = (click.argument("name"),)
        works: dict[str, tuple[Callable[..., int], tuple[Callable[..., Callable[..., int]], ...]]] = {
            "put": (self._put, files),
            "list": (self._list, ()),
            "show": (self._show, name),
            "pause": (self._pause, name),
            "resume": (self._resume, name),
            "delete": (self._delete, name),
        }
        for command, (work, arguments) in works.items():
            short, whole = texts[command]
            run: Callable[..., int] = partial(work)  # as options are written to a function, and not to a method
            for decorate in (json_option, store_option, server_option, *arguments):
                run = decorate(run)
            group.command(command, short_help=short, help=whole)(run)

    def _put(self, files: tuple[str, ...], url: str, as_json: bool) -> int:
        read = [*map(DocumentFile, files)]
        # One of several that has a slip would leave the others half kept. One alone is checked where it is kept: a
        # server may be newer than this.
        for file in read if len(read) > 1 else ():
            self._kept.check_file(file)
        told = done_with_each(read, partial(self._kept.put, url), "kept", lambda file: file.name)
        self._shown.tell(told, as_json=as_json)
        if self._shown.way_on and not as_json and not is_remote(url):
            click.echo(self._shown.way_on, err=True)
        return 0

    def _list(self, url: str, as_json: bool) -> int:
        self._shown.tell(self._kept.rows(url), as_json=as_json)
        return 0

    def _show(self, name: str, url: str, as_json: bool) -> int:
        told = self._kept.asked(url, name, "GET", "", lambda book: book.document(name))
        if as_json:
            click.echo(json_text(told))
            return 0
        self._shown.tell([told], as_json=False)
        for line in self._shown.lines(told):
            click.echo(line)
        return 0

    def _pause(self, name: str, url: str, as_json: bool) -> int:
        told = self._kept.asked(url, name, "POST", "/pause", lambda book: book.pause(name))
        self._shown.tell([told], as_json=as_json)
        return 0

    def _resume(self, name: str, url: str, as_json: bool) -> int:
        told = self._kept.asked(url, name, "POST", "/resume", lambda book: book.resume(name))
        self._shown.tell([told], as_json=as_json)
        return 0

    def _delete(self, name: str, url: str, as_json: bool) -> int:
        def removed(book: KeptBook) -> dict[str, Json]:
            book.remove(name)
            return {}

        self._kept.asked(url, name, "DELETE", "", removed)
        click.echo(json_text({"deleted": name}) if as_json else f"deleted {escaped(name)}")
        return 0


def carried_out(plural: str) -> str:
    """The sentence about who carries out documents that are kept beside a store: none may run, and nobody can tell."""
    return f"the servers of the store carry {plural} out: where none runs, `noetl server` is one"


def spec_lines(told: dict[str, Json], *, without: tuple[str, ...]) -> Iterator[str]:
    """A document's spec, a line for each key but some."""
    document = told.get("document")
    spec = document.get("spec") if isinstance(document, dict) else None
    for key, value in spec.items() if isinstance(spec, dict) else ():
        if key not in without:
            yield f"{escaped(key)}  {escaped(value) if isinstance(value, str) else json_text(value)}"
