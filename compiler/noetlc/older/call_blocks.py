"""Block templates that entries of the workbook are called with.

    workbook: [{name: twice, tool: python, args: {n: "{{ q | int * 2 }}"}, …}]
    tool: {kind: workbook, task: twice, args: {q: "{% if ctx.a %}1{% else %}2{% endif %}"}}
        →  __twice__called   args: {__twice__q: "{% if … %}"}, iter.__twice__q = outcome.result.__twice__q
           twice             args: {q: "{{ iter.__twice__q }}"}

A block template is text that is rendered as a whole. Where the entry reads its name within a larger expression, or in
its policy, there is nothing to put in the place of the name, which alone is what the token brought: a task before the
call renders it.
"""

from collections.abc import Iterator

from noetl_ir.expr import Expr, Template, expressions_of
from noetl_ir.kinds import CALLED
from noetl_ir.paths import static_path
from noetlc.ast.bodies import Tasks
from noetlc.ast.playbook import Guard, Rule, Task, Value
from noetlc.ast.workbook import pairs_of, template_of_pairs, workbook_name
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.block_names import expressions_within
from noetlc.expr.generated import generated_name
from noetlc.expr.inside_blocks import has_blocks
from noetlc.expr.paths import accesses
from noetlc.expr.templates import templated_in
from noetlc.older.hoisting import Blocks, rendering, without_blocks


def rendered_before_calls(tasks: Tasks, entries: dict[str, Task], by: str, record: RecordChange) -> Tasks:
    """The tasks, of which no call gives a block template where its entry needs an expression."""
    made: list[Task] = []
    moved: dict[str, str] = {}
    for number, task in enumerate(tasks):
        keys = _needed(task, entries)
        if keys and number and _reads_previous(task, entries):
            why = "its entry reads `_prev`, which would be what the task gives that renders it: write one expression"
            record(Change(by, task.span, "a block template in the args of a call", "refused", why))
        elif keys:
            record(Change(by, task.span, "a block template in the args of a call", "safe", "a task before renders it"))
            first, task = _hoisted(task, keys)
            moved[task.name] = first.name
            made.append(first)
        made.append(task)
    if not moved:
        return tasks

    def led(rule: Rule) -> Rule:
        return rule._replace(to=moved.get(rule.to, rule.to)) if rule.to is not None else rule

    return tuple([task._replace(rules=tuple(map(led, task.rules))) for task in made])


def _hoisted(task: Task, keys: list[str]) -> tuple[Task, Task]:
    """The task that renders args of a call, and the call with their names."""
    assert task.args is not None
    found: Blocks = {}
    pairs = dict(pairs_of(task.args.template) or {})
    for key in keys:
        pairs[key] = without_blocks(pairs[key], generated_name(task.name, key), found)
    first = rendering(generated_name(task.name, "called"), task.args.span, found)
    return first, task._replace(args=Value(template_of_pairs(pairs), task.args.span, None))


def _needed(task: Task, entries: dict[str, Task]) -> list[str]:
    """The args of a call that are block templates, and that its entry, or one that this calls, computes with or asks in
    its policy and what belongs to it.
    """
    args = (pairs_of(task.args.template) or {}) if task.args is not None else {}
    blocks = [key for key, value in args.items() if has_blocks(value)]
    if not blocks:
        return []
    needed = set[str]()
    entered = list(called_entries(task, entries))
    for entry in entered:
        for expr in (expr for template in _rendered_apart(entry) for expr in expressions_of(template)):
            here = static_path(expr)
            # Alone, the name has the block template in its place.
            if len(here) != 1 and not (here[:1] == ("args",) and len(here) == 2):
                needed.update(_names(expr))
        for templated in templated_in((entry.rules, entry.extras)):
            exprs = [templated.expr] if isinstance(templated, Guard) else expressions_of(templated.template)
            needed.update(name for expr in exprs for name in _names(expr))
    # Behind the first entry the args may have other names.
    return blocks if len(entered) > 1 and needed else [key for key in blocks if key in needed]


def called_entries(task: Task, entries: dict[str, Task]) -> Iterator[Task]:
    """The workbook entry that a task calls, the entry that this one calls in turn, and so on; each entry once."""
    seen = set[str]()
    while (name := workbook_name(task)) is not None and name not in seen and name in entries:
        seen.add(name)
        task = entries[name]
        yield task


def _rendered_apart(entry: Task) -> Iterator[Template]:
    """The templates of an entry that are not rendered after its args, so that they cannot read a rendered
    arg by name.
    """
    if entry.args is not None:
        yield entry.args.template
    if entry.kind in CALLED:
        yield from (value.template for _, value in entry.fields)


def _names(expr: Expr) -> Iterator[str]:
    """The names that an expression reads, and the keys of `args`."""
    for access in accesses(expr):
        yield access.root.name
        if access.root.name == "args" and access.keys:
            yield str(access.keys[0])


def _reads_previous(task: Task, entries: dict[str, Task]) -> bool:
    """Whether a call, or an entry that it calls, reads the result of the task before."""
    values = [value for one in (task, *called_entries(task, entries)) for _, value in one.fields]
    values += [one.args for one in (task, *called_entries(task, entries)) if one.args is not None]
    read = (name for value in values for one in expressions_within(value.template) for name in _names(one.expr))
    return "_prev" in read
