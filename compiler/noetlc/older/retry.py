"""`retry` of a tool, step or executor, and `on_error` (formal §7, case §4, §7).

lower_retry: `retry` as a mapping, a number or a truth value becomes rules (LANGUAGE §6, formal §7, case §4).

    retry: {max_attempts: 5}             →  [{when: error, then: retry 5}, {else: continue}]
    retry: {retry_when: g}               →  [{when: g, then: retry 3}, {when: ok, then: continue}, {else: fail}]
    retry: {stop_when: s}                →  [{when: not s, then: retry 3}, {when: ok, then: continue}, {else: fail}]
    the same of a task with rules        →  the first of these rules, then its own

A failure that is used up fails with `retry.exhausted`, so no rule with a `when` may follow that takes an error; a
success that is used up stops and keeps what there is. What is not the step's tool inherits a policy for failures only:
a success of what stores is never repeated.
The policy of a step is the default of its tasks, then that of the executor (order: tool, then, step, executor);
`on_error` is one for tasks without any, and the executor's for those without any policy.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

from noetl_ir.expr import Compare, Const, Expr
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.bodies import Choose, Tasks, change_lists, taken, taken_of
from noetlc.ast.playbook import Playbook, Rule, Step, Task
from noetlc.ast.sugar import Sugar
from noetlc.ast.walk import replace_steps
from noetlc.diag.change import Change, ChangeClass, RecordChange
from noetlc.expr.generated import guard
from noetlc.expr.rewrite import Replace
from noetlc.expr.shorthand import OUTCOME_ERROR, OUTCOME_OK, both, negated, path
from noetlc.expr.templates import all_with, guard_with
from noetlc.older.case.nodes import Case, CaseRule
from noetlc.older.http_keys import completed, results_of_tool
from noetlc.older.legacy_names import IN_RULES, Meanings, declared_in, declared_names
from noetlc.older.page_nodes import Pages
from noetlc.older.pages import read_retry
from noetlc.older.poll import Poll
from noetlc.older.repetition import NotRetried, Repetition, names_of_now, retrying
from noetlc.older.sinks import Sink
from noetlc.reading.drafts import ExecutorDraft, StepDraft, StepSpecDraft, TaskDraft
from noetlc.reading.reader import Reader
from noetlc.reading.shapes import choice_of
from noetlc.source.nodes import Node, Scalar


class Retry(Sugar):
    """A repetition that stands at a task or step."""

    policy: Repetition
    span: Span


class OnError(Sugar):
    """`on_error: fail | ignore | retry` of a step or task (case §7)."""

    mode: str
    span: Span


Carrier = StepDraft | TaskDraft | StepSpecDraft | ExecutorDraft


def take_retry(r: Reader, draft: Carrier, key: Scalar, node: Node) -> None:
    """Take `retry` in any form."""
    r.legacy_seen = True
    found = read_retry(r, key, node)
    if found is not None:
        draft.extras.append(found if isinstance(found, Pages) else Retry(found, key.span))


def take_on_error(r: Reader, draft: StepDraft | TaskDraft | StepSpecDraft, key: Scalar, node: Node) -> None:
    """`on_error: fail | ignore | continue | retry`."""
    r.legacy_seen = True
    mode = choice_of(r, node, "`on_error`", ("fail", "ignore", "continue", "retry"))
    if mode is not None:
        draft.extras.append(OnError("ignore" if mode == "continue" else mode, key.span))


BY = "lower_retry"

_TEXT: Meanings = {
    ("error",): path("outcome", "error", "message"),
    **{("error", key): path("outcome", "error", key) for key in ("message", "code", "kind", "retryable")},
}
"""In retry conditions the bare `error` is a message; its keys are those of the error."""


def lower_retry(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which every repetition of a failure is a rule."""
    known = declared_names(playbook)
    executor = playbook.executor
    default = next((extra for extra in executor.extras if isinstance(extra, Retry)), None)
    rest = tuple(extra for extra in executor.extras if not isinstance(extra, Retry))
    playbook = playbook._replace(executor=executor._replace(extras=rest)) if default is not None else playbook
    # Inheritance comes before all else, as the policies of steps and of the executor become those of tasks: from here
    # on each task has all that holds for it.
    playbook = replace_steps(playbook, lambda step: _inherited(step, default, record))
    if default is not None and not any(extra is default for step in playbook.steps for extra in _policies_in(step)):
        said = "nothing: no tool of the playbook inherits it"
        record(Change(BY, default.span, "`retry` of the executor", "safe", said))

    def retried(step: Step) -> Callable[[Task], Task]:
        names = declared_in(step, known)
        return lambda task: _retried(step, task, names, record)

    playbook = change_lists(playbook, lambda step, tasks: tuple(map(retried(step), tasks)))
    # Tasks of sinks are no tasks of the list yet, so that `change_lists` does not come to them.
    return replace_steps(playbook, lambda step: _with_sinks(step, retried(step)))


def _inherited(step: Step, default: Retry | None, record: RecordChange) -> Step:
    """The step's policies as those of its tasks: a list, a poll and `on_error` too; `default` is the executor's."""
    retry, step = _only(step, Retry, record)
    poll, step = _only(step, Poll, record)
    on_error, step = _only(step, OnError, record)
    pages, step = _pages(step)
    if pages is not None and on_error is not None:
        said = "nothing: the list of `retry` policies says what happens to an error"
        record(Change(BY, on_error.span, "`on_error` of a step", "review", said))
        on_error = None
    policies = _Policies(retry, on_error, None if pages is not None else default)  # a list is a policy too
    # Sinks and chains inherit only what is about failures: `stop_when: response.done` of the step is about its tool,
    # and a sink's answer would never be done.
    made = _with_chains(_with_sinks(step, policies.of_failures.inherited_by), policies.of_failures)
    made = made._replace(tasks=tuple(policies.inherited_by(task) for task in made.tasks))
    for policy, word in ((retry, "`retry`"), (on_error, "`on_error`")):
        if policy is not None and not any(extra is policy for extra in _policies_in(made)):
            record(Change(BY, policy.span, f"{word} of a step", "safe", "nothing: no tool of the step inherits it"))
    last = made.tasks[-1]
    if pages is not None:
        pages = pages.with_bodies(lambda tasks: tuple(policies.of_failures.inherited_by(task) for task in tasks))
    added = tuple(extra for extra in (pages, poll) if extra is not None)
    if added:
        # A poll or a list of policies is about the step's result, which is that of its last task.
        made = made._replace(tasks=(*made.tasks[:-1], last._replace(extras=(*last.extras, *added))))
    return step if made == step else made


def _pages(step: Step) -> tuple[Pages | None, Step]:
    """All lists of policies as one: that of `retry`, and what the rules of a case repeat."""
    found = sorted((extra for extra in step.extras if isinstance(extra, Pages)), key=lambda pages: pages.of_case)
    if not found:
        return None, step
    policies = tuple(page for pages in found for page in pages.policies)
    rest = tuple(extra for extra in step.extras if not isinstance(extra, Pages))
    return found[0]._replace(policies=policies), step._replace(extras=rest)


_Policy = TypeVar("_Policy", Retry, Poll, OnError)


def _only(step: Step, kind: type[_Policy], record: RecordChange) -> tuple[_Policy | None, Step]:
    """The first policy of a kind that the step has; it hides another one, of its spec or beside."""
    first, step = taken_of(step, kind)
    while (other := taken_of(step, kind))[0] is not None:
        record(Change(BY, other[0].span, "a second policy of a step", "review", "nothing: the first one holds"))
        step = other[1]
    return first, step


class _Policies(NamedTuple):
    """The policies that tasks inherit: those policies of their step, then of the executor."""

    retry: Retry | None
    on_error: OnError | None
    default: Retry | None

    @property
    def of_failures(self) -> "_Policies":
        """The policies for tasks other than the step's tool: for failures only, since conditions on successes are about
        the tool.
        """
        return self._replace(retry=_of_failures(self.retry), default=_of_failures(self.default))

    def inherited_by(self, task: Task) -> Task:
        """The task with what it inherits."""
        is_called = not task.generated or task.kind != "noop"
        # A wait calls no tool, so that it has nothing to repeat.
        if task.kind == "wait" or not is_called:
            return _with_branches(task, self.inherited_by)
        # The nearest policy holds, as in the order tool, then, step, runtime of case §4.2.
        own = any(isinstance(extra, Retry | Pages | NotRetried) for extra in task.extras)
        added: list[Sugar] = []
        if self.retry is not None and not own:
            added.append(self.retry)
        if self.on_error is not None and not task.rules and not any(isinstance(e, Pages) for e in task.extras):
            added.append(self.on_error)
        if self.default is not None and not (own or added or task.rules):
            added.append(self.default)
        return task._replace(extras=(*task.extras, *added)) if added else task


def _of_failures(retry: Retry | None) -> Retry | None:
    """The policy without what it repeats of successes."""
    if retry is None or (retry.policy.when is None and retry.policy.until is None):
        return retry
    when, until = retry.policy.when, retry.policy.until
    asked = [OUTCOME_ERROR, *([] if when is None else [when.expr]), *([] if until is None else [negated(until.expr)])]
    span = (when or until or retry).span
    return retry._replace(policy=retry.policy._replace(when=guard(both(*asked), span), until=None))


def _with_branches(task: Task, change: Callable[[Task], Task]) -> Task:
    """The task with the tasks in its branches changed. A sink with a condition is such a task."""
    if not any(isinstance(extra, Choose) for extra in task.extras):
        return task

    def each(tasks: Tasks) -> Tasks:
        return tuple(change(inner) for inner in tasks)

    return task._replace(extras=tuple(e.with_bodies(each) if isinstance(e, Choose) else e for e in task.extras))


def _with_sinks(step: Step, change: Callable[[Task], Task]) -> Step:
    """The step with all sinks changed: its own, those of its tasks, and those in chains."""

    def sink(extra: Sugar) -> Sugar:
        if isinstance(extra, Sink):
            return extra._replace(task=change(extra.task))
        return extra.with_bodies(chain) if isinstance(extra, Case | Pages) else extra

    def chain(tasks: Tasks) -> Tasks:
        return tuple(
            task._replace(extras=tuple(sink(e) for e in task.extras)) if task.extras else task for task in tasks
        )

    if not any(step.extras) and not any(task.extras for task in step.tasks):
        return step
    made = step._replace(tasks=chain(step.tasks), extras=tuple(sink(extra) for extra in step.extras))
    return step if made == step else made


def _with_chains(step: Step, policies: _Policies) -> Step:
    """The chains of a case: each inherits its own policy before that of the step; one that is repeated as a whole hides
    that of the step (case §4.2).
    """

    def of_rule(rule: CaseRule) -> CaseRule:
        own, inherited = rule.retry, policies
        if own is not None:
            # A chain that begins anew as a whole must not have tasks that repeat by the step's policy besides: the
            # attempts would multiply.
            is_whole = own.scope == "chain"
            inherited = policies._replace(retry=None if is_whole else Retry(own, own.span), default=None)
        return rule._replace(chain=tuple(inherited.inherited_by(task) for task in rule.chain))

    extras = tuple(
        extra._replace(rules=tuple(of_rule(rule) for rule in extra.rules)) if isinstance(extra, Case) else extra
        for extra in step.extras
    )
    return step._replace(extras=extras)


def _policies_in(step: Step) -> Iterator[Sugar]:
    """The policies that the tasks of a step have, those of its chains, branches and sinks too."""
    waiting = [*step.tasks, *(extra.task for extra in step.extras if isinstance(extra, Sink))]
    waiting += [task for extra in step.extras if isinstance(extra, Case) for body in extra.bodies() for task in body]
    while waiting:
        task = waiting.pop()
        yield from task.extras
        waiting += [extra.task for extra in task.extras if isinstance(extra, Sink)]
        inside = [extra for extra in task.extras if isinstance(extra, Choose | Pages)]
        waiting += [inner for extra in inside for body in extra.bodies() for inner in body]


def _retried(step: Step, task: Task, known: frozenset[str], record: RecordChange) -> Task:
    _, task = taken(task, NotRetried)
    found, task = taken(task, Retry)
    while (other := taken(task, Retry))[0] is not None:
        record(Change(BY, other[0].span, "a second `retry`", "review", "nothing: the first one holds"))
        task = other[1]
    on_error, task = taken(task, OnError)
    # Rules say what happens to each outcome already; `on_error` is the default policy of tasks that have none.
    if on_error is not None and task.rules:
        record(
            Change(
                BY,
                on_error.span,
                "`on_error`",
                "review",
                "nothing: the task has a policy, which says what happens to an error",
            )
        )
        on_error = None
    if found is not None:
        task = _repeating(step, task, found.policy, known, record)
    if on_error is None:
        return task
    rules = _on_error(on_error, task.rules)
    said = "the policy of tasks that have none" if not task.rules else "what happens when a retry is used up"
    said = said if rules != task.rules or not rules else "nothing: `retry` says how often an error is repeated"
    record(Change(BY, on_error.span, "`on_error`", "safe", said))
    return task._replace(rules=rules)


def _repeating(step: Step, task: Task, retry: Repetition, known: frozenset[str], record: RecordChange) -> Task:
    # One attempt is how an inherited `retry` is switched off. A rule for it would turn any error into
    # `retry.exhausted`, and lose its code.
    if retry.attempts == 1:
        record(Change(BY, retry.span, "`retry`", "exact", "no rule: one attempt repeats nothing"))
        return task
    if task.kind == "http":  # what a step or the executor says for all of its tasks is decided for each
        retry = all_with(retry, completed(results_of_tool(known)))
    # The texts say that `stop_when` alone repeats successes too (formal §7.2), the engine did not: a person is to
    # look at it.
    klass: ChangeClass = "review" if retry.until is not None and retry.when is None else "safe"
    record(Change(BY, retry.span, "`retry`", klass, _said(retry)))
    meanings = {**IN_RULES, **_TEXT, ("max_attempts",): Const(retry.attempts)}
    names = names_of_now(step, task, meanings, known)
    return task._replace(rules=_before(task.rules, retry, names) if task.rules else _whole(retry, names))


def _said(retry: Repetition) -> str:
    if retry.until is not None and retry.when is None:
        return "rules that repeat a success too, until `stop_when` is true"
    return "rules that retry; used up, they fail with `retry.exhausted`"


def _before(rules: tuple[Rule, ...], retry: Repetition, names: Replace) -> tuple[Rule, ...]:
    """The rules of a task behind what repeats: they say what happens to an outcome that is not repeated."""
    when = None if retry.when is None else guard_with(retry.when, names)
    until = None if retry.until is None else guard_with(retry.until, names)
    asked = [] if when is None else [when.expr]
    asked += (
        [] if until is None or (when is not None and _is_opposite(when.expr, until.expr)) else [negated(until.expr)]
    )
    span = retry.span if when is None else when.span
    return (retrying(retry, guard(both(*asked) if asked else OUTCOME_ERROR, span), span), *rules)


def _whole(retry: Repetition, names: Replace) -> tuple[Rule, ...]:
    """The rules of a task that has none: what repeats, then what happens to an outcome that is not repeated."""
    repeating = _before((), retry, names)
    if repeating[0].when is not None and repeating[0].when.expr == OUTCOME_ERROR:  # no error is left over
        return (*repeating, Rule(None, "continue", retry.span))
    # The failure comes last and without a guard: a used-up retry asks only rules with one (LANGUAGE §4), so that it
    # keeps its own code.
    return (*repeating, Rule(guard(OUTCOME_OK, retry.span), "continue", retry.span), Rule(None, "fail", retry.span))


def _on_error(on_error: OnError, before: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The policy with what happens to an error that is left: a used-up retry asks rules with a guard."""
    span = on_error.span
    match on_error.mode:
        case "ignore" if not before:
            return (Rule(None, "continue", span),)
        case "ignore":
            # An explicit guard takes the error that is left of a used-up retry; an `else` would not be asked.
            left = Rule(guard(OUTCOME_ERROR, span), "continue", span)
            kept = tuple(rule for rule in before if rule.directive != "fail")
            return (*kept[:-1], left, kept[-1]) if kept[-1].when is None else (*kept, left)
        case "retry" if not before:
            return (Rule(guard(OUTCOME_ERROR, span), "retry", span), Rule(None, "continue", span))
        case _:
            return before


def _is_opposite(asked: Expr, until: Expr) -> bool:
    """Whether one asks `x != a` and the other `x == a`: `x != a and not x == a` says one thing twice."""
    match asked, until:
        case Compare(first=first, rest=((op, right),)), Compare(first=other, rest=((until_op, until_right),)):
            return first == other and right == until_right and {op, until_op} == {"==", "!="}
    return False
