"""Signals under a key: who gets one, what is kept, what comes back, and that each reaches one wait (EXTENSIONS §6)."""

import random
from typing import Any

import pytest

from harness.invariants import check
from harness.running import MEMORY, Ran, compiled, run
from harness.samples import first
from noetl.app.composition import driver_of
from noetl.app.runtime import Settings, open_runtime
from noetl.engine.starting import Request
from noetl.ports.mailbox import Letter, OpenWait
from noetl.server.execution import Ask
from noetl.server.letters import may_be_listed
from noetl.worker.scripted import read_script

FORK = "workflow:\n  - {step: start, next: {spec: {mode: inclusive}, arcs: [%s]}}\n"


def fork(*steps: str, delays: tuple[float, ...] = ()) -> str:
    """A playbook whose steps `s0`, `s1` … begin at once, or each after its delay; each is given by its task."""
    waits = [*delays, *[0.0] * (len(steps) - len(delays))]
    arcs = ", ".join(f"{{step: s{n}, spec: {{delay: {delay}}}}}" for n, delay in enumerate(waits))
    return FORK % arcs + "".join(f"  - {{step: s{n}, tool: {tool}}}\n" for n, tool in enumerate(steps))


def wait(key: str = "k", names: str = "go", late: float = 50) -> str:
    """A wait under a key."""
    return f"{{name: w, kind: wait, events: [{names}], correlation: '{key}', timers: {{late: {late}}}}}"


def send(data: Any, key: str = "k", name: str = "go", keep_for: str = "1h") -> str:
    """A signal under a key."""
    return f"{{name: s, kind: signal, key: '{key}', signal: {name}, data: {data}, keep_for: {keep_for}}}"


def heard(ran: Ran, count: int) -> list[Any]:
    """The results of the first steps' waits: the data of a signal, or the name of a timer."""
    found = [ran.result(f"s{number}") for number in range(count)]
    return [each["data"] if each["name"] != "late" else "late" for each in found]


def test_the_oldest_wait_has_the_first_and_each_has_one() -> None:
    ran = run(fork(wait(), wait(), send(1), send(2), delays=(1, 0, 2, 3)))
    assert heard(ran, 2) == [2, 1] and ran.status == "completed"
    assert [event.data["row"] for event in ran.of("token.claimed")] == [1, 2]
    assert [ran.result(step)["delivered"] for step in ("s2", "s3")] == [1, 1]


def test_what_nobody_waits_for_is_kept_for_the_oldest_first() -> None:
    ran = run(fork(wait(), wait(), send(1), send(2), delays=(3, 2, 0, 1)))
    assert heard(ran, 2) == [2, 1]
    assert [ran.result(step)["delivered"] for step in ("s2", "s3")] == [0, 0]


def test_key_and_name_decide() -> None:
    steps = (wait("other"), wait(names="halt"), wait(names="halt, go"), send(1), wait("7"), send(2, key="{{ 3 + 4 }}"))
    ran = run(fork(*steps, delays=(0, 0, 0, 1, 0, 1)))
    assert [ran.result(f"s{number}")["name"] for number in (0, 1, 2, 4)] == ["late", "late", "go", "go"]
    assert ran.result("s4")["data"] == 2


def test_it_is_for_that_wait_alone() -> None:
    """Neither an interrupt nor a loop nor another wait of that name hears it."""
    text = fork(wait(), "{name: n, kind: wait, events: [go], timers: {late: 9}}", send(1), delays=(1, 0, 2))
    text += """
  - {step: more, loop: {iterator: i, spec: {more: {events: [go]}, close: {timers: {t: 9}}}}, tool: {kind: noop}}
  - {step: cut, spec: {policy: {interrupt: {events: [go]}}}, tool: {kind: wait, timers: {late: 9}}}
"""
    ran = run(text.replace("arcs: [", "arcs: [{step: more}, {step: cut}, "))
    assert ran.status == "completed"
    assert heard(ran, 2) == [1, "late"]
    assert not ran.of("loop.item.added") and not ran.of("step.interrupted") and not ran.of("signal.missed")


def test_a_wait_under_a_key_hears_signals_to_its_execution_too() -> None:
    script = {"signals": [{"at": 1, "name": "go", "data": "direct"}]}
    ran = run(fork(wait(), wait(), send("key"), delays=(0, 2, 3)), script)
    assert heard(ran, 2) == ["direct", "key"]


def test_what_a_wait_could_not_take_goes_to_the_next() -> None:
    """Over a pause a timer was due before the signal came: the wait ends by it, and gives the signal back."""
    with open_runtime(MEMORY, Settings(script=read_script({})), lambda path: (b"", {})) as runtime:
        program = runtime.programs.add_plan(compiled(fork(wait(late=2), wait(), delays=(0, 1))))

        def pause(execution: Any, plan: Any, event: Any) -> None:
            if len(execution.mail.listed) == 2 and not execution.paused:
                driver.control.ask("e1", Ask("pause"))

        with driver_of(runtime, "e1", pause) as driver:
            assert driver.embedded.start(program, "e1", Request({})) == "paused"
        assert runtime.store.mailbox.post_letter(Letter("k", "go", 1, "a")) is True
        with driver_of(runtime, "e1", lambda *told: None) as driver:
            driver.embedded._parts.clock.move_to(9_000_000)  # type: ignore[attr-defined]
            assert driver.embedded.resume(program, "e1") == "completed"
        log = [event for _, event in runtime.events("e1")]
        check(program, log, driver.execution)
        told = [(event.event_type, event.data["row"]) for event in log if event.event_type in LETTERS]
        assert told == [("signal.received", 1), ("signal.returned", 1), ("signal.received", 2), ("token.claimed", 2)]
        results = {event.step: event.data.get("result") for event in log if event.event_type == "task.done"}
        assert [*results.values()][1:] == [{"name": "late", "data": {"timer_id": "late"}}, {"name": "go", "data": 1}]
        assert runtime.store.mailbox.correspondence("e1") == ((), ())


LETTERS = ("signal.received", "signal.returned", "token.claimed")

CALLED = """
---
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: c, path: t/c}
workflow:
  - {step: start, tool: {name: w, kind: wait, events: [go], correlation: "{{ workload.key }}", timers: {late: 5}}}
"""


def test_it_finds_the_wait_of_another_execution() -> None:
    text = (
        FORK % "{step: call}, {step: own, spec: {delay: 1}}, {step: send, spec: {delay: 2}}"
        + """
  - {step: call, tool: {name: c, kind: playbook, path: t/c, args: {key: k}}}
  - {step: own, tool: {name: w, kind: wait, events: [go], correlation: k, timers: {late: 5}}}
  - step: send
    tool: [{name: a, kind: signal, key: k, signal: go, data: 1}, {name: b, kind: signal, key: k, signal: go, data: 2}]
"""
    )
    ran = run(text + CALLED)
    assert ran.result("call") == {"name": "go", "data": 1} and ran.result("own")["data"] == 2


def test_it_is_kept_for_its_time_by_the_clock_of_the_run() -> None:
    """A run with a script has another clock than the store, and keys of its own."""
    sends = send(1, keep_for="10s"), send(2, name="b", keep_for="10s")
    text = fork(wait(), wait(names="b"), *sends, delays=(9, 11, 0, 0))
    with open_runtime(MEMORY, Settings(script=read_script({})), lambda path: (b"", {})) as runtime:
        program = runtime.programs.add_plan(compiled(text))
        runtime.store.mailbox.post_letter(Letter("k", "go", "of nobody with a script", "a"))
        with driver_of(runtime, "e1", lambda *told: None) as driver:
            assert driver.embedded.start(program, "e1", Request({}, scripted=True)) == "completed"
        done = [event for _, event in runtime.events("e1") if event.event_type == "task.done"]
    names = {program.plan.steps[event.step].name: event.data.get("result") for event in done}
    assert (names["s0"], names["s1"]["name"]) == ({"name": "go", "data": 1}, "late")


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ("{kind: wait, events: [go], correlation: '{{ workload.empty }}'}", "field 'correlation' is empty"),
        ("{kind: signal, key: '{{ workload.empty }}', signal: go}", "field 'key' is empty"),
        ("{kind: signal, key: '{{ \"x\" * 501 }}', signal: go}", "has more than 500 characters"),
        ("{kind: signal, key: '{{ 10 ** 500 }}', signal: go}", "has more than 500 characters"),
        ("{kind: wait, events: [go], correlation: '{{ -(10 ** 499) }}'}", "has more than 500 characters"),
        ("{kind: signal, key: '{{ [1] }}', signal: go}", "field 'key' must be text, not a list"),
        ("{kind: signal, key: k, signal: go, keep_for: '{{ -1 }}'}", "field 'keep_for' must be duration"),
        ("{kind: signal, key: '{{ workload.half }}', signal: go}", "half of a character"),
        ("{kind: signal, key: '{{ workload.none }}', signal: go}", "one of the fields to or key must be given"),
    ],
)
def test_what_is_no_key_is_a_fault_of_the_task(tool: str, why: str) -> None:
    text = f'workload: {{empty: "", none: null, half: "x"}}\nworkflow:\n  - {{step: start, tool: {tool}}}\n'
    ran = run(text, payload={"half": "a\ud800"})
    failure = ran.execution.failure or {}
    assert (failure.get("code"), why in str(failure.get("message"))) == ("task.fields", True), failure


def test_no_more_are_kept_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noetl.store.memory.mailbox.MOST_KEPT", 1)
    ran = run(fork(send(1), send(2), delays=(0, 1)))
    assert ran.status == "failed"
    assert (ran.execution.failure or {})["code"] == "signal.mailbox_full"


def test_a_task_that_is_tried_again_sends_once() -> None:
    again = "spec: {policy: {rules: [{when: '{{ _attempt < 3 }}', then: {do: retry, attempts: 3}}]}}"
    ran = run(fork(wait(), wait(), send(1)[:-1] + f", {again}}}", delays=(0, 0, 1)))
    assert heard(ran, 2) == [1, "late"] and len(ran.of("signal.sent")) == 3


LIVE = """
workflow:
  - {step: start, tool: {name: w, kind: wait, correlation: k, events: [go], timers: {t: 1}}}
"""


def test_one_that_comes_at_the_very_end_goes_back() -> None:
    """The store has it after the last turn was decided and before that was stored."""
    with open_runtime(MEMORY, Settings(script=read_script({})), lambda path: (b"", {})) as runtime:
        program = runtime.programs.add_plan(compiled(LIVE))
        store: Any = runtime.store
        append, seen = store._append, []
        key = "k"

        def late(appends: Any) -> None:
            if appends[-1].ended is not None and not seen:
                seen.append(store.mailbox.post_letter(Letter(key, "go", 1, "a")))
            append(appends)

        store._append = late
        with driver_of(runtime, "e1", lambda *told: None) as driver:
            assert driver.embedded.start(program, "e1", Request({})) == "completed"
        log = [event for _, event in runtime.events("e1")]
        check(program, log, driver.execution)
        names = [event.event_type for event in log]
        assert seen == [False], "it had left already"
        assert "signal.returned" not in names


def test_one_that_was_addressed_and_not_read_goes_back_at_the_end() -> None:
    with open_runtime(MEMORY, Settings(script=read_script({})), lambda path: (b"", {})) as runtime:
        program = runtime.programs.add_plan(compiled(LIVE))
        store: Any = runtime.store
        settle = store.mailbox.settle_mail

        def late(execution_id: str, calls: Any, rows: Any) -> None:
            """The letter comes after the timer's turn is on disk, and before the mailbox hears of it."""
            store.mailbox.post_letter(Letter("k", "go", 1, "a"))
            settle(execution_id, calls, rows)

        store.mailbox.settle_mail = late
        with driver_of(runtime, "e1", lambda *told: None) as driver:
            assert driver.embedded.start(program, "e1", Request({})) == "completed"
        log = [event for _, event in runtime.events("e1")]
        check(program, log, driver.execution)
        names = [event.event_type for event in log]
        assert names.count("signal.received") == names.count("signal.returned") == 1
        assert store.mailbox.correspondence("e1") == ((), ())
        runtime.store.create(store.execution("e1")._replace(execution_id="e2", ended=None, status="running"))
        assert store.mailbox.await_letter(OpenWait("k", "e2", "c", ("go",))) is True


def test_nothing_of_what_is_cancelled_stays_listed() -> None:
    with open_runtime(MEMORY, Settings(script=read_script({})), lambda path: (b"", {})) as runtime:
        program = runtime.programs.add_plan(compiled(fork(wait(), wait("other"), wait("later"), delays=(0, 0, 1))))
        mailbox: Any = runtime.store.mailbox
        settle, told = mailbox.settle_mail, list[str]()

        def telling(name: str, calls: Any, rows: Any) -> None:
            told.extend(call for call in calls if call in mailbox.correspondence(name).calls)
            settle(name, calls, rows)

        mailbox.settle_mail = telling

        def cancel(execution: Any, plan: Any, event: Any) -> None:
            if event.event_type == "timer.fired":
                driver.control.ask("e1", Ask("cancel"))

        with driver_of(runtime, "e1", cancel) as driver:
            assert driver.embedded.start(program, "e1", Request({})) == "cancelled"
        assert len(told) == 2 and mailbox.correspondence("e1") == ((), ())


def test_only_plans_with_such_a_wait_ask_the_mailbox() -> None:
    ran = run(fork(wait()))
    assert may_be_listed(ran.program)
    assert not may_be_listed(run("workflow:\n  - {step: start, tool: {kind: wait, timers: {t: 1}}}\n").program)


@pytest.mark.parametrize("seed", first(25, range(250)))
def test_random_waits_and_signals_come_to_what_a_plain_model_says(seed: int) -> None:
    """Waits begin and end, and signals are sent, each at a second of its own: the model goes through these in order."""
    chance = random.Random(seed)
    times = [float(second) for second in chance.sample(range(60), 18)]
    waits = [(times.pop(), chance.choice("kl"), chance.choice(("a", "b", "a, b")), times.pop()) for _ in range(5)]
    waits = [(min(begin, end), key, names, max(begin, end)) for begin, key, names, end in waits]
    sends = [(time, chance.choice("kl"), chance.choice("ab"), chance.choice((3, 500))) for time in times]
    tools = [wait(key, names, end - begin) for begin, key, names, end in waits]
    tools += [send(n, key, name, f"{keep}s") for n, (_, key, name, keep) in enumerate(sends)]
    text = fork(*tools, delays=(*[row[0] for row in waits], *[row[0] for row in sends]))
    with open_runtime(MEMORY, Settings(script=read_script({})), lambda path: (b"", {})) as runtime:
        program = runtime.programs.add_plan(compiled(text))
        with driver_of(runtime, "e1", lambda *told: None) as driver:
            assert driver.embedded.start(program, "e1", Request({}, scripted=True)) == "completed"
        log = [event for _, event in runtime.events("e1")]
    check(program, log, driver.execution)
    ends = [event for event in log if event.event_type == "task.done"]
    done: dict[str, Any] = {program.plan.steps[event.step].name: event.data.get("result") for event in ends}

    wanted: list[Any] = ["late"] * len(waits)
    kept: list[tuple[int, str, str, float]] = []
    waiting: list[int] = []
    moments = [(row[0], "wait", n) for n, row in enumerate(waits)] + [(row[3], "end", n) for n, row in enumerate(waits)]
    for now, what, n in sorted([*moments, *((row[0], "send", n) for n, row in enumerate(sends))]):
        if what == "end":
            waiting = [one for one in waiting if one != n]
        elif what == "send":
            _, key, name, keep = sends[n]
            hears = [one for one in waiting if waits[one][1] == key and name in waits[one][2].split(", ")]
            if hears:
                wanted[hears[0]] = n
                waiting.remove(hears[0])
            else:
                kept.append((n, key, name, now + keep))
        else:
            _, key, names, _ = waits[n]
            found = [row for row in kept if row[1] == key and row[2] in names.split(", ") and row[3] > now]
            if found:
                wanted[n] = found[0][0]
                kept.remove(found[0])
            else:
                waiting.append(n)
    came = [done[f"s{n}"] for n in range(len(waits))]
    assert [each["data"] if each["name"] != "late" else "late" for each in came] == wanted
