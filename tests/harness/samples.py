"""Which of many cases of one kind the short run has: the first ones, or some spread over all. Others are marked `long`.

`tools/check` leaves out what is marked, `tools/check --all` does not; CONTRIBUTING.md says what is.
"""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import settings

SHARES = 5
"""In how many parts the random cases of a property are drawn."""


def first(count: int, cases: Iterable[Any]) -> list[Any]:
    """Parameters for a test, of which all but the first few are marked `long`."""
    return [case if at < count else pytest.param(case, marks=pytest.mark.long) for at, case in enumerate(cases)]


def some(cases: Iterable[Any], every: int = 5) -> list[Any]:
    """Parameters for a test, of which one of every so many is not marked `long`, spread over all of them."""
    return [case if at % every == 0 else pytest.param(case, marks=pytest.mark.long) for at, case in enumerate(cases)]


def usual(cases: int) -> settings:
    """The settings of a property with so many random cases."""
    return settings(max_examples=cases, deadline=None)


def shares(
    cases: int, drawn: Callable[[int], settings] = usual
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A property with so many random cases, drawn in five shares, each other ones, of which the short run has one.

    Written above `given`; the test takes the number of its share as `share`. `drawn` makes settings of a number of
    cases.
    """

    def shared(test: Callable[..., None]) -> Callable[..., None]:
        return pytest.mark.parametrize("share", first(1, range(SHARES)))(drawn(cases // SHARES)(test))

    return shared
