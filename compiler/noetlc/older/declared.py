"""`assert` of a step, a task or an entry of the workbook: what it expects, and what its result has.

drop_declared: no engine ever checked it, and no run fails for it (`noetlc.rules.unmet_declaration` looks at it).

    assert: {expects: [city, auth.db], returns: [total]}  →  nothing
"""

from noetlc.ast.bodies import Tasks, change_lists
from noetlc.ast.playbook import Playbook, Step, Task
from noetlc.ast.sugar import Declared, DeclaredName, Sugar
from noetlc.ast.walk import replace_steps
from noetlc.diag.change import Change, Note
from noetlc.reading.drafts import StepDraft, TaskDraft
from noetlc.reading.reader import Reader, no_effect
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence


def take_assert(r: Reader, draft: StepDraft | TaskDraft, key: Scalar, node: Node) -> None:
    """`assert: {expects: [name, …], returns: [name, …]}`; anything else under it is noted."""
    if not isinstance(node, Mapping):
        no_effect(r, draft, key, node)
        return
    r.legacy_seen = True
    for inner, value in node.entries:
        if inner.text not in _LISTS:
            no_effect(r, draft, inner, value)
    draft.extras.append(Declared(_names(node.get("expects")), _names(node.get("returns")), key.span))


_LISTS = ("expects", "returns")


def _names(node: Node | None) -> tuple[DeclaredName, ...]:
    """The names of a list, or the keys of a mapping of names to what they are."""
    if isinstance(node, Mapping):
        return tuple(DeclaredName(key.text, key.span) for key, _ in node.entries)
    items = node.items if isinstance(node, Sequence) else () if node is None else (node,)
    return tuple(DeclaredName(item.text, item.span) for item in items if isinstance(item, Scalar) and item.text)


def drop_declared(playbook: Playbook, note: Note) -> Playbook:
    """The playbook without what it declares of its inputs and results."""

    def kept(extras: tuple[Sugar, ...]) -> tuple[Sugar, ...]:
        for extra in extras:
            if isinstance(extra, Declared):
                note(
                    Change(
                        "drop_declared",
                        extra.span,
                        "`assert`",
                        "exact",
                        "nothing: lint checks it, and no run asks for it",
                    )
                )
        return tuple(extra for extra in extras if not isinstance(extra, Declared))

    def plain(task: Task) -> Task:
        return task._replace(extras=kept(task.extras)) if task.extras else task

    def all_plain(step: Step, tasks: Tasks) -> Tasks:
        del step
        return tuple(map(plain, tasks))

    playbook = replace_steps(playbook, lambda step: step._replace(extras=kept(step.extras)) if step.extras else step)
    playbook = change_lists(playbook, all_plain)
    return playbook._replace(workbook=tuple((name, plain(task)) for name, task in playbook.workbook))
