"""The kinds of things that hear a signal, and what each kind tells the dispatcher (EXTENSIONS §6).

Law: a kind only says who listens now, what of the plan may ever listen, and how one of its listeners takes a signal.
Who gets it is decided in `signals` and nowhere else.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from noetl.engine.execution import Execution, KeptSignal
from noetl.engine.program import Program
from noetl.engine.turn import Turn
from noetl_ir.records import NamedTuple


class Listener(NamedTuple):
    """Whoever listens for signals of some names: a run, loop run or pipeline, by its token key.

    It hears only what stands in the log behind position `since`; -1: also what was kept before it was there. A wait
    that the mailbox knows by the name `call` hears what that addressed to it, too.
    """

    key: str
    names: frozenset[str]
    since: int = -1
    call: str = ""

    def hears(self, signal: KeptSignal) -> bool:
        """Whether it takes the signal when its turn comes."""
        return signal.name in self.names and signal.at > self.since and signal.wait in ("", self.call)


class ListenedNames(NamedTuple):
    """The names that listeners of a kind may ever listen for in runs of a plan.

    `kept` are those of listeners that take signals which came before them, and `any_kept` says that one of these
    computes its names. `passing` are those of listeners that take none; None: one computes them. `misses` says that
    a signal which nothing hears is to be recorded as missed.
    """

    kept: frozenset[str] = frozenset()
    any_kept: bool = False
    passing: frozenset[str] | None = frozenset()
    misses: bool = False


_Listening: TypeAlias = Callable[[Program, Execution], Iterable[Listener]]
"""The listeners of a kind now, the oldest first."""

Expected: TypeAlias = Callable[[Program, Execution], Iterable[Listener]]
"""Those that do not listen yet, and will hear what comes from a position on that is past already."""


class ListenerKind(NamedTuple):
    """A kind of listener. `hear` records that one of them takes a signal."""

    listening: _Listening
    names: Callable[[Program], ListenedNames]
    hear: Callable[[Turn, Listener, KeptSignal], None]
    expected: Expected = lambda program, execution: ()
