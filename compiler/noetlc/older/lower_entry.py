"""lower_entry: a file without a step `start` begins with its first step, as the engines before `entry_step` did.

workflow: [{step: load}, {step: show}]   →   executor: {spec: {entry_step: load}}
"""

from noetlc.ast.playbook import Playbook
from noetlc.diag.change import Change, Note
from noetlc.older.target_nodes import FirstEntry


def lower_entry(playbook: Playbook, note: Note) -> Playbook:
    """The playbook that names its entry."""
    found = [extra for extra in playbook.extras if isinstance(extra, FirstEntry)]
    extras = tuple(extra for extra in playbook.extras if not isinstance(extra, FirstEntry))
    if not found:
        return playbook
    at = found[0].span
    entry = playbook.steps[0].name
    note(Change("lower_entry", at, "a first step that is not `start`", "exact", f"`executor.spec.entry_step: {entry}`"))
    return playbook._replace(extras=extras, executor=playbook.executor._replace(entry_step=entry, entry_span=at))
