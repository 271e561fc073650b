"""Tasks of SQL whose results have each statement's (`command_N`): all of a file that names one.

    "{{ rows.command_0.rows }}" somewhere   →   spec: {each_statement: true} of every task that has this knob

Names in templates, guards and program text count, wherever they stand: a result may have come to them by another name.
A task that says `each_statement` itself keeps what it says.
"""

from collections.abc import Iterator

from noetl_ir.expr import Block, ListTemplate, Literal, MapTemplate, Native, Template, Text, texts_in
from noetl_ir.patterns import LatePattern
from noetlc.ast.playbook import Playbook, Step, Task, Value
from noetlc.ast.walk import all_guards, all_values, replace_tasks
from noetlc.expr.unparse import unparse
from noetlc.reading.kinds import kind_of

KNOB = "each_statement"
NAMED = LatePattern(r"(?<![A-Za-z0-9_])command_\d+(?:_rows)?(?![A-Za-z0-9_])")
"""How the result of a statement is named."""


def keep_statements(playbook: Playbook) -> Playbook:
    """The playbook whose SQL tasks give the result of each statement where it names one; else itself."""
    # The cheap question first: files without SQL need no search through their texts.
    if not any(_has_knob(task) for step in playbook.steps for task in step.tasks) or not names_statement(playbook):
        return playbook

    def kept(step: Step, task: Task) -> Task:
        del step
        if not _has_knob(task) or any(name == KNOB for name, _ in task.knobs):
            return task
        return task._replace(knobs=(*task.knobs, (KNOB, Value(Literal(value=True), task.span, None))))

    return replace_tasks(playbook, kept)


def names_statement(playbook: Playbook) -> bool:
    """Whether an expression or text of a playbook names the result of a statement by its number."""
    if any(NAMED.search(unparse(guard.expr)) for guard in all_guards(playbook)):
        return True
    return any(NAMED.search(text) for value in all_values(playbook) for text in _texts(value.template))


def _has_knob(task: Task) -> bool:
    kind = kind_of(task.kind)
    return kind is not None and KNOB in kind.knobs


def _texts(template: Template) -> Iterator[str]:
    """Every text of a template, its expressions as text too."""
    match template:
        case Literal(value=value):
            yield from texts_in(value)
        case Native(expr=expr):
            yield unparse(expr)
        case Text(parts=parts):
            yield from (part if isinstance(part, str) else unparse(part) for part in parts)
        case Block(text=text):
            yield text
        case MapTemplate(items=pairs):
            for _, inner in pairs:
                yield from _texts(inner)
        case ListTemplate(items=items):
            for inner in items:
                yield from _texts(inner)
