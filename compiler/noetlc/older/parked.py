"""keep_limits: the `timeout` of a step at its tasks that wait outside of a worker.

    spec: {timeout: 5m}, tool: {kind: playbook, path: …}   →   tool: {kind: playbook, path: …, spec: {timeout: 5m}}

In files of older dialects it bounded these too; in a canonical one they have only a limit of their own (EXTENSIONS §2).
"""

from noetlc.ast.playbook import Playbook, Step, Task
from noetlc.ast.walk import replace_tasks
from noetlc.diag.change import Change, RecordChange
from noetlc.reading.kinds import kind_of


def keep_limits(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which such tasks have the limit of their step."""

    def kept(step: Step, task: Task) -> Task:
        kind, limit = kind_of(task.kind), step.spec.timeout
        if limit is None or task.timeout is not None or kind is None or not kind.parks:
            return task
        if not task.generated:
            became = f"`spec: {{timeout: …}}` of `{task.name}`"
            record(Change("keep_limits", limit.span, "the `timeout` of a step with a task that waits", "exact", became))
        return task._replace(timeout=limit)

    return replace_tasks(playbook, kept)
