"""`args` or `input` of a step: defaults under those of the token.

lower_args: `args` and `input` of a step are defaults under those of the token (LANGUAGE §6).

args: {n: 1}, tool: {kind: python, code: …}, and `{{ args.n }}` anywhere in the step
    →  args: {n: "{{ args.n | default(1) }}"} of the task, and the same where `args.n` is read; where no arc brings `n`,
       args: {n: 1}

A default that is a block template is rendered by a first task.
"""

from collections.abc import Iterator
from re import compile as pattern
from typing import TypeAlias

from noetl_ir.expr import Block, Const, Expr, MapOf, Name, Template
from noetl_ir.kinds import CALLED
from noetl_ir.paths import static_path
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.bodies import ChangeList, HasBodies, Tasks, map_lists, taken_of, with_lists
from noetlc.ast.playbook import Pairs, Playbook, Step, Task, Value
from noetlc.ast.sugar import Sugar
from noetlc.ast.walk import blocks_in, replace_steps, task_values
from noetlc.ast.workbook import pairs_of, template_of_pairs
from noetlc.diag.change import Change, ChangeClass, RecordChange
from noetlc.expr.binding import bound, with_blocks
from noetlc.expr.generated import computed, expression_of, generated_name
from noetlc.expr.rewrite import Replace
from noetlc.expr.shorthand import otherwise, path
from noetlc.expr.templates import all_with, fields_with
from noetlc.older.hoisting import Blocks, rendering, without_blocks
from noetlc.older.legacy_names import RESERVED
from noetlc.older.nearer import arcs_within
from noetlc.older.page_nodes import Pages
from noetlc.reading.drafts import StepDraft
from noetlc.reading.reader import Reader
from noetlc.reading.values import read_pairs
from noetlc.source.nodes import Node, Scalar


class StepArgs(Sugar):
    """`args` or `input` of a step: defaults under those of the token."""

    word: str
    pairs: Pairs
    span: Span


class Saved(Sugar):
    """A `save` of a step into no store, or into the event log, as `where` says."""

    word: str
    where: str
    pairs: Pairs
    span: Span


def take_step_args(r: Reader, draft: StepDraft, key: Scalar, node: Node) -> None:
    """`args` or `input` of a step, `with` or `data` of one without a tool: its result."""
    r.legacy_seen = True
    draft.extras.append(StepArgs(f"`{key.text}`", tuple(read_pairs(r, node, f"`{key.text}`")), key.span))


_TOLD = frozenset({"`save`", "`sink`"})
"""What was told as `Saved` already."""

_ARGS = pattern(r"\bargs\.([^\W\d]\w*)")


def lower_args(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which only tasks and arcs have args."""
    # The noops come first: a step without a tool gives its args as its result, and a task that is still `generated`
    # would be passed over below, and give nothing.
    playbook = replace_steps(playbook, lambda step: _with_noop(_of_saved(step, record)))
    for step in playbook.steps:
        for args in step.extras:
            if isinstance(args, StepArgs) and args.word not in _TOLD:
                said = "defaults under the token's args"
                record(Change("lower_args", args.span, f"{args.word} of a step", "exact", said))
                for key, value in _unread(step, args):
                    said = "nothing: the step reads it nowhere"
                    record(Change("lower_args", value.span, f"`{key}` of {args.word}", "safe", said))
    playbook = replace_steps(playbook, _joined)
    playbook = replace_steps(playbook, _rendered)
    # Arcs are asked only now: args of the two spellings are one by then, so that each default is held against all
    # that tokens may bring.
    brought = _brought(playbook)
    return replace_steps(playbook, lambda step: _step(step, brought.get(step.name, frozenset()) | brought[""]))


def _brought(playbook: Playbook) -> dict[str, frozenset[str]]:
    """Step → the args that arcs, and its own calls for a next page, bring to it.

    The entry "" has those that may come to any step; the key `*` says that the names are known at run time only.
    """
    found: dict[str, frozenset[str]] = {"": frozenset()}
    names = {step.name for step in playbook.steps}
    for step in playbook.steps:
        # A loop over pages gives `args` of its own to every call but the first. Read as the default alone, each page
        # would be the first one again.
        for value in _of_next_calls(step):
            pairs = pairs_of(value.template)
            found[step.name] = found.get(step.name, frozenset()).union(["*"] if pairs is None else pairs)
    for arc in arcs_within(playbook.steps):
        pairs = {} if arc.args is None else pairs_of(arc.args.template)
        # An arc in a construct that is still to be lowered may name no step yet. Its args may come to any step then,
        # and a default that was dropped would be a wrong value.
        target = arc.target if arc.target in names else ""
        found[target] = found.get(target, frozenset()).union(["*"] if pairs is None else pairs)
    return found


def _of_next_calls(step: Step) -> Iterator[Value]:
    """The `args` that loops over pages in a step give to their next calls."""
    holders = (step.extras, *(task.extras for listed in _lists(step) for task in listed))
    for pages in (extra for extras in holders for extra in extras if isinstance(extra, Pages)):
        yield from (value for page in pages.policies for name, value in page.next_call if name == "args")


def _of_saved(step: Step, record: RecordChange) -> Step:
    """The step without a `save` that names no store: without a tool the saved values become the args of the step, and
    so its result; with a tool there is nothing to do, since every result is in the log.
    """
    saved, rest = taken_of(step, Saved)
    if saved is None:
        return step
    alone = step.tasks[0] if len(step.tasks) == 1 else None
    is_free = not any(isinstance(extra, StepArgs) for extra in step.extras)
    if is_free and alone is not None and alone.generated and not alone.fields:
        said = "the result of the step"
        rest = rest._replace(extras=(*rest.extras, StepArgs(saved.word, saved.pairs, saved.span)))
    else:
        said = "nothing: every result is there" if "log" in saved.where else "nothing: every result is in the event log"
    klass: ChangeClass = "safe" if said.startswith("nothing") else "exact"
    record(Change("lower_args", saved.span, f"{saved.word} {saved.where}", klass, said))
    return _of_saved(rest, record)  # `save` and `sink` may both stand there


def _with_noop(step: Step) -> Step:
    """A step without a tool gives its args: the noop that it gets is called with them."""
    alone = step.tasks[0] if len(step.tasks) == 1 else None
    # A noop with fields gives these as its result already, and one that the author wrote is called with its args
    # anyway.
    if alone is None or not alone.generated or alone.fields or not any(isinstance(e, StepArgs) for e in step.extras):
        return step
    return step._replace(tasks=(alone._replace(generated=False),))


def _unread(step: Step, args: StepArgs) -> list[tuple[str, Value]]:
    """The defaults that nothing in the step is called with or reads."""
    hidden = {
        key for extra in step.extras if isinstance(extra, StepArgs) and extra is not args for key, _ in extra.pairs
    }
    seen: set[str] = set()

    def looked(expr: Expr) -> None:
        here = static_path(expr)
        seen.update({here[1]} if len(here) > 1 and here[0] == "args" else here[:1])

    all_with(step._replace(extras=tuple(e for e in step.extras if not isinstance(e, StepArgs))), looked)
    tasks = [task for listed in _lists(step) for task in listed if not task.generated]
    called = [task for task in tasks if task.kind in CALLED]
    own = [set() if task.args is None else set(pairs_of(task.args.template) or {}) for task in called]
    # A block template may read any default, and the bare `args` reads all of them: nothing can be called unread then.
    if any(True for task in tasks for value in task_values(task) for _ in blocks_in(value)) or "args" in seen:
        return []
    # A default is given to a task that has no arg of that name itself. One task without it is enough for the default
    # to be used.
    used = {key for key, _ in args.pairs if any(key not in keys for keys in own)} - hidden
    return [(key, value) for key, value in args.pairs if key not in used and (key in hidden or key not in seen)]


def _lists(step: Step) -> list[Tasks]:
    return [step.tasks, *(body for extra in step.extras if isinstance(extra, HasBodies) for body in extra.bodies())]


def _joined(step: Step) -> Step:
    """The step with `args` and `input` as one; where both give a key, that of `args` holds."""
    found = [extra for extra in step.extras if isinstance(extra, StepArgs)]
    if len(found) < 2:
        return step
    # The sort puts `args` behind `input`, since the later pair of a key wins in the mapping.
    pairs = {key: value for args in sorted(found, key=lambda args: args.word == "`args`") for key, value in args.pairs}
    rest = tuple(extra for extra in step.extras if not isinstance(extra, StepArgs))
    return step._replace(extras=(found[0]._replace(pairs=tuple(pairs.items())), *rest))


def _rendered(step: Step) -> Step:
    """The step with a first task that renders the block templates among its args."""
    args, rest = taken_of(step, StepArgs)
    if args is None or not any(True for _, value in args.pairs for _ in blocks_in(value)):
        return step
    found: Blocks = {}
    pairs = []
    for key, value in args.pairs:
        made = without_blocks(value.template, generated_name(step.name, "args", key), found)
        pairs.append((key, Value(made, value.span, None) if any(True for _ in blocks_in(value)) else value))
    # A block template is rendered as a whole text and cannot be a part of an expression. A first task renders it, and
    # the default becomes the result of that task.
    first = rendering(generated_name(step.name, "args"), args.span, found)
    return rest._replace(tasks=(first, *rest.tasks), extras=(args._replace(pairs=tuple(pairs)), *rest.extras))


class _Default(NamedTuple):
    """A default: the expression that stands where the arg is read, and the value that is passed to a task."""

    read: Expr
    value: Template


_Defaults: TypeAlias = dict[str, _Default]


def _unreserved(defaults: _Defaults) -> _Defaults:
    """The defaults that can be read by their bare names once the tool has run: there, `result` is what the
    tool gave.
    """
    return {key: value for key, value in defaults.items() if key not in RESERVED}


def _task(task: Task, defaults: _Defaults, before: _Defaults) -> Task:
    """The task with the defaults in its fields, rules and args; `before` are those that its fields read by
    bare names.
    """
    # Rules are asked when the tool has run: a bare `result` or `data` is what it gave there, even where a default has
    # that name. Fields are rendered before, and mean the default.
    after = _reading(defaults, _unreserved(defaults))
    task = task._replace(rules=all_with(task.rules, after), extras=all_with(task.extras, after))
    task = _bound(fields_with(task, _reading(defaults, before)), defaults)
    # Only tasks that are called with args get them: SQL and http read theirs where the text says so, and an unread
    # mapping in a plan would be noise in every event.
    if task.kind not in CALLED or task.generated:
        return task
    own = {} if task.args is None else pairs_of(task.args.template)
    if own is None:
        return task
    # An arg of the task itself wins over one of its step (REAL.md, python).
    defaulted = {key: default.value for key, default in defaults.items() if key not in own}
    span = task.span if task.args is None else task.args.span
    return task._replace(args=Value(template_of_pairs({**defaulted, **own}), span, None))


def _bound(task: Task, defaults: _Defaults) -> Task:
    """The task with the defaults made known in its block templates, by `set` tags before their text."""

    def each(value: Value) -> Value:
        made = with_blocks(value.template, lambda block: bound(block, _meanings(block, defaults)))
        return value if made is value.template else Value(made, value.span, None)

    if not any(True for value in task_values(task) for _ in blocks_in(value)):
        return task
    fields = tuple((key, each(value)) for key, value in task.fields)
    return task._replace(fields=fields, args=None if task.args is None else each(task.args))


def _meanings(block: Block, defaults: _Defaults) -> dict[str, Expr]:
    """Name → the expression that it stands for in a block template: each default, and `args` with all defaults and the
    args of the token that the text reads.
    """
    meanings = {key: default.read for key, default in defaults.items()}
    others = {key: path("args", key) for key in _ARGS.findall(block.text) if key not in meanings}
    whole = MapOf(tuple((Const(key), expr) for key, expr in {**meanings, **others}.items()))
    return {**meanings, "args": whole}


def _step(step: Step, brought: frozenset[str]) -> Step:
    args, step = taken_of(step, StepArgs)
    if args is None:
        return step
    defaults = {key: _default(key, value, brought) for key, value in args.pairs}
    own = _unreserved(defaults)

    def with_defaults(before: _Defaults) -> ChangeList:
        return lambda tasks: tuple(_task(task, defaults, before) for task in tasks)

    extras = all_with(step.extras, _reading(defaults, own))
    return step._replace(
        loop=all_with(step.loop, _reading(defaults, defaults)),
        tasks=map_lists(step.tasks, with_defaults(defaults)),
        router=all_with(step.router, _reading(defaults, own)),
        extras=tuple(with_lists(extra, with_defaults(own)) for extra in extras),
    )


def _reading(defaults: _Defaults, alone: _Defaults) -> Replace:
    """A replacement that puts defaults in the places of `args.x`, and of a bare `x` for the names in `alone`."""

    def replace(expr: Expr) -> Expr | None:
        here = static_path(expr)
        if len(here) == 2 and here[0] == "args" and here[1] in defaults:
            return defaults[here[1]].read
        if isinstance(expr, Name) and expr.name in alone:
            return defaults[expr.name].read
        return None

    return replace


def _default(key: str, value: Value, brought: frozenset[str]) -> _Default:
    """The default of one arg: `args.k | default(…)`, or the value alone where no token can bring `k`."""
    expr = expression_of(value.template)
    # Without a token that may bring the key, `args.k | default(…)` asks for what cannot be there: the value alone
    # stands there, as a colleague would have written it.
    if key not in brought and "*" not in brought:
        return _Default(expr, value.template)
    read = otherwise(path("args", key), expr)
    return _Default(read, computed(read, value.span).template)
