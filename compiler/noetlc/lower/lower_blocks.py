"""lower_blocks: block templates in the args of arcs are rendered by a task of the step (LANGUAGE §2).

    next: [{step: b, args: {n: "{% if ctx.a %}1{% endif %}"}}]
        →  __s__blocks   args: {__s__block: "{% if … %}"}, iter.__s__block = outcome.result.__s__block
           arcs: [{step: b, args: {n: "{{ iter.__s__block }}"}}]

Where the task could not render what the arc would see, the template is refused. In a file without any legacy
construct block templates of arcs are errors, and stay what they are.
"""

from noetlc.ast.names import OldBlocks
from noetlc.ast.playbook import Arc, Playbook, Step, Value
from noetlc.ast.walk import blocks_in, replace_steps
from noetlc.diag.change import Change, Note
from noetlc.expr.events import FALSE, on_failure
from noetlc.expr.generated import generated_name
from noetlc.expr.hoisting import Blocks, rendering, without_blocks, words_in
from noetlc.expr.legacy_names import ROOTS
from noetlc.expr.paths import accesses

BY = "lower_blocks"
_FAILURE = frozenset({"status", "error"})


def lower_blocks(playbook: Playbook, note: Note) -> Playbook:
    """The playbook whose arcs have plain templates."""
    extras = tuple(extra for extra in playbook.extras if not isinstance(extra, OldBlocks))
    if len(extras) == len(playbook.extras):
        return playbook
    playbook = playbook._replace(extras=extras)
    return replace_steps(playbook, lambda step: _lowered(step, note)) if playbook.legacy else playbook


def _lowered(step: Step, note: Note) -> Step:
    if step.router is None:
        return step
    found: Blocks = {}
    arcs = []
    for arc in step.router.arcs:
        blocks = [] if arc.args is None else list(blocks_in(arc.args))
        if arc.args is None or not blocks:
            arcs.append(arc)
            continue
        words = frozenset[str]().union(*(words_in(block) for block in blocks))
        why = _obstacle(step, arc, words)
        if why:
            note(Change(BY, arc.args.span, "a block template", "refused", why))
        else:
            note(Change(BY, arc.args.span, "a block template", "exact", "a task that renders it"))
            made = without_blocks(arc.args.template, generated_name(step.name, "block"), found)
            arc = arc._replace(args=Value(made, arc.args.span, None))
        arcs.append(arc)
    if not found:
        return step
    last = rendering(generated_name(step.name, "blocks"), step.router.span, found)
    return step._replace(tasks=(*step.tasks, last), router=step.router._replace(arcs=tuple(arcs)))


def _obstacle(step: Step, arc: Arc, words: frozenset[str]) -> str:
    """Why a task cannot render what the arc asks for, or ""."""
    hidden = sorted(words & (ROOTS | {"event", step.name}))
    if step.loop is not None:
        return "the end of a loop has no task: build the text in the step that is led to"
    if hidden:
        return f"`{hidden[0]}` is not known in the step's tasks: build the text in the step that is led to"
    if any(rule.directive == "break" for task in step.tasks for rule in task.rules):
        return "a run that breaks would not render it: build the text in the step that is led to"
    if arc.when is not None:
        asked = {
            str(access.keys[0]) for access in accesses(arc.when.expr) if access.root.name == "event" and access.keys
        }
        if asked & _FAILURE or on_failure(arc.when.expr, http=False) != FALSE:
            return "a run that fails would not render it: build the text in the step that is led to"
    return ""
