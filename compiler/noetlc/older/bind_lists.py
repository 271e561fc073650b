"""bind_lists: a result that python code asks to be a list is its list: the rows of SQL, the body of http.

    args: {users: "{{ ask }}"}, code: if isinstance(users, list): …   →   users: "{{ ask.rows }}"

The engines of older files gave such code a list. Code that takes the value for a mapping anywhere keeps it whole.
"""

import ast
from collections.abc import Callable, Set
from functools import lru_cache, partial
from typing import TypeAlias
from warnings import catch_warnings, simplefilter

from noetl_ir.expr import Attribute, Filter, Literal, MapTemplate, Name, Native, Template
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.bodies import all_taken
from noetlc.ast.playbook import Playbook, Step, Task, Value
from noetlc.ast.sugar import Guess
from noetlc.ast.walk import replace_steps
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.rewrite import rewritten
from noetlc.expr.templates import native
from noetlc.older.nearer import Nearer


class AskedLists(Guess):
    """Some python code of the file may ask whether a value is a list."""

    span: Span


_LIST_OF = {"postgres": "rows", "duckdb": "rows", "sqlite": "rows", "snowflake": "rows", "http": "data"}
"""Kind of a task → the key of its result that is what it gives."""

_ARGS = frozenset({"input_data", "args", "input", "data"})
"""What code calls the mapping of its args (REAL.md, python)."""

_OF_MAPPING = frozenset({"get", "items", "keys", "values", "pop", "update"})


def bind_lists(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which code that asks for a list gets one."""
    asked, playbook = all_taken(playbook, AskedLists)
    if not asked:
        return playbook
    keys = {
        step.name: _LIST_OF[step.tasks[-1].kind]
        for step in playbook.steps
        if step.tasks and step.tasks[-1].kind in _LIST_OF and step.loop is None
    }

    def bound(name: str, template: Template, code: str, hidden: Set[str], span: Span) -> Template:
        shorter = _shorter(template, {step: key for step, key in keys.items() if step not in hidden})
        if shorter is None or not asks_for_list(code, name):
            return template
        record(Change("bind_lists", span, f"`{name}` as a list", "review", f"`{shorter.text}`"))
        return shorter

    return bound_all(playbook, bound)


Bind: TypeAlias = Callable[[str, Template, str, Set[str], Span], Template]
"""(name of the arg, its template, the code, names that mean no step's result there, place) → the template to use."""


def bound_all(playbook: Playbook, bind: Bind) -> Playbook:
    """The playbook with `bind` applied to the args of python tasks, and to args that arcs send to steps with such
    tasks.

    The arcs come first. Where that changes which names are args of a step, they are bound once more by the new names.
    """
    codes = {step.name: "\n".join(filter(None, map(_code_of, step.tasks))) for step in playbook.steps}
    binder = _Binder(bind, codes)
    before = Nearer(playbook)
    sent = replace_steps(playbook, partial(binder.arcs, nearer=before))
    nearer = before if sent is playbook else Nearer(sent)
    if any(nearer.brought(step) != before.brought(step) for step in playbook.steps):
        sent = replace_steps(playbook, partial(binder.arcs, nearer=nearer))
    return replace_steps(sent, partial(binder.tasks, nearer=nearer))


class _Binder(NamedTuple):
    """Applies `bind` to args; `codes` has the python code of all tasks of a step, by its name."""

    bind: Bind
    codes: dict[str, str]

    def tasks(self, step: Step, nearer: Nearer) -> Step:
        """The step with the args of its tasks bound."""
        hidden = nearer.within(step) | frozenset([task.name for task in step.tasks])
        made = tuple([task._replace(args=self.args(task.args, _code_of(task), hidden)) for task in step.tasks])
        return step if made == step.tasks else step._replace(tasks=made)

    def arcs(self, step: Step, nearer: Nearer) -> Step:
        """The step with the args of its arcs bound, each for the code of the step that it leads to."""
        if step.router is None:
            return step
        hidden = nearer.within(step)
        made = tuple(
            [arc._replace(args=self.args(arc.args, self.codes.get(arc.target, ""), hidden)) for arc in step.router.arcs]
        )
        return step if made == step.router.arcs else step._replace(router=step.router._replace(arcs=made))

    def args(self, args: Value | None, code: str, hidden: Set[str]) -> Value | None:
        """Args, bound for the code that gets them."""
        if args is None or not code or not isinstance(args.template, MapTemplate):
            return args
        pairs = [(name, self.bind(name, part, code, hidden, args.span)) for name, part in args.template.items]
        made = MapTemplate(tuple(pairs))
        return args if made == args.template else Value(made, args.span, None)


def _code_of(task: Task) -> str:
    """The code of a python task, "" of any other."""
    code = next((value.template for name, value in task.fields if name == "code"), None)
    if task.kind == "python" and isinstance(code, Literal) and isinstance(code.value, str):
        return code.value
    return ""


def bare_in(template: Template) -> Name | None:
    """The bare name that a template is. `default` of an arg may stand around it, which is what args of a step are
    lowered to.
    """
    bare = template.expr if isinstance(template, Native) else None
    match bare:
        case Filter(name="default", of=Attribute(of=Name(name="args")), args=(inner,)):
            bare = inner
    return bare if isinstance(bare, Name) else None


def _shorter(template: Template, keys: dict[str, str]) -> Native | None:
    """The template of the list in a bare result, None of any other."""
    bare = bare_in(template)
    if bare is None or bare.name not in keys or not isinstance(template, Native):
        return None
    longer = Attribute(bare, keys[bare.name])
    return native(rewritten(template.expr, lambda expr: longer if expr is bare else None))


@lru_cache(1 << 10)
def asks_for_list(text: str, arg: str) -> bool:
    """Whether python code asks if an arg of it is a list, and nowhere takes it for a mapping."""
    nodes = nodes_of(text)
    names = names_of(nodes, arg)
    return any(asks(node, names, "list") for node in nodes) and not any(takes_mapping(node, names) for node in nodes)


def nodes_of(text: str) -> list[ast.AST]:
    """The nodes of python code, none where it is not Python."""
    try:
        with catch_warnings():
            simplefilter("ignore")  # odd escapes are the author's business
            return list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def names_of(nodes: list[ast.AST], arg: str) -> set[str]:
    """The names by which code has an arg."""
    return {arg} | {name for node in nodes for name in _taken_from_args(node, arg)}


def _taken_from_args(node: ast.AST, arg: str) -> list[str]:
    """The names that a statement gives to what it takes out of the mapping of all args under the name of one."""
    if not isinstance(node, ast.Assign) or not any(_takes(part, arg) for part in ast.walk(node.value)):
        return []
    return [target.id for target in node.targets if isinstance(target, ast.Name)]


def _takes(node: ast.AST, arg: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=whole), attr="get"), args=[ast.Constant(value=key), *_]):
            return whole in _ARGS and key == arg
        case ast.Subscript(value=ast.Name(id=whole), slice=ast.Constant(value=key)):
            return whole in _ARGS and key == arg
    return False


def asks(node: ast.AST, names: set[str], kind: str) -> bool:
    """Whether this is `isinstance(name, kind)`, or with that kind among others."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), kinds]):
            return name in names and any(isinstance(part, ast.Name) and part.id == kind for part in ast.walk(kinds))
    return False


def takes_mapping(node: ast.AST, names: set[str]) -> bool:
    """Whether this takes something of those names for a mapping."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=attribute):
            return name in names and attribute in _OF_MAPPING
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str())):
            return name in names
        case ast.Compare(left=ast.Constant(value=str()), ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id=name)]):
            return name in names
    return asks(node, names, "dict")
