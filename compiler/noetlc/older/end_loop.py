"""`end_loop: name` of a step (v1): the loop whose body ends before it.

lower_end_loop: a loop whose body spans steps becomes a loop over their tasks (LANGUAGE §6, v1).

    - {step: cities, loop: {in: xs, iterator: city}, next: fetch}
    - {step: fetch, tool: t, next: [{when: g, then: [warn]}, {else: [done]}]}
    - {step: warn, tool: u, next: done}
    - {step: done, end_loop: cities, next: report}
        →  cities   loop: …, tool: [fetch, __cities__fetch (jump to warn when g, else break), warn], next: done
           done     next: report

Each step is a segment of the pipeline, in file order; where it does not lead to the segment behind it, a noop jumps.
Its task has the step's name, so that what is read of the step is read of the task. Args of a token between two steps
are in `iter`. The branches of a fork run one after the other.
"""

from noetl_ir.expr import Expr, Literal, Name, Template
from noetl_ir.span import Span
from noetlc.ast.bodies import Tasks, taken_of
from noetlc.ast.playbook import Arc, Playbook, Router, Rule, Step, Task, Value
from noetlc.ast.sugar import Sugar
from noetlc.ast.walk import loops_of
from noetlc.ast.workbook import pairs_of, template_of_pairs
from noetlc.diag.change import Change, ChangeClass, RecordChange
from noetlc.expr.generated import PREFIX, generated_name, jump, noop
from noetlc.expr.rewrite import Replace
from noetlc.expr.shorthand import otherwise, path, result_of
from noetlc.expr.templates import arc_with, native, task_with
from noetlc.older.legacy_names import arc_meanings, renamed
from noetlc.older.regions import LoopRegion, arcs_of, forks_of, keys_of, may_bind, obstacle, reads, region_of
from noetlc.older.skips import may_be_skipped
from noetlc.reading.drafts import StepDraft
from noetlc.reading.reader import Reader
from noetlc.reading.shapes import reference_of
from noetlc.source.nodes import Node, Scalar


class EndLoop(Sugar):
    """`end_loop: name`: the steps between that step, which has a loop, and this one are the loop's body (v1)."""

    loop: str
    span: Span


def take_end_loop(r: Reader, draft: StepDraft, key: Scalar, node: Node) -> None:
    """`end_loop` of a step: the loop whose body ends before it."""
    r.legacy_seen = True
    name = reference_of(r, node, "the step with the loop")
    if name is not None:
        draft.extras.append(EndLoop(name, key.span))


BY = "lower_end_loop"

_KEPT = "where"
"""First tasks of a looped step that end the iteration, and not only the step."""


def lower_end_loop(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which every loop has its body in its own step."""
    ends = {step.name: end for step in playbook.steps if (end := taken_of(step, EndLoop)[0]) is not None}
    outside = _outside(playbook, ends)
    for name, end in ends.items():
        if name in outside:
            outer = ends[outside[name]].loop
            why = (
                f"the loop of `{end.loop}` is one of the steps in the loop of `{outer}`, and only one can "
                f"go over steps: put `{end.loop}` to `{name}` into a playbook, and call it with `kind: playbook`"
            )
            record(Change(BY, end.span, "`end_loop`", "refused", why))
        # Both loops are left without an end: which of the two could stay is for the author to say.
        if name in outside or name in outside.values():
            playbook = _unended(playbook, name)
        else:
            playbook = _without(playbook, name, end, record)
    return playbook


def _outside(playbook: Playbook, ends: dict[str, EndLoop]) -> dict[str, str]:
    """The end of the loop over steps that each end's own loop is in, where it is in one."""
    found: dict[str, str] = {}
    for step in playbook.steps if len(ends) > 1 else ():
        region = region_of(playbook, ends[step.name].loop, step) if step.name in ends else ""
        if not isinstance(region, str):
            found |= {name: step.name for name, end in ends.items() if end.loop in region.names - {region.loop.name}}
    return found


def _unended(playbook: Playbook, name: str) -> Playbook:
    steps = tuple(taken_of(step, EndLoop)[1] if step.name == name else step for step in playbook.steps)
    return playbook._replace(steps=steps)


def _without(playbook: Playbook, name: str, end: EndLoop, record: RecordChange) -> Playbook:
    playbook = _unended(playbook, name)
    steps = playbook.steps
    region = region_of(playbook, end.loop, next(step for step in steps if step.name == name))
    if isinstance(region, str):
        record(Change(BY, end.span, "`end_loop`", "refused", region))
        return playbook
    region = _with_own_names(region, frozenset(key for key, _ in playbook.workload))
    lifted = _Lifting(region)
    # The pipeline is built before it is known to be whole: a clash of names shows only in the tasks.
    why = obstacle(playbook, region) or lifted.clash()
    if why:
        record(Change(BY, end.span, "`end_loop`", "refused", why))
        return playbook
    loop = lifted.loop()
    record(Change(BY, end.span, "`end_loop`", lifted.klass, f"the tasks of the loop of `{region.loop.name}`"))
    gone = region.names
    made = {loop.name: loop, name: region.end._replace(spec=region.end.spec._replace(join="any", join_span=None))}
    return playbook._replace(steps=tuple(made.get(s.name, s) for s in steps if s.name in made or s.name not in gone))


def _with_own_names(region: LoopRegion, known: frozenset[str]) -> LoopRegion:
    """The region in whose arcs old names are those of their steps: in a task they would be the task's."""

    def named(step: Step) -> Step:
        if step.router is None:
            return step
        own = {loop.iterator for loop in loops_of(step)} | {task.name for task in step.tasks}
        meanings = renamed(
            arc_meanings(result_of(step.name), loop=step.loop is not None, may_be_skipped=may_be_skipped(step)),
            known | region.names | own,
        )
        return step._replace(router=step.router._replace(arcs=tuple(arc_with(arc, meanings) for arc in arcs_of(step))))

    return region._replace(steps=tuple(named(step) for step in region.steps))


class _Lifting:
    """The pipeline of one region. `klass` is `review` where tokens of it ended or ran beside each other."""

    def __init__(self, region: LoopRegion) -> None:
        self.klass: ChangeClass = "safe"
        self._region = region
        self._order = [step.name for step in region.steps]
        self._forks = forks_of(region)
        self._segments = {step.name: self._segment(step) for step in region.steps}
        self._after = self._following()
        self._tasks = [task for step in region.steps for task in self._routed(step)]

    def loop(self) -> Step:
        """The step with the loop and all tasks."""
        step, end = self._region.loop, self._region.end
        at = step.router.span if step.router is not None else step.span
        router = Router("exclusive", (Arc(end.name, at, None, None, None, 0, at),), at)
        return step._replace(tasks=tuple(self._tasks), router=router)

    def clash(self) -> str:
        """Two tasks of one name, or ""."""
        names = [task.name for task in self._tasks]
        twice = sorted({name for name in names if names.count(name) > 1})
        return f"two steps of the body have a task `{twice[0]}`" if twice else ""

    def _segment(self, step: Step) -> Tasks:
        """The tasks of a step, under its name where others read it; none where it only leads on."""
        tasks = tuple(task for task in step.tasks if not task.generated or task.name.startswith(PREFIX))
        if not tasks or (step is self._region.loop and not reads(self._region.steps[1:], step.name)):
            return tasks
        shown = [task for task in tasks if not task.generated]
        # What other steps read by the step's name is the result that its pipeline gives: that task gets the name.
        giving = [task for task in tasks if task.generated and any(key == "result" for key, _ in task.fields)]
        if giving and reads(self._region.steps, step.name):
            tasks = _renamed(tasks, giving[-1].name, step.name)
        elif len(shown) == 1 and shown[0].name == f"{step.name}_task":
            tasks = _renamed(tasks, shown[0].name, step.name)
        elif step.name not in {task.name for task in tasks} and reads(self._region.steps, step.name):
            tasks = (*tasks, noop(step.name, step.span)._replace(generated=False))
        return tuple(self._bound(step, task_with(task, self._args(step))) for task in tasks)

    def _bound(self, step: Step, task: Task) -> Task:
        """A python task with what the step's token brought among its args, as code finds it bound."""
        arcs = self._region.arcs_to(step.name)
        if task.kind != "python" or step is self._region.loop or not keys_of(arcs) or not may_bind(task, arcs):
            return task
        own = pairs_of(task.args.template) if task.args is not None else None
        brought: dict[str, Template] = {key: native(path("iter", _args_name(step.name), key)) for key in keys_of(arcs)}
        return task._replace(args=Value(template_of_pairs({**brought, **(own or {})}), task.span, None))

    def _following(self) -> dict[str, list[Arc]]:
        """Where each step leads in the pipeline: the branches of a fork one by one."""
        after = {step.name: [arc_with(arc, self._args(step)) for arc in arcs_of(step)] for step in self._region.steps}
        for name, (_, ways) in self._forks.items():
            self.klass = "review"
            for way, arc in zip(ways, after[name][1:], strict=False):
                after[way[-1]] = [arc]
            # The branches run one after the other in a pipeline: the last step of each leads to the next branch. That
            # loses no work, but the order is new, hence `review`.
            after[name] = after[name][:1]
        return after

    def _routed(self, step: Step) -> Tasks:
        """A segment and what leads on from it."""
        tasks, after, name = self._segments[step.name], self._after[step.name], self._head_of(step.name)
        position = self._order.index(step.name)
        behind = self._order[position + 1] if position + 1 < len(self._order) else self._region.end.name
        # A token that no arc takes ended its branch only. In a pipeline it ends the item.
        if not after or after[-1].when is not None:
            self.klass = "review"
        breaks = any(rule.directive == "break" for task in tasks for rule in task.rules if self._is_own(step, task))
        ends = not after or (after[0].target == self._region.end.name and after[0].when is None)
        needed = not tasks and step is not self._region.loop
        if not needed and ((ends and position + 1 == len(self._order)) or (self._falls(after, behind) and not breaks)):
            return tasks
        rules = tuple(self._rule(arc) for arc in after)
        # Without this rule the default would fall into the next segment, to which no arc leads.
        if not rules or rules[-1].when is not None:
            rules = (*rules, Rule(None, "break", step.span))
        going = tuple(_going_on(task, name) if self._is_own(step, task) else task for task in tasks)
        return (*going, noop(name, step.router.span if step.router is not None else step.span, rules))

    def _head_of(self, step: str) -> str:
        """The noop that leads on from a step."""
        return generated_name(self._region.loop.name, step)

    def _is_own(self, step: Step, task: Task) -> bool:
        """Whether a `break` of the task ends its step, and not the iteration."""
        return step is not self._region.loop or not task.name.startswith(generated_name(step.name, _KEPT))

    def _falls(self, after: list[Arc], behind: str) -> bool:
        """Whether what comes next in the pipeline is where the only arc leads."""
        if len(after) != 1 or after[0].target != behind or after[0].when is not None or after[0].delay is not None:
            return False
        leading = [arc for arcs in self._after.values() for arc in arcs if arc.target == behind]
        return behind == self._region.end.name or (len(leading) == 1 and not self._needs_args(behind))

    def _rule(self, arc: Arc) -> Rule:
        if arc.target == self._region.end.name:
            return Rule(arc.when, "break", arc.span)
        patch: tuple[tuple[str, Value], ...] = ()
        if self._needs_args(arc.target):
            patch = ((_args_name(arc.target), arc.args or Value(Literal({}), arc.span, None)),)
        tasks = self._segments[arc.target]
        head = tasks[0].name if tasks else self._head_of(arc.target)
        return jump(head, arc.span, when=arc.when, set_iter=patch)._replace(delay=arc.delay)

    # Args of tokens inside

    def _needs_args(self, name: str) -> bool:
        step = next(step for step in self._region.steps if step.name == name)
        return any(arc.args is not None for arc in self._region.arcs_to(name)) or reads((step,), "args")

    def _args(self, step: Step) -> Replace:
        """Reads what the step's token brought from `iter`."""
        if not self._needs_args(step.name):
            return lambda expr: None
        loop = self._region.loop.loop
        own = {task.name for task in step.tasks} | {"loop_index", loop.iterator if loop is not None else ""}
        keys = {key: always for key, always in keys_of(self._region.arcs_to(step.name)).items() if key not in own}

        def replace(expr: Expr) -> Expr | None:
            if not isinstance(expr, Name):
                return None
            if expr.name == "args":
                return path("iter", _args_name(step.name))
            if expr.name in keys:
                read = path("iter", _args_name(step.name), expr.name)
                # Only some arcs bring the key: without it the name means what it means elsewhere.
                return read if keys[expr.name] else otherwise(read, expr)
            return None

        return replace


def _args_name(step: str) -> str:
    return generated_name(step, "args")


def _renamed(tasks: Tasks, name: str, new: str) -> Tasks:
    """The tasks with one that others see under another name, wherever they say it."""

    def each(task: Task) -> Task:
        task = task_with(task, lambda expr: result_of(new) if expr == Name(name) else None)
        rules = tuple(rule._replace(to=new) if rule.to == name else rule for rule in task.rules)
        named = task._replace(rules=rules)
        return named._replace(name=new, generated=False) if task.name == name else named

    return tuple(each(task) for task in tasks)


def _going_on(task: Task, name: str) -> Task:
    """A task whose `break` ends its segment."""
    rules = tuple(
        rule._replace(directive="jump", to=name, to_span=rule.span) if rule.directive == "break" else rule
        for rule in task.rules
    )
    return task._replace(rules=rules)
