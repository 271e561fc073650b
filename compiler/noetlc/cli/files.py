"""Files as the commands share them: naming them, reading them, writing them whole or not at all, over all cores."""

import codecs
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from errno import EACCES
from typing import TYPE_CHECKING, TypeVar

from noetl_cli import STANDARD_INPUT
from noetl_cli import lazy_click as click
from noetl_ir.words import STANDING

if TYPE_CHECKING:
    from noetlc.diag.diagnostic import Diagnostic

SUFFIXES = (".yaml", ".yml")


class Unusable(click.Misuse):
    """A file that cannot be read or written: wrong usage, but where several files are looked at a finding in it."""

    def __init__(self, name: str, error: OSError, *, written: bool = False) -> None:
        self._reason = error.strerror or str(error)
        self._done = "written" if written else "read"
        super().__init__(f"{name}: {self._reason}")

    def finding(self) -> "Diagnostic":
        """The error as a finding about the file."""
        from noetl_ir.span import Span
        from noetlc.diag.codes import finding

        return finding("NL026", f"the file cannot be {self._done}: {self._reason}", Span(1, 1, 1, 1))


def read(name: str) -> bytes:
    """The content of a file, or of standard input for `-`. Raises Unusable."""
    try:
        if name == STANDARD_INPUT:
            return sys.stdin.buffer.read()
        with open(name, "rb") as file:
            return file.read()
    except OSError as error:
        raise Unusable(name, error) from error


def read_playbook(name: str) -> bytes:
    """The content of a file that is to be a playbook. A plan is wrong usage. Raises Unusable."""
    data = read(name)
    # A plan read as YAML would give hundreds of findings about bytes.
    if data.startswith(_PLAN) or (data[:1] == b"{" and _JSON_PLAN in data[:100]):
        raise click.UsageError(
            f"{shown_name(name)} is a compiled plan and no playbook: name the playbook it was made of"
            f" (`noetl run` runs a plan, `noetlc analyze` proves what it can do)"
        )
    return data


_PLAN, _JSON_PLAN = b"NOETLPLN", b'"format": "noetl-plan"'  # as in `noetl_ir.plan_format`, too heavy to import here


def shown_name(name: str) -> str:
    """The name of a file as findings show it; other programs do not know `./a` for `a`."""
    return "<stdin>" if name == STANDARD_INPUT else name.removeprefix("./")


def write(name: str, data: bytes) -> None:
    """Write a file so that nobody ever sees a part of it. Raises Unusable.

    A link stays a link, and a file keeps its mode; one that nobody may write to is left alone. What is no file, such as
    `/dev/null` or a pipe, is written into and never replaced.
    """
    # The file behind a link is replaced, or the link would become a file.
    place = os.path.realpath(name)
    part = f"{place}.{os.getpid()}.part"
    try:
        if os.path.exists(place) and not os.path.isfile(place):
            with open(place, "wb") as special:
                special.write(data)
            return
        mode = os.stat(place).st_mode & 0o7777 if os.path.exists(place) else None
        # `os.replace` asks the folder's permission alone, and would replace a file that its owner protected.
        if mode is not None and not mode & 0o222:
            raise PermissionError(EACCES, "the file is write-protected")
        with open(part, "wb") as file:
            file.write(data)
        if mode is not None:
            os.chmod(part, mode)
        os.replace(part, place)
    except OSError as error:
        if os.path.exists(part):
            os.remove(part)
        raise Unusable(name, error, written=True) from error


def put(name: str, data: bytes) -> None:
    """Write a file, or standard output for `-`."""
    if name == STANDARD_INPUT:
        # Text that was written before stands in another buffer, and must come first.
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        write(name, data)


def put_diff(name: str, before: bytes, after: bytes) -> None:
    """Write to standard output what changes in a file, as `patch` reads it: a line ends at `\\n` alone there."""
    from difflib import unified_diff
    from io import StringIO

    old, new = (list(StringIO(data.decode("utf-8", "replace"), "\n")) for data in (before, after))
    for line in unified_diff(old, new, f"a/{shown_name(name)}", f"b/{shown_name(name)}"):
        end = "" if line.endswith("\n") else "\n\\ No newline at end of file\n"
        put(STANDARD_INPUT, (line + end).encode())


def expanded(paths: Iterable[str]) -> list[str]:
    """The files that paths name: files as they are, folders and globs by the playbooks among what they hold.

    A YAML file counts as a playbook when a line of it begins one: others, such as scripts and values, live beside
    playbooks. One that cannot be read counts too, so that whoever reads it says so.

    Each once, in the order given, those of a folder or a glob sorted; links to one file are that file. A path that
    names nothing is wrong usage, and so are paths with no playbook among them.
    """
    found: dict[str, str] = {}
    for path in paths:
        if path == STANDARD_INPUT or os.path.isfile(path):
            names = [path]
        elif os.path.isdir(path):
            names = list(playbooks_in(path))
        else:
            from glob import glob  # most paths are files

            matches = sorted(name for name in glob(path, recursive=True) if os.path.isfile(name))
            if not matches:
                raise click.UsageError(f"there is no file {path!r}")
            names = [name for name in matches if _is_playbook(name)]
        # Of a file and links to it the file's own name is shown.
        own = {_place_of(name): name for name in names if not os.path.islink(name)}
        for place, name in ((_place_of(name), name) for name in names):
            found.setdefault(place, own.get(place, name))
    if not found:
        raise click.UsageError("there is no playbook under these paths")
    return list(found.values())


def _place_of(name: str) -> str:
    """The identity that tells a file from others, whatever name it goes by."""
    return name if name == STANDARD_INPUT else os.path.realpath(name)


def only_playbooks(paths: Iterable[str]) -> list[str]:
    """The paths without the files that `expanded` would not take from a folder. A file that is not there stays."""
    return [path for path in paths if not os.path.isfile(path) or _is_playbook(path)]


def playbooks_in(folder: str) -> Iterator[str]:
    """The YAML files under a folder that hold a playbook, sorted, hidden ones left out."""
    for root, folders, names in os.walk(folder):
        # Hidden folders hold version control and environments with thousands of YAML files that nobody wrote here.
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(root, name)
            if _is_playbook(path):
                yield path


def suites_in(folder: str) -> Iterator[str]:
    """The files of tests under a folder, sorted, hidden ones left out."""
    from noetl_ir.suite import SUFFIXES as ENDINGS  # editors alone ask

    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.join(root, name) for name in sorted(names) if name.endswith(ENDINGS))


def _is_playbook(path: str) -> bool:
    """Whether a file that nobody named itself is one to look at."""
    name = os.path.basename(path)
    if not name.endswith(SUFFIXES) or name.startswith("."):
        return False
    if os.path.exists(path) and not os.path.isfile(path):
        return False  # a pipe or a device, which would be waited for
    try:
        return begins_a_playbook(read(path))
    except Unusable:
        return True


_BEGINNING = (
    rb"""(?m)^[ "'{]*(apiVersion["']?\s*:\s*["']?[\w.]*noetl|kind["']?\s*:\s*["']?Playbook|workflow["']?\s*:)"""
)
_KINDS = "|".join(("Credential", *STANDING))
_BESIDE = rf"""(?m)^["']?kind["']?\s*:\s*["']?({_KINDS})["']?\s*(#.*)?$""".encode()
_WORKFLOW = rb"""(?m)^["']?(workflow["']?\s*:|kind["']?\s*:\s*["']?Playbook)"""
"""What a file of credentials, a schedule and the like has, and what it has not: servers get those beside playbooks."""


def begins_a_playbook(data: bytes) -> bool:
    """Whether a line of a file begins a playbook; what lives beside them, as credentials and schedules, is none."""
    is_wide = data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    # The pattern is of bytes and does not fit UTF-16; the reader will tell.
    if is_wide:
        return True
    is_beside = re.search(_BESIDE, data) is not None and re.search(_WORKFLOW, data) is None
    return not is_beside and re.search(_BEGINNING, data) is not None


MANY = 24
"""From how many files on it pays to start processes."""

_Work = TypeVar("_Work")
Done = TypeVar("Done")


def over_cores(do: Callable[[_Work], Done], work: Sequence[_Work]) -> Iterator[Done]:
    """The values that `do` makes of each piece of work, in their order. `do` is a function of a module."""
    cores = _cores()
    # A process takes longer to start than a few files to check.
    if len(work) < MANY or cores < 2:
        yield from map(do, work)
        return
    yield do(work[0])  # what it imports is there when the processes are forked
    from multiprocessing import get_context

    with get_context().Pool(min(cores, len(work))) as pool:
        # In order, since reports are told in the order of the files; in chunks, since one message a file costs more
        # than it.
        yield from pool.imap(do, work[1:], chunksize=max(1, min(8, len(work) // (4 * cores))))


def _cores() -> int:
    import os

    # Containers are often given fewer cores than the machine has.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
