"""`pipe` of a rule: a list of tasks with `catch`, the rules for their failures, and `finally`, what follows a success.

    pipe: [{cut: …}, {sew: …}]
    catch: {cond: [{when: "{{ _task == 'cut' }}", do: skip, set_prev: {n: 0}}, {else: {do: fail}}]}
        →  cut        rules: when it failed: continue, iter.__prev = {n: 0}
           cut_prev   result: iter.__prev where there is one, else _prev; iter.__prev = none
           sew        the default: an error fails

`catch` is asked on failures only, `else` in it too, and a failure that it does not take fails the step. A failed task
that is passed over leaves `_prev` as it was, or gives it `set_prev`; the task before the next one says so, for without
it the failed one would have given nothing. What is known of `_task` is decided here. The step gives the pipe's last
value.

    {when: "{{ _task == 'sew' }}", do: retry, from: cut, attempts: 3}
        →  cut_before   as `cut_prev`; iter.__in_cut = what it gives
           sew          rules: when it failed and iter.__again_cut < 2: jump to cut_before, iter.__again_cut + 1,
                               iter.__prev = iter.__in_cut; when it failed: fail

`from`, or `task`, begins again at that task, with the `_prev` that it had; `attempts` count from the first time. What
is tried too often is asked about by the rules behind that have a condition, and fails with its own error.
"""

from collections.abc import Iterator

from noetl_ir.expr import Binary, Compare, Const, Expr, Literal, Name, Native, Test
from noetl_ir.records import NamedTuple
from noetlc.ast.bodies import Tasks
from noetlc.ast.playbook import Rule, Task, Value
from noetlc.expr.generated import computed, constant, guard, noop
from noetlc.expr.rewrite import rewritten
from noetlc.expr.shorthand import (
    FALSE,
    OUTCOME_ERROR,
    TRUE,
    both,
    chosen,
    compared,
    conjuncts,
    either,
    negated,
    otherwise,
    path,
)
from noetlc.older.events import constants_folded
from noetlc.older.repetition import NotRetried
from noetlc.reading.reader import Reader, stray_keys
from noetlc.reading.shapes import sequence_of
from noetlc.reading.task import read_task
from noetlc.source.nodes import Mapping, Node, Scalar, key_as, mapping_at, sequence_at

PARTS = ("pipe", "catch", "finally")
"""What stands in one mapping with `pipe` and is read with it."""

_KEPT = "__prev"
"""Where the value behind a failed task is kept in `iter` until the next task."""

_FROM = "__from"
"""Where a rule that says `retry` keeps the task that it begins again at, until the rule is made."""


class _Listed(NamedTuple):
    """A task of the list with its rules for failures as `eval`, and how many these are."""

    node: Node
    rules: int


def read_pipe(r: Reader, key: Scalar, node: Node) -> Tasks:
    """The tasks of `pipe`, each with what `catch` says of it."""
    found: list[Task] = []
    for position, (item, count) in enumerate(_listed(r, key, node)):
        task = read_task(r, position, item)
        if task is not None:
            found.append(_on_its_own(_caught(task, count)) if count else task)
    return _threaded(tuple(found))


def _on_its_own(task: Task) -> Task:
    """A task that inherits no `retry`: `catch` says what is tried again."""
    return task._replace(extras=(*task.extras, NotRetried(task.span)))


def _listed(r: Reader, key: Scalar, node: Node) -> Iterator[_Listed]:
    r.respelt(key.span, "`pipe`", "a list of tasks")
    catch: Node | None = None
    if isinstance(node, Mapping) and (inner := node.get("pipe")) is not None:
        stray_keys(r, "case", node, PARTS)
        catch, node = node.get("catch"), inner
    tasks: Node | None = node
    if isinstance(node, Mapping):
        tasks, catch = node.get("steps") or node.get("tasks"), catch or node.get("catch")
    listed = sequence_of(r, node if tasks is None else tasks, "`pipe`", "tasks")
    rules = _rules(r, catch)
    for item in listed.items if listed is not None else ():
        yield _catching(r, item, key, rules)


def _rules(r: Reader, catch: Node | None) -> tuple[Node, ...]:
    cond = catch.get("cond") if isinstance(catch, Mapping) else catch
    listed = None if cond is None else sequence_of(r, cond, "`catch`", "rules")
    return () if listed is None else tuple([_rule(item) for item in listed.items])


def _rule(node: Node) -> Node:
    """A rule of `catch` in words of a policy: `skip` goes on, and `set_prev` is kept in `iter`."""
    if not isinstance(node, Mapping):
        return node
    inner, do = node.key("else") or node.key("then"), node.get("do")
    said = do.text if isinstance(do, Scalar) else ""
    if inner is not None:
        return mapping_at([(k, _branch(k, v) if k is inner else v) for k, v in node.entries], node.span)
    entries: list[tuple[Scalar, Node]] = []
    for key, value in node.entries:
        if key.text == "do" and isinstance(value, Scalar) and value.text == "skip":
            entries.append((key, key_as(value, "continue")))
        elif key.text == "set_prev":
            entries.append((key_as(key, "set_iter"), mapping_at([(key_as(key, _KEPT), value)], key.span)))
        elif key.text in ("from", "task") and said == "retry":
            entries.append((key_as(key, "set_iter"), mapping_at([(key_as(key, _FROM), value)], key.span)))
        else:
            entries.append((key, value))
    return mapping_at(entries, node.span)


def _branch(key: Scalar, node: Node) -> Node:
    """The body of a rule of `catch`: all of them are written without `then`."""
    made = _rule(node)
    if key.text == "then" or not isinstance(made, Mapping) or made.get("then") is not None:
        return made
    return mapping_at([(key_as(key, "then"), made)], node.span)


def _catching(r: Reader, node: Node, at: Scalar, rules: tuple[Node, ...]) -> _Listed:
    """A task of the list: rules of its own are asked before those of the pipe."""
    if not isinstance(node, Mapping):
        return _Listed(node, 0)
    if node.get("kind") is None and len(node.entries) == 1 and isinstance(node.entries[0][1], Mapping):
        label, inner = node.entries[0]
        found = _catching(r, inner, at, rules)
        return found._replace(node=mapping_at([(label, found.node)], node.span))
    own = _rules(r, node.get("catch"))
    if any(isinstance(rule, Mapping) and rule.get("else") is not None for rule in own):
        rules = ()
    every = (*own, *rules)
    if not every:
        return _Listed(node, 0)
    kept = [entry for entry in node.entries if entry[0].text != "catch"]
    return _Listed(
        mapping_at([*kept, (key_as(at, "eval"), sequence_at(list(every), node.span))], node.span), len(every)
    )


def _caught(task: Task, count: int) -> Task:
    """A task whose last `count` rules are those of `catch`, made rules for its own failure; the last of them fails."""
    before: list[Rule] = list(task.rules[:-count])
    caught: list[Rule] = []
    again: list[Expr] = []
    for rule in task.rules[-count:]:
        made = _failing(rule, task.name)
        if made is None:
            continue
        if rule.when is None and made.directive != "fail" and again:  # what is tried too often only a condition takes
            if TRUE in again:
                break
            made = made._replace(when=guard(both(OUTCOME_ERROR, negated(either(*again))), made.span))
        asked = [part for part in conjuncts(_asked(made)) if part != OUTCOME_ERROR]
        is_again = made.directive == "retry"
        caught.append(_begun(made, task.name) if is_again else made)
        if is_again:
            again.append(both(*asked) if asked else TRUE)
        elif not asked:
            break
    if not caught or _asked(caught[-1]) != OUTCOME_ERROR or caught[-1].directive == "retry":
        caught.append(Rule(guard(OUTCOME_ERROR, task.span), "fail", task.span))
    if not before and all(rule.directive == "fail" and _says_no_more(rule) for rule in caught):
        return task._replace(rules=())
    if before and before[-1].when is None:  # what it does anyway is asked last
        caught.append(before.pop())
    return task._replace(rules=(*before, *caught))


def _asked(rule: Rule) -> Expr:
    """The condition of a rule that has one."""
    assert rule.when is not None
    return rule.when.expr


def _failing(rule: Rule, name: str) -> Rule | None:
    """A rule of `catch` as one for a failure of the task `name`; None where it is for another task."""
    asked = (
        TRUE if rule.when is None else constants_folded(rewritten(rule.when.expr, lambda part: _of_task(part, name)))
    )
    if asked == FALSE:
        return None
    span = rule.span if rule.when is None else rule.when.span
    always = asked in (TRUE, OUTCOME_ERROR)
    told = always or any(part == OUTCOME_ERROR for part in conjuncts(asked))
    rule = rule._replace(when=guard(OUTCOME_ERROR if always else asked if told else both(OUTCOME_ERROR, asked), span))
    if rule.directive in ("continue", "jump") and _KEPT not in dict(rule.set_iter):
        rule = rule._replace(set_iter=(*rule.set_iter, (_KEPT, computed(Name("_prev"), span))))
    return rule


def _begun(rule: Rule, name: str) -> Rule:
    """A rule with `retry` of the task `name`; with `from` it becomes a jump back to that task, with a counter of its
    own.
    """
    start = next((value for key, value in rule.set_iter if key == _FROM), None)
    rule = rule._replace(set_iter=tuple([pair for pair in rule.set_iter if pair[0] != _FROM]))
    target = start.template.value if start is not None and isinstance(start.template, Literal) else None
    if start is None or not isinstance(target, str) or target == name:
        return rule
    span = start.span
    begun = otherwise(path("iter", f"__again_{target}"), Const(0))
    left = compared(begun, "<", Const(rule.attempts - 1))
    patch = (
        (f"__again_{target}", computed(Binary("+", begun, Const(1)), span)),
        (_KEPT, computed(otherwise(path("iter", f"__in_{target}"), Name("_prev")), span)),
    )
    return Rule(
        guard(both(_asked(rule), left), span), "jump", rule.span, delay=_pause(rule, begun), to=target, to_span=span,
        set_iter=(*rule.set_iter, *patch), set_ctx=rule.set_ctx,
    )  # fmt: skip


def _pause(rule: Rule, begun: Expr) -> Value | None:
    """The pause of a rule that has begun again `begun` times."""
    if rule.delay is None or rule.backoff == "none":
        return rule.delay
    match rule.delay.template:
        case Native(expr=expr):
            delay: Expr = expr
        case Literal(value=int() | float() as seconds):
            delay = Const(seconds)
        case _:
            return rule.delay
    times = Binary("+", begun, Const(1)) if rule.backoff == "linear" else Binary("**", Const(rule.multiplier), begun)
    return computed(Binary("*", delay, times), rule.delay.span)


def _of_task(expr: Expr, name: str) -> Expr | None:
    """A comparison of `_task` with a text, decided."""
    match expr:
        case Compare(first=Name(name="_task"), rest=(("==" | "!=" as op, Const(value=str() as text)),)):
            return Const((text == name) == (op == "=="))
    return None


def _says_no_more(rule: Rule) -> bool:
    return rule.code is None and rule.message is None and not rule.set_ctx and not rule.set_iter


def _threaded(tasks: Tasks) -> Tasks:
    """The tasks, with a task before each that a failure may lead to: it restores the `_prev` that was kept."""
    leads = [rule for task in tasks for rule in task.rules if _KEPT in dict(rule.set_iter)]
    targets = {rule.to for rule in leads if rule.to is not None}
    again = {task.name for task in tasks for rule in leads if f"__again_{task.name}" in dict(rule.set_iter)}
    made: list[Task] = []
    entries: dict[str, str] = {}
    passed: Task | None = None
    for task in tasks:
        goes_on = passed is not None and _goes_on(passed)
        if goes_on or task.name in targets:
            name = f"{passed.name}_prev" if passed is not None and goes_on else f"{task.name}_before"
            entries[task.name] = name
            made.append(_giving(name, task, remembered=task.name in again))
        made.append(task)
        passed = task
    if passed is not None and _goes_on(passed):
        made.append(_giving(f"{passed.name}_prev", passed, remembered=False))
    return tuple([task._replace(rules=tuple([_led(rule, entries) for rule in task.rules])) for task in made])


def _goes_on(task: Task) -> bool:
    """Whether a failure of the task may be passed over."""
    return any(rule.directive == "continue" and _KEPT in dict(rule.set_iter) for rule in task.rules)


def _led(rule: Rule, entries: dict[str, str]) -> Rule:
    """A rule for a failure, whose jump leads to the restoring task before its target."""
    is_lead = rule.to in entries and _KEPT in dict(rule.set_iter)
    return rule._replace(to=entries[rule.to]) if is_lead and rule.to is not None else rule


def _giving(name: str, task: Task, *, remembered: bool) -> Task:
    """The restoring task: it gives the value that was kept, or else the result of the task before it."""
    kept, span = path("iter", _KEPT), task.span
    value = chosen(Test(otherwise(kept, Const(None)), "none", (), ()), Name("_prev"), kept)
    patch = [(_KEPT, constant(None, span))]
    if remembered:
        patch.insert(0, (f"__in_{task.name}", computed(path("outcome", "result"), span)))
    forget = Rule(None, "continue", span, set_iter=tuple(patch))
    return noop(name, span, (forget,), (("result", computed(value, span)),))._replace(generated=False)
