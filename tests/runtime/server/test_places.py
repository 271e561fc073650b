"""Places under keys (EXTENSIONS §2, `concurrency`): who is placed, waits, is refused, or would wait for ever.

Random callers and waits are held against a search that tries every order in which executions can come to their ends.
"""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.running import compiled, run
from noetl.app.picture import Queue, rows_of
from noetl.engine.evolve import evolve
from noetl.engine.execution import Execution
from noetl.ports.places import PlaceRow
from noetl.server.places import PlaceDecision, answers, holders_of, is_circle, judged, waiting_before
from noetl_ir.plan_format import read_plan
from playbooks import HEAD


def placed(name: str, key: str = "k", root: str = "", above: tuple[str, ...] = (), number: int = 1) -> PlaceRow:
    return PlaceRow(key, name, root or name, placed=True, above=above, number=number)


def waits(name: str, key: str = "k", number: int = 9, **more: Any) -> PlaceRow:
    return PlaceRow(key, name, name, placed=False, number=number, **more)


def kind(rows: list[PlaceRow], asked: PlaceRow) -> str:
    return judged(rows, asked)[0].kind


def test_who_comes_when_there_is_room_is_placed_and_who_asked_before_goes_first() -> None:
    assert kind([], waits("a", number=0)) == "placed"
    assert kind([placed("x")], waits("a", number=0)) == "queued"
    assert kind([placed("x")], waits("a", number=0, limit=2)) == "placed"
    assert kind([placed("x", "other")], waits("a", number=0)) == "placed"
    # Nobody overtakes, also where its own limit would have room for it.
    assert kind([placed("x"), waits("first", number=2)], waits("a", number=0, limit=5)) == "queued"
    assert kind([waits("first", number=2), waits("a", number=3)], waits("a")) == "queued"
    assert kind([waits("a", number=3), waits("b", number=4)], waits("a")) == "placed"
    # One that was placed before a crash is placed.
    assert kind([placed("a"), placed("b"), placed("c")], waits("a")) == "placed"


def test_a_place_is_held_by_all_that_run_under_it_together() -> None:
    rows = [placed("x"), placed("child", root="x", above=("x",), number=2), placed("y", number=3)]
    assert holders_of(rows, "k") == ("x", "y")
    assert kind(rows, waits("a", number=0, limit=3)) == "placed"
    assert kind(rows[1:], waits("a", number=0, limit=2)) == "queued"


@pytest.mark.parametrize("way", ["skip", "fail"])
def test_who_does_not_want_to_wait_is_refused_and_leaves_no_trace(way: str) -> None:
    assert judged([placed("x")], waits("a", number=0, on_conflict=way)) == (PlaceDecision("refused", way, ("x",)), ())


def test_who_cancels_takes_the_oldest_and_ends_others_of_its_kind_that_wait() -> None:
    rows = [
        placed("x", number=1), placed("y", number=2), waits("z", number=3, on_conflict="cancel_running"),
        waits("q", "other", number=4, on_conflict="cancel_running"),
    ]  # fmt: skip
    verdict, written = judged(rows, waits("a", number=0, limit=2, on_conflict="cancel_running"))
    assert verdict == PlaceDecision("queued", "", ("x", "y"), ("x",))
    assert [(row.execution_id, row.on_conflict) for row in written] == [("z", ""), ("a", "cancel_running")]
    assert judged([placed("x"), written[0]], waits("z"))[0] == PlaceDecision("refused", "replaced", ("x",))
    # Who queues waits for neither of them longer than for the place.
    assert kind([written[0]], waits("b", number=0)) == "placed"


def test_two_who_hold_what_the_other_waits_for_are_a_circle() -> None:
    rows = [placed("p", "a"), placed("q", "b"), waits("c", "b", above=("p",), number=3)]
    assert not is_circle(rows[:2], rows[2])
    assert kind(rows, waits("d", "a", number=0, above=("q",))) == "refused"
    # With a second holder that waits for nobody there is a place for it some time.
    more = [*rows, placed("r", "a", number=4)]
    assert kind(more, waits("d", "a", number=0, limit=2, above=("q",))) == "queued"


NAMES = ["p", "q", "r", "s"]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[PlaceRow], PlaceRow]:
    """Some who hold places, and some who run under them and wait, of which none was refused; and one who asks."""
    rows = [placed(name, draw(st.sampled_from("ab")), number=n + 1) for n, name in enumerate(NAMES)]
    children = draw(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from("ab"), st.integers(1, 4)), max_size=4))
    asked = None
    for n, (parent, key, limit) in enumerate(children):
        row = waits(f"{parent}{n}", key, number=10 + n, limit=limit, above=(parent,))
        asked = row
        if not is_circle(rows, row):
            rows.append(row)
    last = draw(st.tuples(st.sampled_from(NAMES), st.sampled_from("ab"), st.integers(1, 4)))
    asked = waits("new", last[1], number=0, limit=last[2], above=(last[0],))
    return rows, asked


def can_be_placed(rows: list[PlaceRow], asked: PlaceRow) -> bool:
    """Whether some order of ends and placings gives who asks its place: tried one by one, until nothing changes."""
    rows = [*rows, asked._replace(number=99)]
    while True:
        mine = next(row for row in rows if row.execution_id == asked.execution_id)
        if mine.placed:
            return True
        for row in rows:
            blocked = any(other.execution_id != row.execution_id and row.execution_id in other.above for other in rows)
            if row.placed and not blocked:  # nobody runs under it any more: it can come to its end
                rows = [other for other in rows if other is not row]
                break
            earlier = any(not other.placed and other.key == row.key and other.number < row.number for other in rows)
            if not row.placed and not earlier and len(holders_of(rows, row.key)) < row.limit:
                rows = [other._replace(placed=True) if other is row else other for other in rows]
                break
        else:
            return False


@given(worlds())
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
def test_who_would_wait_for_ever_is_told_and_nobody_else(world: tuple[list[PlaceRow], PlaceRow]) -> None:
    rows, asked = world
    assert is_circle(rows, asked) is not can_be_placed(rows, asked)


WAYS = ("queue", "skip", "fail", "cancel_running")
moves = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.sampled_from("kl"), st.integers(1, 3), st.sampled_from(WAYS)),
        st.tuples(st.just("end"), st.integers(0, 9)),
        st.tuples(st.just("look"), st.integers(0, 9)),
    ),
    max_size=25,
)


@given(moves)
@settings(max_examples=300, deadline=None, derandomize=True, database=None)
def test_at_no_time_more_hold_a_key_than_who_takes_it_allows(moves: list[tuple[Any, ...]]) -> None:
    """Executions that ask, end, and are looked at again, one by one or several at once. `rows` is what a store has."""
    rows: list[PlaceRow] = []
    asking: list[PlaceRow] = []
    for number, (what, *rest) in enumerate(moves):
        if what == "ask":
            asking.append(waits(f"e{number}", rest[0], number=0, limit=rest[1], on_conflict=rest[2]))
            looked = asking[-1:]
        elif what == "end":
            names = [row.execution_id for row in rows if row.placed]
            over = names[rest[0] % len(names)] if names else ""
            rows = [row for row in rows if row.execution_id != over]
            continue
        else:
            looked = asking[rest[0] % (len(asking) + 1) :]
        decisions, changed = answers(rows, looked)
        before = {row.execution_id for row in rows if row.placed}
        for row in changed:
            row = row if row.number else row._replace(number=1 + max((each.number for each in rows), default=0))
            rows = [each for each in rows if each.execution_id != row.execution_id] + [row]
        for asked in looked:
            if decisions[asked.execution_id].kind == "placed":
                others = {each.execution_id for each in rows if each.key == asked.key and each.execution_id in before}
                assert asked.execution_id in before or len(others) < asked.limit
                mine = next(row for row in rows if row.execution_id == asked.execution_id)
                first = [each for each in rows if (each.key, each.placed) == (asked.key, False)]
                assert not [each for each in first if each.number < mine.number and each.on_conflict]
                before.add(asked.execution_id)
        asking = [each for each in asking if decisions.get(each.execution_id, _OPEN).kind == "queued"]


_OPEN = PlaceDecision("queued")


CHILD = """---
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: c, path: t/c}
executor: {spec: {concurrency: {key: k}}}
workflow: [{step: start, tool: {name: work, kind: http, url: "http://x"}}]
"""


def test_one_that_is_cancelled_while_it_waits_has_no_phases_and_holds_nobody_up() -> None:
    text = """
workflow:
  - step: start
    loop: {in: [0, 1, 2], iterator: n, spec: {mode: parallel}}
    spec: {policy: {lifecycle: {timeout_s: 4}}}
    tool: {kind: playbook, path: t/c}
""" + CHILD.replace("{key: k}", "{key: k}, finally: tidy").replace("}]", "}, {step: tidy, tool: {kind: noop}}]")
    ran = run(HEAD + text, {"outcomes": [{"task": "work", "takes": 3}]})
    ends = [(name, event.data) for name, _, event in ran.seen if event.event_type == "workflow.finished"]
    assert sorted(str(data["status"]) for _, data in ends) == ["cancelled", "cancelled", "completed", "failed"]
    waited = {name for name, _, event in ran.seen if event.event_type == "workflow.started"}
    assert [data.get("after") for name, data in ends if name not in waited] == [None]


def test_a_picture_of_one_that_waits_names_who_holds_what_it_waits_for() -> None:
    text = (
        "workflow: [{step: start, tool: {kind: playbook, path: t/c, wait: false}, next: {arcs: [{step: work}]}}, "
        + ("{step: work, tool: {kind: playbook, path: t/c}}]\n")
    )
    ran = run(HEAD + text + CHILD, {"outcomes": [{"task": "work", "takes": 3}]})
    program = next(program for name, program, _ in ran.seen if name != "e1")
    waiting = next(name for name, _, event in ran.seen if event.event_type == "playbook.queued")
    events = [event for name, _, event in ran.seen if name == waiting]
    asks = Execution(waiting, program)
    for event in events[: [event.event_type for event in events].index("playbook.queued") + 1]:
        evolve(program, asks, event)
    [holder] = {name for name, _, _ in ran.seen} - {"e1", waiting}
    [row] = rows_of(program, asks)
    assert (row.what, row.data) == ("place", {"key": "k", "holders": [holder], "before": []})
    [row] = rows_of(program, asks, queue=Queue(("another",)))
    assert row.text == "waits for a place under `k`, held by another"
    [row] = rows_of(program, asks, queue=Queue((), ("one", "two"), frozenset({"one"})))
    assert row.text == "waits for a place under `k`, behind one (no process drives it), two"
    assert row.data == {"key": "k", "holders": [], "before": ["one", "two"]}


def test_the_queue_has_who_asked_before_in_that_order() -> None:
    def asked(name: str, number: int, *, placed: bool = False, key: str = "k") -> PlaceRow:
        return PlaceRow(key, name, name, placed, number=number)

    rows = [asked("c", 3), asked("a", 1, placed=True), asked("b", 2), asked("d", 4), asked("x", 1, key="other")]
    assert [row.execution_id for row in waiting_before(rows, "k", "d")] == ["b", "c"]
    assert waiting_before(rows, "k", "b") == waiting_before(rows, "k", "nobody") == ()


def test_a_plan_without_the_key_is_as_it_was() -> None:
    assert read_plan(compiled(HEAD + "workflow: [{step: start}]")).edition == 3
