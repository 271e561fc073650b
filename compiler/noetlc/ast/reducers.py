"""The keys of `ctx` that are reduced (EXTENSIONS §4)."""

from noetlc.ast.playbook import Playbook


def reducers_of(playbook: Playbook) -> dict[str, str]:
    """Key → its reducer."""
    return {one.key: one.reduce for one in playbook.executor.reducers}
