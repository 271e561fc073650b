"""Scenarios of groups A and F between several servers and workers, on virtual time (`simulator`).

`World.run` checks the laws of every run; here is what a scenario says beyond them.
"""

from functools import cache

import pytest

from noetl_ir.events import Event
from simulator.disk import DiskOdds
from simulator.network import ACK_WAIT, Odds
from simulator.plays import Play, Ready, ready
from simulator.timeline import SECOND
from simulator.world import Setting, World

SHAKEN = Odds(dropped=0.05, doubled=0.3, late=0.6)
THREE = Setting(seed=0, servers=3, workers=3, odds=SHAKEN, troubled=30 * SECOND)

LOOP = """
workflow:
  - step: start
    loop: {in: "{{ range(%d) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: %d}}
    tool: {name: t, kind: %s}
    next: {arcs: [{step: once, when: "{{ event.name == 'loop.done' }}"}]}
  - {step: once, tool: {kind: noop, result: "{{ start }}"}}
"""
CALL = 'http, url: "http://x/a"'
PAIR = """
workflow:
  - {step: start, tool: {name: t, kind: http, url: "http://x/%s"}, next: {arcs: [{step: b}]}}
  - {step: b, tool: {name: t, kind: http, url: "http://x/b"}}
"""

FORK = """
workflow:
  - step: start
    tool: {name: t, kind: noop, spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {stamp: "{{ now() }}"}}}}]}}}
    next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}, {step: c}]}
  - {step: a, tool: {name: t, kind: http, url: "http://x/a"}, next: {arcs: [{step: last}]}}
  - {step: b, tool: {name: t, kind: http, url: "http://x/b"}, next: {arcs: [{step: last}]}}
  - {step: c, tool: {name: t, kind: http, url: "http://x/c"}, next: {arcs: [{step: last}]}}
  - {step: last, spec: {policy: {join: all}}, tool: {kind: noop, result: "{{ ctx.stamp }}"}}
"""  # noqa: E501


@cache
def play_of(text: str) -> Ready:
    """A playbook, compiled."""
    return ready(Play("scenario", text))


def named(log: list[Event], name: str, run: str = "") -> list[Event]:
    """The events of a name, of a run where one is given."""
    return [event for event in log if event.event_type == name and run in ("", event.run)]


@pytest.mark.parametrize("seed", range(20))
def test_scenario_2_servers_that_hear_of_all_iterations_at_once_end_the_loop_once(seed: int) -> None:
    world = World(play_of(LOOP % (50, 50, "noop")), THREE._replace(seed=seed))
    world.run()
    log = world.logs["e0"]
    assert len(named(log, "loop.done")) == 1
    assert len(named(log, "next.selected", "1")) == 1
    assert len(named(log, "step.scheduled")) == 2


@pytest.mark.parametrize("seed", range(10))
def test_scenario_16_iterations_that_ran_when_processes_were_killed_run_again(seed: int) -> None:
    world = World(play_of(LOOP % (5, 2, CALL)), THREE._replace(seed=seed), takes=SECOND)
    for number in range(4):
        world.timeline.at(number * SECOND + 1_500_000, lambda number=number: world.servers[number % 3].die())
        world.timeline.at(number * SECOND + 1_700_000, lambda number=number: world.kill(world.workers[number % 3]))
    world.run()
    log = world.logs["e0"]
    done = [event.run for event in named(log, "loop.iteration.done")]
    assert sorted(done) == [f"1/{index}" for index in range(5)] and len(named(log, "loop.done")) == 1
    assert {event.attempt for event in named(log, "task.started")} == {1}


@pytest.mark.parametrize("seed", range(3))
def test_scenario_18_every_item_is_handed_out_though_a_third_of_the_commits_loses(seed: int) -> None:
    lossy = Setting(seed=seed, servers=2, workers=3, disk=DiskOdds(lost=0.3), troubled=3000 * SECOND)
    world = World(play_of(LOOP % (300, 100, "noop")), lossy)
    world.run()
    log = world.logs["e0"]
    assert len(named(log, "loop.iteration.started")) == len(named(log, "loop.iteration.done")) == 300
    assert len(named(log, "loop.done")) == 1 and log[-1].ts < log[0].ts + 2900 * SECOND


def test_scenario_76_a_hundred_interleavings_fold_to_what_their_live_runs_were() -> None:
    orders = set()
    for seed in range(100):
        world = World(play_of(FORK), THREE._replace(seed=seed))
        world.run()  # compares the fold of the log with the state that drove the run
        log = world.logs["e0"]
        orders.add(tuple(event.step for event in named(log, "step.done")))
        (patch,) = named(log, "ctx.patched")
        assert named(log, "task.done")[-1].data["result"] == patch.data["patch"]["stamp"]
    assert len(orders) == 6


@pytest.mark.parametrize("seed", range(10))
def test_scenario_78_completions_that_come_again_after_the_end_change_nothing(seed: int) -> None:
    odds = Odds(doubled=0.9, late=0.9, latest=60 * SECOND)
    world = World(play_of(LOOP % (40, 40, "noop")), THREE._replace(seed=seed, odds=odds, troubled=SECOND))
    world.run()
    names = [event.event_type for event in world.logs["e0"]]
    assert names.count("workflow.finished") == 1 and names[-2:] == ["workflow.finished", "playbook.processed"]


@pytest.mark.parametrize("seed", range(10))
def test_scenario_80_a_cancelled_run_stays_so_whatever_leases_end_later(seed: int) -> None:
    setting = THREE._replace(seed=seed, asks=((4 * SECOND, "cancel"),), troubled=SECOND)
    world = World(play_of(PAIR % "a"), setting, takes=40 * SECOND)
    world.timeline.at(6 * SECOND, lambda: [world.kill(worker) for worker in world.workers])
    assert "cancelled" in str(world.run().ends["e0"])
    assert len(named(world.logs["e0"], "step.scheduled")) == 1
    assert {event.claim for event in named(world.logs["e0"], "task.started")} <= {1}


def test_scenario_84_what_a_killed_worker_had_is_run_by_another_one_within_a_lease() -> None:
    setting = Setting(seed=1, workers=1, troubled=SECOND)
    world = World(play_of(PAIR % "a"), setting, takes=20 * SECOND)
    world.timeline.at(8 * SECOND, lambda: world.kill(world.workers[0]))
    world.run()
    first, second = named(world.logs["e0"], "task.started", "1")
    assert (first.claim, second.claim) == (1, 2) and first.attempt == second.attempt == 1
    assert second.ts - first.ts < 75 * SECOND


@pytest.mark.parametrize("takes", [5 * SECOND, 3 * ACK_WAIT])
def test_scenarios_84_and_90_a_slow_tool_of_a_healthy_worker_runs_once(takes: int) -> None:
    world = World(play_of(PAIR % "a"), Setting(seed=2, servers=2, workers=3, troubled=SECOND), takes=takes)
    world.run()
    assert [event.claim for event in named(world.logs["e0"], "task.started")] == [1, 1]


def test_scenario_86_a_failure_on_a_worker_that_drains_is_not_lost() -> None:
    world = World(play_of(PAIR % "bad"), Setting(seed=3, workers=1, troubled=SECOND), takes=10 * SECOND)
    world.timeline.at(6 * SECOND, world.workers[0].worker.take_no_more)
    assert "failed" in str(world.run().ends["e0"])
    assert [event.claim for event in named(world.logs["e0"], "task.started")] == [1]


@pytest.mark.parametrize("seed", range(40))
def test_as_long_as_workers_live_no_claim_is_lost_however_often_servers_die(seed: int) -> None:
    """A worker's report is recorded under its claim by whichever server comes next; a start whose answer died with its
    server is known from the log, so its tool begins, once."""
    dying = Setting(seed=seed, servers=2, workers=2, disk=DiskOdds(killed=0.25), troubled=40 * SECOND)
    world = World(play_of(LOOP % (12, 6, CALL)), dying, takes=3 * SECOND)
    world.run()
    log = world.logs["e0"]
    assert not named(log, "task.lost")
    assert {event.claim for event in named(log, "task.started")} == {1}


@pytest.mark.parametrize("seed", range(10))
def test_a_tool_runs_once_though_its_server_was_taken_for_dead_and_knows_nothing_of_it(seed: int) -> None:
    world = World(play_of(PAIR % "a"), Setting(seed=seed, servers=2, workers=1, troubled=SECOND), takes=100 * SECOND)
    world.timeline.at(8 * SECOND, lambda: [server.disk.lose_ownership() for server in world.servers])
    world.run()
    assert [event.claim for event in named(world.logs["e0"], "task.started")] == [1, 1]
