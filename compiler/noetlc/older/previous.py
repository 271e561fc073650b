"""name_previous: `result` in what a step's first task is given, before it has run: that of the step before.

    start → next: [{step: show}];  show: args: {found: "{{ result.id }}"}   →   args: {found: "{{ start.id }}"}

The engines rendered a step on the event of the step that led to it, whose result the word is. With several steps before
it nothing says which, and the word stays what it is (REAL.md, values: absent).
"""

from collections import defaultdict

from noetl_ir.expr import Expr, ListTemplate, MapTemplate, Name, Native, Template
from noetl_ir.paths import static_path
from noetlc.ast.playbook import Playbook, Step, Value
from noetlc.ast.walk import replace_steps
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.templates import native
from noetlc.older.legacy_names import below, declared_names
from noetlc.older.nearer import Nearer

_WORDS = frozenset({"result", "response"})


def name_previous(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which the result of the step before has its name."""
    before: dict[str, set[str]] = defaultdict(set)
    for step in playbook.steps:
        for arc in step.router.arcs if step.router is not None else ():
            before[arc.target].add(step.name)
    shared, nearer = declared_names(playbook), Nearer(playbook)

    def named(step: Step) -> Step:
        sources = before[step.name]
        words = _WORDS - nearer.within(step) - shared
        first = step.tasks[0]
        if len(sources) != 1 or step.name in sources or not words or first.generated:
            return step
        source = Name(next(iter(sources)))

        def value(old: Value) -> Value:
            made = _with_source(old.template, words, source)
            if made is old.template:
                return old
            record(Change("name_previous", old.span, "the result before a step", "review", f"`{source.name}`"))
            return Value(made, old.span, None)

        fields = tuple([(name, value(field)) for name, field in first.fields])
        args = None if first.args is None else value(first.args)
        if args is first.args and all(new[1] is old[1] for new, old in zip(fields, first.fields, strict=True)):
            return step
        return step._replace(tasks=(first._replace(fields=fields, args=args), *step.tasks[1:]))

    return replace_steps(playbook, named)


def _with_source(template: Template, words: frozenset[str], source: Expr) -> Template:
    """The template in which values that are a path from one of the words begin at the source."""
    match template:
        case Native(expr=expr):
            here = static_path(expr)
            return native(below(source, here[1:])) if here and here[0] in words else template
        case MapTemplate(items=items):
            pairs = tuple([(key, _with_source(part, words, source)) for key, part in items])
            same = all(new[1] is old[1] for new, old in zip(pairs, items, strict=True))
            return template if same else MapTemplate(pairs)
        case ListTemplate(items=parts):
            made = tuple([_with_source(part, words, source) for part in parts])
            return template if all(new is old for new, old in zip(made, parts, strict=True)) else ListTemplate(made)
    return template
