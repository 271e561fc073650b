"""Values, guards, rules and tasks with parts of their expressions replaced; what nothing changes stays itself."""

from collections.abc import Callable
from typing import TypeAlias, TypeVar, cast

from noetl_ir.expr import Const, Expr, ListTemplate, Literal, MapTemplate, Native, Template, Text
from noetl_ir.span import Span
from noetlc.ast.bodies import HasBodies, Tasks, map_lists, with_lists
from noetlc.ast.playbook import Arc, Guard, Pairs, Rule, Step, Task, Value
from noetlc.expr.parser import parse_template
from noetlc.expr.rewrite import Replace, rewritten
from noetlc.expr.unparse import unparse

AnyNode = TypeVar("AnyNode")
Templated: TypeAlias = Guard | Value
"""What holds expressions."""
Kept = TypeVar("Kept", bound=Templated)


def native(expr: Expr) -> Native:
    """The template that is exactly that expression."""
    return Native(expr, f"{{{{ {unparse(expr)} }}}}")


def template_with(template: Template, replace: Replace) -> Template:
    """A template with its expressions rewritten; block templates stay as they are."""
    match template:
        case Native(expr=expr):
            made = rewritten(expr, replace)
            return template if made is expr else native(made)
        case Text(parts=parts):
            found = tuple(part if isinstance(part, str) else rewritten(part, replace) for part in parts)
            same = all(new is old for new, old in zip(found, parts, strict=True))
            return template if same else Text(found, "".join(_source(part) for part in found))
        case MapTemplate(items=pairs):
            inner = tuple((key, template_with(value, replace)) for key, value in pairs)
            same = all(new is old for (_, new), (_, old) in zip(inner, pairs, strict=True))
            return template if same else MapTemplate(inner)
        case ListTemplate(items=items):
            listed = tuple(template_with(item, replace) for item in items)
            return template if all(a is b for a, b in zip(listed, items, strict=True)) else ListTemplate(listed)
        case _:
            return template


def _source(part: str | Expr) -> str:
    """A part of a text as it is written in a file; text that would be read as a template stands between raw tags."""
    if not isinstance(part, str):
        return f"{{{{ {unparse(part)} }}}}"
    # Text between expressions may hold braces that were escaped in the file; written plainly they would become
    # templates.
    if parse_template(part).template == Literal(part):
        return part
    # A text with `endraw` would end the raw part itself; as a constant in an expression it cannot.
    return f"{{{{ {unparse(Const(part))} }}}}" if "endraw" in part else f"{{% raw %}}{part}{{% endraw %}}"


def value_with(value: Value, replace: Replace) -> Value:
    """A value with its expressions rewritten; a changed one has no node behind it any more."""
    made = template_with(value.template, replace)
    return value if made is value.template else Value(made, value.span, None)


def maybe_with(value: Value | None, replace: Replace) -> Value | None:
    """The rewritten form of a value that may be absent."""
    return None if value is None else value_with(value, replace)


def pairs_with(pairs: Pairs, replace: Replace) -> Pairs:
    """The rewritten form of named values."""
    return tuple((key, value_with(value, replace)) for key, value in pairs)


def guard_with(guard: Guard, replace: Replace) -> Guard:
    """A guard with its expression rewritten."""
    made = rewritten(guard.expr, replace)
    # A changed guard stands nowhere in the file, so it has no node and offset for findings to point into.
    return guard if made is guard.expr else Guard(made, unparse(made), guard.span, None, 0)


def rule_with(rule: Rule, replace: Replace) -> Rule:
    """A rule with its guard and values rewritten."""
    return rule._replace(
        when=None if rule.when is None else guard_with(rule.when, replace),
        delay=maybe_with(rule.delay, replace),
        max_delay=maybe_with(rule.max_delay, replace),
        code=maybe_with(rule.code, replace),
        message=maybe_with(rule.message, replace),
        set_iter=pairs_with(rule.set_iter, replace),
        set_ctx=pairs_with(rule.set_ctx, replace),
    )


def fields_with(task: Task, replace: Replace) -> Task:
    """A task with what is rendered before it rewritten, its rules aside."""
    return task._replace(
        fields=pairs_with(task.fields, replace),
        args=maybe_with(task.args, replace),
        knobs=pairs_with(task.knobs, replace),
        timeout=maybe_with(task.timeout, replace),
    )


def task_with(task: Task, replace: Replace) -> Task:
    """A task with everything rewritten, its extras aside."""
    return fields_with(task, replace)._replace(rules=tuple(rule_with(rule, replace) for rule in task.rules))


def arc_with(arc: Arc, replace: Replace) -> Arc:
    """An arc with its guard, args and delay rewritten."""
    return arc._replace(
        when=None if arc.when is None else guard_with(arc.when, replace),
        args=maybe_with(arc.args, replace),
        delay=maybe_with(arc.delay, replace),
    )


def all_with(node: AnyNode, replace: Replace) -> AnyNode:
    """A node with every guard and value in it rewritten, its sugar too; the task lists inside of sugar aside."""

    return map_templated(node, lambda templated: templated_with(templated, replace))


def templated_with(templated: Kept, replace: Replace) -> Kept:
    """A guard or value rewritten."""
    return cast(
        Kept, guard_with(templated, replace) if isinstance(templated, Guard) else value_with(templated, replace)
    )


def map_templated(node: AnyNode, change: Callable[[Templated], Templated]) -> AnyNode:
    """A node with every guard and value in it changed; itself where none is."""
    return cast(AnyNode, _map_templated(node, change))


def templated_in(node: object) -> list[Templated]:
    """The guards and values in a node, those of the task lists inside of sugar too, in its order."""
    found: list[Templated] = []

    def keep(templated: Templated) -> Templated:
        found.append(templated)
        return templated

    _map_templated(node, keep)
    return found


def map_all_templated(step: Step, change: Callable[[Templated], Templated]) -> Step:
    """The step with every guard and value changed, those of the task lists inside of sugar too."""

    def of_list(tasks: Tasks) -> Tasks:
        return tuple([map_templated(task, change) for task in tasks])

    step = map_templated(step, change)
    extras = tuple([with_lists(extra, of_list) for extra in step.extras])
    return step._replace(tasks=map_lists(step.tasks, of_list), extras=extras)


def _map_templated(node: object, change: Callable[[Templated], Templated]) -> object:
    if isinstance(node, Guard | Value):
        return change(node)
    # Nodes are named tuples, so that one walk serves all of them, sugar of later dialects too. Spans are tuples, and
    # many.
    if not isinstance(node, tuple) or isinstance(node, Span):
        return node
    parts = tuple([_map_templated(part, change) for part in node])
    if all(new is old for new, old in zip(parts, node, strict=True)):
        return node
    made: object = parts if type(node) is tuple else node._make(parts)  # type: ignore[attr-defined]
    if isinstance(node, HasBodies) and isinstance(made, HasBodies):
        # Task lists inside of sugar are put back as they were: `map_all_templated` is for those.
        bodies = iter(node.bodies())
        made = made.with_bodies(lambda _: next(bodies))
    return made
