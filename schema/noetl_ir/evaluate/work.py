"""How much work an expression may be: every guard and every template has a budget, and each operation spends of it
before it is done, by the lengths of its texts and lists.

What is spent follows from the expression and its values alone, never from a clock, so that the same expression over
the same values ends with the same value or the same fault everywhere. A unit is 40 to 100 ns of one core of 2023, for
the worst values that an operation can get, and much less for most.
"""

from _thread import _local
from typing import Any

from noetl_ir.scopes.values import Fault

MAX_WORK = 10_000_000
"""Units that one guard or one template has: a second for the worst, a tenth of that for most."""

SHARE = 2 * MAX_WORK
"""Units that all that follows from one event has together to begin with."""
MORE = MAX_WORK // 64
"""Units that it has besides for each further event that is decided: a long turn is given what it needs, on average."""
SLICE = MAX_WORK // 4
"""Units after which others have their turn, where there is a place for that: a quarter of a second at most."""

VIEW_TYPES: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
LONG: frozenset[type] = frozenset({str, list, tuple, dict, *VIEW_TYPES})
"""Types of values whose comparison may be work; others than these are numbers and the like."""
SHORT_TEXT = 64
"""Characters of a text up to which it is no work to compare it."""
_HARD_INT = 64
"""Bits of an integer up to which it is no work to calculate with it."""


class _Meter(_local):
    """The meter of a thread: `spent` counts units since it began and never goes back.

    `bound` is the value of `spent` at which the present evaluation ends in a fault, `cap` the one at which all of a
    shared budget is used up.
    """

    spent = 0
    bound = MAX_WORK
    cap = 1 << 62
    stopped = False


_METER = _Meter()


def begin_evaluation() -> None:
    """Give the guard or template that is evaluated next a budget of its own, within the shared one."""
    meter = _METER
    bound, cap = meter.spent + MAX_WORK, meter.cap
    meter.bound = bound if bound < cap else cap


def share() -> None:
    """Begin a budget that all evaluations until `apart` share, beside the budget that each of them has."""
    meter = _METER
    if not meter.stopped:
        meter.cap = meter.spent + SHARE


def share_more(events: int) -> None:
    """Add to the shared budget what so many decided events allow."""
    meter = _METER
    if not meter.stopped:
        meter.cap += events * MORE


def apart() -> None:
    """End the shared budget: each evaluation from here on has only its own."""
    meter = _METER
    if not meter.stopped:
        meter.cap = 1 << 62


def stop() -> None:
    """Whatever this thread evaluates has no budget left, from within a handler of a signal too, until `go_on`.

    The faults that come of it are nobody's: who decides by values asks `is_stopped` before anything is kept.
    """
    meter = _METER
    meter.stopped = True
    meter.cap = meter.bound = -1


def go_on() -> None:
    """Evaluations from here on are wanted again."""
    meter = _METER
    meter.stopped = False
    meter.cap = 1 << 62


def is_stopped() -> bool:
    """Whether faults of this thread may come of `stop`."""
    return _METER.stopped


def spent() -> int:
    """The units that this thread has spent since it began: the difference of two calls is the work between them."""
    return _METER.spent


def spend(units: int) -> None:
    """Count work that is about to be done. Raises Fault when there is less left."""
    meter = _METER
    after = meter.spent + units
    if after > meter.bound:
        # An expression that goes on after its Fault (a filter that catches it) finds nothing left, not a fresh
        # remainder.
        meter.spent = max(meter.spent, meter.bound)
        if meter.bound == meter.cap:
            message = "what follows from one event, this expression being the last, is more work than it may be"
            raise Fault("template.error", message)
        raise Fault("template.error", f"the expression is more work than the {MAX_WORK:,} units that it may be")
    meter.spent = after


def spend_count(count: object, each: int) -> None:
    """The work of making that many of something; what is no count is left to its user."""
    if isinstance(count, int) and count > 0:
        spend(count * each)


def spend_text(length: int, passes: int = 1) -> None:
    """The work of going over a text of that many characters, or of making one."""
    if length > SHORT_TEXT:
        spend((length >> 2) * passes)


def spend_strip(text: str, chars: object) -> None:
    """The work of taking any of some characters off the ends of a text."""
    if len(text) > SHORT_TEXT:
        spend((len(text) >> 2) + (len(text) * len(chars) >> 5 if isinstance(chars, str) else 0))


def spend_search(text: str, part: str) -> None:
    """The work of looking for a part in a text: by both lengths, as hard texts can make it so."""
    length = len(text)
    if length > SHORT_TEXT:
        spend((length >> 2) + (length * min(len(part), 100) >> 5))


def spend_entries(value: object, each: int) -> None:
    """The work of going over the entries of a value, if it has any."""
    try:
        count = len(value)  # type: ignore[arg-type]
    except TypeError:
        return
    spend(each * count)


def spend_numbers(left: object, right: object) -> None:
    """The work of multiplying or dividing long integers."""
    if isinstance(left, int) and isinstance(right, int):
        first, second = left.bit_length(), right.bit_length()
        if first > _HARD_INT or second > _HARD_INT:
            spend((first * second >> 18) + (first + second >> 6))


def weigh(value: Any, *, as_text: bool = False) -> int:
    """Spend the work of walking over all of a value, with what it holds in several places counted for each, and
    return it; `as_text` for writing it down.
    """
    meter = _METER
    # The walk ends as soon as it has cost more than is left: weighing must not be dearer than what it guards against.
    room, total = meter.bound - meter.spent, 0
    each, shift = (12, 0) if as_text else (3, 6)
    waiting: list[Any] = [value]
    while waiting:
        here = waiting.pop()
        kind = type(here)
        if kind is str:
            total += each + (len(here) >> shift)
        elif kind is int:
            length = here.bit_length()
            total += each
            if length > _HARD_INT:
                # Decimal digits are made in quadratic time.
                total += length * length >> 15 if as_text else length >> 12
        elif isinstance(here, (list, tuple, dict, *VIEW_TYPES)):
            total += each * (1 + len(here))  # type: ignore[arg-type]
            if total <= room:
                waiting.extend(here)  # type: ignore[arg-type]
                if isinstance(here, dict):
                    waiting.extend(here.values())
        else:
            total += each
        if total > room:
            break
    spend(total)
    return total


def spend_pair(left: Any, right: Any) -> None:
    """The work of comparing two values: no more than a walk over one of them."""
    if type(left) is str:
        if type(right) is str and (length := min(len(left), len(right))) > SHORT_TEXT:
            spend(length >> 6)
    elif type(right) is not str and isinstance(left, _SIZED) and isinstance(right, _SIZED):
        weigh(left if len(left) <= len(right) else right)  # type: ignore[arg-type]


_SIZED = (list, tuple, dict, *VIEW_TYPES)


def spend_key(key: object, times: int) -> None:
    """The work of comparing a sort key with `times` others."""
    if type(key) is str:
        if len(key) > SHORT_TEXT:
            spend((len(key) >> 6) * times)
    elif isinstance(key, _SIZED):
        spend(weigh(key) * times)


def spend_hash(value: object) -> None:
    """The work of looking a value up in a mapping or a set."""
    if type(value) is str:
        spend_text(len(value))
    elif isinstance(value, tuple):
        weigh(value)


class Crowd:
    """Charges for keys that are put into one mapping or set, where any number of long integers can have the
    same hash.
    """

    __slots__ = ("_long",)

    def __init__(self) -> None:
        self._long = 0

    def spend(self, key: object) -> None:
        """Count a key that is about to be put in."""
        spend_hash(key)
        if (type(key) is int and key.bit_length() > _HARD_INT) or type(key) is tuple:
            # Python hashes an integer modulo 2^61-1, so anybody can name a million that collide. The n-th of them is
            # compared with all before it, and is charged for n.
            self._long += 1
            spend(self._long)
