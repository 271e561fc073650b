"""Folders of Python packages for the `requirements` of python tasks: one for each list of them, made once by uv.

A folder is named after its list, this Python and this system, and holds what was chosen as `requirements.lock`. It is
made beside and renamed when it is whole, under a lock for all processes, so that it is there wholly or not at all. Only
wheels are installed: no program of a package runs while it is installed, which could read the operator's environment.
"""

import asyncio
import fcntl
import hashlib
import json
import os
import shutil
import sys
import sysconfig
from collections.abc import Callable, Sequence

from noetl.host.process_secrets import masked
from noetl.host.processes import ProcessLimits, run_child
from noetl_ir.requirements import canonical

SECONDS = 900.0
"""How long an installation may take, whatever the task allows: later tasks have it, too."""

_SAID = 1_500
"""Characters of the installer's message that are told."""
_LOCK = "requirements.lock"


class PackagesUnavailable(Exception):
    """The packages cannot be had; the text says why. `retryable`: another time it may work."""

    def __init__(self, text: str, *, retryable: bool) -> None:
        super().__init__(text)
        self.retryable = retryable


def environments_folder() -> str:
    """Where the folders are kept: in the user's cache (XDG base directories)."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    home = cache if os.path.isabs(cache) else os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "noetl", "python")


async def packages_of(requirements: Sequence[str], log: Callable[[str], None]) -> str:
    """The folder with the packages of a list, made if it is not there. Raises NotInstalled.

    `log` hears which versions were chosen, when they are.
    """
    wanted, folder = canonical(requirements), environments_folder()
    place = os.path.join(folder, _name_of(wanted))
    if os.path.isdir(place):
        return place
    try:
        os.makedirs(folder, exist_ok=True)
        lock = os.open(f"{place}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            # In a thread: another process may hold it for as long as its installation takes.
            await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)
            if not os.path.isdir(place):
                await _make(wanted, place, log)
        finally:
            os.close(lock)
    except OSError as problem:
        raise PackagesUnavailable(
            f"the packages cannot be kept in {folder}: {problem.strerror}", retryable=True
        ) from None
    return place


def _name_of(wanted: Sequence[str]) -> str:
    """The name of a list's folder: packages are of one Python and one system."""
    about = [*wanted, sys.implementation.cache_tag, sysconfig.get_platform()]
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:40]


async def _make(wanted: Sequence[str], place: str, log: Callable[[str], None]) -> None:
    """Install into a new folder. Raises NotInstalled, OSError."""
    draft = f"{place}.part"
    shutil.rmtree(draft, ignore_errors=True)  # of a process that was killed: its lock is ours now
    os.makedirs(draft)
    try:
        await _uv("install", "--only-binary", ":all:", "--target", draft, "--", *wanted, folder=draft)
        chosen = await _uv("freeze", "--path", draft, folder=draft)
        with open(os.path.join(draft, _LOCK), "wb") as file:
            file.write(chosen)
        os.rename(draft, place)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    log(f"installed {', '.join(chosen.decode('utf-8', 'replace').split())}")


async def _uv(*words: str, folder: str) -> bytes:
    """The output of a command of uv. Raises NotInstalled."""
    program = _program()
    bounds = ProcessLimits(SECONDS, 1 << 20, None)
    command = [program, "pip", words[0], "--quiet", "--python", sys.executable, *words[1:]]
    try:
        # The operator's own environment: its settings say which index there is, and how to log in there.
        ended = await run_child(command, environ=os.environ, cwd=folder, stdin=b"", bounds=bounds)
    except TimeoutError:
        raise PackagesUnavailable(f"the installation took longer than {SECONDS:g} s", retryable=True) from None
    if ended.exit_code:
        said = masked(ended.stderr.decode("utf-8", "replace").strip())
        raise PackagesUnavailable(" ".join(said.split())[:_SAID], retryable=_is_of_the_network(said))
    return ended.stdout


def installer() -> str | None:
    """The program uv: beside this Python, else on PATH; None where it is not installed."""
    beside = os.path.join(os.path.dirname(sys.executable), "uv")
    return beside if os.path.isfile(beside) else shutil.which("uv")


def _program() -> str:
    """The program uv. Raises NotInstalled."""
    found = installer()
    if found is None:
        raise PackagesUnavailable("it needs uv: pip install 'noetlc[requirements]'", retryable=False)
    return found


def _is_of_the_network(said: str) -> bool:
    """Whether an installation failed for want of the index, by what uv says."""
    return any(word in said.lower() for word in ("failed to fetch", "error sending request", "timed out", "connection"))
