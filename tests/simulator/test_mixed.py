"""Random playbooks on simulated clusters: the laws hold whatever construct stands beside whatever other one.

Of a run of such a playbook nothing is known but that it ends, as all of them have a limit of time.
"""

from typing import Any

import pytest
import yaml

from harness.samples import first
from mixed_playbooks import playbook_of
from simulator.plays import Play, ready
from simulator.world import World, setting_of

SEEDS, SHARES = 1_200, 60
SIGNALS = tuple([(1 + 2.5 * number, name) for number, name in enumerate("abxmcsabxmcs")])
CHILD = """
executor: {spec: {finally: its, policy: {lifecycle: {timeout_s: 20, after_s: 20}}}}
workload: {n: 0}
workflow:
  - step: start
    spec: {policy: {compensate: undo}}
    tool: {name: a, kind: http, url: "http://x/{{ workload.n }}"}
    next: {arcs: [{step: two}]}
  - {step: two, tool: {name: b, kind: wait, events: [a], timers: {t: 3}}}
  - {step: undo, tool: {name: u, kind: http, url: "http://x/undo"}}
  - {step: its, tool: [{name: d, kind: http, url: "http://x/its"}, {name: w, kind: wait, timers: {t: 2}}]}
"""


def limited(body: str) -> str:
    """A playbook with a limit of time for main and each phase behind it, and without inputs that must be brought."""
    document = _as_text(yaml.safe_load(body))
    spec = document.setdefault("executor", {}).setdefault("spec", {})
    spec.pop("inputs", None)
    life = spec.setdefault("policy", {}).setdefault("lifecycle", {})
    life["timeout_s"] = 40
    if {"on_failure", "finally"} & {*spec} or "compensate" in body:
        life["after_s"] = 20
    return yaml.safe_dump(document, sort_keys=False, width=1_000)


def _as_text(value: Any) -> Any:
    """The key `on` is true for PyYAML."""
    if isinstance(value, dict):
        return {"on" if key is True else key: _as_text(each) for key, each in value.items()}
    return [_as_text(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("share", first(1, range(SHARES)))
def test_the_laws_hold_of_random_playbooks(share: int) -> None:
    for seed in range(share, SEEDS, SHARES):
        play = Play(f"mixed {seed}", limited(playbook_of(seed)), (("t/c", CHILD),), SIGNALS, same="nothing")
        setting = setting_of(7 * seed)
        try:
            World(ready(play), setting).run()
        except AssertionError as problem:
            raise AssertionError(f"playbook {seed}, simulation {setting.seed}: {problem}") from problem
