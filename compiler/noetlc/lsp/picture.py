"""The picture of a playbook as it stands in the editor: steps or tasks, as SVG."""

from noetlc.emit.pictures.regions import folded_picture
from noetlc.emit.pictures.steps import steps_of, tasks_of
from noetlc.emit.pictures.svg import emitted
from noetlc.lsp.known import KnownFile

MOST = 80
"""Boxes above which parts are folded, as `noetlc graph` does."""


def picture_of(known: KnownFile, number: int, level: str) -> str | None:
    """The SVG of a file's playbook by its number from 0, at the level `steps` or `tasks`; None where there is none."""
    # The number came with a lens of an older text.
    if not 0 <= number < len(known.documents):
        return None
    playbook = known.documents[number][1].playbook
    picture = tasks_of(playbook) if level == "tasks" else steps_of(playbook)
    return emitted(folded_picture(picture, MOST) if len(picture.nodes) > MOST else picture)
