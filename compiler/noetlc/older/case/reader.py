"""`case` of a step (case §1–3, formal §8): rules with actions in all their forms."""

from collections.abc import Iterator

from noetlc.ast.bodies import Branch, Choose, Tasks
from noetlc.ast.playbook import Guard, Rule, Task
from noetlc.diag.change import Change
from noetlc.expr.generated import noop
from noetlc.older.case.branch_results import BranchResult, is_paged, read_branch_result, result_of_pipe, result_of_rules
from noetlc.older.case.nodes import Case, CaseRule, CaseSetting, Route
from noetlc.older.loose import read_loose_guard
from noetlc.older.page_nodes import Page, Pages
from noetlc.older.pages import read_page, read_retry
from noetlc.older.pipes import PARTS, read_pipe
from noetlc.older.repetition import Repetition
from noetlc.older.set_pairs import split_set
from noetlc.older.sinks import read_sink
from noetlc.older.targets import read_arcs
from noetlc.reading.drafts import StepDraft, StepSpecDraft
from noetlc.reading.reader import Reader, no_effect, stray_keys, take_all
from noetlc.reading.shapes import choice_of, is_empty, mapping_of, missing, sequence_of, whole_of, wrong_shape
from noetlc.reading.task import read_task
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, mapping_at

_RULE = ("when", "then", "else", "priority", "spec", "retry", "name", "desc")
POLICIES = ("end_step", "break_chain", "defer")


def take_case(r: Reader, draft: StepDraft, key: Scalar, node: Node) -> None:
    """Take `case`; policies that repeat the tool for more pages are its `retry`."""
    r.legacy_seen = True
    listed = sequence_of(r, node, "`case`", "rules")
    if listed is None:
        return
    rules: list[CaseRule] = []
    pages: list[Page] = []
    results: list[BranchResult] = []
    for item in listed.items:
        for rule, page in _rules(r, item, results):
            if page is not None:
                pages.append(page._replace(chain=_of_page(r, rule.chain)))
            else:
                rules.append(rule)
    paged = [one for one in results if is_paged(r, one, pages)]
    if paged:
        names = {one.task.name for one in paged}
        rules = [rule._replace(chain=tuple(task for task in rule.chain if task.name not in names)) for rule in rules]
    if any(one.is_result for one in results if one not in paged):
        draft.extras.append(result_of_rules(key.span))
    if pages:
        draft.extras.append(Pages(tuple(pages), key.span, of_case=True))
    draft.extras.append(Case(tuple(rules), "exclusive", "on_entry", "source", "end_step", None, key.span))


def _of_page(r: Reader, chain: Tasks) -> Tasks:
    """The work of a rule on a page before the next is read."""
    for task in chain:
        for route in [extra for extra in task.extras if isinstance(extra, Route)]:
            why = "the next page is read first: route in a rule for the last page"
            r.changes.append(Change("read", route.span, "`next` of a rule that reads another page", "refused", why))
    return tuple(task for task in chain if not any(isinstance(extra, Route) for extra in task.extras))


def _rules(r: Reader, node: Node, results: list[BranchResult]) -> Iterator[tuple[CaseRule, Page | None]]:
    """The rule, and the page that it asks for instead; a `collect` without one, and `result`, are `results` too."""
    mapping = mapping_of(r, node, "a rule of `case`")
    if mapping is None:
        return
    if [key.text for key, _ in mapping.entries] == ["step"]:  # where all else leads
        yield _rule(r, mapping, None, mapping, results)
        return
    stray_keys(r, "case", mapping, _RULE)
    spec = mapping.get("spec")
    if isinstance(spec, Mapping):
        take_all(r, "case", {"cache": no_effect}, None, spec)
    when, then, other = mapping.get("when"), mapping.get("then"), mapping.get("else")
    guard = None if when is None else read_loose_guard(r, when, "`when`")
    if when is None and other is None:
        missing(r, "the rule's `when`", mapping.span, help='write `when: "{{ … }}"`, or `else:` for the last rule')
        return
    if then is not None and guard is not None:
        yield _rule(r, mapping, guard, then, results)
    if other is not None:
        yield _rule(r, mapping, None, _of_else(r, other), results)


def _of_else(r: Reader, node: Node) -> Node:
    """The actions of `else`, which may stand under a `then` of its own."""
    then = node.get("then") if isinstance(node, Mapping) else None
    if then is None:
        return node
    assert isinstance(node, Mapping)
    stray_keys(r, "case", node, ("then", "desc"))
    return then


def _rule(
    r: Reader, mapping: Mapping, guard: Guard | None, body: Node, results: list[BranchResult]
) -> tuple[CaseRule, Page | None]:
    priority = mapping.get("priority")
    key, node = mapping.key("retry"), mapping.get("retry")
    retry = _repetition(r, key, node) if key is not None and node is not None else None
    actions = list(_actions(r, body))
    again, page = _repeats(r, guard, actions)
    chain: list[Task] = []
    for name, value in actions:
        one = read_branch_result(r, name, value, len(results)) if page is None else None
        if one is not None:
            results.append(one)
            chain.append(one.task)
        else:
            chain += _action(r, name, value)
            if name.text == "pipe":
                results.append(result_of_pipe(name, len(results)))
                chain.append(results[-1].task)
    rule = CaseRule(
        guard,
        tuple(chain),
        (whole_of(r, priority, "`priority`", -1_000_000) or 0) if priority is not None else 0,
        again,
        retry,
        mapping.span,
        priority.span if priority is not None else None,
    )
    return rule, page


def _actions(r: Reader, node: Node) -> Iterator[tuple[Scalar, Node]]:
    """The actions of `then` in order; of a mapping, `next` is the last."""
    if isinstance(node, Sequence):
        for item in node.items:
            if isinstance(item, Mapping) and item.entries:
                if item.get("step") is not None:
                    yield item.entries[0][0], item
                elif len(item.entries) == 1:
                    yield item.entries[0]
                elif item.get("pipe") is not None:
                    yield from _piped(r, item)
                else:
                    yield item.key("name") or item.entries[0][0], item
            elif not is_empty(item):
                wrong_shape(r, item, "an action", "`{next: …}` or `{name: {tool: …}}`")
    elif isinstance(node, Mapping):
        if node.get("step") is not None or node.get("kind") is not None or node.get("tool") is not None:
            yield node.entries[0][0], node
            return
        for entry in sorted(node.entries, key=lambda entry: entry[0].text == "next"):
            if entry[0].text == "pipe":
                yield from _piped(r, mapping_at([one for one in node.entries if one[0].text in PARTS], node.span))
            elif entry[0].text not in PARTS or node.get("pipe") is None:
                yield entry
    elif not is_empty(node):
        wrong_shape(r, node, "`then`", "a list of actions")


def _piped(r: Reader, node: Mapping) -> Iterator[tuple[Scalar, Node]]:
    """A pipe, and the actions of its `finally`: they follow a success, failures that were taken included."""
    key, last = node.key("pipe"), node.get("finally")
    assert key is not None
    yield key, node
    if last is not None:
        yield from _actions(r, last)


def _repeats(
    r: Reader, guard: Guard | None, actions: list[tuple[Scalar, Node]]
) -> tuple[Repetition | None, Page | None]:
    """The action that repeats the tool: `retry`, and with `collect` or params the next page."""
    named = {key.text: (key, value) for key, value in actions}
    collect, calls = named.get("collect"), named.get("call")
    retry = named.get("retry") or (calls if calls is not None and _is_next_call(calls[1]) else None)
    if retry is None:
        return None, None
    key, body = retry
    if isinstance(body, Mapping) and (collect or any(body.get(name) for name in ("params", "next_call", "args"))):
        actions[:] = [entry for entry in actions if entry[0] is not key and (not collect or entry[0] is not collect[0])]
        entries = [*body.entries, *([collect] if collect is not None else [])]
        return None, read_page(r, mapping_at(entries, key.span), guard)
    actions[:] = [entry for entry in actions if entry[0] is not key]
    return _repetition(r, key, body), None


def _is_next_call(node: Node) -> bool:
    """Whether `call` says what the tool is called with next, and not which step follows."""
    return isinstance(node, Mapping) and node.get("step") is None and node.get("params") is not None


def _repetition(r: Reader, key: Scalar, node: Node) -> Repetition | None:
    """A policy of one kind; a list has a place of its own."""
    found = read_retry(r, key, node)
    if isinstance(found, Pages):
        wrong_shape(r, node, "`retry` of a rule", "one policy: a list is the `retry` of a step or task")
        return None
    return found


def _action(r: Reader, key: Scalar, node: Node) -> Tasks:
    """The tasks that an action is."""
    at = key.span
    match key.text:
        case "next" | "call":
            return _route(r, key, node)
        case "step":
            return (_carrier("__next", key, Route(read_arcs(r, node), "", 0, at)),)
        case "sink" | "save":
            sink = read_sink(r, key, node)
            if sink is None:
                return ()
            store = sink.task._replace(name="__sink", name_span=at, generated=True)
            return (
                (store,)
                if sink.when is None
                else (_carrier("__when", key, Choose((Branch(sink.when, (store,), at),), at)),)
            )
        case "set" | "vars" | "set_ctx":
            ctx, scratch = split_set(r, node)
            rule = Rule(None, "continue", at, set_ctx=ctx, set_iter=scratch)
            return (noop("__set", at, (rule,)),)
        case "pipe":
            return read_pipe(r, key, node)
        case "log" if isinstance(node, Scalar):
            no_effect(r, None, key, node)
            return ()
        case "skip" | "desc" | "description":
            r.respelt(at, f"`{key.text}` in `then`", "nothing: it does nothing", "safe")
            return ()
        case _:
            named = node if isinstance(node, Mapping) and node.key(key.text) is not None else None
            task = read_task(r, 0, named or mapping_at([(key, node)], at))
            return () if task is None else (task,)


def _route(r: Reader, key: Scalar, node: Node) -> Tasks:
    policy, priority = "", 0
    chosen: Node | None = None
    rank: Node | None = None
    arcs = read_arcs(r, node)
    if isinstance(node, Mapping):
        chosen, rank = node.get("policy"), node.get("priority")
        policy = choice_of(r, chosen, "`policy`", POLICIES) or "" if chosen is not None else ""
        priority = whole_of(r, rank, "`priority`", -1_000_000) or 0 if rank is not None else 0
    at, place = (None if one is None else one.span for one in (chosen, rank))
    return (_carrier("__next", key, Route(arcs, policy, priority, key.span, at, place)),)


_SETTINGS = {
    "case_mode": ("mode", ("exclusive", "inclusive")),
    "eval_mode": ("eval", ("on_entry", "on_event")),
    "branch_order": ("order", ("source", "priority")),
    "next_policy": ("policy", POLICIES),
}


def take_setting(r: Reader, draft: StepDraft | StepSpecDraft, key: Scalar, node: Node) -> None:
    """`case_mode`, `eval_mode`, `branch_order` and `next_policy` of a step or its spec."""
    r.legacy_seen = True
    word, values = _SETTINGS[key.text]
    value = choice_of(r, node, f"`{key.text}`", values)
    if value is not None:
        draft.extras.append(CaseSetting(word, value, key.span))


def _carrier(name: str, key: Scalar, sugar: Route | Choose) -> Task:
    return noop(name, key.span)._replace(extras=(sugar,))
