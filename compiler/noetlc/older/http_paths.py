"""Paths into the results of http: keys of the body that older engines found at the top.

complete_http_paths: keys of the body of an http task that are written as keys of its result (REAL.md, LANGUAGE §7).

    tool: {kind: http, …}, next: {arcs: [{step: more, when: "{{ fetch.paging.more }}"}]}
        →  when: "{{ fetch.data.paging.more }}"

The kind of a task is known, so this is decided here and not when it runs. The pass is the first of all: the old names
of a result still stand where they were written, and what later passes make of them is complete. Canonical text is read
so too, and told.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

from noetl_ir.expr import Attribute, Block, Const, Expr, Item, Literal, Name, Native, walk
from noetl_ir.records import NamedTuple
from noetlc.ast.bodies import HasBodies, Tasks, all_tasks
from noetlc.ast.playbook import Guard, Loop, Playbook, Step, Task, Value
from noetlc.ast.sugar import Sugar
from noetlc.ast.walk import blocks_in, expressions_in, loops_of, step_guards, step_values
from noetlc.ast.workbook import kind_called
from noetlc.diag.change import Change, Class, Note
from noetlc.expr.binding import with_blocks
from noetlc.expr.block_names import expressions_inside
from noetlc.expr.inside_blocks import block_with
from noetlc.expr.rewrite import rewritten
from noetlc.expr.shorthand import static_path
from noetlc.expr.templates import Held, Kept, held_with, map_held, native
from noetlc.older.case.nodes import Case, CaseRule
from noetlc.older.http_keys import ENVELOPE, IsEnvelope, completed, status_as, status_of
from noetlc.older.http_status import Texts, constants, given_by
from noetlc.older.legacy_names import declared_names, named_events
from noetlc.older.nearer import Nearer
from noetlc.older.page_nodes import Page, Pages, gathers

_OF_TOOL = frozenset(
    {
        ("response",),
        ("result",),
        ("data",),
        ("this", "data"),
        ("this", "result"),
        ("this", "response"),
        ("output", "data"),
        ("output", "result"),
        ("output", "response"),
        ("outcome", "result"),
        ("outcome", "response"),
        ("event", "result"),
    }
)
"""The name that stands for the result of a tool behind it, in all dialects."""

Words: TypeAlias = frozenset[tuple[str, ...]]
"""Which words stand for a result of http at a place; none of them does where there is no such result."""

_NOTHING: Words = frozenset()
_RESPONSES: Words = frozenset({("response",), ("this", "response"), ("output", "response"), ("outcome", "response")})
"""Of these, what stands for the last answer where the result is what was gathered of all pages."""


def results_of_tool(hidden: Container[str], words: Words = _OF_TOOL) -> IsEnvelope:
    """The name that stands for the result of the tool that has just run, where no name of `hidden` takes its place."""
    return lambda expr: (here := static_path(expr)) in words and here[0] not in hidden


if TYPE_CHECKING:
    from noetlc.older.stored_status import StoredStatus

BY = "complete_http_paths"

KIND = "http"

Node = TypeVar("Node")

_KEY = f"a key of the body, `.data.KEY`: a result of http has {', '.join(f'`{key}`' for key in sorted(ENVELOPE))}"

_STATUS = "`status` of an http result"
_TOLD: dict[str, tuple[str, Class, str]] = {
    "key": ("a key that http results lack", "safe", _KEY),
    "whole": ("`result` of an http result", "safe", "the body, `.data`"),
    "ok": ("`ok` of an http result", "safe", "`.status_code < 400`"),
    "metadata": ("`metadata` of an http result", "safe", "`.status_code`"),
    "code": (_STATUS, "safe", "`.status_code`: it is taken for a number"),
    "outcome": (_STATUS, "safe", "how the call ended, by `.status_code < 400`"),
    "word": (_STATUS, "safe", "the key of the body, `.data.status`: it is taken for a text"),
    "stored": (
        _STATUS,
        "review",
        "the key of the body, `.data.status`: who reads where it is stored takes it for a text",
    ),
    "ended": (_STATUS, "review", "the word for how the call ended, with which it is compared where it is stored"),
    "bare": (_STATUS, "review", "`.status_code`; write `.data.status` for the key of the body"),
}
"""How a path was read → the construct, the class of the change, and what it became."""

_BEFORE_TOOL = frozenset({"StepArgs", "Skip", "EndLoop"})
_AFTER_LOOP = frozenset({"Assign", "StepSet", "Result", "Targets"})
"""What a step with a loop asks once, when all iterations are over. The pass looks at every playbook, and knows nodes by
the names of their classes: a canonical playbook starts without the constructs.
"""


def complete_http_paths(playbook: Playbook, note: Note) -> Playbook:
    """The playbook in which every path into an http result begins with a key of it."""
    kinds = {name: task.kind for name, task in playbook.workbook}
    if not any(
        kind_called(task, kinds) == KIND for step in playbook.steps for task in all_tasks(step.tasks, step.extras)
    ):
        return playbook
    # No sugar tells that there is something to do. This question is cheaper than the scopes that the pass builds for
    # each step, and most canonical playbooks end here.
    if not _is_asked(playbook, kinds):
        return playbook
    nearer = Nearer(playbook)
    whole = [step for step in playbook.steps if _gives_http(step, kinds)]
    single = frozenset([step.name for step in whole if step.loop is None])
    listed = frozenset([step.name for step in whole if step.loop is not None])
    given = {key: value.template.value for key, value in playbook.workload if isinstance(value.template, Literal)}
    texts = constants(given, nearer.everywhere - given.keys())

    @cache
    def stored() -> "StoredStatus":
        # Most playbooks store no status, and start without what looks for its readers.
        from noetlc.older.stored_status import StoredStatus

        return StoredStatus(playbook, texts)

    scope = _Scope(kinds, declared_names(playbook), single, single, listed, nearer, texts, stored, note)
    steps = tuple([scope.of_step(step).step(scope.with_items(step)) for step in playbook.steps])
    workbook = tuple([(name, scope.task(task, None, _NOTHING, False)) for name, task in playbook.workbook])
    executor = scope.hiding(nearer.everywhere).held(playbook.executor, _NOTHING)
    same = executor is playbook.executor and _same(steps, playbook.steps)
    same = same and _same([task for _, task in workbook], [task for _, task in playbook.workbook])
    return playbook if same else playbook._replace(executor=executor, steps=steps, workbook=workbook)


def _is_asked(playbook: Playbook, kinds: dict[str, str]) -> bool:
    """Whether any path may have to be completed, whatever hides which name: in few canonical playbooks one does.

    Each expression is looked at once for all steps that have it; files of older dialects are not asked at all.
    """
    tasks = [*(task for step in playbook.steps for task in step.tasks), *(task for _, task in playbook.workbook)]
    if playbook.workbook or any(step.extras for step in playbook.steps) or any(task.extras for task in tasks):
        return True
    names = frozenset([step.name for step in playbook.steps]).union([task.name for task in tasks])
    for words, exprs, lists in _distinct(playbook, kinds):
        may_be = _may_be_envelope(names, words)
        replace = completed(may_be)
        if any(map(may_be, lists)) or any(rewritten(expr, replace) is not expr for expr in exprs):
            return True
    return False


def _distinct(playbook: Playbook, kinds: dict[str, str]) -> Iterator[tuple[Words, Iterable[Expr], Iterable[Expr]]]:
    """Of the steps with and without an http task: the words for its result, the expressions, and those that loops run
    over, each once.
    """
    # Equal texts are one template and one expression. Their identity is a sound key while the playbook keeps them
    # alive, and costs no hash of a whole tree.
    values: dict[bool, dict[int, Value]] = {True: {}, False: {}}
    exprs: dict[bool, dict[int, Expr]] = {True: {}, False: {}}
    lists: dict[bool, dict[int, Expr]] = {True: {}, False: {}}
    for step in playbook.steps:
        is_http = any(kind_called(task, kinds) == KIND for task in step.tasks)
        own = [(id(value.template), value) for value in step_values(step) if not isinstance(value.template, Literal)]
        values[is_http].update(own)
        exprs[is_http].update([(id(guard.expr), guard.expr) for guard in step_guards(step)])
        natives = [loop.items.template for loop in loops_of(step) if isinstance(loop.items.template, Native)]
        lists[is_http].update([(id(native.expr), native.expr) for native in natives])
    spec = playbook.executor
    wide = (spec.lifecycle_timeout, spec.result, *(value for _, value in spec.knobs))
    values[False].update([(id(one.template), one) for one in wide if one is not None])
    for is_http, found in exprs.items():
        for value in values[is_http].values():
            found.update([(id(expr), expr) for expr, _ in expressions_in(value)])
            inside = [one.expr for block in blocks_in(value) for one in expressions_inside(block.text)]
            found.update([(id(expr), expr) for expr in inside])
    for is_http, words in ((True, _OF_TOOL | _RESPONSES), (False, _NOTHING)):
        yield words, exprs[is_http].values(), lists[is_http].values()


def _may_be_envelope(names: frozenset[str], words: Words) -> IsEnvelope:
    """A name that may stand for a result of http or one of a list of them, of which nothing is known but the names."""

    def may_be(expr: Expr) -> bool:
        if isinstance(expr, Item) and isinstance(expr.of, Name) and expr.of.name in names:
            return True
        here = static_path(expr)
        named = here[-1:] != () and here[-1] in names and (len(here) == 1 or (len(here) == 2 and here[0] == "steps"))
        return named or here in words or here == ("_prev",)

    return may_be


def _gives_http(step: Step, kinds: dict[str, str]) -> bool:
    """Whether the result of a step is surely that of an http task, page by page or as a whole."""
    last = step.tasks[-1]
    inside = [extra for extra in last.extras if isinstance(extra, HasBodies) and not isinstance(extra, Pages)]
    if kind_called(last, kinds) != KIND or inside:
        return False
    if any(_name_of(extra) == "Result" for extra in step.extras):
        return False
    if gathers((*last.extras, *step.extras)):
        return False
    leaves = {"break", "jump"}
    # A rule that leaves before the last task may end the step with the result of another kind, whose keys are its
    # own. The path then stays as it is written.
    return not any(
        rule.directive in leaves for task in step.tasks[:-1] for rule in task.rules if kind_called(task, kinds) != KIND
    )


def _name_of(extra: Sugar) -> str:
    return type(extra).__name__


class _Some:
    """The names of all steps that mean the same in one step: those that are not `taken`, and `more`."""

    __slots__ = ("_more", "_shared", "_taken")

    def __init__(self, shared: Container[str], taken: Container[str], more: Container[str]) -> None:
        self._shared = shared
        self._taken = taken
        self._more = more

    def __contains__(self, name: object) -> bool:
        return name in self._more or (name in self._shared and name not in self._taken)


class _Scope(NamedTuple):
    """The results that can be named at a place: `names` give a result of http, `steps` do behind `steps.`, `listed`
    lists of them, `hidden` hides old words.
    """

    kinds: dict[str, str]
    hidden: Container[str]
    steps: frozenset[str]
    names: Container[str]
    listed: Container[str]
    nearer: Nearer
    texts: Texts
    stored: Callable[[], "StoredStatus"]
    note: Note

    def of_step(self, step: Step) -> "_Scope":
        """The scope within a step: its iterators hide names, and its tasks are known."""
        own = frozenset([loop.iterator for loop in loops_of(step)])
        taken, none = self.nearer.within(step), frozenset[str]()
        inside = [task for task in all_tasks(step.tasks, step.extras) if not task.generated]
        taken |= frozenset([task.name for task in inside])
        asked = frozenset([task.name for task in inside if kind_called(task, self.kinds) == KIND])
        return self._replace(
            # The step's own name is taken out of the names that hide: a step that is called `response` or `data`
            # still reads its tool's result by that word.
            hidden=_Some(self.hidden, {step.name}, own),
            names=_Some(self.names, taken, asked),
            listed=_Some(self.listed, taken, none),
        )

    def with_items(self, step: Step) -> Step:
        """The step whose loops go over what paths lead to. A loop over a result of http is one over its body."""
        if step.loop is None:
            return step
        scope = self.hiding(self.nearer.within(step))
        loop = scope.held(scope.over_body(step.loop), _NOTHING)
        return step if loop is step.loop else step._replace(loop=loop)

    def hiding(self, taken: Container[str]) -> "_Scope":
        """The scope where those names are no results."""
        none = frozenset[str]()
        return self._replace(names=_Some(self.names, taken, none), listed=_Some(self.listed, taken, none))

    def is_named(self, here: tuple[str, ...]) -> bool:
        """Whether a path is the name of a result of http."""
        return (len(here) == 1 and here[0] in self.names) or (
            len(here) == 2 and here[0] == "steps" and here[1] in self.steps
        )

    def over_body(self, loop: Loop) -> Loop:
        """A loop, and those in it, over the body where its items are a result of http and nothing else."""
        inner = None if loop.inner is None else self.over_body(loop.inner)
        loop = loop if inner is loop.inner else loop._replace(inner=inner)
        template = loop.items.template
        here = static_path(template.expr) if isinstance(template, Native) else ()
        if not isinstance(template, Native) or not self.is_named(here):
            return loop
        # A loop over the result would go over its keys: `status_code`, `headers` and others. No author meant that.
        items = native(Attribute(template.expr, "data"))
        self.note(Change(BY, loop.items.span, "a loop over a result of http", "review", f"`{items.text}`, its body"))
        return loop._replace(items=Value(items, loop.items.span, None))

    def step(self, step: Step) -> Step:
        """The step with every path completed."""
        last = step.tasks[-1]
        tool = _OF_TOOL if kind_called(last, self.kinds) == KIND else _NOTHING
        # Where pages are gathered, the result is a list of what they held and no answer of http. Only `response` is
        # still one: the last.
        behind = _RESPONSES if tool and gathers((*last.extras, *step.extras)) else tool
        # Behind a loop the result is a list of answers, in which no word stands for one of them.
        once = behind if step.loop is None else _NOTHING
        extras = tuple([self.extra(extra, tool, behind, once) for extra in step.extras])
        tasks = self.tasks(step.tasks)
        router = self.held(step.router, once)
        if tasks is step.tasks and router is step.router and _same(extras, step.extras):
            return step
        return step._replace(tasks=tasks, router=router, extras=extras)

    def extra(self, extra: Sugar, tool: Words, behind: Words, once: Words) -> Sugar:
        """Sugar of the step: the words for http when its tool has run, when it is not repeated any more, and when all
        iterations of a loop are over.
        """
        if _name_of(extra) in _BEFORE_TOOL:
            return self.held(extra, _NOTHING)
        if isinstance(extra, Case):
            rules = []
            for rule in extra.rules:
                # The guard of a rule is asked of each answer, its actions when all pages are there.
                asked, chain = (tool, behind) if _in_iteration(rule) else (once, once)
                rules.append(self.case_rule(rule, asked, chain))
            return extra if _same(tuple(rules), extra.rules) else extra._replace(rules=tuple(rules))
        if isinstance(extra, Pages):
            return self.of_tool(extra, tool)
        return self.of_tool(extra, once if _name_of(extra) in _AFTER_LOOP else behind)

    def case_rule(self, rule: CaseRule, asked: Words, words: Words) -> CaseRule:
        """A rule: the words in what it asks, and in what it does."""
        chain = self.tasks(rule.chain, fields=words, extras=bool(words))
        made = self.held(rule._replace(chain=()), asked)
        return rule if chain is rule.chain and made == rule._replace(chain=()) else made._replace(chain=chain)

    def tasks(self, tasks: Tasks, *, fields: Words = _NOTHING, extras: bool = False) -> Tasks:
        """A list of tasks. `fields` are the words for http in what is rendered before one; `extras` says whether they
        are those of what stands at a noop too, as the actions of a rule of `case` do.
        """
        made: list[Task] = []
        for number, task in enumerate(tasks):
            # To a task that is jumped to, `_prev` is whatever task jumped, and may be of another kind.
            before = tasks[number - 1] if number and not _is_jumped_to(task, tasks) else None
            made.append(self.task(task, before, fields, extras))
        return tasks if _same(tuple(made), tasks) else tuple(made)

    def task(self, task: Task, before: Task | None, fields: Words, extras: bool) -> Task:
        http = _OF_TOOL if kind_called(task, self.kinds) == KIND else _NOTHING
        behind = _RESPONSES if http and gathers(task.extras) else http
        previous = before is not None and kind_called(before, self.kinds) == KIND
        rendered = self.completing(fields, previous)
        given = tuple([(name, self.each(value, rendered)) for name, value in task.fields])
        args = None if task.args is None else self.each(task.args, rendered)
        noop = fields if extras and task.generated else _NOTHING
        rules = self.held(task.rules, http or noop)
        held = tuple(
            [self.of_task(extra, (http if isinstance(extra, Pages) else behind) or noop) for extra in task.extras]
        )
        same = args is task.args and rules is task.rules and _same(held, task.extras)
        if same and all(new[1] is old[1] for new, old in zip(given, task.fields, strict=True)):
            return task
        return task._replace(fields=given, args=args, rules=rules, extras=held)

    def of_task(self, extra: Sugar, http: Words) -> Sugar:
        if http and _is_set(extra):
            # The `set` of a task reads the raw result as `output`, not the envelope: 21 of 21 public uses need that.
            # Its keys are completed by a table of their own.
            raw = _Reading(lambda expr: expr == _RAW, _OF_RAW)
            extra = map_held(extra, lambda held: self.each(held, raw)) if http is _OF_TOOL else extra
            return self.held(extra, _NOTHING)
        made = self.of_tool(extra, http)
        return made.with_bodies(self.tasks) if isinstance(made, HasBodies) and not isinstance(made, Pages) else made

    def of_tool(self, extra: Sugar, http: Words) -> Sugar:
        if not isinstance(extra, Pages) or not http:
            return self.held(extra, http)
        policies = tuple([_with_root(page, self.completing(http)) for page in extra.policies])
        made = self.held(extra._replace(policies=policies) if policies != extra.policies else extra, http)
        return made.with_bodies(lambda tasks: self.tasks(tasks, fields=http, extras=True))

    def held(self, node: Node, http: Words) -> Node:
        """A node with its values and guards completed, the lists of tasks in it aside."""
        replace = self.completing(http)
        return map_held(node, lambda held: self.each(held, replace))

    def each(self, held: Kept, reading: "_Reading") -> Kept:
        told = dict[str, None]()
        made = held
        if isinstance(held, Value):
            made = cast(Kept, self.stored_in(held, reading.is_envelope, told))
        # What a block template binds itself is no result, whatever its name is.
        replace = completed(reading.is_envelope, reading.own, self.texts, told.setdefault)
        made = held_with(made, replace)
        if isinstance(made, Value):
            made = cast(Kept, self.in_blocks(made, reading, told))
        for how in told:
            self.note(Change(BY, held.span, *_TOLD[how]))
        return made

    def stored_in(self, value: Value, is_envelope: IsEnvelope, told: dict[str, None]) -> Value:
        """A value in which each status that is stored is what the readers of its name take it for."""
        if not any(status_of(part, is_envelope) for expr, _ in expressions_in(value) for part in walk(expr)):
            return value
        from noetlc.older.stored_status import with_leaves

        def change(keys: tuple[str, ...], leaf: Expr) -> Expr:
            meant: dict[int, Expr] = {}
            for part in given_by(leaf):
                said = self.stored().of(value, keys) if status_of(part, is_envelope) else None
                if said is not None and (said.is_body or said.is_outcome or said.is_code):
                    told["stored" if said.is_body else "ended" if said.is_outcome else "code"] = None
                    meant[id(part)] = status_as(part, said)
            return rewritten(leaf, lambda part: meant.get(id(part))) if meant else leaf

        template = with_leaves(value.template, change)
        return value if template is value.template else Value(template, value.span, None)

    def in_blocks(self, value: Value, reading: "_Reading", told: dict[str, None]) -> Value:
        """A value whose block templates have complete paths too."""

        def change(block: Block) -> Block:
            def replace(expr: Expr, bound: frozenset[str]) -> Expr:
                def is_envelope(part: Expr) -> bool:
                    return static_path(part)[:1] not in {(name,) for name in bound} and reading.is_envelope(part)

                return rewritten(expr, completed(is_envelope, reading.own, self.texts, told.setdefault))

            return block_with(block, replace)

        made = with_blocks(value.template, change)
        return value if made is value.template else Value(made, value.span, None)

    def completing(self, http: Words, previous: bool = False) -> "_Reading":
        """Completes paths; `http`: which old words mean a result of http here, `previous`: whether `_prev` does."""
        of_tool, listed = results_of_tool(self.hidden, http), self.listed

        def is_envelope(expr: Expr) -> bool:
            if isinstance(expr, Item) and isinstance(expr.of, Name) and expr.of.name in listed:
                # A number picks one answer out of the list. A text is a key such as `s['stats']`, which is no answer.
                return not (isinstance(expr.key, Const) and isinstance(expr.key.value, str))
            here = static_path(expr)
            if not here:
                return False
            return self.is_named(here) or (previous and here == ("_prev",)) or of_tool(expr)

        return _Reading(is_envelope, ENVELOPE)


class _Reading(NamedTuple):
    """The whole of a result at a place, and the keys that it has itself."""

    is_envelope: IsEnvelope
    own: frozenset[str]


_RAW = Name("output")
_OF_RAW = ENVELOPE | {"error", "http", "meta", "ref"}
"""In the `set` of a task `output` is the result itself (LANGUAGE §6), and has what only the outcome has besides."""


def _is_set(extra: Sugar) -> bool:
    """Whether it is the `set` of a task."""
    return _name_of(extra) == "Assign" and getattr(extra, "word", "") == "`set`"


def _same(made: Sequence[object], before: Sequence[object]) -> bool:
    return all(new is old for new, old in zip(made, before, strict=True))


def _is_jumped_to(task: Task, tasks: Tasks) -> bool:
    return any(rule.to == task.name for other in tasks for rule in other.rules)


def _in_iteration(rule: CaseRule) -> bool:
    """Whether a rule is asked in each iteration of a loop, and not when the loop is done."""
    if rule.when is None:
        return True
    return not any("loop.done" in (named_events(part) or ()) for part in walk(rule.when.expr))


def _with_root(page: Page, reading: _Reading) -> Page:
    """The page whose `collect.path` begins at the result: it has the root that the conditions beside it have."""
    path = page.collect.path
    root: tuple[str, ...] = ()
    if path[:1] in (("response",), ("result",)):
        root, path = path[:1], path[1:]
    # A path that says `data` twice is complete: the first is that of the result, the second the body's.
    if not page.collect.strategy or not path or path[:2] == ("data", "data"):
        return page
    beside: list[Held] = [page.when] if page.when is not None else []
    beside += [value for _, value in page.next_call]
    # The conditions beside it tell where an author stands. Where these had to be completed, the body's `data` was left
    # out everywhere, in the path as well.
    replace = completed(*reading)
    at_body = any(held_with(held, replace) is not held for held in beside)
    # Beside both forms, as `response.data.paging` and `response.total`, the path is what it says.
    if path[0] in ENVELOPE and (not at_body or any(_is_body(part) for held in beside for part in _parts(held))):
        return page
    return page._replace(collect=page.collect._replace(path=(*root, "data", *path)))


def _parts(held: Held) -> Iterator[Expr]:
    exprs = [held.expr] if isinstance(held, Guard) else [expr for expr, _ in expressions_in(held)]
    return (part for expr in exprs for part in walk(expr))


def _is_body(expr: Expr) -> bool:
    here = static_path(expr)
    return len(here) > 1 and here[-1] == "data" and here[:-1] in _OF_TOOL
