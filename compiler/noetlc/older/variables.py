"""Assignments: `vars`, `set_ctx`, `set_iter`, `set`, `result`, and root `vars` and `ctx` (formal §5, D10).

lower_vars: `vars`, `set_ctx`, `set_iter` and the `set` of a task become patches on success (LANGUAGE §6).

    tool: t, vars: {n: "{{ result.n }}"}   →   t: rules [{when: error, then: fail}, {else: continue, set_ctx: {n: …}}]

The `set` of a step is one too, of its last task and of what breaks before (REAL.md, D10). In a loop, both are set once,
when the loop is done: `lower_set` does it.

lower_set: what a step sets or gives once becomes a task or step of its own (LANGUAGE §6).

tool: [a, choose: …], set: {ctx.n: "{{ output.data.n }}"}   →  a, …, __s__set, which sets ctx.n = _prev.n
loop: …, set: {ctx.n: …}                            →  the step __s__set between the loop and where it leads
result: v                                           →  __s__result, a noop that gives v

lower_root_vars: root `vars`, `ctx` and `spec` become `workload`, or are set once in an entry step (LANGUAGE §1).

vars: {url: u, n: 0}, and some step sets `n`
    →  workload: {url: u}, reads of `vars.url` follow; the step __start__vars sets ctx.n = 0 and leads to `start`
spec: {url: u}   →  workload: {url: u}, reads of `spec.url` follow: it is another name for `workload`
"""

from noetl_ir.expr import Attribute, Call, Expr, Name, walk
from noetl_ir.paths import static_path
from noetl_ir.span import Span
from noetlc.ast.bodies import HasBodies, Tasks, all_taken, all_tasks, change_lists, map_lists, taken, taken_of
from noetlc.ast.playbook import Pairs, Playbook, Rule, Step, Task, Value
from noetlc.ast.sugar import Sugar
from noetlc.ast.walk import expressions_in, replace_steps
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.generated import expression_of, generated_name, jump, noop
from noetlc.expr.rewrite import Replace
from noetlc.expr.shorthand import otherwise, path, result_of
from noetlc.expr.templates import pairs_with, value_with
from noetlc.older.between import after_loop, on_arc
from noetlc.older.branching import behind
from noetlc.older.following import entered, followed
from noetlc.older.legacy_names import (
    OUTCOME_RESULT,
    RESERVED,
    Meanings,
    below,
    declared_in,
    declared_names,
    own_meanings,
    renamed,
    rule_meanings,
)
from noetlc.older.patching import on_success, set_after, set_at_break
from noetlc.older.set_pairs import split_set
from noetlc.older.storage import is_storage, take_output
from noetlc.reading.drafts import ArcDraft, DocumentDraft, StepDraft, TaskDraft, ThenDraft
from noetlc.reading.reader import Reader
from noetlc.reading.shapes import is_empty
from noetlc.reading.values import read_pairs, read_value
from noetlc.source.nodes import Mapping, Node, Scalar

_ENVELOPE = rule_meanings(Name("outcome"), path("outcome", "result"))
"""What older names are in the `set` of a step: `output` is the envelope."""


class Assign(Sugar):
    """The values that a task, or the last task of a step, sets when it succeeds; `word` is how it was written."""

    word: str
    set_ctx: Pairs
    set_iter: Pairs
    span: Span


class StepSet(Sugar):
    """The values that a step sets once, when all of it is done."""

    word: str
    set_ctx: Pairs
    set_iter: Pairs
    span: Span


class Result(Sugar):
    """`result`: the value that a step gives instead of its tool's."""

    value: Value
    span: Span


class ArcSet(Sugar):
    """`set` of an arc: what is set when it is taken (D10)."""

    set_ctx: Pairs
    span: Span


class RootVars(Sugar):
    """Root `vars` or `ctx` of a playbook."""

    word: str
    pairs: Pairs
    span: Span


def take_vars(r: Reader, draft: StepDraft | TaskDraft, key: Scalar, node: Node) -> None:
    """`vars` and `set_ctx`: keys of `ctx`."""
    r.legacy_seen = True
    draft.extras.append(Assign(f"`{key.text}`", *split_set(r, node, key.text), key.span))


def take_set_iter(r: Reader, draft: StepDraft | TaskDraft, key: Scalar, node: Node) -> None:
    """`set_iter` beside a task's kind."""
    r.legacy_seen = True
    draft.extras.append(Assign("`set_iter`", (), tuple(read_pairs(r, node, "`set_iter`")), key.span))


def take_step_set(r: Reader, draft: StepDraft, key: Scalar, node: Node) -> None:
    """`set` of a step (D10)."""
    r.legacy_seen = True
    draft.extras.append(StepSet("`set`", *split_set(r, node), key.span))


def take_set(r: Reader, draft: TaskDraft, key: Scalar, node: Node) -> None:
    """`set` (D10): `ctx.k`, `iter.k`; a bare key and `step.k` are keys of `ctx`."""
    r.legacy_seen = True
    ctx, scratch = split_set(r, node)
    draft.extras.append(Assign("`set`", ctx, scratch, key.span))


def take_result(r: Reader, draft: StepDraft, key: Scalar, node: Node) -> None:
    """`result: value`, or `{from: value}`."""
    if is_empty(node):
        return
    if is_storage(node):
        take_output(r, draft, key, node)
        return
    r.legacy_seen = True
    inner = node.get("from") if isinstance(node, Mapping) and len(node.entries) == 1 else None
    draft.extras.append(Result(read_value(r, inner or node), key.span))


def take_arc_set(r: Reader, draft: ArcDraft, key: Scalar, node: Node) -> None:
    """`set` of an arc (D10)."""
    r.legacy_seen = True
    ctx, scratch = split_set(r, node)
    draft.extras.append(ArcSet((*ctx, *scratch), key.span))


def take_rule_set(r: Reader, draft: ThenDraft, key: Scalar, node: Node) -> None:
    """`set` of a rule (D10), and `set_vars`: `set_ctx` and `set_iter`."""
    r.respelt(key.span, f"`{key.text}`", "`set_ctx`" if key.text == "set_vars" else "`set_ctx` and `set_iter`")
    ctx, scratch = split_set(r, node)
    draft.set_ctx += ctx
    draft.set_iter += scratch


def take_root_vars(r: Reader, draft: DocumentDraft, key: Scalar, node: Node) -> None:
    """Root `vars` and `ctx`."""
    r.legacy_seen = True
    draft.extras.append(RootVars(f"`{key.text}`", tuple(read_pairs(r, node, f"`{key.text}`")), key.span))


def take_root_hint(r: Reader, draft: DocumentDraft, key: Scalar, node: Node) -> None:
    """Root `tracing` and `assert`: nothing."""
    del draft, node
    said = "nothing: no traces are sent; what a run did is in its log, which `noetl events` shows"
    said = said if key.text == "tracing" else "nothing: no run asks for it"
    r.respelt(key.span, f"root `{key.text}`", said, "review")


BY_VARS = "lower_vars"


def raw_meanings(kind: str, outcome: Expr, result: Expr) -> Meanings:
    """The meanings of `output` in the `set` of a task, where it is the tool's result and not the envelope (LANGUAGE
    §6).

    `output.data` is the result's key of that name, if it has one, else the whole. Keys that only the envelope has are
    read from the envelope. Paths into http results have been completed before (`complete_http_paths`).
    """
    data: Expr = Attribute(result, "data")
    return {
        ("output",): result,
        ("output", "response"): result,
        # The result of http surely has `data`. That of other kinds may have it or not, and authors write
        # `output.data` of both.
        ("output", "data"): data if kind == "http" else otherwise(data, result),
        **{("output", key): below(outcome, (key,)) for key in ("status", "error", "http", "meta")},
    }


def lower_vars(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which rules set variables."""
    known = declared_names(playbook)
    playbook = change_lists(
        playbook, lambda step, tasks: tuple(_of_task(task, declared_in(step, known), record) for task in tasks)
    )
    # Only values hide a name here. Names of steps do not, since the step's own name means its result.
    inputs = frozenset([key for key, _ in playbook.workload]) - RESERVED
    return replace_steps(playbook, lambda step: _vars_of_step(step, inputs, record))


def _of_task(task: Task, known: frozenset[str], record: RecordChange) -> Task:
    while True:
        assign, task = taken(task, Assign)
        if assign is None:
            return task
        raw = raw_meanings(task.kind, Name("outcome"), OUTCOME_RESULT) if assign.word == "`set`" else {}
        names = renamed({**own_meanings(task.name), **raw}, known)
        record(Change(BY_VARS, assign.span, assign.word, "exact", "a patch of the task's policy on success"))
        ctx, scratch = pairs_with(assign.set_ctx, names), pairs_with(assign.set_iter, names)
        _without_own_reference((*ctx, *scratch), record)
        # The values of the task's own rules win over those of `set` beside them, which is the more general of the
        # two.
        task = on_success(task, set_ctx=ctx, set_iter=scratch)


def _vars_of_step(step: Step, inputs: frozenset[str], record: RecordChange) -> Step:
    """The step whose values are set by the rules of its last task, after those that the task sets itself, and by every
    `break` before.
    """
    # Two sorts are left to a task or step behind (`lower_set`): in a loop the last task would set the values once for
    # each item, and a reference to a result exists only when its task has ended.
    if step.loop is not None or _waits_for_reference(step):
        later = [extra for extra in step.extras if isinstance(extra, Assign)]
        sets = [StepSet(assign.word, assign.set_ctx, assign.set_iter, assign.span) for assign in later]
        rest = [extra for extra in step.extras if not isinstance(extra, Assign)]
        return step._replace(extras=(*sets, *rest)) if later else step
    found, step = _taken_sets(step)
    if not found:
        return step
    for assign in found:
        record(Change(BY_VARS, assign.span, assign.word, "exact", "a patch of the last task's policy on success"))
    ctx = tuple(pair for assign in found for pair in assign.set_ctx)
    scratch = tuple(pair for assign in found for pair in assign.set_iter)
    own = {**own_meanings(step.name), **_ENVELOPE}
    last = step.tasks[-1]
    names = renamed({**own, **own_meanings(last.name)}, inputs)
    # The names of the last task and of the step mean the result that has just come (D10 in REAL.md). Left as names they
    # would mean that of the run before.
    last = set_after(last, pairs_with(ctx, names), pairs_with(scratch, names))
    names = renamed(own, inputs)
    ctx, scratch = pairs_with(ctx, names), pairs_with(scratch, names)
    _without_own_reference((*ctx, *scratch), record)
    # A `break` ends the step well before its last task, and the values are set at the end of the step.
    before = tuple(set_at_break(task, ctx, scratch) for task in step.tasks[:-1])
    return step._replace(tasks=(*before, last))


def _waits_for_reference(step: Step) -> bool:
    """Whether a step sets the reference of its own result, which exists only when its task has ended.

    False beside a `case`, whose rules may read what is set.
    """
    if any(type(extra).__name__ == "Case" for extra in step.extras):
        return False
    sets = [extra for extra in step.extras if isinstance(extra, Assign | StepSet)]
    pairs = [pair for extra in sets for pair in (*extra.set_ctx, *extra.set_iter)]
    exprs = [expr for _, value in pairs for expr, _ in expressions_in(value)]
    return any(
        (isinstance(part, Call) and part.callee == Name("ref")) or static_path(part) == ("output", "ref")
        for expr in exprs
        for part in walk(expr)
    )


def _without_own_reference(pairs: Pairs, record: RecordChange) -> None:
    """Refuse values that read the reference of the result that has just come: it does not exist yet."""
    for _, value in pairs:
        for expr, _ in expressions_in(value):
            for part in walk(expr):
                if (
                    isinstance(part, Call)
                    and part.callee == Name("ref")
                    and static_path(part.args[0])[:1] == ("outcome",)
                ):
                    why = "there is none before the step has ended: read it in a step behind"
                    record(Change(BY_VARS, value.span, "the reference of a step's own result", "refused", why))


def _taken_sets(step: Step) -> tuple[list[Assign | StepSet], Step]:
    """The assignments of a step that its last task can make, and the step without them.

    A `set` stays where the step has a `result` of its own, where its last task has sugar that becomes further tasks,
    and where a `break` stands inside of sugar: `lower_set` adds a task behind all of these.
    """
    ends_inside = any(isinstance(extra, HasBodies) for extra in step.tasks[-1].extras)
    bodies = [extra.bodies() for task in step.tasks for extra in task.extras if isinstance(extra, HasBodies)]
    inner = (task for lists in bodies for body in lists for task in all_tasks(body))
    inside = ends_inside or any(rule.directive == "break" for task in inner for rule in task.rules)
    has_result = any(isinstance(extra, Result) for extra in step.extras)
    found: list[Assign | StepSet] = []
    while True:
        assign, step = taken_of(step, Assign)
        if assign is None:
            break
        found.append(assign)
    while not inside and not has_result:
        later, step = taken_of(step, StepSet)
        if later is None:
            break
        found.append(later)
    return found, step


BY_SET = "lower_set"


def lower_set(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which steps set nothing besides their tasks."""
    known = declared_names(playbook)
    made: dict[str, list[Step]] = {}
    steps = behind(tuple(_set_of_step(step, known, made, record) for step in playbook.steps), made)
    between: dict[str, list[Step]] = {}
    steps = tuple(_of_arcs(step, known, between, record) for step in steps)
    return playbook._replace(steps=behind(steps, between))


def _set_of_step(step: Step, known: frozenset[str], made: dict[str, list[Step]], record: RecordChange) -> Step:
    result, step = taken_of(step, Result)
    if result is not None:
        record(Change(BY_SET, result.span, "`result`", "exact", "a noop that gives the step's result"))
        step = _with_result(step, result, known)
    found: list[StepSet] = []
    while True:
        assign, step = taken_of(step, StepSet)
        if assign is None:
            break
        found.append(assign)
        if step.loop is not None:
            record(Change(BY_SET, assign.span, assign.word, "review", "it is set once, when the loop is done"))
        else:
            record(Change(BY_SET, assign.span, assign.word, "exact", "a task after the pipeline"))
    if not found:
        return step
    ctx = dict(pair for assign in found for pair in assign.set_ctx)
    scratch = dict(pair for assign in found for pair in assign.set_iter)
    whole = found[0]._replace(set_ctx=tuple(ctx.items()), set_iter=tuple(scratch.items()))
    return _after_tasks(step, whole, known) if step.loop is None else _after_loop(step, whole, known, made)


def _of_arcs(step: Step, known: frozenset[str], made: dict[str, list[Step]], record: RecordChange) -> Step:
    """A step between for each arc that sets: `set` of an arc outlives its token's args (LANGUAGE §6)."""
    if step.router is None or not any(arc.extras for arc in step.router.arcs):
        return step
    arcs = []
    for number, arc in enumerate(step.router.arcs):
        sets = [extra for extra in arc.extras if isinstance(extra, ArcSet)]
        if not sets:
            arcs.append(arc)
            continue
        span = sets[0].span
        record(Change(BY_SET, span, "`set` of an arc", "exact", "a step between that sets it"))
        pairs = dict(pair for one in sets for pair in one.set_ctx)
        made_arc, between = on_arc(step, arc, tuple(pairs.items()), span, number, known)
        made.setdefault(step.name, []).append(between)
        arcs.append(made_arc)
    return step._replace(router=step.router._replace(arcs=tuple(arcs)))


def _with_result(step: Step, result: Result, known: frozenset[str]) -> Step:
    """The step with a noop at its end that gives its result; rules that end the run jump there."""
    value = _value_of(step)
    names = renamed(rule_meanings(value, value), known)
    last = noop(generated_name(step.name, "result"), result.span, (), pairs_with((("result", result.value),), names))

    def ending(rule: Rule) -> Rule:
        # A `break` would end the step without its `result`, and give the task's instead.
        return rule._replace(directive="jump", to=last.name) if rule.directive == "break" else rule

    tasks = tuple(task._replace(rules=tuple(map(ending, task.rules))) for task in step.tasks)
    return step._replace(
        tasks=(*(new if new != old else old for new, old in zip(tasks, step.tasks, strict=True)), last)
    )


def _value_of(step: Step) -> Expr:
    """The expression for the step's result so far: that of the task at which branches meet, else `_prev`."""
    for word in ("result", "merge"):
        task = next((task for task in step.tasks if task.name == generated_name(step.name, word)), None)
        value = next((value for name, value in task.fields if name == "result"), None) if task is not None else None
        if value is not None:
            return expression_of(value.template)
    return Name("_prev")


def _after_tasks(step: Step, assign: StepSet, known: frozenset[str]) -> Step:
    """The step with a noop behind its pipeline that sets the values; a `break` jumps there."""
    name = generated_name(step.name, "set")
    value = _value_of(step)
    own = own_meanings(step.name, value)
    names = renamed({**rule_meanings(Name("outcome"), value), **own}, known - {step.name})
    patch = _patch(assign, names)

    def to_end(task: Task) -> Task:
        rules = tuple(
            jump(name, rule.span, when=rule.when, set_iter=rule.set_iter)._replace(set_ctx=rule.set_ctx)
            if rule.directive == "break"
            else rule
            for rule in task.rules
        )
        return task if rules == task.rules else task._replace(rules=rules)

    def ended(tasks: Tasks) -> Tasks:
        return tuple(to_end(task) for task in tasks)

    return step._replace(tasks=(*map_lists(step.tasks, ended), noop(name, assign.span, (patch,))))


def _patch(assign: StepSet, names: Replace) -> Rule:
    ctx, scratch = pairs_with(assign.set_ctx, names), pairs_with(assign.set_iter, names)
    return Rule(None, "continue", assign.span, set_ctx=ctx, set_iter=scratch)


def _after_loop(step: Step, assign: StepSet, known: frozenset[str], made: dict[str, list[Step]]) -> Step:
    """The loop, with a step in `made` between it and the targets of its success, which sets the values."""
    name = generated_name(step.name, "set")
    patch = _patch(assign, renamed({**rule_meanings(Name("outcome"), result_of(step.name))}, known))
    step, between = after_loop(step, name, assign.span, patch, known)
    made.setdefault(step.name, []).append(between)
    return step


BY_ROOT = "lower_root_vars"

SPEC = "`spec`"


def lower_root_vars(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook without root variables."""
    found, playbook = all_taken(playbook, RootVars)
    if not found:
        return playbook
    rules = (rule for step in playbook.steps for task in all_tasks(step.tasks) for rule in task.rules)
    # A variable that nothing sets is a constant, and belongs into `workload`, where a payload can give it. One that
    # is set needs its first value in `ctx`.
    written = {key for rule in rules for key, _ in rule.set_ctx}
    pairs: Pairs = tuple(pair for extra in found for pair in extra.pairs)
    in_workload = {key for key, _ in playbook.workload}
    alias = {key for extra in found if extra.word == SPEC for key, _ in extra.pairs}
    for key, value in pairs:
        if key in alias & in_workload:
            record(
                Change(
                    BY_ROOT, value.span, f"`{key}` of root `spec`", "review", "nothing: the value in `workload` counts"
                )
            )
    pairs = tuple(pair for pair in pairs if pair[0] not in alias & in_workload)
    # Root `spec` is another name for `workload` (LANGUAGE §1), which nothing sets.
    written -= alias
    # A key that `workload` has too stays in `ctx`: the two were different values under different roots.
    kept = tuple((key, value) for key, value in pairs if key in written or key in in_workload)
    moved = tuple((key, value) for key, value in pairs if key not in written and key not in in_workload)
    for extra in found:
        record(Change(BY_ROOT, extra.span, f"root {extra.word}", "exact", _said(moved, kept)))
    follow = _follow({key for key, _ in moved}, alias)
    playbook = followed(playbook, follow)
    workload = (*playbook.workload, *((key, value_with(value, follow)) for key, value in moved))
    spans = (*playbook.workload_spans, *((key, value.span) for key, value in moved))
    playbook = playbook._replace(workload=workload, workload_spans=spans)
    return _entered(playbook, kept) if kept else playbook


def _said(moved: Pairs, kept: Pairs) -> str:
    parts = ["keys of `workload`"] if moved else []
    parts += ["set once by a generated entry step"] if kept else []
    return ", others ".join(parts)


def _follow(keys: set[str], alias: set[str]) -> Replace:
    """Reads of moved variables."""

    def replace(expr: Expr) -> Expr | None:
        here = static_path(expr)
        if len(here) == 2 and ((here[0] in ("vars", "ctx") and here[1] in keys) or (here[0] == "spec" and alias)):
            return path("workload", here[1])
        return None

    return replace


def _entered(playbook: Playbook, kept: Pairs) -> Playbook:
    span = kept[0][1].span
    patch = Rule(None, "continue", span, set_ctx=kept)
    return entered(playbook, "vars", noop("", span, (patch,)), span)
