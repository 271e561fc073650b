"""The settings that code can change of the interpreter as a whole: where it did, its subprocess is not used again.

Modules stay imported, which is what a warm subprocess is for, and with them what each module keeps for itself. What
libraries change by being imported (filters of warnings, finders of modules, hooks) is therefore not among it.
"""

import _signal  # type: ignore[import-not-found]  # `signal` makes enums of it, at each start
import builtins
import gc
import os
import sys

_RANDOM = ("random", "numpy.random")
_NAMES = vars(builtins)
_SIGNALS = tuple(sorted(_signal.valid_signals()))


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
    locale = sys.modules.get("_locale")
    timers = [_signal.getitimer(which)[0] > 0 for which in (_signal.ITIMER_REAL, _signal.ITIMER_VIRTUAL)]
    return (
        mask, sys.getrecursionlimit(), sys.getswitchinterval(), tuple(sys.argv), gc.isenabled(), timers,
        locale and locale.setlocale(locale.LC_ALL, None),
    )  # fmt: skip


def roll_dice() -> None:
    """Let the generators of random numbers begin anew, as in a fresh process: none repeats a row that was seeded."""
    for name in _RANDOM:
        seed = getattr(sys.modules.get(name), "seed", None)
        if callable(seed):
            seed()
