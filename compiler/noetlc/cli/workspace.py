"""The playbooks of an editor's workspace: what is on disk, and before it what the editor holds (`noetlc.lsp.project`).

Files are read once and again when the editor says that they changed. Findings are those of `noetlc lint` over the whole
workspace: with the configuration nearest above each file, its baseline, and children followed into the other files.
"""

import os
from collections.abc import Sequence
from contextlib import suppress

from noetl_cli import lazy_click as click
from noetl_ir.suite import SUFFIXES
from noetlc.cli.baseline import Baseline, BaselineEntry, read_baseline, unknown
from noetlc.cli.cache import CachedFile
from noetlc.cli.catalogue import Folders
from noetlc.cli.files import Unusable, begins_a_playbook, playbooks_in, read, shown_name, suites_in
from noetlc.cli.fixing import mended
from noetlc.cli.gate import selection_of
from noetlc.cli.inspection import found_in, looked_into
from noetlc.cli.settings import Configuration, Configurations
from noetlc.diag.findings import Reported
from noetlc.diag.selection import Selection
from noetlc.lsp.project import Looked
from noetlc.reading.kept_file import KeptFile
from noetlc.source.decoding import bytes_of, decode


class Workspace:
    """The project of some folders. `told` are complaints about configurations, for people, each once."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = folders
        self._open: dict[str, str] = {}
        self._kept: dict[str, KeptFile] = {}
        self._disk: dict[str, bytes] | None = None
        self._suites: dict[str, str] | None = None
        self._configurations = Configurations()
        self._catalogue: Folders | None = None
        self.told: list[str] = []

    def hold(self, name: str, text: str) -> None:
        """Keep the text that an editor holds of a file."""
        if self._open.get(name) != text:
            self._open[name] = text
            self._catalogue = None

    def let_go(self, name: str) -> None:
        """Forget the text that an editor held."""
        self._open.pop(name, None)
        self._kept.pop(name, None)
        self.look_again()

    def look_again(self) -> None:
        """Forget everything that was read from disk."""
        self._disk = self._suites = self._catalogue = None
        self._configurations = Configurations()

    def texts(self) -> dict[str, str]:
        """The text of every playbook by its file's name, sorted."""
        found = {name: decode(name, data)[0].text for name, data in self._files().items()} | self._open.copy()
        return dict(sorted(found.items()))

    def suites(self) -> dict[str, str]:
        """The text of every file of tests."""
        found = self._suites
        if found is None:
            found = {}
            for name in (name for folder in self._folders for name in suites_in(folder)):
                with suppress(Unusable):
                    found[os.path.normpath(name)] = decode(name, read(name))[0].text
            self._suites = found
        return found | {name: text for name, text in self._open.copy().items() if name.endswith(SUFFIXES)}

    def found_in(self, name: str, text: str) -> Looked:
        """The findings of `noetlc lint` in a text as the file of that name; in one of tests those that `noetl test`
        refuses it for, and none in what is no playbook.
        """
        return self._in_suite(name, text) if name.endswith(SUFFIXES) else self._looked(name, text, migrating=False)

    def migrated_in(self, name: str, text: str) -> Looked:
        """The findings with the migration of the file at the notes that it does away with."""
        return self._looked(name, text, migrating=True)

    def _in_suite(self, name: str, text: str) -> Looked:
        from noetlc.cli.suite_findings import found_in_suite  # most editors have no such file open

        found = found_in_suite(name, bytes_of(text), self._content, self._children())
        state = self.state_of(found.path) if found.path else ""
        return Looked(found.findings, ((found.path, state),) if found.path else ())

    def _content(self, name: str) -> bytes | None:
        """The bytes of a file, as an editor has it or as it is on disk; None where there is none."""
        if (shown := self._open.get(name)) is not None:
            return bytes_of(shown)
        try:
            return read(name)
        except Unusable:
            return None

    def _looked(self, name: str, text: str, *, migrating: bool) -> Looked:
        # Editors serve all YAML by one server, and most of it is something else.
        if not begins_a_playbook(bytes_of(text)):
            return Looked(())
        kept = self._kept.setdefault(name, KeptFile())
        found, compiled = looked_into(
            shown_name(name), bytes_of(text), self._children(), migrating=migrating, kept=kept
        )
        takes, entries = self._reported(name)
        new, _ = unknown([one for one in found.findings if takes.takes(one.diagnostic.code)], entries)
        return Looked(tuple(new), found.children, compiled)

    def mended(self, name: str, text: str) -> str:
        """The text after the fixes that `noetlc lint --fix` applies."""
        takes, entries = self._reported(name)

        def is_reported(one: Reported) -> bool:
            return takes.takes(one.diagnostic.code)

        def find(name: str, data: bytes) -> CachedFile:
            return found_in(name, data, self._children())

        made = mended(shown_name(name), bytes_of(text), is_reported, entries, "safe", find)
        return decode(name, made.data)[0].text if made.fixes else text

    def state_of(self, path: str) -> str:
        """The state of the file of a path."""
        return self._children().state_of(path)

    def find(self, path: str) -> tuple[str, bytes] | None:
        """The file of a path."""
        return self._children().find(path)

    def _files(self) -> dict[str, bytes]:
        found = self._disk
        if found is None:
            found = {}
            for name in (name for folder in self._folders for name in playbooks_in(folder)):
                try:
                    found[os.path.normpath(name)] = read(name)
                except Unusable:
                    continue  # a file that cannot be read is told where it is opened, and is no child here
            self._disk = found
        return found

    def _children(self) -> Folders:
        # Held here, because the editor may bring another text while this one is looked at in a thread.
        found = self._catalogue
        if found is None:
            contents = self._files() | {name: bytes_of(text) for name, text in self._open.copy().items()}
            found = self._catalogue = Folders((), tuple(contents), contents)
        return found

    def _reported(self, name: str) -> tuple[Selection, tuple[BaselineEntry, ...]]:
        """The codes that are reported in a file, and the entries of its baseline."""
        try:
            settings = self._configurations.settings_of(name)
            baseline = _baseline_of(settings)
            return selection_of(name, settings), baseline.entries_of(name) if baseline is not None else ()
        # A configuration that is edited beside the playbook may be wrong for a while.
        except (click.Misuse, click.UsageError) as problem:
            if str(problem) not in self.told:
                self.told.append(str(problem))
            return Selection(), ()


def _baseline_of(settings: Configuration) -> Baseline | None:
    return read_baseline(settings.baseline) if settings.baseline else None
