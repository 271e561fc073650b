"""Messages between processes: what is written is read, and nothing else is."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl.messages.encoding import (
    VERSION,
    UnreadableMessage,
    read_answer,
    read_broadcast,
    read_order,
    read_report,
    write_answer,
    write_broadcast,
    write_order,
    write_report,
)
from noetl_ir import codec
from noetl_ir.events import Event, Firing, write_event
from noetl_ir.orders import (
    Answer,
    Check,
    Checked,
    ClaimCheck,
    DrainWorker,
    LeaseHeartbeat,
    OpenLane,
    Report,
    RunPipeline,
    Serving,
    StartChild,
    StopPipeline,
    TakenUp,
    WorkerHeartbeat,
)
from noetl_ir.outcome import LoopValue

JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
MAPPINGS: Any = st.dictionaries(st.text(), JSON, max_size=3)
COUNTS: Any = st.integers(-1, 2**40)
RESULTS: Any = JSON | st.builds(LoopValue, st.lists(JSON, max_size=3), MAPPINGS, st.integers(1, 9))
ORDERS = st.builds(
    RunPipeline, st.text(), COUNTS, st.text(), COUNTS, COUNTS, COUNTS, COUNTS, MAPPINGS, MAPPINGS, MAPPINGS, MAPPINGS,
    st.dictionaries(st.text(), RESULTS, max_size=3), MAPPINGS, JSON, COUNTS,
    st.dictionaries(COUNTS, COUNTS, max_size=3), COUNTS, st.none() | MAPPINGS, st.booleans(), COUNTS,
    st.text(), st.text(), st.text(), st.text(), st.dictionaries(COUNTS, st.text(), max_size=3),
)  # fmt: skip
EVENTS = st.builds(
    Event, st.text(), st.sampled_from(["task.started", "task.done", "retry.started"]), COUNTS, COUNTS, st.text(),
    COUNTS, COUNTS, COUNTS, COUNTS, st.just(()), MAPPINGS,
)  # fmt: skip
REPORTS = st.builds(
    Report, st.text(), st.text(), COUNTS, st.lists(EVENTS, min_size=1, max_size=4).map(tuple), st.text()
)
RUN = RunPipeline("e", 1, "7", 0, 1, 1, 1, {}, {}, {}, {}, {}, {}, None, 0, {0: 1}, 5)


@given(ORDERS)
def test_orders_come_back_as_they_went(order: RunPipeline) -> None:
    found = read_order(write_order(order))
    assert found == order
    assert isinstance(found, RunPipeline)
    assert {name: type(value) for name, value in found.results.items()} == {
        name: type(value) for name, value in order.results.items()
    }


@given(REPORTS, COUNTS)
def test_reports_and_answers_come_back_as_they_went(report: Report, recorded: int) -> None:
    assert read_report(write_report(report)) == report
    assert read_answer(write_answer(Answer(recorded))) == Answer(recorded)
    stop = StopPipeline(report.execution_id, report.run, report.claim)
    assert read_order(write_order(stop)) == stop


@given(st.binary(max_size=60) | JSON.map(codec.pack_unsorted))
def test_no_bytes_are_more_than_unreadable(data: bytes) -> None:
    for read in (read_order, read_report, read_answer):
        with pytest.raises(UnreadableMessage):
            read(data)


@given(REPORTS, st.integers(0, 10_000), st.integers(0, 255))
def test_a_spoilt_report_is_another_report_or_none(report: Report, place: int, byte: int) -> None:
    data = bytearray(write_report(report))
    data[place % len(data)] = byte
    try:
        read_report(bytes(data))
    except UnreadableMessage:
        return


def changed(order: RunPipeline, **fields: object) -> bytes:
    """The bytes of an order with fields as no program writes them."""
    values = [fields.get(name, value) for name, value in zip(order._fields, order, strict=True)]
    values[15], values[-1] = fields.get("visits", [[0, 1]]), fields.get("origins", [])
    return codec.pack_unsorted([VERSION, "run", *values])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"step": "1"}, "`step` is not a int"),
        ({"step": True}, "`step` is not a int"),
        ({"ctx": None}, "`ctx` is not a dict"),
        ({"lost": 0}, "`lost` is not a bool"),
        ({"outcome": []}, "`outcome` is not a dict"),
        ({"results": {"a": 1}}, "neither one value nor that of a loop"),
        ({"results": {"a": [1, 2]}}, "neither one value nor that of a loop"),
        ({"visits": [[0, "x"]]}, "`visits` is not a list of pairs"),
        ({"visits": [0]}, "`visits` is not a list of pairs"),
        ({"origins": [[0, 1]]}, "`origins` is not a list of pairs"),
        ({"origins": [["0", "http://a"]]}, "`origins` is not a list of pairs"),
        ({"origins": {}}, "`origins` is not a list"),
    ],
)
def test_every_field_is_checked(fields: dict[str, object], told: str) -> None:
    assert read_order(changed(RUN)) == RUN
    with pytest.raises(UnreadableMessage, match=told):
        read_order(changed(RUN, **fields))


def test_a_newer_version_is_refused() -> None:
    for read in (read_order, read_answer):
        with pytest.raises(UnreadableMessage, match=f"version {VERSION + 1}; this program knows {VERSION}"):
            read(codec.pack_unsorted([VERSION + 1, "run", {}]))


def framed(*parts: bytes) -> bytes:
    """Parts of a report."""
    return b"".join(struct.pack(">I", len(part)) + part for part in parts)


def test_a_worker_reports_what_workers_report_and_nothing_else() -> None:
    head = codec.pack_unsorted([VERSION, "report", "e", "7", 1, "w", "c0de", 1])
    good = Event("x", "task.done", 1)
    assert read_report(framed(head, write_event(good))) == Report("e", "7", 1, (good,), "w", "c0de")
    for bad in (
        framed(head),
        framed(head, write_event(good), write_event(good)),
        framed(head, b"\x01"),
        framed(head, write_event(good._replace(event_type="playbook.cancelled"))),
        framed(head, write_event(good._replace(fired=(Firing(1, "7", "7"),)))),
        framed(codec.pack_unsorted([VERSION, "report", "e", "7", 1, "w", "c0de", 0])),
        framed(head, write_event(good))[:-1],
        framed(head)[:3],
    ):
        with pytest.raises(UnreadableMessage):
            read_report(bad)


def test_only_orders_to_workers_are_written() -> None:
    with pytest.raises(codec.CodecError, match="no order"):
        write_order(StartChild("e", "7", 1, "7:0:1:1", 0, {}, None, "t"))


def test_what_has_no_events_comes_back_as_it_went() -> None:
    for order in (DrainWorker("w"), ClaimCheck("e", {"key": "k"}), StopPipeline("e", "7", 2, "c0de")):
        assert read_order(write_order(order)) == order
    for said in (LeaseHeartbeat("e", "7", 2, "w:1", "c0de"), ClaimCheck("e", {"key": "k"})):
        assert read_report(write_report(said)) == said
        with pytest.raises(UnreadableMessage):
            read_report(write_report(said) + framed(b"x"))
    for broadcast in (
        WorkerHeartbeat("w", "default", 4, 1, True, "no plan"), Serving("http://127.0.0.1:1"), TakenUp("e", "s"),
        OpenLane("gpu", "team-a"),
        Check("e", ["default", "p"], "d", {"a": [1]}), Checked("e", "w", "p", ["no entry"]),
    ):  # fmt: skip
        assert read_broadcast(write_broadcast(broadcast)) == broadcast
    for wrong in ([VERSION, "check", "e", [1], "d", {}], [VERSION, "checked", "e", "w", "p", [None]]):
        with pytest.raises(UnreadableMessage, match="is not a list of texts"):
            read_broadcast(codec.pack_unsorted(wrong))  # type: ignore[arg-type]
    with pytest.raises(UnreadableMessage, match="no broadcast"):
        read_broadcast(write_answer(Answer(1)))
    with pytest.raises(UnreadableMessage, match="no report"):
        read_report(framed(write_broadcast(Serving("x"))))
