"""The key that guards credentials at rest, and the keys of executions that are made from it.

It comes from the environment variable NOETL_CREDENTIAL_KEY, else from a file that only its owner can read, which
is made when it is first needed.
"""

import hmac
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from contextlib import suppress

from noetl.host.engine_files import make_folder

VARIABLE = "NOETL_CREDENTIAL_KEY"
KEY_BYTES = 32


class KeyProblem(Exception):
    """There is no usable key; the text says why and what to do."""


def master_key(path: str) -> bytes:
    """The 32 bytes of the key, from the environment or the key file at `path`. Raises KeyProblem."""
    if (text := os.environ.get(VARIABLE)) is not None:
        return _decoded(text, f"the environment variable {VARIABLE}")
    if not os.path.exists(path):
        # A copy of a store has no key in it: with a new one nothing that was stored could be read, and nobody be told.
        guarded = path.removesuffix(".key")
        if guarded != path and os.path.exists(guarded):
            raise KeyProblem(
                f"the key file {path} is not there, and {guarded} was encrypted with it: put it back, or set {VARIABLE}"
            )
        _make(path)
    try:
        with open(path, encoding="ascii") as file:
            # Asked of the open file and not of its name, which may mean another file a moment later. A key that
            # others could read counts as lost, so it is not used silently.
            if os.fstat(file.fileno()).st_mode & 0o077:
                raise KeyProblem(f"others can read the key file {path}; run: chmod 600 {path}")
            return _decoded(file.read(), f"the key file {path}")
    except OSError as problem:
        raise KeyProblem(f"the key file {path} cannot be read: {problem.strerror}") from None


def execution_key(master: bytes, execution_id: str) -> bytes:
    """The key that authenticates the markers of one execution; from it nobody gets the master key."""
    return hmac.digest(master, b"markers of execution " + execution_id.encode("utf-8", "surrogatepass"), "sha256")


def shared_key(master: bytes) -> bytes:
    """The key that all executions have markers authenticated by, so that each knows those of the others."""
    return hmac.digest(master, b"markers of executions", "sha256")


def _make(path: str) -> None:
    """Write a new key, whole or not at all; somebody else's who is faster stays."""
    draft = f"{path}.{os.getpid()}"
    try:
        make_folder(os.path.dirname(path))
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(urlsafe_b64encode(os.urandom(KEY_BYTES)) + b"\n")
            file.flush()
            # On disk before it has its name: a key that a crash leaves empty would make every credential that was
            # stored under it worthless.
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            # A link fails where the name is taken, which a rename would not: two processes that begin at once must
            # not end with two keys.
            os.link(draft, path)
    except OSError as problem:
        raise KeyProblem(f"the key file {path} cannot be made: {problem.strerror}") from None
    finally:
        with suppress(OSError):
            os.unlink(draft)


def _decoded(text: str, where: str) -> bytes:
    try:
        key = urlsafe_b64decode(text.strip())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise KeyProblem(f"{where} must hold 32 bytes as URL-safe base64")
    return key
