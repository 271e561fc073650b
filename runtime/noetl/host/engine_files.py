"""The engine's own files: stores, values, credentials and keys, which no fenced tool reaches and nobody else reads.

A store `FOLDER/NAME` has files and folders whose names begin with `NAME-` or `NAME.`, and `sessions.db` beside them.
Where FOLDER lies below the folder that tools may use, or elsewhere, all of it is the engine's own; where
it is that folder or holds it, those names are.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

HOME = ".noetl"
"""The folder of the default store, which is nobody else's."""
_SESSIONS = "sessions.db"
_stores: dict[str, None] = {}


def holds(folder: str, place: str) -> bool:
    """Whether a place is a folder or lies below it; of two absolute paths without links."""
    # With the separator, since `/srv/app` does not hold `/srv/apple`; stripped first, since the root has one already.
    return place == folder or place.startswith(folder.rstrip(os.sep) + os.sep)


def keep_from_tools(store: str) -> None:
    """Count the file of a store, and everything that lies beside it under its name, as the engine's own from now on."""
    folder, name = os.path.split(os.path.abspath(store))
    _stores.setdefault(os.path.join(os.path.realpath(folder), name))


def is_own(found: str, home: str) -> bool:
    """Whether a path without links is the engine's own, for tools that are kept in the folder `home`.

    Case is left aside, since some disks do. Another name of the same file or folder (a hard link, a mount) is the same.
    """
    return any(_is_of(store, found, home) for store in _stores)


def stores_in(home: str) -> tuple[str, ...]:
    """The folders below `home` that are the engine's own, and the stores that lie in `home` itself or above."""
    found = []
    for store in _stores:
        folder = os.path.dirname(store)
        found.append(store if holds(folder, home) else folder)
    return tuple(found)


def second_names(home: str) -> list[str]:
    """The second names below `home` of files of the engine, where somebody made some; values, which are many, aside."""
    known: set[str] = set()
    linked = set()
    for path in (path for store in _stores for path in _entries(*os.path.split(store))):
        about = _about(path)
        # A file with one name has no second one. This look is one `stat` a file; the walk below is over all that
        # tools may use.
        if about is not None and about.st_nlink > 1 and not os.path.isdir(path):
            known.add(path)
            linked.add((about.st_dev, about.st_ino))
    if not linked:
        return []
    found = []
    for folder, _, names in os.walk(home):
        for path in (os.path.join(folder, name) for name in names):
            about = _about(path)
            if about is not None and (about.st_dev, about.st_ino) in linked and path not in known:
                found.append(path)
    return found


def has_second_name(path: str) -> bool:
    """Whether a file has another name somewhere (a hard link)."""
    about = _about(path)
    return about is not None and about.st_nlink > 1 and not os.path.isdir(path)


def make_folder(path: str) -> None:
    """Make a folder of the engine that its owner alone may enter, with those above it. Raises OSError."""
    if path and not os.path.isdir(path):
        make_folder(os.path.dirname(path))
        # Two commands may make it at once. `os.makedirs` with a mode would give it to the last folder alone.
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)


def force_folder(path: str) -> None:
    """Have the list of a folder on disk: a new file is there after a crash only then. Raises OSError."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def touch(path: str) -> None:
    """Make a file of the engine that its owner alone may read, where there is none. Raises OSError."""
    if not os.path.exists(path):
        # Made with narrow rights from the first moment. A `chmod` afterwards leaves a time in which another user
        # opens it, and keeps it open.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


def narrow(store: str) -> tuple[str, ...]:
    """Take from others what they may do with the files of a store, and say which these were; what cannot be is left."""
    folder = os.path.dirname(os.path.abspath(store))
    wide = [path for path in (folder, *_entries(folder, os.path.basename(store))) if _narrowed(path)]
    for path in wide:
        if os.path.isdir(path) and path != folder:  # it was open: so may be what is inside
            for inner, _, names in os.walk(path):
                _narrowed(inner)
                for name in names:
                    _narrowed(os.path.join(inner, name))
    return tuple(wide)


def _narrowed(path: str) -> bool:
    """Whether the rights of a file or folder of the engine were taken from others just now."""
    about = _about(path, follow=False)
    # The rights of a link are those of what it leads to, which may be anybody's.
    if about is None or os.path.islink(path) or about.st_uid != os.geteuid() or not about.st_mode & 0o077:
        return False
    if os.path.isdir(path) and not _is_private(path):
        return False
    with suppress(OSError):
        os.chmod(path, about.st_mode & 0o700)
        return True
    return False


def _is_private(folder: str) -> bool:
    """Whether a folder is the engine's by its name; one that others may have made for more is not."""
    parts = os.path.abspath(folder).split(os.sep)
    return HOME in parts or any(part.endswith((".blobs", ".output", ".owners")) for part in parts)


def _is_of(store: str, found: str, home: str) -> bool:
    folder = os.path.dirname(store)
    if holds(folder, home):
        # Folded: where the disk does not tell cases apart, `.NOETL` is the same folder.
        entry = os.path.relpath(found, folder).split(os.sep)[0].casefold()
        return _is_named(entry, os.path.basename(store).casefold()) or _same_file(store, found)
    at = found
    while True:
        if at.casefold() == folder.casefold() or _same(at, folder):
            return True
        above = os.path.dirname(at)
        # Not above the folder of tools: what lies there they cannot reach by a path.
        if above == at or at == home:
            return _same_file(store, found)
        at = above


def _same_file(store: str, found: str) -> bool:
    """Whether it is a second name of a file of the store."""
    # One `stat` comes first: nearly every file has one name, and only for the others all files of the store are
    # compared.
    return has_second_name(found) and any(map(partial(_same, found), _files_of(store)))


def _files_of(store: str) -> Iterator[str]:
    """The files of a store, those of its values and locks too."""
    folder = os.path.dirname(store)
    for path in _entries(folder, os.path.basename(store)):
        if os.path.isdir(path):
            for inner, _, names in os.walk(path):
                yield from map(partial(os.path.join, inner), names)
        else:
            yield path


def _is_named(entry: str, name: str) -> bool:
    """Whether a name is that of a store or of what lies beside it."""
    return entry in (name, _SESSIONS) or entry.startswith(
        tuple(f"{known}{mark}" for known in (name, _SESSIONS) for mark in "-.")
    )


def _entries(folder: str, name: str) -> list[str]:
    is_ours = partial(_is_named, name=name)
    with suppress(OSError):
        return [os.path.join(folder, entry) for entry in filter(is_ours, os.listdir(folder))]
    return []


def _same(one: str, other: str) -> bool:
    first, second = _about(one), _about(other)
    return first is not None and second is not None and os.path.samestat(first, second)


def _about(path: str, *, follow: bool = True) -> os.stat_result | None:
    try:
        return os.stat(path, follow_symlinks=follow)
    except (OSError, ValueError):
        return None
