"""A batch of reports or answers is lost, doubled or halved, or a process dies of it: each batch of a run in turn.

The laws of `World.run` hold, and each iteration ends once.
"""

from collections.abc import Callable
from typing import Any

import pytest

from simulator.endpoint import Endpoint
from simulator.plays import Play, Ready, ready
from simulator.timeline import SECOND
from simulator.world import Setting, World

LOOP = """
workflow:
  - step: start
    loop: {{in: "{{{{ range(6) | list }}}}", iterator: n, spec: {{mode: parallel, max_in_flight: 6}}}}
    tool: {{name: t, kind: {kind}}}
    next: {{arcs: [{{step: once, when: "{{{{ event.name == 'loop.done' }}}}"}}]}}
  - {{step: once, tool: {{kind: noop, result: "{{{{ start }}}}"}}}}
"""
PLAYS: list[Ready] = [ready(Play("batches", LOOP.format(kind=kind))) for kind in ("noop", 'http, url: "http://x/a"')]
Tell = Callable[[Endpoint, str, Any], None]


class Faults:
    """Does something to batch number `at`, of those with more than one message in them; counts them all."""

    def __init__(self, patch: pytest.MonkeyPatch, at: int, fault: str) -> None:
        self.count = 0
        self._at = at
        self._fault = fault
        self.world: World | None = None
        for name in ("_tell_reports", "_tell_answers"):
            patch.setattr(Endpoint, name, self._around(getattr(Endpoint, name)))

    def _around(self, tell: Tell) -> Tell:
        def told(endpoint: Endpoint, to: str, group: Any) -> None:
            self.count += len(group) > 1
            if len(group) > 1 and self.count == self._at:
                self._do(lambda part: tell(endpoint, to, part), group)
            else:
                tell(endpoint, to, group)

        return told

    def _do(self, tell: Callable[[Any], None], group: Any) -> None:
        assert self.world is not None
        world = self.world
        half = len(group) // 2
        match self._fault:
            case "doubled":
                tell(group)
                tell(group)
            case "halved":
                tell(group[:half])
            case "in another order":
                tell(group[half:])
                tell(group[:half])
            case "the server dies":
                tell(group)
                world.timeline.after(2_500, world.servers[0].die)
            case "the workers die":
                tell(group)
                world.timeline.after(2_500, lambda: [world.kill(worker) for worker in world.workers])


FAULTS = ("lost", "doubled", "halved", "in another order", "the server dies", "the workers die")


def batches(fault: str, at: int, play: Ready) -> int:
    """How many batches a run has in which something is done to one of them; all laws hold, and all items end once."""
    with pytest.MonkeyPatch.context() as patch:
        faults = Faults(patch, at, fault)
        faults.world = world = World(play, Setting(seed=1, servers=1, workers=2, troubled=SECOND), takes=SECOND)
        world.run()
    done = [event.run for event in world.logs["e0"] if event.event_type == "loop.iteration.done"]
    assert sorted(done) == [f"1/{index}" for index in range(6)], f"{fault}, batch {at}"
    return faults.count


@pytest.mark.parametrize("play", PLAYS, ids=["noop", "effect"])
@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_happens_to_a_batch_each_message_in_it_counts_once(fault: str, play: Ready) -> None:
    count = batches(fault, 0, play)
    assert count >= 2
    for at in range(1, count + 1):
        batches(fault, at, play)
