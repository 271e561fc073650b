"""One editor's session: the texts that it holds, and when findings are looked for in them.

Findings are looked for in a thread, one file at a time and the latest text of it only; every other question is answered
meanwhile.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from lsprotocol import types

from noetl_ir.records import NamedTuple
from noetlc.analysis.extents import Extent
from noetlc.lsp.carried import CarriedKeys
from noetlc.lsp.files_index import FilesIndex
from noetlc.lsp.known import KnownFile, extents_in
from noetlc.lsp.lasting import Whole, is_broken, with_lasting
from noetlc.lsp.positions import UTF_16, Positions
from noetlc.lsp.project import Looked, Project
from noetlc.lsp.reports import reports_of
from noetlc.lsp.suite_names import SuitesIndex
from noetlc.lsp.symbols import Occurrence, occurrences_in
from noetlc.source.text import Source

PAUSE = 0.05
"""Seconds for which a text has to rest before it is looked at: a burst of keys is looked at once."""


_Asked = TypeVar("_Asked")
_Found = TypeVar("_Found")


class Look(NamedTuple):
    """The findings of a look at a file, and the text that was looked at, with its version."""

    found: Looked
    source: Source
    version: int


class OpenFile:
    """A file that an editor has open.

    `looked` are the findings of the present text, `migrated` the same with its migration as a fix, `extents` how often
    its steps run and `occurrences` its names, each None until it is asked for. `whole` is the last text that was YAML,
    with its findings, `known` the last reading, of this text or an older one. `looking` is the task that looks for
    findings at the moment, `overtaken` says that those of the last look were not shown.
    """

    def __init__(self, uri: str, name: str, version: int, text: str) -> None:
        self.uri = uri
        self.name = name
        self.version = version
        self.source = Source(name, text)
        self.looked: Looked | None = None
        self.migrated: Looked | None = None
        self.whole: Whole | None = None
        self.known: KnownFile | None = None
        self.extents: tuple[Extent, ...] | None = None
        self.occurrences: list[Occurrence] | None = None
        self.looking: asyncio.Task[Look] | None = None
        self.overtaken = False

    @property
    def text(self) -> str:
        """The text as the editor has it."""
        return self.source.text

    def change(self, version: int, text: str) -> None:
        """Take another text."""
        self.version, self.source = version, Source(self.name, text)
        # `known` and `whole` stay: questions that cannot wait are answered from the last reading.
        self.looked = self.migrated = self.extents = self.occurrences = None


class EditorSession:
    """The session of one editor, which is shown findings by `publish`; `project` is that of its folders."""

    def __init__(self, publish: Callable[[types.PublishDiagnosticsParams], None]) -> None:
        self.opened: dict[str, OpenFile] = {}
        self.project: Project
        self.index: FilesIndex
        self.suites: SuitesIndex
        self.encoding = UTF_16
        self._publish = publish
        self._waiting: dict[str, None] = {}
        self._checks: asyncio.Task[None] | None = None
        # One thread: two checks at once would share one interpreter, and both come later.
        self._thread = ThreadPoolExecutor(1, "findings")

    def begin_session(self, project: Project) -> None:
        """Take the project of the folders that the editor has open."""
        self.project, self.index = project, FilesIndex(project)
        self.suites = SuitesIndex(project, self.index)
        self.carried = CarriedKeys(project, self.index)

    def positions(self, one: OpenFile) -> Positions:
        """The positions in a file's text."""
        return Positions(one.source, self.encoding)

    def open(self, uri: str, name: str, version: int, text: str) -> None:
        """Take a file that the editor holds from now on."""
        self.opened[uri] = OpenFile(uri, name, version, text)
        self.project.hold(name, text)
        self.look_at(uri)

    def change(self, uri: str, version: int, text: str) -> None:
        """Take another text of a file."""
        if (one := self.opened.get(uri)) is not None:
            one.change(version, text)
            self.project.hold(one.name, text)
            self.look_at(uri)

    def close(self, uri: str) -> None:
        """Let a file go; the editor shows no findings of it any more."""
        if (one := self.opened.pop(uri, None)) is not None:
            self.project.let_go(one.name)
            self._publish(types.PublishDiagnosticsParams(one.uri, []))

    def look_again(self) -> None:
        """Look at everything again: files or configurations changed on disk."""
        self.project.look_again()
        # Every open file, whichever one changed: a configuration holds for all, and a child's text is part of what is
        # said of its callers.
        for one in self.opened.values():
            one.looked = None
            self.look_at(one.uri)

    def look_at(self, uri: str) -> None:
        """Have findings looked for in a file, after those that wait already."""
        self._waiting[uri] = None
        # One task goes over all that waits, so that a file that is typed in quickly waits once and not for each key.
        if self._checks is None or self._checks.done():
            self._checks = asyncio.get_running_loop().create_task(self._look_at_all())

    async def looked(self, one: OpenFile) -> Looked:
        """The findings in a file's text as it is, looked for now where that was not done."""
        while one.looked is None:
            await self._one_look(one)
        return one.looked

    async def _one_look(self, one: OpenFile) -> Look:
        """The next look at a file that is over, at its text now or at one that was typed over since."""
        # Several questions may wait for one look; a question that is taken back does not end it.
        if one.looking is None or one.looking.done():
            one.looking = asyncio.get_running_loop().create_task(self._look(one))
        return await asyncio.shield(one.looking)

    async def _look(self, one: OpenFile) -> Look:
        text, source, version = one.text, one.source, one.version
        found = await self._find(one, text)
        if found.compiled is not None:
            # Kept for an older text, too: an old reading offers better names than none.
            one.known = await self.in_thread(KnownFile, found.compiled)
        # Another text came meanwhile: whoever waits asks again.
        if one.text == text:
            one.looked = found
        return Look(found, source, version)

    async def known(self, one: OpenFile) -> KnownFile | None:
        """The file as its text is now, read as far as it can be."""
        looked = await self.looked(one)
        return one.known if looked.compiled is not None else None

    async def occurrences(self, one: OpenFile) -> list[Occurrence]:
        """Every name of the file as its text is now."""
        while (known := await self.known(one)) is not None and one.occurrences is None:
            text = one.text
            found = await self.in_thread(occurrences_in, known)
            # Another text came meanwhile: a name would be changed in it where it stood before.
            if one.text == text:
                one.occurrences = found
        return one.occurrences or []

    async def extents(self, one: OpenFile) -> tuple[Extent, ...]:
        """The extents of the steps of the file's playbooks; none of a file with errors."""
        text = one.text
        if one.extents is None:
            found = await self.in_thread(partial(extents_in, one.name, self.project), text)
            # Good enough for who asked of the old text, and wrong to keep for the new one.
            if one.text != text:
                return found
            one.extents = found
        return one.extents

    async def migrated(self, one: OpenFile) -> Looked:
        """The findings in a file's text as it is, those that a migration does away with having it as their fix."""
        text = one.text
        if one.migrated is None:
            found = await self.in_thread(partial(self.project.migrated_in, one.name), text)
            if one.text != text:  # edits are of one version: who asked of the old text gets none
                return found
            one.migrated = found
        return one.migrated

    async def mended(self, one: OpenFile) -> str:
        """The file's text after all fixes that are safe."""
        return await self.in_thread(partial(self.project.mended, one.name), one.text)

    async def _look_at_all(self) -> None:
        while self._waiting:
            # Before each file and not once: the keys of a burst arrive while the file before is looked at.
            await asyncio.sleep(PAUSE)
            uri = next(iter(self._waiting))
            del self._waiting[uri]
            if (one := self.opened.get(uri)) is None:
                continue
            if one.looked is None:
                look = await self._one_look(one)
            else:
                look = Look(one.looked, one.source, one.version)
            if self.opened.get(uri) is not one:
                continue
            # A question may have begun this look before the text that was queued.
            if one.looked is None:
                self.look_at(uri)
            # A look that was overtaken is given up, and the second in a row is shown: whoever goes on typing in a long
            # file would see nothing new for as long.
            one.overtaken = one.version != look.version and not one.overtaken
            if not one.overtaken:
                reports = reports_of(look.found.findings, uri, Positions(look.source, self.encoding))
                self._publish(types.PublishDiagnosticsParams(uri, reports, look.version))
            if one.looked is not None:
                self._look_at_callers(one)

    def _look_at_callers(self, one: OpenFile) -> None:
        """Queue the open files whose findings rest on an older text of a playbook that they call."""
        for other in self.opened.values():
            children = other.looked.children if other.looked is not None else ()
            if other is not one and any(self.project.state_of(path) != state for path, state in children):
                other.looked = None
                self.look_at(other.uri)

    async def _find(self, one: OpenFile, text: str) -> Looked:
        look = partial(self.project.found_in, one.name)
        found = await self.in_thread(look, text)
        # The findings of the last whole text are what is shown while a line is half typed.
        if not is_broken(found):
            one.whole = Whole(text, found)
        elif one.whole is not None:
            return await self.in_thread(lambda whole: with_lasting(text, found, whole, look), one.whole)
        return found

    async def in_thread(self, do: Callable[[_Asked], _Found], about: _Asked) -> _Found:
        """The value of a function, computed in the session's thread, so that the server goes on answering."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, do, about)
