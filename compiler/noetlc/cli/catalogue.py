"""Where child playbooks are found: folders and files, by `metadata.path` first and by file path second."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from noetl_cli import lazy_click as click
from noetlc.cli.files import SUFFIXES, playbooks_in, read
from noetlc.codegen.family import Member
from noetlc.source.nodes import Mapping as MappingNode
from noetlc.source.nodes import Node, Scalar
from noetlc.source.yaml_reader import read_yaml


class Folders:
    """The catalogue of the folders of `--path`, and of the files of the command line. The first file of a path counts.

    Files are read when they are first asked for. Where `contents` are given, by normalized names, nothing is read.
    """

    def __init__(
        self, folders: Sequence[str], files: Sequence[str] = (), contents: Mapping[str, bytes] | None = None
    ) -> None:
        for folder in folders:
            if not os.path.isdir(folder):
                raise click.UsageError(f"--path: there is no folder {folder!r}")
        self._folders = folders
        self._named = files
        self._files: dict[str, bytes] | None = None if contents is None else dict(contents)
        self._paths: dict[str, set[str]] = {}
        self.seen: dict[str, Member | str] = {}
        """The children that were checked, as `check_source` keeps them."""

    def __reduce__(self) -> "tuple[Callable[..., Folders], tuple[tuple[str, ...], tuple[str, ...]]]":
        """Pickled as its names alone, without contents: each process that checks files reads them itself, once."""
        return catalogue_of, (tuple(self._folders), tuple(self._named))

    @property
    def is_whole(self) -> bool:
        """Whether a child that is not found is missing. Without `--path` it may be in a folder that nobody named."""
        return bool(self._folders)

    def state_of(self, path: str) -> str:
        """The state that tells the file of a path from another version of it, `missing` or "" where there is none."""
        from hashlib import blake2b

        found = self.find(path)
        if found is None:
            return "missing" if self.is_whole else ""
        return blake2b(found[1], digest_size=20).hexdigest()

    def find(self, path: str) -> tuple[str, bytes] | None:
        """The file that holds the playbook of that path: its name and content."""
        return self._by_metadata(path) or self._by_file(path)

    def _by_metadata(self, path: str) -> tuple[str, bytes] | None:
        # Only files that hold the last part of the path as text are parsed: in a folder of a thousand it is one or
        # two.
        last = path.rpartition("/")[2].encode("utf-8", "surrogatepass")
        for name, data in self._contents().items():
            if last in data:
                if name not in self._paths:
                    self._paths[name] = _paths_in(name, data)
                if path in self._paths[name]:
                    return name, data
        return None

    def _by_file(self, path: str) -> tuple[str, bytes] | None:
        """The file of a path inside a folder, or of one from here that lies in a folder."""
        # Folders that were named come before those that only hold a file.
        for folder in (*self._folders, *(sorted({os.path.dirname(name) for name in self._named}))):
            for suffix in ("", *SUFFIXES):
                name = os.path.normpath(os.path.join(folder, path + suffix))
                if name in self._contents():
                    return name, self._contents()[name]
        places = {os.path.abspath(name): name for name in self._contents()}
        for suffix in ("", *SUFFIXES):
            found = places.get(os.path.abspath(path + suffix))
            if found is not None:
                return found, self._contents()[found]
        return None

    def _contents(self) -> dict[str, bytes]:
        if self._files is None:
            names = [name for folder in self._folders for name in playbooks_in(folder)]
            self._files = {os.path.normpath(name): read(name) for name in names}
            # A file that cannot be read is told where it is checked, and is no child here.
            self._files.update((os.path.normpath(name), read(name)) for name in self._named if os.access(name, os.R_OK))
        return self._files


@cache
def catalogue_of(folders: tuple[str, ...], files: tuple[str, ...]) -> Folders:
    """The catalogue of these folders and files, made once in a process that checks files for another one."""
    return Folders(folders, files)


def _paths_in(name: str, data: bytes) -> set[str]:
    return {path for node in read_yaml(name, data).documents if (path := _path_of(node)) is not None}


def _path_of(node: Node | None) -> str | None:
    metadata = node.get("metadata") if isinstance(node, MappingNode) else None
    path = metadata.get("path") if isinstance(metadata, MappingNode) else None
    if path is None and isinstance(node, MappingNode):
        # Old playbooks have their path at the root.
        path = node.get("path")
    return path.text if isinstance(path, Scalar) else None
