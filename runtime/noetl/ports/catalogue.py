"""The catalogue of a store: versions of playbooks by their paths, and which of them a list shows."""

from noetl_ir.records import NamedTuple


class PlanRow(NamedTuple):
    """A version of a playbook path in the catalogue; versions count from 1."""

    path: str
    version: int
    digest: str


class Versions(NamedTuple):
    """Which rows of the catalogue a list shows: those of a `path`, empty for all; only the `newest` of each path.

    Those behind a path and version of `after`, and at most `limit` (0 for all); those of paths `within` a scope.
    """

    path: str = ""
    newest: bool = False
    after: tuple[str, int] | None = None
    limit: int = 0
    within: tuple[str, ...] = ()

    def shows(self, path: str) -> bool:
        """Whether versions of a path are shown."""
        from noetl.ports.scopes import is_within

        return self.path in ("", path) and is_within(path, self.within)


EVERY = Versions()
