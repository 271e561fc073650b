"""`pipe` of a rule: a list of tasks with `catch`, the rules for their failures, and `finally`, what follows a success.

    pipe: [{cut: …}, {sew: …}]
    catch: {cond: [{when: "{{ _task == 'cut' }}", do: skip, set_prev: {n: 0}}, {else: {do: fail}}]}
        →  cut        rules: when it failed: continue, iter.__prev = {n: 0}
           cut_prev   result: iter.__prev where there is one, else _prev; iter.__prev = none
           sew        the default: an error fails

`catch` is asked on failures only, `else` in it too, and a failure that it does not take fails the step. A failed task
that is passed over leaves `_prev` as it was, or gives it `set_prev`; the task behind it says so, for without it the
failed one would have given nothing. What is known of `_task` is decided here. The step gives the pipe's last value.
"""

from collections.abc import Iterator

from noetl_ir.expr import Compare, Const, Expr, Name, Test
from noetl_ir.records import NamedTuple
from noetlc.ast.bodies import Tasks
from noetlc.ast.playbook import Rule, Task
from noetlc.expr.generated import computed, constant, guard, noop
from noetlc.expr.rewrite import rewritten
from noetlc.expr.shorthand import FALSE, OUTCOME_ERROR, TRUE, both, chosen, conjuncts, otherwise, path
from noetlc.older.events import folded
from noetlc.reading.reader import Reader, stray_key
from noetlc.reading.shapes import sequence_of
from noetlc.reading.task import read_task
from noetlc.source.nodes import Mapping, Node, Scalar, key_as, mapping_at, sequence_at

PARTS = ("pipe", "catch", "finally")
"""What stands in one mapping with `pipe` and is read with it."""

_KEPT = "__prev"
"""Where the value behind a failed task is kept in `iter` until the next task."""


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
            found += _caught(task, count) if count else (task,)
    return tuple(found)


def _listed(r: Reader, key: Scalar, node: Node) -> Iterator[_Listed]:
    r.respelt(key.span, "`pipe`", "a list of tasks")
    catch: Node | None = None
    if isinstance(node, Mapping) and (inner := node.get("pipe")) is not None:
        for other, _ in node.entries:
            if other.text not in PARTS:
                stray_key(r, "case", other, PARTS)
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
    inner = node.key("else") or node.key("then")
    if inner is not None:
        return mapping_at([(k, _branch(k, v) if k is inner else v) for k, v in node.entries], node.span)
    entries: list[tuple[Scalar, Node]] = []
    for key, value in node.entries:
        if key.text == "do" and isinstance(value, Scalar) and value.text == "skip":
            entries.append((key, key_as(value, "continue")))
        elif key.text == "set_prev":
            entries.append((key_as(key, "set_iter"), mapping_at([(key_as(key, _KEPT), value)], key.span)))
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


def _caught(task: Task, count: int) -> Tasks:
    """A task whose last rules, so many, are those for its failure; behind it what gives `_prev`, if one passes over."""
    before: list[Rule] = list(task.rules[:-count])
    caught: list[Rule] = []
    for rule in task.rules[-count:]:
        made = _failing(rule, task.name)
        if made is not None:
            caught.append(made)
            if made.when is not None and made.when.expr == OUTCOME_ERROR:
                break
    else:
        caught.append(Rule(guard(OUTCOME_ERROR, task.span), "fail", task.span))
    if not before and all(rule.directive == "fail" and _says_no_more(rule) for rule in caught):
        return (task._replace(rules=()),)
    if before and before[-1].when is None:  # what it does anyway is asked last
        caught.append(before.pop())
    task = task._replace(rules=(*before, *caught))
    return (task, _behind(task)) if any(_KEPT in dict(rule.set_iter) for rule in caught) else (task,)


def _failing(rule: Rule, name: str) -> Rule | None:
    """The rule as one of a failure of that task; None where it is of another."""
    asked = TRUE if rule.when is None else folded(rewritten(rule.when.expr, lambda part: _of_task(part, name)))
    if asked == FALSE:
        return None
    span = rule.span if rule.when is None else rule.when.span
    always = asked in (TRUE, OUTCOME_ERROR)
    told = always or any(part == OUTCOME_ERROR for part in conjuncts(asked))
    rule = rule._replace(when=guard(OUTCOME_ERROR if always else asked if told else both(OUTCOME_ERROR, asked), span))
    if rule.directive == "continue" and _KEPT not in dict(rule.set_iter):
        rule = rule._replace(set_iter=(*rule.set_iter, (_KEPT, computed(Name("_prev"), span))))
    return rule


def _of_task(expr: Expr, name: str) -> Expr | None:
    """A comparison of `_task` with a text, decided."""
    match expr:
        case Compare(first=Name(name="_task"), rest=(("==" | "!=" as op, Const(value=str() as text)),)):
            return Const((text == name) == (op == "=="))
    return None


def _says_no_more(rule: Rule) -> bool:
    return rule.code is None and rule.message is None and not rule.set_ctx and not rule.set_iter


def _behind(task: Task) -> Task:
    """The task that gives what was kept, else what the task gave."""
    kept = path("iter", _KEPT)
    value = chosen(Test(otherwise(kept, Const(None)), "none", (), ()), Name("_prev"), kept)
    forget = Rule(None, "continue", task.span, set_iter=((_KEPT, constant(None, task.span)),))
    made = noop(f"{task.name}_prev", task.span, (forget,), (("result", computed(value, task.span)),))
    return made._replace(generated=False)
