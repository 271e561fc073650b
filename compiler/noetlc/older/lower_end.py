"""lower_end: a leaf leads to a declared step `end`: in a file without arcs, or where nothing names it (LANGUAGE §1).

[{step: start}, {step: end, tool: …}]   →   start gets an arc to `end`
"""

from noetlc.ast.graph import END
from noetlc.ast.playbook import Arc, Playbook, Router, Step
from noetlc.ast.walk import replace_steps
from noetlc.diag.change import Change, Note
from noetlc.expr.generated import PREFIX
from noetlc.older.target_nodes import ImplicitEnd


def lower_end(playbook: Playbook, note: Note) -> Playbook:
    """The playbook whose leaves lead to `end`."""
    found = [extra for extra in playbook.extras if isinstance(extra, ImplicitEnd)]
    extras = tuple(extra for extra in playbook.extras if not isinstance(extra, ImplicitEnd))
    if not found:
        return playbook
    playbook = playbook._replace(extras=extras)
    works = any(task.kind != "noop" for step in playbook.steps if step.name == END for task in step.tasks)
    if all(end.for_work for end in found) and not works:
        return playbook
    return replace_steps(playbook, lambda step: _ended(step, note))


def _ended(step: Step, note: Note) -> Step:
    if step.router is not None or step.name == END or step.name.startswith(PREFIX):
        return step
    at = step.name_span
    note(Change("lower_end", at, "a leaf without `next`", "exact", "an arc to `end`"))
    return step._replace(router=Router("exclusive", (Arc(END, at, None, None, None, 0, at),), at))
