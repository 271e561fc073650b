"""Files that tools may touch: named by an explicit field, inside the worker's root, and nothing else; and how files of
an execution are named.

Text that merely looks like a path is data; only the fields that a kind declares as files come here.
"""

import os
from contextlib import suppress

from noetl.host.engine_files import holds, is_own
from noetl_ir.expr import Json

MOST_BYTES = 16 * 1024 * 1024

_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


class FileRefused(Exception):
    """A file that may not be used; the text says why, in plain words."""


def inside(root: str, path: str) -> str:
    """The absolute path of `path` taken from `root`, links followed; FileRefused when it leaves the root
    or leads to the engine's own files."""
    # The functions of the system raise ValueError for it, each with another text.
    if "\0" in path:
        raise FileRefused("a path holds a NUL character")
    home = os.path.realpath(root)
    try:
        # Links are followed before anything is compared: a link inside of the root may lead anywhere.
        found = os.path.realpath(os.path.join(home, path))
    except (OSError, UnicodeError):
        raise FileRefused(f"{path!r} is no path of this machine") from None
    if not holds(home, found):
        raise FileRefused(f"{path!r} is outside the folder that tools may use")
    if is_own(found, home):
        raise FileRefused(f"{path!r} is the engine's own (its store, values and keys): no tool may use it")
    return found


def script_path(root: str, script: Json, folder: str = "") -> str:
    """The file that a `script` field names: a path, or `{uri | path, source: {type: file}}`.

    It is looked for in `folder`, that of the playbook, then in each folder above it up to the root. A playbook that
    somebody ran from outside of the root has an absolute one: there, up to the top of its checkout, where there is
    one, and then in the root. Raises FileRefused.
    """
    if isinstance(script, str):
        return _nearest(root, _local(script), folder)
    if not isinstance(script, dict):
        raise FileRefused("a script is a path or a mapping with uri and source")
    kind = _source_type(script)
    if kind not in (None, "file"):
        raise FileRefused(f"a script from {kind!r} cannot be read; only files can, and code of type inline")
    for name in ("uri", "path", "file"):
        if isinstance(address := script.get(name), str):
            return _nearest(root, _local(address), folder)
    raise FileRefused("a script needs uri, the path of a file")


def inline_script(script: Json) -> str | None:
    """The program that a `script` field holds itself (`source: {type: inline, code}`); None where it names a file.

    Raises FileRefused for one that holds none.
    """
    if not isinstance(script, dict) or _source_type(script) != "inline":
        return None
    source = script.get("source")
    for holder in (source, script):
        for name in ("code", "content", "text"):
            if isinstance(holder, dict) and isinstance(code := holder.get(name), str):
                return code
    raise FileRefused("a script of type inline needs code, the text of the program: {source: {type: inline, code: …}}")


def script_text(root: str, script: Json, folder: str = "") -> str:
    """The text that a `script` field holds or names. Raises FileRefused."""
    code = inline_script(script)
    if code is not None:
        return code
    path = script_path(root, script, folder)
    try:
        return read_file(path, MOST_BYTES).decode("utf-8")
    except UnicodeDecodeError:
        raise FileRefused(f"{path!r} is not UTF-8 text") from None


def _source_type(script: dict[str, Json]) -> Json:
    source = script.get("source")
    return source.get("type") if isinstance(source, dict) else source


def _nearest(root: str, path: str, folder: str) -> str:
    """The first file of that path in `folder`, the folders above it, and the root. Raises FileRefused."""
    home = inside(root, ".")
    places = [(home, home)]
    with suppress(FileRefused):  # a folder outside by its links is nowhere to look
        top = _project(folder) if os.path.isabs(folder) else home
        at = inside(top, folder)
        while at != home:
            places.insert(-1, (at, top))
            if at == top:
                break
            at = os.path.dirname(at)
    if os.path.isabs(path):
        return inside(root, path)
    outside: FileRefused | None = None
    for place, top in places:
        try:
            found = inside(top, os.path.join(place, path))
        except FileRefused as problem:
            outside = problem
            continue
        if os.path.isfile(found):
            return found
    if outside is not None and len(places) == 1:
        raise outside
    raise FileRefused(f"there is no file {path!r} in {', '.join(repr(place) for place, _ in places)}")


def _project(folder: str) -> str:
    """The checkout that holds the folder of a playbook from outside the root, else that folder."""
    at = folder = os.path.realpath(folder)
    # `.git` may be a file (a worktree, a submodule), so it only has to exist.
    while not os.path.exists(os.path.join(at, ".git")):
        if at == os.path.dirname(at):
            return folder
        at = os.path.dirname(at)
    return at


def read_file(path: str, most: int) -> bytes:
    """The bytes of a file, at most so many."""
    try:
        with open(path, "rb") as file:
            # One byte more than allowed tells that there are more, without reading a file of any size.
            data = file.read(most + 1)
    except OSError as problem:
        raise FileRefused(f"{path!r} cannot be read: {problem.strerror}") from None
    if len(data) > most:
        raise FileRefused(f"{path!r} has more than {most} bytes")
    return data


def write_file(path: str, data: bytes) -> None:
    """Write a file whole or not at all, with the folders that it needs."""
    # Written beside and then renamed: who reads the file meanwhile, or after a crash, has the old one or the new one.
    # Beside it, since a rename works within one disk alone.
    draft = f"{path}.{os.getpid()}.part"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(draft, "wb") as file:
            file.write(data)
        os.replace(draft, path)
    except OSError as problem:
        with suppress(OSError):
            os.unlink(draft)
        raise FileRefused(f"{path!r} cannot be written: {problem.strerror}") from None


def _local(address: str) -> str:
    """A path from a path or a `file://` address; another address is refused, never opened."""
    path = address.removeprefix("file://")
    if "://" in path:
        raise FileRefused(f"{address!r} is no file of this machine")
    return path


def file_name_of(execution_id: str) -> str:
    """A file name for an execution: its id where that is plain, else a hash; no id leads elsewhere."""
    if 0 < len(execution_id) <= 100 and _SAFE.issuperset(execution_id):
        return execution_id
    import hashlib

    # No plain id begins with `=`, so a hash never meets an id that looks like one.
    return "=" + hashlib.sha256(execution_id.encode("utf-8", "surrogatepass")).hexdigest()
