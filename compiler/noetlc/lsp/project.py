"""The files around an open playbook, as the server needs them. The command line implements it; tests may do so too."""

from collections.abc import Mapping
from typing import Protocol

from noetl_ir.records import NamedTuple
from noetlc.diag.findings import Reported
from noetlc.pipeline import Compiled


class Looked(NamedTuple):
    """The result of checking a file.

    `findings` are those that its configuration reports. `children` has the path of each playbook that it calls, with
    the state of that file (`Project.state_of`). `compiled` is the file as it was understood, without its broken lines
    where it is no YAML; None where `noetlc` itself failed.
    """

    findings: tuple[Reported, ...]
    children: tuple[tuple[str, str], ...] = ()
    compiled: Compiled | None = None


class Project(Protocol):
    """The playbooks of a workspace. Names are paths of files; a text that an editor holds stands before the file's."""

    def hold(self, name: str, text: str) -> None:
        """An editor holds this text of a file."""
        ...

    def let_go(self, name: str) -> None:
        """The editor closed the file: what is on disk counts again."""
        ...

    def look_again(self) -> None:
        """Files or configurations changed on disk: whatever was kept of them is read again."""
        ...

    def texts(self) -> Mapping[str, str]:
        """The text of every playbook, by the name of its file, in the order of the names."""
        ...

    def suites(self) -> Mapping[str, str]:
        """The text of every file of tests, by its name."""
        ...

    def found_in(self, name: str, text: str) -> Looked:
        """The findings in a text as the file of that name, none in what is no playbook; without the migration of an
        older file as a fix. Raises nothing for any text.
        """
        ...

    def migrated_in(self, name: str, text: str) -> Looked:
        """The findings of a text as `found_in` has them; the notes that a migration of the file does away with have it
        as their fix. It takes as long as several looks.
        """
        ...

    def mended(self, name: str, text: str) -> str:
        """The text after all fixes that cannot change its meaning by accident."""
        ...

    def state_of(self, path: str) -> str:
        """The state of the file with the playbook of a path; another text has another one."""
        ...

    def find(self, path: str) -> tuple[str, bytes] | None:
        """The file that holds the playbook of a path: its name and content."""
        ...
