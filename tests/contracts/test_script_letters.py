"""Letters of runs with a script: nothing of them stays in a store once the last execution of the family is over."""

from pathlib import Path
from typing import Any

import pytest

from contracts.conftest import Open
from harness.running import HEAD, compiled
from noetl.app.composition import driver_of
from noetl.app.runtime import Runtime, Settings
from noetl.app.script_letters import drop_left
from noetl.engine.starting import Request
from noetl.ports import Store
from noetl.ports.mailbox import Letter, WantedMail
from noetl.server.letters import Letters
from noetl.store.memory import MemoryBlobs
from noetl.worker.scripted import read_script

SENDS = """
workflow:
  - step: start
    tool:
      - {name: c, kind: playbook, path: t/c, spec: {wait: false}}
      - {name: s, kind: signal, key: own, signal: told, data: 1}
      - {name: w, kind: wait, events: [go], correlation: asked}
---
""" + HEAD.replace("t/t", "t/c") + """
workflow:
  - step: start
    tool:
      - {name: late, kind: wait, events: [never], correlation: late, timers: {end: 1h}}
      - {name: last, kind: wait, events: [last], correlation: later}
"""  # fmt: skip
SIGNALS: list[dict[str, Any]] = [
    {"at": 1, "key": "asked", "name": "go", "data": 1},
    {"at": 2, "key": "asked", "name": "go", "data": "one too many"},
    {"at": 3, "key": "short", "name": "gone", "keep_for": 1},
    {"at": 0, "key": "shortest", "name": "gone", "keep_for": 0},
    {"before": True, "key": "shortest", "name": "gone", "keep_for": 0},
    {"before": True, "key": "later", "name": "last", "data": "for the child, when its caller is over"},
]


OWN = """
workflow:
  - step: start
    tool:
      - {name: s, kind: signal, key: own, signal: told, data: its own}
      - {name: w, kind: wait, events: [told], correlation: own}
"""


def runtime_of(store: Store, folder: Path, signals: list[dict[str, Any]]) -> Runtime:
    """A runtime for a run with a script of signals alone."""
    settings = Settings(script=read_script({"signals": [*signals]}), root=folder)
    return Runtime(store, MemoryBlobs(), str(folder / "secrets"), settings, lambda path: (b"", {}), _no_outputs)


def ran(store: Store, folder: Path, name: str, *, until: str = "") -> str:
    """How a run ends that is interrupted behind an event of some type."""
    runtime = runtime_of(store, folder, SIGNALS)
    program = runtime.programs.add_plan(compiled(SENDS))

    def observe(execution: object, plan: object, event: object) -> None:
        if getattr(event, "event_type", "") == until:
            driver.embedded.interrupt()

    with driver_of(runtime, name, observe) as driver:
        if store.execution(name) is None:
            return driver.embedded.start(program, name, Request({}, scripted=True))
        return driver.embedded.resume(program, name)


def _no_outputs() -> Any:
    raise AssertionError("nothing is printed")


def kept(store: Store) -> list[str]:
    """The keys under which letters are kept, by a clock before all of them."""
    return [row.key for row in store.mailbox.rows(WantedMail(), -1_000_000) if row.kept]


def test_what_nobody_took_goes_with_the_last_of_the_family(open_store: Open, tmp_path: Path) -> None:
    store = open_store()
    store.mailbox.post_letter(Letter("scripted e11 x", "of another run", None, "x"))
    store.mailbox.post_letter(Letter("real", "of no script", None, "y"))
    assert ran(store, tmp_path, "e1") == "completed"
    (child,) = [row for row in store.executions() if row.parent_execution_id == "e1"]
    assert child.status == "completed", "it had its letter after its caller was over"
    assert kept(store) == ["real", "scripted e11 x"]


def test_what_is_stopped_has_its_letters_when_it_goes_on(open_store: Open, tmp_path: Path) -> None:
    store = open_store()
    assert ran(store, tmp_path, "e1", until="signal.sent") == "interrupted"
    assert "scripted e1 own" in kept(store)
    assert ran(store, tmp_path, "e1") == "completed"
    assert kept(store) == []


def test_letters_of_a_run_that_died_when_it_had_ended_can_be_dropped(
    open_store: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store()
    monkeypatch.setattr(Letters, "tell_end", lambda self, owned: None)
    assert ran(store, tmp_path, "e1") == "completed"
    assert ran(store, tmp_path, "e2", until="signal.sent") == "interrupted"
    others = [Letter("real", "of no script", None, "y"), Letter("scripted e9 x", "of nobody here", None, "z")]
    for letter in others:
        store.mailbox.post_letter(letter)
    left = {key for key in kept(store) if key.startswith("scripted e1 ")}
    assert left == {"scripted e1 own", "scripted e1 asked", "scripted e1 short", "scripted e1 shortest"}
    runtime = runtime_of(store, tmp_path, [])
    assert drop_left(runtime, "e2") == 0, "that is not over"
    assert drop_left(runtime) >= len(left)
    assert {key for key in kept(store) if not key.startswith("scripted e2 ")} == {"real", "scripted e9 x"}
    assert any(key.startswith("scripted e2 ") for key in kept(store))
    assert drop_left(runtime) == 0


def test_a_letter_from_before_is_older_than_any_that_the_run_sends(open_store: Open, tmp_path: Path) -> None:
    store = open_store()
    runtime = runtime_of(store, tmp_path, [{"before": True, "key": "own", "name": "told", "data": "early"}])
    program = runtime.programs.add_plan(compiled(OWN))
    with driver_of(runtime, "e1", lambda *_: None) as driver:
        assert driver.embedded.start(program, "e1", Request({}, scripted=True)) == "completed"
        assert driver.execution.last_result == {"name": "told", "data": "early"}
    (came,) = [event for _, event in runtime.events("e1") if event.event_type == "signal.received"]
    assert came.data["since"] < 0, "one at the time 0 of the run is another one"


def test_what_is_over_as_soon_as_it_is_sent_goes_too(open_store: Open, tmp_path: Path) -> None:
    store = open_store()
    runtime = runtime_of(store, tmp_path, [each for each in SIGNALS if each["key"] == "shortest"])
    with driver_of(runtime, "e1", lambda *_: None) as driver:
        driver.embedded.start(runtime.programs.add_plan(compiled(OWN)), "e1", Request({}, scripted=True))
    assert kept(store) == []
