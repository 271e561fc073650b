"""Block templates put into the templates that read them by name: `{% if a %}b{% endif %}` has no expression.

{{ q }}          where q is a block template  →  that template
a {{ q }} b                                   →  {% set q %}…{% endset %}a {{ q }} b
{{ q | int }}                                 →  as it is: a block gives text, and what this gives may be none

What is read is `args.q`.
"""

from collections.abc import Callable, Mapping

from noetl_ir.expr import Block, Const, Expr, ListTemplate, MapTemplate, Native, Template, Text
from noetl_ir.paths import static_path
from noetlc.expr.block_names import expressions_inside
from noetlc.expr.paths import Access, accesses
from noetlc.expr.shorthand import path
from noetlc.expr.templates import native
from noetlc.expr.unparse import unparse


def block_with(block: Block, change: Callable[[Expr, frozenset[str]], Expr]) -> Block:
    """The block template with its expressions changed; each is given with the names that the template binds there."""
    parts, at = list[str](), 0
    for one in sorted(expressions_inside(block.text), key=lambda one: one.start):
        made = change(one.expr, one.bound)
        if made is not one.expr and one.end > at:
            parts += [block.text[at : one.start], unparse(made)]
            at = one.end
    return Block("".join([*parts, block.text[at:]])) if parts else block


_TAGS = ("{{", "{%", "{#")


def has_blocks(template: Template) -> bool:
    """Whether a template is a block template, or has one in a list or mapping."""
    match template:
        case Block():
            return True
        case MapTemplate(items=pairs):
            return any(has_blocks(value) for _, value in pairs)
        case ListTemplate(items=items):
            return any(has_blocks(item) for item in items)
        case _:
            return False


def by_name_where_rendered(args: Mapping[str, Template]) -> dict[str, Template]:
    """The args, with `args.x` in the place of each that holds a block template.

    A block template has no expression to put in the place of a name. It need not have one: the worker renders a task's
    args before its fields.
    """
    return {key: native(path("args", key)) if has_blocks(value) else value for key, value in args.items()}


def spliced(template: Template, values: Mapping[str, Template]) -> Template:
    """The template with these values in the places of `args.<key>`, wherever a value can stand there."""
    match template:
        case Native(expr=expr):
            return next((values[key] for key in values if static_path(expr) == ("args", key)), template)
        case Text(parts=parts) if not any(tag in part for part in parts if isinstance(part, str) for tag in _TAGS):
            text = "".join(part if isinstance(part, str) else f"{{{{ {unparse(part)} }}}}" for part in parts)
            return _with_texts(template, text, values)
        case Block(text=text):
            return _with_texts(template, text, values)
        case MapTemplate(items=pairs):
            return MapTemplate(tuple((key, spliced(value, values)) for key, value in pairs))
        case ListTemplate(items=items):
            return ListTemplate(tuple(spliced(item, values) for item in items))
        case _:
            return template


def _with_texts(template: Template, text: str, values: Mapping[str, Template]) -> Template:
    """A block template that first sets the block texts that `text` reads; `template` where it reads none."""
    read = {str(a.keys[0]) for one in expressions_inside(text) for a in accesses(one.expr) if _is_arg(a)}
    found = {key: value.text for key, value in values.items() if key in read and isinstance(value, Block)}
    if not found:
        return template
    # Each is rendered before any of them is known under its name, since args do not see each other.
    kept = "".join(f"{{% set __own_{at} %}}{one}{{% endset %}}" for at, one in enumerate(found.values()))
    named = ", ".join(f"{unparse(Const(key))}: __own_{at}" for at, key in enumerate(found))
    return Block(f"{kept}{{% set args = dict(args, **{{{named}}}) %}}{text}")


def _is_arg(access: Access) -> bool:
    return access.root.name == "args" and bool(access.keys)
