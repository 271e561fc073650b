"""Random playbooks whose steps read what other steps came to, in every place where an expression may.

Each step comes to a mapping, in a loop to a list of them. Guards, args of arcs, admissions, rules, items of loops,
results, callers and the steps behind main read parts of it, all of it, and what is not there. Whoever uses it runs each
playbook with its results inside and outside of the log.
"""

import json
import random
from typing import Any

import yaml

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/t}\n"
SCRIPT = {"outcomes": [{"task": "broken", "outcome": {"error": {"code": "broken"}}}]}
VALUE = {"v": 1, "l": [1, 2, {"z": 3}], "d": {"x": {"y": 1}}}
PARTS = [".v", ".l", ".l[1]", ".d", ".d.x", ".d.x.y", ".result.v", ".data.d", "", ".missing", ".d.missing"]
LENGTH = 4
BROKEN = {"name": "broken", "kind": "http", "url": "http://x"}


def playbook_of(seed: int) -> str:
    """The playbook of a seed, with that of its child behind it."""
    return _Maker(random.Random(seed)).whole()


def changed_playbooks(seed: int, task: dict[str, Any]) -> tuple[str, str]:
    """Two playbooks that are the same up to a step that has this task: behind it one reads nothing, and the other one
    reads as a random one does.
    """
    head, _, child = playbook_of(seed).partition("---\n")
    steps = [step for step in yaml.safe_load(head)["workflow"] if step["step"].startswith("s")]
    for step in steps:
        if step["tool"] == BROKEN:
            step["tool"] = {"name": "t", "kind": "noop", "result": VALUE}
        policy = step.get("spec", {}).get("policy", {})
        policy.pop("compensate", None)
        if not policy:
            step.pop("spec", None)
    mid = 1 + seed % 2
    steps[mid].pop("loop", None)
    steps[mid]["tool"] = task
    old = json.loads(json.dumps(steps))
    for step in old[mid:]:
        for arc in step.get("next", {}).get("arcs", []):
            arc.update(args={"got": 1}, **({"when": "{{ true }}"} if "when" in arc else {}))
    for step in old[mid + 1 :]:
        step["tool"] = {"name": "t", "kind": "noop"}
        step.pop("spec", None)
    return tuple(f"{HEAD}workflow: {json.dumps(some)}\n---\n{child}" for some in (old, steps))  # type: ignore[return-value]


class _Maker:
    """Makes one playbook. `names` are what may be read of the steps so far."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.names: list[str] = []
        self.undoes, self.ends, self.calls = (chance.random() < 0.4 for _ in range(3))

    def whole(self) -> str:
        steps = [self._step(number) for number in range(LENGTH)]
        spec: dict[str, Any] = {}
        if self.undoes:
            steps[-1] = {"step": steps[-1]["step"], "tool": BROKEN}
            steps += self._behind("undo", ["args.result", "args.args.got", "args.iter"])
        if self.ends:
            spec["finally"] = "end0"
            steps += self._behind("end", ["args.result", "args.result[0]", "args.result[1]"])
        if self.chance.random() < 0.3:
            spec["result"] = self._value(self.names)
        head = f"executor: {json.dumps({'spec': spec})}\n" if spec else ""
        child = HEAD.replace("t/t", "t/child") + f"workflow: {json.dumps([self._last_of_child()])}\n"
        return f"{HEAD}{head}workflow: {json.dumps(steps)}\n---\n{child}"

    def _value(self, names: list[str]) -> str:
        read = self.chance.choice(names) + self.chance.choice(PARTS)
        # Nearly all of what is not there has a value that stands for it: a run that fails at once reads little.
        read = f"({read} | default('none'))" if self.chance.random() < 0.95 else read
        ways = (read, read, read, f"{read} | string | length", f"{read} == 1", f"{read} | tojson")
        return f"{{{{ {self.chance.choice(ways)} }}}}"

    def _guard(self, names: list[str]) -> str:
        read = self.chance.choice(names) + self.chance.choice([".v", ".d.x.y", ".l[1]", ".missing", ".d.missing", ""])
        ways = (f"{read} is defined", f"({read} | default(0)) == 1", f"({read} | default({{}})) == 2")
        return f"{{{{ {self.chance.choice(ways)} }}}}"

    def _step(self, number: int) -> dict[str, Any]:
        chance, name = self.chance, f"s{number}"
        levels = chance.choice([0, 0, 0, 1, 2])
        tasks = self._tasks(number, chance.choice([1, 1, 2]))
        if self.calls and chance.random() < 0.3:
            tasks, levels = (
                [self._with_rules({"name": f"c{number}", "kind": "playbook", "path": "t/child"}, number, [])],
                0,
            )
        step: dict[str, Any] = {"step": name, "tool": tasks if len(tasks) > 1 else tasks[0]}
        policy: dict[str, Any] = {}
        if levels:
            step["loop"] = self._loop(levels)
        if self.names and chance.random() < 0.2:
            rules = [{"when": self._guard(self.names), "then": {"allow": True}}, {"else": {"then": {"allow": True}}}]
            policy["admit"] = {"rules": rules}
        if self.undoes and chance.random() < 0.6:
            policy["compensate"] = "undo0"
        if policy:
            step["spec"] = {"policy": policy}
        self.names.append(name + ("", f"[{chance.randint(0, 1)}]", f"[{chance.randint(0, 1)}][0]")[levels])
        if number + 1 < LENGTH:
            told = ["event.result"] if not levels else ["event.result[0]"]
            step["next"] = self._next(f"s{number + 1}", [*self.names, *told, *(["args.got"] if number else [])])
        return step

    def _next(self, target: str, names: list[str]) -> dict[str, Any]:
        arcs: list[dict[str, Any]] = [{"step": target, "when": self._guard(names), "args": {"got": self._value(names)}}]
        return {"arcs": [*arcs, {"step": target, "args": {"got": self._value(names)}}][self.chance.randint(0, 1) :]}

    def _loop(self, levels: int) -> dict[str, Any]:
        chance = self.chance
        items: Any = [1, 2]
        if self.names and chance.random() < 0.4:
            items = f"{{{{ {chance.choice(self.names)}.l | default([1, 2]) }}}}"
        loop: dict[str, Any] = {
            "in": items,
            "iterator": "a",
            "spec": {"mode": chance.choice(["sequential", "parallel"])},
        }
        return {**loop, "loop": {"in": [3], "iterator": "b"}} if levels > 1 else loop

    def _tasks(self, number: int, count: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for at in range(count):
            names = [*self.names, *(task["name"] for task in found), *(["_prev"] if at else [])]
            names += ["args.got"] if number else []
            reads = {f"r{key}": self._value(names) for key in range(self.chance.randint(0, 2)) if names}
            task = {"name": f"t{number}{at}", "kind": "noop", "result": {**VALUE, "n": number, **reads}}
            found.append(self._with_rules(task, number, names))
        return found

    def _with_rules(self, task: dict[str, Any], number: int, names: list[str]) -> dict[str, Any]:
        """A task that may write to `ctx`, a key of its own in each step, and to `iter`."""
        if self.chance.random() < 0.6:
            return task
        names = ["outcome.result", *names]
        writes = {"set_ctx": {f"k{number}": self._value(names)}, "set_iter": {"it": self._value(names)}}
        rules = [
            {"when": self._guard(names), "then": {"do": "continue", **writes}},
            {"else": {"then": {"do": "continue", "set_ctx": {f"k{number}": "no"}}}},
        ]
        return {**task, "spec": {"policy": {"rules": rules}}}

    def _behind(self, name: str, told: list[str]) -> list[dict[str, Any]]:
        """Two steps of a region behind main, of which the first is told what others came to."""
        reads = {key: self._value(told) for key in "abc"}
        first = {"step": f"{name}0", "tool": {"name": f"{name}a", "kind": "noop", "result": reads}}
        last = {"r": self._value(["args.got", f"{name}0", *self.names])}
        return [
            {**first, "next": self._next(f"{name}1", told)},
            {"step": f"{name}1", "tool": {"name": f"{name}b", "kind": "noop", "result": last}},
        ]

    def _last_of_child(self) -> dict[str, Any]:
        step: dict[str, Any] = {"step": "start", "tool": {"name": "t", "kind": "noop", "result": VALUE}}
        levels = self.chance.choice([0, 1, 2])
        return {**step, "loop": {**self._loop(levels), "in": [1, 2]}} if levels else step
