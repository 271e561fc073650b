"""The settings that code can change of the interpreter as a whole: where it did, its subprocess is not used again.

Modules stay imported, which is what a warm subprocess is for, and with them what each module keeps for itself. What
libraries change by being imported (filters of warnings, finders of modules, hooks) is therefore not among it.
"""

import _signal  # type: ignore[import-not-found]  # `signal` makes enums of it, at each start
import _thread
import builtins
import gc
import os
import sys
from contextlib import suppress

# Here and not when code first does: what is asked of it afterwards must be what was asked of it before.
try:
    import _locale
except ImportError:  # not on this system
    _locale = None  # type: ignore[assignment]
try:
    import resource
except ImportError:  # not on this system
    resource = None  # type: ignore[assignment]

_RANDOM = ("random", "numpy.random")
_NAMES = vars(builtins)
_SIGNALS = tuple(sorted(_signal.valid_signals()))
_STREAMS = (sys.stdin, sys.stdout, sys.stderr)
_MOST_FILES = 128
"""How many files may be open: what code leaves open is not ours to close, and must not fill the table for the next."""


class Traces:
    """A picture of the interpreter, to be held against a later one. Keeps what it saw, so that nothing is mistaken."""

    def __init__(self) -> None:
        self._names = dict(_NAMES)
        self._modules = dict(sys.modules)
        self._handlers = [_signal.getsignal(number) for number in _SIGNALS]
        self._hooks = (sys.gettrace(), sys.getprofile())
        self._settings = _settings()

    def are_left(self) -> bool:
        """Whether something is not as it was: a name of Python's own, a module, a handler or timer, a setting.

        Python's own names are put back, for what is still to do here needs them.
        """
        names = _NAMES
        try:
            left = names != self._names
        except BaseException:  # of a comparison that the code brought
            left = True
        names.clear()
        names.update(self._names)
        try:
            return left or self._differ()
        except Exception:  # of something that the code put there
            return True

    def _differ(self) -> bool:
        return (
            any(sys.modules.get(name) is not module for name, module in self._modules.items())
            or any(_signal.getsignal(n) is not seen for n, seen in zip(_SIGNALS, self._handlers, strict=True))
            or (sys.gettrace(), sys.getprofile()) != self._hooks
            or _settings() != self._settings
        )


def _settings() -> tuple[object, ...]:
    """The settings of the interpreter: the mask of files, limits, arguments, the collector, timers, the locale."""
    mask = os.umask(0o077)
    os.umask(mask)
    timers = [_signal.getitimer(which)[0] > 0 for which in (_signal.ITIMER_REAL, _signal.ITIMER_VIRTUAL)]
    return (
        mask, sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits(), tuple(sys.argv),
        getattr(sys, "tracebacklimit", None), gc.isenabled(), gc.get_threshold(), gc.get_debug(), [*gc.callbacks],
        timers, _locale and _locale.setlocale(_locale.LC_ALL, None), _of_the_process(), _of_the_streams(),
    )  # fmt: skip


def _of_the_process() -> tuple[object, ...]:
    """The settings of the process: who it is, blocked signals, its share of the machine, its limits."""
    limits: list[object] = []
    if resource is not None:
        limits = [resource.getrlimit(getattr(resource, name)) for name in _LIMITS]
        limits.append(resource.getrlimit(resource.RLIMIT_AS)[1])  # the limit of now is that of the task
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    blocked = _signal.pthread_sigmask(_signal.SIG_BLOCK, ())
    return os.geteuid(), os.getegid(), os.getpriority(os.PRIO_PROCESS, 0), cores, blocked, limits


_LIMITS = () if resource is None else tuple(
    name for name in dir(resource) if name.startswith("RLIMIT_") and name != "RLIMIT_AS"
)  # fmt: skip


def _of_the_streams() -> list[object]:
    """The standard streams: the file of each, and how text goes through it. None for one that is closed."""
    found: list[object] = []
    for number, stream in enumerate(_STREAMS):
        seen: object = None
        with suppress(OSError, ValueError):
            file = os.fstat(number)
            seen = (
                file.st_dev, file.st_ino, stream.closed, stream.encoding, stream.errors,
                stream.line_buffering, getattr(stream, "write_through", None),
            )  # fmt: skip
        found.append(seen)
    return found


def are_threads_left() -> bool:
    """Whether a thread still runs beside this one, however it was started."""
    threading = sys.modules.get("threading")
    return _thread._count() > 0 or (threading is not None and threading.active_count() > 1)


def are_files_left() -> bool:
    """Whether more files are open than a subprocess may keep."""
    with suppress(OSError):
        return len(os.listdir("/dev/fd")) > _MOST_FILES
    return False


def roll_dice() -> None:
    """Let the generators of random numbers begin anew, as in a fresh process: none repeats a row that was seeded."""
    for name in _RANDOM:
        seed = getattr(sys.modules.get(name), "seed", None)
        if callable(seed):
            seed()
