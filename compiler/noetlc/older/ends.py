"""Where a file of older dialects begins and ends: its first step, and a step `end` (LANGUAGE §1).

lower_entry: a file without a step `start` begins with its first step, as the engines before `entry_step` did.

workflow: [{step: load}, {step: show}]   →   executor: {spec: {entry_step: load}}

lower_end: a leaf leads to a declared step `end`: in a file without arcs, or where nothing names it (LANGUAGE §1).

[{step: start}, {step: end, tool: …}]   →   start gets an arc to `end`
"""

from noetl_ir.span import Span
from noetlc.ast.bodies import all_taken
from noetlc.ast.graph import END
from noetlc.ast.phases import later_steps
from noetlc.ast.playbook import Arc, Playbook, Router, Step
from noetlc.ast.sugar import Guess
from noetlc.ast.walk import replace_steps
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.generated import PREFIX


class FirstEntry(Guess):
    """The file has no step `start` and names no other entry: it begins with its first step."""

    span: Span


class ImplicitEnd(Guess):
    """The file has a step `end` that its leaves lead to; `for_work`: if it has work, since the file has arcs."""

    span: Span
    for_work: bool = False


def lower_entry(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook that names its entry."""
    found, playbook = all_taken(playbook, FirstEntry)
    if not found:
        return playbook
    at = found[0].span
    entry = playbook.steps[0].name
    record(
        Change("lower_entry", at, "a first step that is not `start`", "exact", f"`executor.spec.entry_step: {entry}`")
    )
    return playbook._replace(executor=playbook.executor._replace(entry_step=entry, entry_span=at))


def lower_end(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook whose leaves lead to `end`."""
    found, playbook = all_taken(playbook, ImplicitEnd)
    if not found:
        return playbook
    works = any(task.kind != "noop" for step in playbook.steps if step.name == END for task in step.tasks)
    # In a file with arcs a step `end` without work changes nothing by being led to, and the arcs would be noise.
    if all(end.for_work for end in found) and not works:
        return playbook
    later = later_steps(playbook)  # a declared `end` belongs to main
    return replace_steps(playbook, lambda step: step if step.name in later else _ended(step, record))


def _ended(step: Step, record: RecordChange) -> Step:
    # Steps that lowering made end where their token is to end; the author's leaves alone are led on.
    if step.router is not None or step.spec.terminate or step.name == END or step.name.startswith(PREFIX):
        return step
    at = step.name_span
    record(Change("lower_end", at, "a leaf without `next`", "exact", "an arc to `end`"))
    return step._replace(router=Router("exclusive", (Arc(END, at, None, None, None, 0, at),), at))
