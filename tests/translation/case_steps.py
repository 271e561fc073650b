"""Random steps with `case`, and the playbooks they stand in.

    begin (sets ctx.c) → s (the step) → a | b | c | d, which tell what reached them

`Body` is what the interpreter reads and what `playbook_of` writes down, so neither side reads the other.
"""

from typing import Any, NamedTuple

from hypothesis import strategies as st

from translation.playing import entered, tool
from translation.world import (
    ALWAYS_THERE,
    OF_ERROR,
    OF_HTTP,
    OF_RESULT,
    TRUE,
    Expr,
    conditions,
    http_outcomes,
    outside,
    plain_outcomes,
    workloads,
)

TARGETS = ("a", "b", "c", "d")
OWN = (Expr("s.k", lambda s: s.result("k")), Expr("s.data.k", lambda s: s.result("k")))
"""The step's own result by its own name."""
OF_ITERATION = (*OF_RESULT, *OF_HTTP, *OF_ERROR, *OWN)
"""Paths to what belongs to one run of the tool."""
_asked = conditions | st.sampled_from(
    (
        Expr("s.data.k == 1", lambda s: s.result("k") == 1),
        Expr("s.f", lambda s: bool(s.result("f"))),
    )
)

POLICIES = ("end_step", "break_chain", "defer")


class Work(NamedTuple):
    """A task of a chain, or a sink with its `when`."""

    tag: str
    reads: Expr
    attempts: int
    is_sink: bool
    when: Expr | None


class Put(NamedTuple):
    """A `set`."""

    name: str
    value: Expr


class Next(NamedTuple):
    """A `next`; `policy` is None where that of the step holds."""

    targets: tuple[str, ...]
    sends: Expr | None
    policy: str | None
    priority: int


class CaseRule(NamedTuple):
    """A rule: `events` are those it names, none for any success; `is_else` for `else`.

    `again` are the attempts that its action `retry` gives the tool, `whole` how often its chain may run as a whole
    (`retry.scope: chain`); 0 where there is none.
    """

    events: tuple[str, ...]
    is_else: bool
    asks: Expr
    priority: int
    chain: tuple[Work | Put | Next, ...]
    again: int = 0
    whole: int = 0


class Body(NamedTuple):
    """The step. `items` is the length of its loop, None for no loop; `attempts` 0 for no retry."""

    kind: str
    rules: tuple[CaseRule, ...]
    fallback: tuple[str, ...]
    takes_v: bool
    attempts: int
    mode: str
    order: str
    policy: str
    items: int | None
    workload: dict[str, Any]
    outcomes: dict[str, list[dict[str, Any]]]


def chains(
    tag: str, readable: tuple[Expr, ...], sends: tuple[Expr, ...], *, only: bool = False
) -> st.SearchStrategy[tuple[Work | Put | Next, ...]]:
    reads = st.sampled_from(readable)
    work = st.builds(Work, st.just(tag), reads, st.sampled_from((0, 0, 2)), st.just(False), st.none())
    sink = st.builds(Work, st.just(tag), reads, st.just(0), st.just(True), st.none() | conditions)
    put = st.builds(Put, st.sampled_from(("c", "e")), st.sampled_from(readable[:3]))
    actions = st.lists(st.one_of(work, sink, put), max_size=0 if only else 3)
    targets = st.lists(st.sampled_from(TARGETS), min_size=1, max_size=2, unique=True).map(tuple)
    following = st.builds(Next, targets, st.none() | st.sampled_from(sends), st.none(), st.integers(0, 2))
    return st.builds(lambda done, goes: (*done, *goes), actions, st.lists(following, max_size=1))


@st.composite
def _rule(draw: st.DrawFn, number: int, kind: str, looped: bool, only: bool) -> CaseRule:
    choices = [(), (), ("call.done",), ("call.error",), ("step.exit",), ("call.done", "call.error")]
    events = draw(st.sampled_from([*choices, ("loop.done",), ("loop.done",)] if looped else choices))
    failing = "call.error" in events
    readable = ALWAYS_THERE if failing or "loop.done" in events else ALWAYS_THERE + OF_RESULT + OWN
    if events == ("call.error",) and kind != "http":
        readable = ALWAYS_THERE + OF_ERROR
    elif events in (("call.done",), ("step.exit",)) and kind == "http":
        readable += OF_HTTP
    only = only or "loop.done" in events
    asks = draw(st.just(TRUE) | (outside if only else _asked))
    chain = draw(chains(f"r{number}", readable, readable, only=only))
    chain = tuple(
        part._replace(tag=f"{part.tag}n{at}") if isinstance(part, Work) else part for at, part in enumerate(chain)
    )
    if not chain:
        chain = (Next(("a",), None, None, 0),)
    return CaseRule(events, False, asks, draw(st.integers(0, 2)), chain)


@st.composite
def bodies(draw: st.DrawFn, mode: str = "exclusive", looped: bool = False, repeats: bool = False) -> Body:
    """A step; in a loop it never forks in an iteration's `next`, which has one lowest index. With `repeats` rules try
    the tool again, or their chain as a whole.
    """
    kind = draw(st.sampled_from(("python", "http")))
    only = draw(st.sampled_from((False, False, False, True)))
    rules = [draw(_rule(number, kind, looped, only)) for number in range(draw(st.integers(1, 4)))]
    if draw(st.booleans()):
        last = draw(_rule(len(rules), kind, looped, only))
        if not {"call.error", "loop.done"} & set(last.events):
            rules.append(last._replace(events=(), is_else=True, asks=TRUE, priority=0))
    if repeats:
        rules = [draw(_repeating(rule)) for rule in rules]
    listed = st.lists(http_outcomes if kind == "http" else plain_outcomes, min_size=1, max_size=5 if repeats else 3)
    items = draw(st.integers(0, 3)) if looped else None
    tags = ["tool"] if items is None else [f"tool/{i}" for i in range(items)]
    outcomes = {tag: draw(listed) for tag in tags}
    for rule in rules:
        for part in rule.chain:
            if isinstance(part, Work) and draw(st.integers(0, 4)) == 0:
                failing = draw(st.lists(plain_outcomes, min_size=1, max_size=4 if repeats else 2))
                outcomes |= {
                    part.tag + at: failing for at in ([""] if items is None else [f"/{i}" for i in range(items)])
                }
    attempts = draw(st.sampled_from((0, 0, 2, 3)))
    return Body(
        kind,
        tuple(rules),
        draw(st.lists(st.sampled_from(TARGETS), max_size=2, unique=True).map(tuple)),
        draw(st.just(False) if looped else st.booleans()),  # in a loop `vars` are set once, from the list
        attempts,
        mode,
        draw(st.sampled_from(("source", "priority"))),
        draw(st.sampled_from(POLICIES)),
        items,
        draw(workloads),
        outcomes,
    )


@st.composite
def _repeating(draw: st.DrawFn, rule: CaseRule) -> CaseRule:
    """A rule that tries the tool again, its chain as a whole, or both; an end of the step or of a loop has no more."""
    again = 0 if rule.is_else or {"step.exit", "loop.done"} & set(rule.events) else draw(st.sampled_from((0, 2, 3)))
    whole = draw(st.sampled_from((0, 1, 2, 3))) if any(isinstance(part, Work) for part in rule.chain) else 0
    chain = () if again and draw(st.integers(0, 2)) == 0 else rule.chain
    return rule._replace(again=again, whole=whole, chain=chain)


def playbook_of(body: Body) -> dict[str, Any]:
    """The step in a playbook, in the words of the dialect."""
    return entered(step_of(body), TARGETS, body.workload)


def step_of(body: Body) -> dict[str, Any]:
    """The step itself."""
    who = {"i": "{{ loop_index }}"} if body.items is not None else {}
    step: dict[str, Any] = {"step": "s", "spec": _spec(body), "tool": tool(body.kind, {"tag": "tool", **who})}
    if body.items is not None:
        step["loop"] = {"in": list(range(body.items)), "iterator": "item"}
    if body.takes_v:
        step["vars"] = {"v": "{{ result.k }}"}
    if body.attempts:
        step["retry"] = {"max_attempts": body.attempts}
    step["case"] = [_rule_text(rule, who) for rule in body.rules]
    if body.fallback:
        step["next"] = body.fallback[0] if len(body.fallback) == 1 else list(body.fallback)
    return step


def _spec(body: Body) -> dict[str, str]:
    spec = {"branch_order": body.order}
    if body.mode == "inclusive":
        spec |= {"case_mode": "inclusive", "next_policy": body.policy}
    return spec


def _rule_text(rule: CaseRule, who: dict[str, str]) -> dict[str, Any]:
    actions = [_action(part, who) for part in rule.chain]
    if rule.again:
        actions.insert(0, {"retry": {"max_attempts": rule.again}})
    whole = {"retry": {"scope": "chain", "max_attempts": rule.whole}} if rule.whole else {}
    if rule.is_else:
        return {"else": actions, **whole}
    return {"when": f"{{{{ {_guard(rule)} }}}}", "priority": rule.priority, **whole, "then": actions}


def _guard(rule: CaseRule) -> str:
    match rule.events:
        case ():
            return rule.asks.text
        case (name,):
            asked = f"event.name == '{name}'"
        case names:
            asked = f"event.name in {list(names)}"
    return asked if rule.asks is TRUE else f"{asked} and {rule.asks.text}"


def _action(part: Work | Put | Next, who: dict[str, str]) -> dict[str, Any]:
    match part:
        case Put(name, value):
            return {"set": {name: value.template}}
        case Next(targets, sends, policy, priority):
            args = {"args": {"x": sends.template}} if sends is not None else {}
            following: dict[str, Any] = {"to": [{"step": name, **args} for name in targets], "priority": priority}
            return {"next": following | ({"policy": policy} if policy else {})}
        case Work(tag, reads, attempts, is_sink, when):
            args = {"tag": tag, **who, "read": reads.template}
            if is_sink:
                asked = {} if when is None else {"when": when.template}
                return {"sink": {"tool": {"kind": "postgres", "auth": "pg"}, "table": "t", "args": args, **asked}}
            retry = {"retry": {"max_attempts": attempts}} if attempts else {}
            return {tag: {"tool": tool("python", args), **retry}}
