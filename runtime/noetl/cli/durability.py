"""The option that says when what was decided goes to disk."""

from __future__ import annotations

from noetl_cli import lazy_click as click

EFFECTS, EVERY_EVENT = "effects", "every-event"


def _every_event(_: click.Context, __: click.Parameter, chosen: str) -> bool:
    return chosen == EVERY_EVENT


durability_option = click.option(
    "--durability", "every_event", type=click.Choice([EFFECTS, EVERY_EVENT]), default=EFFECTS, show_default=True,
    callback=_every_event, envvar="NOETL_DURABILITY",
    help="What is never before its events are on disk: an effect, answer or shown line, or every next step.",
)  # fmt: skip
