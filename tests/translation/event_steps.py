"""Random steps with `eval_mode: on_event`, the signals that come, and the playbooks they stand in.

    begin (sets ctx.c) → s (the step) → a | b | c | d, which tell what reached them

Signal n comes in second n, and a timeout ends between two of them, so that their order is certain.
"""

from typing import Any, NamedTuple

from hypothesis import strategies as st

from noetl.worker.scripted import Signal
from translation import case_steps
from translation.case_steps import POLICIES, TARGETS, Body, CaseRule, Next, Work
from translation.playing import entered
from translation.world import ALWAYS_THERE, TRUE, Expr, outside, plain_outcomes, workloads

SIGNALS = ("order.changed", "message.received")
TIMER = "timer.fired"
OF_EVENT = (
    Expr("event.data.k", lambda s: s.event["data"].get("k")),
    Expr("event.data.k + vars.c", lambda s: s.event["data"]["k"] + s.ctx["c"]),
)
"""Expressions that read a signal."""
_OF_RESULT = (Expr("result.k", lambda s: s.result("k")),)
_ABOUT_EVENT = (
    Expr("event.data.k == 1", lambda s: s.event["data"].get("k") == 1),
    Expr("event.data.k > 0", lambda s: s.event["data"].get("k", 0) > 0),
    Expr("event.data.f", lambda s: bool(s.event["data"].get("f"))),
)
_ABOUT_RESULT = (
    Expr("result.k == 1", lambda s: s.result("k") == 1),
    Expr("result.f", lambda s: bool(s.result("f"))),
)
_MATCHED = (Expr("event.data.k == result.k", lambda s: s.event["data"].get("k") == s.result("k")),)


class Waiting(NamedTuple):
    """The step: its case, whether a tool runs before it waits, the timeout in seconds, and the signals in order."""

    body: Body
    has_tool: bool
    timeout: float | None
    signals: tuple[tuple[str, dict[str, Any]], ...]


@st.composite
def _rule(draw: st.DrawFn, number: int, events: tuple[str, ...], *, has_tool: bool) -> CaseRule:
    """A rule about one event, or about any."""
    readable: tuple[Expr, ...] = ALWAYS_THERE
    asked: tuple[Expr, ...] = (TRUE,)
    if events and events[0] in SIGNALS:
        readable += OF_EVENT
        asked += _ABOUT_EVENT + (_MATCHED if has_tool else ())
    if events in (("call.done",), ("step.exit",)):
        asked += _ABOUT_RESULT
    if has_tool and events and events[0] != "call.error":
        readable += _OF_RESULT
    chain = draw(case_steps.chains(f"r{number}", readable, readable))
    named = tuple(
        part._replace(tag=f"{part.tag}n{at}", when=None) if isinstance(part, Work) else part
        for at, part in enumerate(chain)
    )
    asks = draw(st.sampled_from(asked) | outside)
    return CaseRule(events, False, asks, draw(st.integers(0, 2)), named or (Next(("a",), None, None, 0),))


@st.composite
def waits(draw: st.DrawFn) -> Waiting:
    """A step that waits for signals."""
    has_tool = draw(st.booleans())
    timeout = draw(st.none() | st.sampled_from((0.5, 1.5, 3.5)))
    names = [(name,) for name in SIGNALS] + ([(TIMER,)] if timeout is not None else [])
    names += [("call.done",), ("call.error",), ("step.exit",)] if has_tool else [()]
    rules = [draw(_rule(0, (draw(st.sampled_from(SIGNALS)),), has_tool=has_tool))]
    for number in range(1, draw(st.integers(1, 4))):
        rules.append(draw(_rule(number, draw(st.sampled_from(names)), has_tool=has_tool)))
    rules = draw(st.permutations(rules))
    if draw(st.integers(0, 3)) == 0:
        last = draw(_rule(len(rules), (), has_tool=has_tool))
        rules.append(last._replace(is_else=True, asks=TRUE, priority=0))
    data = st.fixed_dictionaries({"k": st.integers(0, 2), "f": st.booleans()})
    signals = st.lists(st.tuples(st.sampled_from((*SIGNALS, "other")), data), max_size=4)
    body = Body(
        "python",
        tuple(rules),
        draw(st.lists(st.sampled_from(TARGETS), max_size=1).map(tuple)),
        False,
        0,
        draw(st.sampled_from(("exclusive", "inclusive"))),
        draw(st.sampled_from(("source", "priority"))),
        draw(st.sampled_from(POLICIES)),
        None,
        draw(workloads),
        {"tool": draw(st.lists(plain_outcomes, min_size=1, max_size=1))},
    )
    return Waiting(body, has_tool, timeout, tuple(draw(signals)))


def playbook_of(waiting: Waiting) -> dict[str, Any]:
    """The step in a playbook, in the words of the dialect."""
    step = case_steps.step_of(waiting.body)
    step["spec"]["eval_mode"] = "on_event"
    if waiting.timeout is not None:
        step["spec"]["timeout"] = waiting.timeout
    if not waiting.has_tool:
        del step["tool"]
    return entered(step, TARGETS, waiting.body.workload)


def script_of(waiting: Waiting) -> list[Signal]:
    """The signals with their times."""
    return [Signal(at * 1_000_000, name, data) for at, (name, data) in enumerate(waiting.signals, 1)]
