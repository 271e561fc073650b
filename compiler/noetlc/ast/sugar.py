"""Sugar: nodes of the tree that some pass removes. A room; the mechanism stands, the nodes come with the
sugar.

A sugar node is a final class that derives from `Sugar`, stands in the tree where its construct stood, and is
listed in the `removes` of the one pass that lowers it. `sugar_in` finds what is left, so that the pipeline
can assert after each pass that nothing it removes is still there, and that nothing removed comes back.
"""

from collections.abc import Iterator

from noetlc.ast.playbook import Playbook


class Sugar:
    """A construct that is no part of the canonical form."""

    __slots__ = ()


def sugar_in(playbook: Playbook) -> Iterator[Sugar]:
    """Every sugar node of the tree; none in a canonical one. Iterative, and linear in the tree."""
    waiting: list[object] = [playbook]
    while waiting:
        here = waiting.pop()
        if isinstance(here, Sugar):
            yield here
        if isinstance(here, tuple):
            waiting.extend(part for part in here if isinstance(part, tuple | Sugar))
