"""The paths into the results of http of a playbook, completed place by place (`noetlc.older.http_paths`)."""

from collections.abc import Callable, Container, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar, cast

from noetl_ir.expr import Attribute, Block, Const, Expr, Item, Literal, Name, Native, walk
from noetl_ir.paths import static_path
from noetl_ir.records import NamedTuple
from noetlc.ast.bodies import HasBodies, Tasks, all_tasks
from noetlc.ast.playbook import Guard, Loop, Playbook, Step, Task, Value
from noetlc.ast.sugar import Sugar
from noetlc.ast.walk import expressions_in, loops_of
from noetlc.ast.workbook import kind_called
from noetlc.diag.change import Change, ChangeClass, RecordChange
from noetlc.expr.binding import with_blocks
from noetlc.expr.inside_blocks import block_with
from noetlc.expr.rewrite import rewritten
from noetlc.expr.templates import Kept, Templated, map_templated, native, templated_with
from noetlc.older.case.nodes import Case, CaseRule
from noetlc.older.http_keys import (
    BY,
    ENVELOPE,
    KIND,
    NOTHING,
    OF_TOOL,
    RESPONSES,
    IsEnvelope,
    Words,
    completed,
    results_of_tool,
    status_as,
    status_of,
)
from noetlc.older.http_status import StatusTexts, constants, possible_values
from noetlc.older.legacy_names import declared_names, named_events
from noetlc.older.nearer import Nearer
from noetlc.older.page_nodes import Page, Pages, gathers

if TYPE_CHECKING:
    from noetlc.older.stored_status import StoredStatus

_Node = TypeVar("_Node")

_KEY = f"a key of the body, `.data.KEY`: a result of http has {', '.join(f'`{key}`' for key in sorted(ENVELOPE))}"

_STATUS = "`status` of an http result"
_TOLD: dict[str, tuple[str, ChangeClass, str]] = {
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
"""What a step with a loop asks once, when all iterations are over. The pass looks at canonical playbooks too, and
knows nodes by the names of their classes: these start without the constructs.
"""


def completed_playbook(playbook: Playbook, kinds: dict[str, str], record: RecordChange) -> Playbook:
    """The playbook with every path completed; `kinds` are those of the entries of its workbook."""
    nearer = Nearer(playbook)
    whole = [step for step in playbook.steps if _gives_http(step, kinds)]
    single = frozenset([step.name for step in whole if step.loop is None])
    listed = frozenset([step.name for step in whole if step.loop is not None])
    workload = {key: value.template.value for key, value in playbook.workload if isinstance(value.template, Literal)}
    texts = constants(workload, nearer.everywhere - workload.keys())

    @cache
    def stored() -> "StoredStatus":
        # Most playbooks store no status, and start without what looks for its readers.
        from noetlc.older.stored_status import StoredStatus

        return StoredStatus(playbook, texts)

    scope = _Scope(kinds, declared_names(playbook), single, single, listed, nearer, texts, stored, record)
    steps = tuple([scope.of_step(step).step(scope.with_items(step)) for step in playbook.steps])
    workbook = tuple([(name, scope.task(task, None, NOTHING, False)) for name, task in playbook.workbook])
    executor = scope.hiding(nearer.everywhere).with_words(playbook.executor, NOTHING)
    same = executor is playbook.executor and _same(steps, playbook.steps)
    same = same and _same([task for _, task in workbook], [task for _, task in playbook.workbook])
    return playbook if same else playbook._replace(executor=executor, steps=steps, workbook=workbook)


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
    """A set of names in one step: the `shared` ones of all steps, less those that are `taken` there, and `more`.

    Membership is asked for, and no set is built for each step: a playbook of n steps would cost n².
    """

    __slots__ = ("_more", "_shared", "_taken")

    def __init__(self, shared: Container[str], taken: Container[str], more: Container[str]) -> None:
        self._shared = shared
        self._taken = taken
        self._more = more

    def __contains__(self, name: object) -> bool:
        return name in self._more or (name in self._shared and name not in self._taken)


class _Scope(NamedTuple):
    """The names at a place in a playbook, as far as they may mean a result of http.

    `kinds` are the kinds of workbook entries. `names` mean a result of http, `steps` mean one behind `steps.`, `listed`
    mean a list of results. An old word for the tool's result that is in `hidden` means something else.
    """

    kinds: dict[str, str]
    hidden: Container[str]
    steps: frozenset[str]
    names: Container[str]
    listed: Container[str]
    nearer: Nearer
    texts: StatusTexts
    stored: Callable[[], "StoredStatus"]
    record: RecordChange

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
        """The step with completed paths in the items of its loops. A loop over a whole result becomes one over its
        body.
        """
        if step.loop is None:
            return step
        scope = self.hiding(self.nearer.within(step))
        loop = scope.with_words(scope.over_body(step.loop), NOTHING)
        return step if loop is step.loop else step._replace(loop=loop)

    def hiding(self, taken: Container[str]) -> "_Scope":
        """The scope without some names, which mean something else there."""
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
        self.record(Change(BY, loop.items.span, "a loop over a result of http", "review", f"`{items.text}`, its body"))
        return loop._replace(items=Value(items, loop.items.span, None))

    def step(self, step: Step) -> Step:
        """The step with every path completed."""
        last = step.tasks[-1]
        tool = OF_TOOL if kind_called(last, self.kinds) == KIND else NOTHING
        # Where pages are gathered, the result is a list of what they held and no answer of http. Only `response` is
        # still one: the last.
        behind = RESPONSES if tool and gathers((*last.extras, *step.extras)) else tool
        # Behind a loop the result is a list of answers, in which no word stands for one of them.
        once = behind if step.loop is None else NOTHING
        extras = tuple([self.extra(extra, tool, behind, once) for extra in step.extras])
        tasks = self.tasks(step.tasks)
        router = self.with_words(step.router, once)
        if tasks is step.tasks and router is step.router and _same(extras, step.extras):
            return step
        return step._replace(tasks=tasks, router=router, extras=extras)

    def extra(self, extra: Sugar, tool: Words, behind: Words, once: Words) -> Sugar:
        """Sugar of the step: the words for http when its tool has run, when it is not repeated any more, and when all
        iterations of a loop are over.
        """
        if _name_of(extra) in _BEFORE_TOOL:
            return self.with_words(extra, NOTHING)
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
        made = self.with_words(rule._replace(chain=()), asked)
        return rule if chain is rule.chain and made == rule._replace(chain=()) else made._replace(chain=chain)

    def tasks(self, tasks: Tasks, *, fields: Words = NOTHING, extras: bool = False) -> Tasks:
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
        http = OF_TOOL if kind_called(task, self.kinds) == KIND else NOTHING
        behind = RESPONSES if http and gathers(task.extras) else http
        previous = before is not None and kind_called(before, self.kinds) == KIND
        rendered = self.completing(fields, previous)
        pairs = tuple([(name, self.each(value, rendered)) for name, value in task.fields])
        args = None if task.args is None else self.each(task.args, rendered)
        noop = fields if extras and task.generated else NOTHING
        rules = self.with_words(task.rules, http or noop)
        sugar = tuple(
            [self.of_task(extra, (http if isinstance(extra, Pages) else behind) or noop) for extra in task.extras]
        )
        same = args is task.args and rules is task.rules and _same(sugar, task.extras)
        if same and all(new[1] is old[1] for new, old in zip(pairs, task.fields, strict=True)):
            return task
        return task._replace(fields=pairs, args=args, rules=rules, extras=sugar)

    def of_task(self, extra: Sugar, http: Words) -> Sugar:
        if http and _is_set(extra):
            # The `set` of a task reads the raw result as `output`, not the envelope: 21 of 21 public uses need that.
            # Its keys are completed by a table of their own.
            raw = _Reading(lambda expr: expr == _RAW, _OF_RAW)
            extra = map_templated(extra, lambda templated: self.each(templated, raw)) if http is OF_TOOL else extra
            return self.with_words(extra, NOTHING)
        made = self.of_tool(extra, http)
        return made.with_bodies(self.tasks) if isinstance(made, HasBodies) and not isinstance(made, Pages) else made

    def of_tool(self, extra: Sugar, http: Words) -> Sugar:
        if not isinstance(extra, Pages) or not http:
            return self.with_words(extra, http)
        policies = tuple([_with_root(page, self.completing(http)) for page in extra.policies])
        made = self.with_words(extra._replace(policies=policies) if policies != extra.policies else extra, http)
        return made.with_bodies(lambda tasks: self.tasks(tasks, fields=http, extras=True))

    def with_words(self, node: _Node, http: Words) -> _Node:
        """A node with its values and guards completed, the lists of tasks in it aside."""
        replace = self.completing(http)
        return map_templated(node, lambda templated: self.each(templated, replace))

    def each(self, templated: Kept, reading: "_Reading") -> Kept:
        told = dict[str, None]()
        made = templated
        if isinstance(templated, Value):
            made = cast(Kept, self.stored_in(templated, reading.is_envelope, told))
        replace = completed(reading.is_envelope, reading.own, self.texts, told.setdefault)
        made = templated_with(made, replace)
        if isinstance(made, Value):
            made = cast(Kept, self.in_blocks(made, reading, told))
        for how in told:
            self.record(Change(BY, templated.span, *_TOLD[how]))
        return made

    def stored_in(self, value: Value, is_envelope: IsEnvelope, told: dict[str, None]) -> Value:
        """A value in which each stored `status` is read as what the readers of its name take it for."""
        if not any(status_of(part, is_envelope) for expr, _ in expressions_in(value) for part in walk(expr)):
            return value
        from noetlc.older.stored_status import with_leaves

        def change(keys: tuple[str, ...], leaf: Expr) -> Expr:
            meant: dict[int, Expr] = {}
            for part in possible_values(leaf):
                said = self.stored().readings_of(value, keys) if status_of(part, is_envelope) else None
                if said is not None and (said.is_body or said.is_outcome or said.is_code):
                    told["stored" if said.is_body else "ended" if said.is_outcome else "code"] = None
                    meant[id(part)] = status_as(part, said)
            return rewritten(leaf, lambda part: meant.get(id(part))) if meant else leaf

        template = with_leaves(value.template, change)
        return value if template is value.template else Value(template, value.span, None)

    def in_blocks(self, value: Value, reading: "_Reading", told: dict[str, None]) -> Value:
        """A value whose block templates have complete paths too."""

        def change(block: Block) -> Block:
            # A name that the block template binds itself is no result.
            def replace(expr: Expr, bound: frozenset[str]) -> Expr:
                def is_envelope(part: Expr) -> bool:
                    return static_path(part)[:1] not in {(name,) for name in bound} and reading.is_envelope(part)

                return rewritten(expr, completed(is_envelope, reading.own, self.texts, told.setdefault))

            return block_with(block, replace)

        made = with_blocks(value.template, change)
        return value if made is value.template else Value(made, value.span, None)

    def completing(self, http: Words, previous: bool = False) -> "_Reading":
        """How to complete paths at a place: `http` are the old words that mean a result of http there, and `previous`
        says whether `_prev` does.
        """
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
    """How a path is read: `is_envelope` knows expressions that are a whole result, `own` has the keys of a result."""

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
    beside: list[Templated] = [page.when] if page.when is not None else []
    beside += [value for _, value in page.next_call]
    # The conditions beside it tell where an author stands. Where these had to be completed, the body's `data` was left
    # out everywhere, in the path as well.
    replace = completed(*reading)
    at_body = any(templated_with(templated, replace) is not templated for templated in beside)
    # Beside both forms, as `response.data.paging` and `response.total`, the path is what it says.
    if path[0] in ENVELOPE and (
        not at_body or any(_is_body(part) for templated in beside for part in _parts(templated))
    ):
        return page
    return page._replace(collect=page.collect._replace(path=(*root, "data", *path)))


def _parts(templated: Templated) -> Iterator[Expr]:
    exprs = [templated.expr] if isinstance(templated, Guard) else [expr for expr, _ in expressions_in(templated)]
    return (part for expr in exprs for part in walk(expr))


def _is_body(expr: Expr) -> bool:
    here = static_path(expr)
    return len(here) > 1 and here[-1] == "data" and here[:-1] in OF_TOOL
