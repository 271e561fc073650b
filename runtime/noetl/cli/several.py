"""Commands that do the same to several things, one after the other, of which one may not let itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import click

from noetl.cli.text import escaped

_Thing = TypeVar("_Thing")
_Told = TypeVar("_Told")


def done_with_each(
    things: Sequence[_Thing], work: Callable[[_Thing], _Told], done: str, name: Callable[[_Thing], str] = str
) -> list[_Told]:
    """Do something to each of some things. Where one of them fails, those before it stay as they were done: that is
    said on standard error, before the failure.
    """
    told = list[_Told]()
    for thing in things:
        try:
            told.append(work(thing))
        except Exception:
            if told:
                names = ", ".join(escaped(name(each)) for each in things[: len(told)])
                click.echo(f"{done} before this: {names}", err=True)
            raise
    return told
