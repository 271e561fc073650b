"""Args put in the place of their names: in a workbook entry the args of the call (formal §5 and its appendix A), in a
task its own args.

A plan has no calls of entries, so that a call becomes a copy of the entry in which each name of an arg is replaced by
what the caller passes.
"""

from collections.abc import Callable, Container, Iterator, Mapping

from noetl_ir.expr import Attribute, Block, Const, Expr, MapOf, Name, Template
from noetl_ir.kinds import CALLED
from noetlc.ast.playbook import Pairs, Step, Task, Value
from noetlc.ast.walk import loops_of
from noetlc.ast.workbook import own_args, pairs_of
from noetlc.expr.binding import bound, with_blocks
from noetlc.expr.block_names import expressions_inside
from noetlc.expr.generated import expression_of
from noetlc.expr.inside_blocks import by_name_where_rendered, has_blocks, spliced
from noetlc.expr.paths import accesses
from noetlc.expr.rewrite import Replace
from noetlc.expr.templates import AnyNode, Templated, map_templated, pairs_with, rule_with, templated_with


def with_own_args(step: Step, task: Task) -> Task:
    """The task with its own args put in the places of `args.x` and of a bare `x` in its fields (LANGUAGE §6).

    Own args win over those of the token. A bare name that an iterator or a task of the step has means that (LANGUAGE
    §2) and stays.
    """
    names = own_args(task)
    if not names or task.args is None:
        return task
    args = by_name_where_rendered(pairs_of(task.args.template) or {})
    # Bare names that mean something nearer than an arg are left as they are.
    near = {loop.iterator for loop in loops_of(step)} | {other.name for other in step.tasks}

    def replace(expr: Expr) -> Expr | None:
        match expr:
            case Attribute(of=Name(name="args"), name=name) if name in names:
                return expression_of(args[name])
            case Name(name=name) if name in names and name not in near:
                return expression_of(args[name])
        return None

    # Block templates cannot be rewritten as trees, so what names mean is put into their text.
    inside = {name: args[name] for name in names if name not in near}
    return task._replace(fields=_with_blocks(pairs_with(task.fields, replace), inside, args))


def called_with(entry: Task, args: Value | None) -> Task:
    """The entry with the args of a call put in the places of `args.x` and of a bare `x`: in its fields, args and rules.

    A bare name means the arg even where the calling step has an iterator or a task of that name, since an entry does
    not know where it is called from.
    """
    pairs = pairs_of(args.template) if args is not None else None
    if not pairs:
        return entry

    # A block template has no expression that could replace a name. The worker renders args before fields, so that
    # fields can read such an arg by its name; where nothing was rendered before, its text is spliced in.
    by_name = by_name_where_rendered(pairs)
    blocks = {key: value for key, value in pairs.items() if has_blocks(value)}
    replace = _reading_args(by_name, by_name.keys())

    def called(fields: Pairs, *, apart: bool) -> Pairs:
        fields = _with_blocks(pairs_with(fields, replace), by_name, by_name)
        if not apart or not blocks:
            return fields
        return tuple((key, _changed_to(value, spliced(value.template, blocks))) for key, value in fields)

    own = None if entry.args is None else called((("", entry.args),), apart=True)[0][1]
    rules = tuple(rule_with(rule, replace) for rule in entry.rules)
    return entry._replace(fields=called(entry.fields, apart=entry.kind in CALLED), args=own, rules=rules)


def with_args(node: AnyNode, args: Mapping[str, Template], bare: Container[str]) -> AnyNode:
    """A node with the values of args put in the places of `args.x`, and of a bare `x` where `bare` has that name.

    Args that are block templates are left out: they have no expression.
    """
    plain = {key: value for key, value in args.items() if not has_blocks(value)}
    replace = _reading_args(plain, bare)

    def change(templated: Templated) -> Templated:
        made = templated_with(templated, replace)
        if not isinstance(made, Value):
            return made
        return _with_blocks((("", made),), {key: plain[key] for key in plain if key in bare}, plain)[0][1]

    return map_templated(node, change)


def _reading_args(args: Mapping[str, Template], bare: Container[str]) -> Replace:
    """A replacement that puts the values of args in the places of `args.x`, and of a bare `x` for names in `bare`."""

    def replace(expr: Expr) -> Expr | None:
        match expr:
            case Name(name=name) if name in args and name in bare:
                return expression_of(args[name])
            case Attribute(of=Name(name="args"), name=name) if name in args:
                return expression_of(args[name])
        return None

    return replace


def _with_blocks(fields: Pairs, bare: Mapping[str, Template], args: Mapping[str, Template]) -> Pairs:
    """The fields with args made known in their block templates: those of `bare` by name, those of `args`
    behind `args`.
    """

    def change(block: Block) -> Block:
        behind = {key for one in expressions_inside(block.text) for key in _keys_of_args(one.expr)}
        meanings = {name: expression_of(value) for name, value in bare.items()}
        # `args` as a whole is built only where the text reads one of these keys behind it; its other keys come from
        # the token.
        if not behind.isdisjoint(args):
            others = [(Const(key), Attribute(Name("args"), key)) for key in sorted(behind - set(args))]
            own = [(Const(key), expression_of(value)) for key, value in args.items()]
            meanings["args"] = MapOf((*others, *own))
        return bound(block, meanings)

    return tuple((key, _changed(value, change)) for key, value in fields)


def _changed(value: Value, change: Callable[[Block], Block]) -> Value:
    return _changed_to(value, with_blocks(value.template, change))


def _changed_to(value: Value, made: Template) -> Value:
    # An unchanged value keeps its source, so that findings inside of it still have their place.
    return value if made is value.template else Value(made, value.span, None)


def _keys_of_args(expr: Expr) -> Iterator[str]:
    """The keys that an expression reads of `args` by their names."""
    return (str(access.keys[0]) for access in accesses(expr) if access.root.name == "args" and access.keys)
