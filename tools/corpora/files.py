"""The files of a laid-out corpus: a folder for each day, and in it what the project of that day had, by its path."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from noetlc.cli.files import playbooks_in

_SUFFIXES = (".yaml", ".yml")


class File(NamedTuple):
    """A distinct file: its path inside a day's folder, the last day that has it with this content, its content."""

    path: str
    day: str
    data: bytes
    days: tuple[str, ...] = ()
    """All days that have this content under this path."""

    @property
    def name(self) -> str:
        """How reports call it."""
        return f"{self.day}/{self.path}"

    @property
    def digest(self) -> str:
        """Digest that tells its content from others."""
        return hashlib.blake2b(self.data, digest_size=12).hexdigest()


class Corpus(NamedTuple):
    """The playbooks of a folder, each content once and in the order of path and day; `others` are no playbooks."""

    folder: Path
    playbooks: tuple[File, ...]
    others: int


def laid_out(folder: Path) -> Corpus:
    """The playbooks of a folder. A content under several paths counts once, under the first of them."""
    days: dict[tuple[str, bytes], list[str]] = {}
    others: set[bytes] = set()
    named = {str(name) for name in playbooks_in(str(folder))}
    for name in _yaml_files(folder):
        data = name.read_bytes()
        if str(name) not in named:
            others.add(data)
            continue
        day, _, path = name.relative_to(folder).as_posix().partition("/")
        days.setdefault((path, data), []).append(day)
    seen: set[bytes] = set()
    files = []
    for (path, data), on in sorted(days.items(), key=lambda item: (item[0][0], item[1][0])):
        # The same text on many days is one playbook. Counted each time, an old one would weigh more than all others.
        if data not in seen:
            seen.add(data)
            files.append(File(path, max(on), data, tuple(on)))
    return Corpus(folder, tuple(files), len(others - seen))


def _yaml_files(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        # Sorted in place, which is how `os.walk` is told: the order of a folder differs from disk to disk.
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(root, name) for name in sorted(names) if name.endswith(_SUFFIXES))


def chosen(corpus: Corpus, patterns: list[str]) -> Corpus:
    """The corpus of the playbooks whose `DAY/path` fits one of some patterns; all of them without any."""
    from fnmatch import fnmatchcase

    if not patterns:
        return corpus
    kept = [file for file in corpus.playbooks if any(fnmatchcase(file.name, pattern) for pattern in patterns)]
    return corpus._replace(playbooks=tuple(kept))
