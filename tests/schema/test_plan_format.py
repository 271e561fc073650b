"""noetl_ir.plan_format, as bytes and as JSON: round trips, refusals, and what no bytes may do to the loader."""

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import goldens
from harness.mutating import sealed
from nets import plan_of, steps
from noetl_ir import codec
from noetl_ir.expr import Const, Literal, MapTemplate, Name, Native
from noetl_ir.net import Transition
from noetl_ir.plan import Child, Limits, Plan
from noetl_ir.plan_format import HEADER, VERSION, PlanError, digest_of, open_plan, read_plan, write_plan
from noetl_ir.plan_format.json import plan_from_json, plan_schema, plan_to_json
from noetl_ir.plan_format.packed import PackedTable
from noetlc.pipeline import compile_source

CASES = [case for case in goldens.cases() if case.stage in ("net", "plan")]
ONE = plan_of(steps("step: start"))
PLANS = jsonschema_rs.Draft202012Validator(plan_schema())


def plan_in(path: Path) -> Plan:
    return compile_source(path.name, path.read_bytes()).plans[0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_golden_plan_is_read_back_as_it_was(case: goldens.Case) -> None:
    plan = plan_in(case.path)
    data = write_plan(plan)
    assert read_plan(data) == plan
    assert write_plan(read_plan(data)) == data
    assert plan_from_json(json.loads(json.dumps(plan_to_json(plan)))) == plan


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_plan_to_run_is_the_one_that_is_read(case: goldens.Case) -> None:
    data = write_plan(plan_in(case.path))
    whole = read_plan(data)
    for plan in (open_plan(data), open_plan(data, verified=True)):
        assert plan == whole and write_plan(plan) == data
        assert hash(plan.net) == hash(whole.net) and repr(plan) == repr(whole)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_step_of_a_net_has_its_transitions_together_and_alone_takes_from_its_places(case: goldens.Case) -> None:
    net = open_plan(write_plan(plan_in(case.path)), verified=True).net
    assert [t.step for t in net.transitions] == sorted(t.step for t in net.transitions)
    assert all(net.places[arc.place].step == t.step for t in net.transitions for arc in t.inputs)
    assert isinstance(net.transitions, PackedTable)
    for name in ("step", "task", "fault"):
        column = net.transitions.numbers(Transition._fields.index(name))
        assert list(column) == [getattr(t, name) for t in net.transitions]


@pytest.mark.parametrize("at", [12, 40, HEADER + 3, -1])
def test_bytes_are_those_that_were_verified_or_refused(at: int) -> None:
    data = bytearray(write_plan(ONE))
    data[at] ^= 1
    with pytest.raises(PlanError, match=r"altered|truncated"):
        open_plan(bytes(data), verified=True)


def test_what_nobody_asks_of_a_verified_plan_is_not_read() -> None:
    """A plan that is damaged where nobody looks, signed anew: only one that is not known is read through."""
    data = write_plan(plan_of(steps("step: start, desc: x, next: {arcs: [{step: end}]}", "step: end")))
    broken = sealed(data[HEADER:].replace(b"start", b"st\xffrt"), version=ONE.edition)
    with pytest.raises(PlanError):
        open_plan(broken)
    plan = open_plan(broken, verified=True)
    assert len(plan.net.places) > 3 and plan.entry == 0
    with pytest.raises(ValueError, match="damaged"):
        plan.net.places[0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_json_form_of_every_golden_plan_is_valid(case: goldens.Case) -> None:
    PLANS.validate(plan_to_json(plan_in(case.path)))


@pytest.mark.parametrize("change", [{"name": "other"}, {"best_effort": True}, {"digest": "0" * 64}, {"digest": None}])
def test_a_json_form_that_was_altered_is_refused(change: dict[str, object]) -> None:
    document = json.loads(json.dumps(plan_to_json(ONE)))
    assert plan_from_json(json.loads(json.dumps(document, sort_keys=True, indent=3))) == ONE
    with pytest.raises(PlanError, match="altered: its digest is not that of its content"):
        plan_from_json({**document, **change})


def test_a_json_form_without_its_digest_is_refused() -> None:
    document = plan_to_json(ONE)
    del document["digest"]
    with pytest.raises(PlanError, match="digest"):
        plan_from_json(document)


def test_what_python_takes_for_equal_is_kept_apart() -> None:
    values = (True, 1, 1.0, 0.0, -0.0, 2**70, "1", "\ud800", None)
    templates = (
        *ONE.templates,
        *(Literal(value) for value in values),
        *(Native(Const(value), "x") for value in values),
        Literal({"b": 1, "a": {"z": [], "y": 2}}),
        MapTemplate((("b", Native(Name("x"), "x")), ("a", Literal(True)))),
    )
    plan = ONE._replace(templates=templates, template_spans=(ONE.steps[0].span,) * len(templates))
    again = read_plan(write_plan(plan))
    assert [repr(each) for each in again.templates] == [repr(each) for each in templates]


def test_children_are_embedded_and_their_digest_is_checked() -> None:
    data = write_plan(ONE)
    plan = ONE._replace(children=(Child("a", digest_of(data), data), Child("b", digest_of(data), data)))
    assert read_plan(write_plan(plan)) == plan
    other = write_plan(ONE._replace(name="other"))
    with pytest.raises(PlanError, match="not the one that was named"):
        read_plan(write_plan(plan._replace(children=(Child("a", digest_of(data), other),))))


def test_a_plan_of_the_first_format_is_read_and_stays_what_it_is() -> None:
    data = write_plan(ONE._replace(edition=1))
    assert data[8:10] == b"\x00\x01" and data[8:10] != write_plan(ONE)[8:10]
    plan = read_plan(data)
    assert plan.edition == 1 and open_plan(data).edition == 1 and write_plan(plan) == data
    form = plan_to_json(plan)
    assert form["version_of_format"] == 1 and plan_from_json(form) == plan
    PLANS.validate(form)
    for other in (0, 4, True, 1.0, "1", None):
        with pytest.raises(PlanError, match="format"):
            plan_from_json({**form, "version_of_format": other})
    with pytest.raises(PlanError, match="altered"):
        plan_from_json({**form, "version_of_format": 2})


@pytest.mark.parametrize("edition", [1, 2])
def test_limits_that_came_later_have_their_defaults_in_earlier_formats(edition: int) -> None:
    plan = ONE._replace(edition=edition, limits=Limits(5, 6, 7, 8))
    data = write_plan(plan)
    assert read_plan(data).limits == (5, 6, 7, 8, 1_000_000, 100_000)
    form = plan_to_json(plan)
    assert form["limits"] == {
        "max_payload_bytes": 5, "max_tasks_per_run": 6, "max_lost": 7, "max_children_depth": 8,
    }  # fmt: skip
    PLANS.validate(form)
    assert plan_from_json(form) == plan
    with pytest.raises(PlanError, match="no such limits"):
        plan_from_json({**form, "limits": {**form["limits"], "max_tokens": 9}})  # type: ignore[dict-item]


def test_limits_of_the_present_format_are_all_there() -> None:
    plan = ONE._replace(limits=Limits(5, 6, 7, 8, 9, 10))
    assert read_plan(write_plan(plan)).limits == plan_from_json(plan_to_json(plan)).limits == (5, 6, 7, 8, 9, 10)


def test_the_digest_changes_with_the_plan_and_needs_no_reading() -> None:
    data = write_plan(ONE)
    assert digest_of(data) == write_plan(ONE)[18:50].hex()
    assert digest_of(data) != digest_of(write_plan(ONE._replace(name="other")))
    with pytest.raises(PlanError):
        digest_of(data[:20])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"apiVersion: noetl.io/v2\n" * 5, "not a plan"),
        (write_plan(ONE)[:30], "truncated"),
        (write_plan(ONE)[:-1], "truncated"),
        (write_plan(ONE) + b"x", "altered"),
        (write_plan(ONE)[:-1] + b"\x00", "altered"),
        (sealed(b"\x00", version=VERSION + 1), "newer"),
        (sealed(b"\x00", version=0), "not the one known"),
        (sealed(b"\xff\xff"), "damaged"),
        (sealed(codec.pack([])), "damaged"),
        (sealed(b"\x91" * 2000 + b"\x00"), "damaged"),
    ],
)
def test_what_is_no_plan_is_refused_with_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(PlanError, match=reason):
        read_plan(data)


def test_any_cut_is_refused() -> None:
    data = write_plan(ONE)
    for length in range(0, len(data), 7):
        with pytest.raises(PlanError):
            read_plan(data[:length])


BODIES = [write_plan(plan_in(case.path))[HEADER:] for case in CASES]


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_no_mutation_of_a_plan_crashes_the_loader(data: st.DataObject) -> None:
    body = bytearray(data.draw(st.sampled_from(BODIES)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body) - 1))
        match data.draw(st.sampled_from(("set", "cut", "put"))):
            case "set":
                body[at] = data.draw(st.integers(0, 255))
            case "cut":
                del body[at : at + data.draw(st.integers(1, 9))]
            case _:
                body[at:at] = data.draw(st.binary(min_size=1, max_size=9))
        if not body:
            body = bytearray(b"\x00")
    with suppress(PlanError):
        read_plan(sealed(bytes(body)))


PIECES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 200), st.text(max_size=3), st.just([]), st.just({}), st.just(0.5)
)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_no_value_in_the_place_of_another_crashes_the_loader(data: st.DataObject) -> None:
    """The bytes are sound, and any one value in them is another."""
    whole = codec.unpack(data.draw(st.sampled_from(BODIES)))
    here: list[object] = [whole]
    at = 0
    while isinstance(here[at], list) and here[at] and data.draw(st.integers(0, 5)):
        here = here[at]  # type: ignore[assignment]
        at = data.draw(st.integers(0, len(here) - 1))
    here[at] = data.draw(PIECES)
    with suppress(PlanError):
        read_plan(sealed(codec.pack_unsorted(whole)))  # type: ignore[arg-type]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_no_json_crashes_the_loader(data: st.DataObject) -> None:
    whole: dict[str, object] = json.loads(json.dumps(plan_to_json(plan_in(data.draw(st.sampled_from(CASES)).path))))
    here: object = whole
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))  # type: ignore[arg-type]
        key = data.draw(st.sampled_from(keys))
        if isinstance(here[key], dict | list) and here[key] and data.draw(st.integers(0, 4)):  # type: ignore[index]
            here = here[key]  # type: ignore[index]
            continue
        here[key] = data.draw(PIECES)  # type: ignore[index]
        break
    with suppress(PlanError):
        plan_from_json(whole)  # type: ignore[arg-type]


def test_the_same_source_gives_the_same_bytes_for_any_hash_seed() -> None:
    program = (
        "import sys, hashlib\n"
        "from noetlc.pipeline import compile_source\n"
        "from noetl_ir.plan_format import write_plan\n"
        "for name in sys.argv[1:]:\n"
        "    for plan in compile_source(name, open(name, 'rb').read()).plans:\n"
        "        print(hashlib.sha256(write_plan(plan)).hexdigest())\n"
    )
    names = [str(case.path) for case in CASES]

    def digests(seed: str, order: list[str]) -> list[str]:
        command = [sys.executable, "-c", program, *order]
        environment = {"PYTHONHASHSEED": seed}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.split()

    first = digests("0", names)
    assert len(first) == len(names)
    assert digests("1", names) == first
    assert digests("2", names[::-1]) == first[::-1]


DECLARED = steps("step: start").replace(
    "workflow:", "executor: {spec: {inputs: {day: {type: string, required: true}, any: {}}}}\nworkflow:", 1
)


def test_a_plan_has_format_4_where_it_has_an_extension_and_no_other_plan_has() -> None:
    plan = plan_of(DECLARED)
    assert (plan.edition, ONE.edition, VERSION) == (4, 3, 4)
    assert [(one.name, one.required, one.schema) for one in plan.inputs or ()] == [
        ("day", True, {"type": "string"}),
        ("any", False, {}),
    ]
    # Without the extension it is written as before there were any.
    same = plan._replace(inputs=None, edition=3)
    assert write_plan(same)[8:10] == b"\0\3" and len(write_plan(same)) < len(write_plan(plan))
    assert "inputs" not in plan_to_json(same)


def test_a_plan_with_extensions_is_read_back_as_it_was() -> None:
    plan = plan_of(DECLARED)
    data = write_plan(plan)
    assert read_plan(data) == open_plan(data, verified=True) == plan and write_plan(read_plan(data)) == data
    document = json.loads(json.dumps(plan_to_json(plan)))
    assert plan_from_json(document) == plan
    PLANS.validate(document)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda body: body.pop(), "expected 11 parts"),
        (lambda body: body.__setitem__(10, {}), "no mapping"),
        (lambda body: body.__setitem__(10, {"settled": []}), "does not know"),
        (lambda body: body.__setitem__(10, {"inputs": [["a", 1, {}, [1, 1, 1, 1]]]}), "an input is damaged"),
        (lambda body: body.__setitem__(10, {"inputs": None}), "no list"),
        (lambda body: body.__setitem__(10, {"result": True}), "number of a template"),
        (lambda body: body.__setitem__(10, {"result": 99}), "not there"),
        (lambda body: body.__setitem__(10, {"result": 0, **body[10]}), "out of order"),
        (lambda body: body[10]["inputs"].append(body[10]["inputs"][0]), "the same name twice"),
        (lambda body: body[10]["inputs"][0].__setitem__(2, {"$ref": "#"}), "cannot be used"),
        (lambda body: body[10]["inputs"][0].__setitem__(2, {"pattern": "(?=a)"}), "cannot be used"),
    ],
)
def test_extensions_that_are_damaged_are_refused(change: Callable[[list[Any]], object], why: str) -> None:
    body = msgpack.unpackb(write_plan(plan_of(DECLARED))[HEADER:])
    change(body)
    with pytest.raises(PlanError, match=why):
        read_plan(sealed(msgpack.packb(body), version=4))


ENDING = steps("step: start, spec: {policy: {terminate: failed}}")


def test_a_step_that_ends_the_execution_stands_in_the_plan_and_in_its_net() -> None:
    plan = plan_of(ENDING)
    assert (plan.edition, plan.terminates) == (4, ((0, "failed"),))
    data = write_plan(plan)
    assert read_plan(data) == open_plan(data, verified=True) == plan
    assert plan_from_json(json.loads(json.dumps(plan_to_json(plan)))) == plan


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ([], "no list"),
        ({}, "no list"),
        ([[0]], "a termination is damaged"),
        ([[True, "failed"]], "a termination is damaged"),
        ([[1, "failed"]], "no steps in the order"),
        ([[-1, "failed"]], "no steps in the order"),
        ([[0, "failed"], [0, "failed"]], "no steps in the order"),
        ([[0, "cancelled"]], "another status"),
    ],
)
def test_terminations_that_are_damaged_are_refused(section: object, why: str) -> None:
    body = msgpack.unpackb(write_plan(plan_of(ENDING))[HEADER:])
    body[10]["terminates"] = section
    with pytest.raises(PlanError, match=why):
        read_plan(sealed(msgpack.packb(body), version=4))


@pytest.mark.parametrize(
    ("section", "why"), [(None, "no template"), (-1, "no template"), (9, "not there"), (True, "no template")]
)
def test_a_limit_of_the_execution_that_is_damaged_is_refused(section: object, why: str) -> None:
    bounded = "executor: {spec: {policy: {lifecycle: {timeout_s: 5}}}}\n" + steps("step: start")
    plan = plan_of(bounded)
    assert read_plan(write_plan(plan)) == plan_from_json(json.loads(json.dumps(plan_to_json(plan)))) == plan
    body = msgpack.unpackb(write_plan(plan)[HEADER:])
    body[10]["timeout"] = section
    with pytest.raises(PlanError, match=why):
        read_plan(sealed(msgpack.packb(body), version=4))


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ([], "no list"),
        ([[0, 0]], "is damaged"),
        ([[0, True, 0]], "is damaged"),
        ([[0, 1, 0]], "no loop levels"),
        ([[0, 0, 0], [0, 0, 0]], "no loop levels"),
        ([[0, 0, -1]], "name no template"),
        ([[0, 0, 99]], "not there"),
    ],
)
def test_limits_of_iterations_that_are_damaged_are_refused(section: object, why: str) -> None:
    loop = "loop: {in: '{{ [1] }}', iterator: i, spec: {policy: {lifecycle: {timeout_s: 5}}}}"
    plan = plan_of(steps(f"step: start, {loop}"))
    assert read_plan(write_plan(plan)) == plan_from_json(json.loads(json.dumps(plan_to_json(plan)))) == plan
    body = msgpack.unpackb(write_plan(plan)[HEADER:])
    body[10]["iteration_limits"] = section
    with pytest.raises(PlanError, match=why):
        read_plan(sealed(msgpack.packb(body), version=4))


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ([], "no list"),
        ([["n", "sum"]], "is damaged"),
        ([["n", "sum", True]], "is damaged"),
        ([["n", "mean", -1]], "none that there is"),
        ([["n", "sum", -1], ["n", "max", -1]], "same key twice"),
        ([["n", "sum", 99]], "not there"),
    ],
)
def test_reducers_that_are_damaged_are_refused(section: object, why: str) -> None:
    plan = plan_of("executor: {spec: {ctx: {n: {reduce: sum, initial: 5}, m: {reduce: max}}}}\n" + steps("step: start"))
    assert read_plan(write_plan(plan)) == plan_from_json(json.loads(json.dumps(plan_to_json(plan)))) == plan
    body = msgpack.unpackb(write_plan(plan)[HEADER:])
    body[10]["reducers"] = section
    with pytest.raises(PlanError, match=why):
        read_plan(sealed(msgpack.packb(body), version=4))


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ([], "no list"),
        ([[0, 0, 1]], "is damaged"),
        ([[0, 0, True, "cancel"]], "is damaged"),
        ([[0, 2, 1, "cancel"]], "no loop levels"),
        ([[0, 0, 1, "kill"]], "another rest"),
        ([[0, 1, 1, "swallow"]], "another rest"),
        ([[0, 0, -1, "cancel"]], "asked nothing"),
        ([[0, 0, 99, "cancel"]], "not there"),
        ([[0, 0, 1, "finish"]], r"not what the tables give|is missing|is not what"),
    ],
)
def test_ends_of_loops_that_are_damaged_are_refused(section: object, why: str) -> None:
    inner = "loop: {in: [1], iterator: j}"
    loop = f"loop: {{in: [1], iterator: i, spec: {{policy: {{enough: 1, rest: swallow}}}}, {inner}}}"
    plan = plan_of(steps(f"step: start, {loop}"))
    assert read_plan(write_plan(plan)) == plan_from_json(json.loads(json.dumps(plan_to_json(plan)))) == plan
    body = msgpack.unpackb(write_plan(plan)[HEADER:])
    body[10]["loop_ends"] = section
    with pytest.raises(PlanError, match=why):
        read_plan(sealed(msgpack.packb(body), version=4))


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ([], "no list"),
        ([[0, 0, "more", ["a"]]], "is damaged"),
        ([[0, 0, "more", [1], -1]], "is damaged"),
        ([[0, 0, "stop", ["a"], -1]], "something else"),
        ([[0, 0, "more", ["a"], -1], [0, 0, "close", ["b"], -1]], "out of order|not in the order"),
        ([[0, 0, "close", ["b"], -1]], "nothing is added to"),
        ([[0, 0, "complete", ["b"], -1]], "say nothing of the rest"),
        ([[0, 0, "more", [], -1]], "no signal and no timer"),
        ([[0, 1, "more", ["a"], -1]], "no loop levels"),
        ([[0, 0, "close", ["b"], 99], [0, 0, "more", ["a"], -1]], "not there"),
    ],
)
def test_signals_of_loops_that_are_damaged_are_refused(section: object, why: str) -> None:
    spec = "{more: {events: [a]}, close: {events: [b], timers: {t: 5}}}"
    plan = plan_of(steps(f"step: start, loop: {{iterator: i, spec: {spec}}}"))
    assert read_plan(write_plan(plan)) == plan_from_json(json.loads(json.dumps(plan_to_json(plan)))) == plan
    body = msgpack.unpackb(write_plan(plan)[HEADER:])
    body[10]["loop_signals"] = section
    with pytest.raises(PlanError, match=why):
        read_plan(sealed(msgpack.packb(body), version=4))


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ([], "no list"),
        ([[0, ["a"]]], "is damaged"),
        ([[0, [1], -1]], "is damaged"),
        ([[True, ["a"], -1]], "is damaged"),
        ([[0, [], -1]], "no signal and no timer"),
        ([[0, ["a", "a"], -1]], "twice"),
        ([[9, ["a"], -1]], "of no steps"),
        ([[0, ["a"], 99]], "not there"),
    ],
)
def test_interrupts_that_are_damaged_are_refused(section: object, why: str) -> None:
    plan = plan_of(steps("step: start, spec: {policy: {interrupt: {events: [a], timers: {t: 5}}}}"))
    assert read_plan(write_plan(plan)) == plan_from_json(json.loads(json.dumps(plan_to_json(plan)))) == plan
    body = msgpack.unpackb(write_plan(plan)[HEADER:])
    body[10]["interrupts"] = section
    with pytest.raises(PlanError, match=why):
        read_plan(sealed(msgpack.packb(body), version=4))


@pytest.mark.parametrize(
    ("section", "why"),
    [
        (None, "is damaged"),
        ([0, 1], "is damaged"),
        ([0, True, "queue"], "is damaged"),
        ([99, 1, "queue"], "has no key"),
        ([-1, 1, "queue"], "has no key"),
        ([0, 0, "queue"], "no place"),
        ([0, 1, "wait"], "is not known"),
    ],
)
def test_places_that_are_damaged_are_refused(section: object, why: str) -> None:
    plan = plan_of("executor: {spec: {concurrency: {key: a, limit: 2}}}\n" + steps("step: start"))
    assert read_plan(write_plan(plan)) == plan_from_json(json.loads(json.dumps(plan_to_json(plan)))) == plan
    body = msgpack.unpackb(write_plan(plan)[HEADER:])
    body[10]["concurrency"] = section
    with pytest.raises(PlanError, match=why):
        read_plan(sealed(msgpack.packb(body), version=4))


def test_a_termination_that_the_net_does_not_have_is_refused() -> None:
    plan = plan_of(steps("step: start"))._replace(terminates=((0, "failed"),), edition=4)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match=r"not what the tables give|is missing"):
        read_plan(write_plan(plan))


@pytest.mark.parametrize("edition", [3, 4])
def test_an_extension_and_the_format_of_a_plan_go_together(edition: int) -> None:
    plan = plan_of(DECLARED) if edition == 3 else ONE
    if edition == 4:
        with pytest.raises(PlanError, match="extensions"):
            read_plan(write_plan(plan._replace(edition=edition)))
    with pytest.raises(PlanError, match="extensions"):
        plan_from_json({**plan_to_json(plan), "version_of_format": edition})


PHASES = "executor: {spec: {on_failure: tell, finally: free, policy: {lifecycle: {after_s: 5}}}}\n" + steps(
    "step: start", "step: free", "step: tell, next: {arcs: [{step: told}]}", "step: told"
)


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ([], "no list"),
        ([["finally"]], "a phase is damaged"),
        ([["finally", True]], "a phase is damaged"),
        ([["finally", 1], ["on_failure", 2]], "are not of"),
        ([["main", 1]], "are not of"),
        ([["finally", 9]], "begin at no step"),
        ([["finally", 0]], "in two of them"),
        ([["on_failure", 2], ["finally", 3]], "in two of them"),
        ([["finally", 1]], "over other sources"),
    ],
)
def test_phases_that_are_damaged_are_refused(section: object, why: str) -> None:
    plan = plan_of(PHASES)
    assert plan.phases == (("on_failure", 2), ("finally", 1))
    assert read_plan(write_plan(plan)) == plan_from_json(json.loads(json.dumps(plan_to_json(plan)))) == plan
    body = msgpack.unpackb(write_plan(plan)[HEADER:])
    body[10]["phases"] = section
    with pytest.raises(PlanError, match=why):
        read_plan(sealed(msgpack.packb(body), version=4))


UNDONE = "executor: {spec: {compensate_on: [failed]}}\n" + steps(
    "step: start, spec: {policy: {compensate: {step: undo, on: started}}}, next: {arcs: [{step: two}]}",
    "step: two, spec: {policy: {compensate: undo}}",
    "step: undo, next: {arcs: [{step: undone}]}",
    "step: undone",
)


@pytest.mark.parametrize(
    ("name", "section", "why"),
    [
        ("compensations", [], "no list"),
        ("compensations", [[0, 2]], "a compensation is damaged"),
        ("compensations", [[0, 2, 1]], "a compensation is damaged"),
        ("compensations", [[1, 2, False], [0, 2, True]], "no steps in the order"),
        ("compensations", [[9, 2, False]], "no steps in the order"),
        ("compensations", [[0, 9, False]], "begin at no step"),
        ("compensations", [[0, 1, False]], "in two of them"),
        ("compensations", [[0, 2, False], [1, 3, False]], "in two of them"),
        ("compensate_on", "failed", "no texts"),
        ("compensate_on", ["completed"], "is not of"),
        ("compensate_on", ["cancelled", "failed"], "is not of"),
    ],
)
def test_compensations_that_are_damaged_are_refused(name: str, section: object, why: str) -> None:
    plan = plan_of(UNDONE)
    assert (plan.compensations, plan.compensate_on) == (((0, 2, True), (1, 2, False)), ("failed",))
    assert read_plan(write_plan(plan)) == plan_from_json(json.loads(json.dumps(plan_to_json(plan)))) == plan
    body = msgpack.unpackb(write_plan(plan)[HEADER:])
    body[10][name] = section
    with pytest.raises(PlanError, match=why):
        read_plan(sealed(msgpack.packb(body), version=4))
