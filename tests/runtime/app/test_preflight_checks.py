"""Before a start the workers are asked for the declared secrets: who checks what, and what a server makes of it."""

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.running import compiled
from noetl.app.preflight_checks import LONGEST_PROBLEM, MOST_WAITING, CheckedWorker, PreflightChecks, secret_pools
from noetl.app.programs import program_of
from noetl.engine.program import Program
from noetl.ports.bus import MessageTooLarge
from noetl.ports.needs import Needs
from noetl.server.workers.preflight import Preflight
from noetl.worker.background_fetches import BackgroundFetches
from noetl.worker.scripted import VirtualClock
from noetl_ir.orders import Broadcast, Check, Checked, WorkerHeartbeat
from services import waited_for

BODY = """
keychain: [{name: told, kind: env, var: "{{ workload.var }}"}]
workload: {var: SHOP_TEST_TOLD}
workflow:
- step: start
  tool: {kind: http, url: "http://localhost/", headers: {t: "{{ keychain.told.value }}"}}
  next: {arcs: [{step: far}]}
- {step: far, spec: {pool: far}, tool: {kind: http, url: "http://localhost/", auth: told}, next: {arcs: [{step: dry}]}}
- {step: dry, spec: {pool: dry}, tool: {kind: python, code: "result = 1"}}
"""
PROGRAM = program_of(compiled(BODY))
VALUE = "canary-4711-value"
CHECK = Check("e", ["p"], "d", {"var": "SHOP_TEST_TOLD"})
READY = WorkerHeartbeat("w", "p", 2, 0, False)
NO = Checked("e", "w", "p", ["no entry"])
YES = NO._replace(problems=[])
LACK = "no worker of pool `p` has its secrets; w: no entry"


class Broadcasts:
    """Broadcasts that keep what was said, with workers that answer at once."""

    def __init__(self) -> None:
        self.said: list[Broadcast] = []
        self.checks: Sequence[Checked] = ()
        self.preflight: Preflight | None = None
        self.takes_it = True

    def say(self, broadcast: Broadcast) -> None:
        """`Broadcasts.say`."""
        self.said.append(broadcast)
        if not self.takes_it:
            raise MessageTooLarge("too large")
        for checked in self.checks:
            assert self.preflight is not None
            threading.Thread(target=self.preflight.hear_checked, args=(checked,)).start()

    def received(self) -> Sequence[Broadcast]:
        """`Broadcasts.received`."""
        return ()


def asked(
    workers: Sequence[WorkerHeartbeat], *checks: Checked, pools: Sequence[str] = ("p",), within: float
) -> tuple[str, ...]:
    """The problems that a server makes of the results of some checks."""
    broadcasts = Broadcasts()
    broadcasts.checks = checks
    broadcasts.preflight = Preflight(broadcasts, lambda: workers)
    try:
        return broadcasts.preflight.ask(CHECK._replace(pools=[*pools])).result(within)
    except TimeoutError:  # as who waits for it does
        return ()


OTHER = READY._replace(worker="v")


@pytest.mark.parametrize(
    ("workers", "checks", "lack"),
    [
        ([READY], [YES], ()),
        ([READY], [NO], (LACK,)),
        ([READY, OTHER], [YES], ()),
        ([READY, OTHER], [NO, NO._replace(worker="v")], (LACK,)),
        ([READY, OTHER._replace(draining=True), OTHER._replace(worker="u", trouble="no plan")], [NO], (LACK,)),
        ([READY], [NO._replace(execution_id="another"), YES], ()),
    ],
)
def test_a_start_is_refused_where_no_ready_worker_of_a_pool_has_all(
    workers: list[WorkerHeartbeat], checks: list[Checked], lack: tuple[str, ...]
) -> None:
    """Settled by the checks, long before the time is over."""
    assert asked(workers, *checks, within=60) == lack


def test_what_is_not_known_in_time_is_no_reason() -> None:
    assert asked([READY, OTHER], NO, within=0.05) == ()
    assert asked([READY], within=0.05) == ()


def test_each_pool_is_asked_for_itself() -> None:
    far = WorkerHeartbeat("f", "q", 1, 0, False)
    workers = [READY, far]
    assert asked(workers, YES, NO._replace(worker="f", pool="q"), pools="pq", within=60) == (
        "no worker of pool `q` has its secrets; f: no entry",
    )
    assert asked([READY], YES, pools="pq", within=60) == (), "nobody of `q` is there: it waits"


def test_nobody_is_asked_where_nobody_is_there_or_it_is_too_large() -> None:
    broadcasts = Broadcasts()
    preflight = Preflight(broadcasts, list)
    assert preflight.ask(CHECK).result(60) == () and broadcasts.said == []
    broadcasts.takes_it = False
    assert Preflight(broadcasts, lambda: [READY]).ask(CHECK).result(60) == () and broadcasts.said == [CHECK]
    preflight.hear_checked(NO)  # nobody waits for it


def test_only_pools_whose_steps_name_a_secret_are_asked() -> None:
    assert secret_pools(PROGRAM.plan) == ["default", "far"]


def checked_of(folder: Path, check: Check, program: Program) -> Checked:
    """The result of a worker's check, once its fetch is over."""
    broadcasts, fetches = Broadcasts(), BackgroundFetches(1)
    place = CheckedWorker("w", "p", str(folder / "credentials"), str(folder), None)
    checking = PreflightChecks(broadcasts, place, fetches.needs, lambda digest, needs: program, VirtualClock())
    checking.hear(check)
    checking.hear(READY)

    def is_said() -> bool:
        checking.step()
        return bool(broadcasts.said)

    waited_for(is_said, "there is no answer")
    (checked,) = broadcasts.said
    assert isinstance(checked, Checked)
    return checked


def test_a_worker_says_what_it_lacks_and_never_a_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked = checked_of(tmp_path, CHECK, PROGRAM)
    told = "the environment variable 'SHOP_TEST_TOLD' is not set: export it with the secret in it, for the process that"
    assert checked == Checked("e", "w", "p", [f"t.yaml:5:12: keychain entry 'told': {told} runs the tasks"])
    monkeypatch.setenv("SHOP_TEST_TOLD", VALUE)
    checked = checked_of(tmp_path, CHECK, PROGRAM)
    assert checked == Checked("e", "w", "p", []) and VALUE not in repr(checked)
    long = CHECK._replace(workload={"var": "x" * 10_000})
    assert [len(text) for text in checked_of(tmp_path, long, PROGRAM).problems] == [LONGEST_PROBLEM]


def test_a_worker_forgets_what_is_not_for_it_and_what_it_cannot_answer() -> None:
    broadcasts, clock, gate = Broadcasts(), VirtualClock(), threading.Event()
    fetches = BackgroundFetches(1)
    asked_for: list[str] = []

    def load(digest: str, needs: Needs) -> Program:
        asked_for.append(digest)
        if digest == "gone":
            raise KeyError(digest)
        needs.get(digest, lambda: gate.wait(60))
        return PROGRAM

    checking = PreflightChecks(broadcasts, CheckedWorker("w", "p", "", ".", None), fetches.needs, load, clock)
    checking.hear(CHECK._replace(pools=["another"]))
    checking.step()
    assert asked_for == []
    checking.hear(CHECK._replace(digest="gone"))
    checking.step()
    checking.step()
    assert asked_for == ["gone"]
    for number in range(2 * MOST_WAITING):
        checking.hear(CHECK._replace(execution_id=str(number)))
    checking.step()
    assert len(asked_for) == 1 + MOST_WAITING
    clock.move_to(10_000_000)
    checking.step()
    for number in range(2 * MOST_WAITING):  # there is room again, for as many
        checking.hear(CHECK._replace(execution_id=f"again-{number}"))
    checking.step()
    assert len(asked_for) == 1 + 2 * MOST_WAITING and broadcasts.said == []
    gate.set()
