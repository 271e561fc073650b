"""The meaning of `pipe` of a rule, said as plainly as D6 and the page of the engine that had it say it.

Its tasks follow one another, and each sees as `_prev` what the last one that went well gave, the first what the tool of
the step gave. Of a failure the rules of the task's own `catch` are asked, then those of the pipe's; `else` takes any,
and what none takes fails the step. `skip` and `continue` go on, `jump` goes to a task, and `_prev` stays what it was or
is `set_prev`. `retry` calls the task again, or with `from` or `task` begins again at that one, which has the `_prev`
that it had: `attempts` count all its calls, or all beginnings of that task, and used up the failure is the task's own.
"""

from collections.abc import Callable, Mapping
from typing import Any

from translation.older_repeating import Failed, Outcome, seen_as
from translation.older_templates import Error, is_true, value_of

Call = Callable[[Mapping[str, Any], Any], tuple[Outcome, str | None]]
"""Calls a tool with its arguments and its own `retry`, None where it inherits that of the step; the outcome, and the
code of a failure.
"""


class Pipe:
    """A pipe that runs: `results` has what was `_prev` for each task, `begun` how often a task was begun again."""

    def __init__(self, node: Mapping[str, Any], names: Mapping[str, Any], first: Any, call: Call) -> None:
        inner = node["pipe"]
        self.tasks = inner["tasks"] if isinstance(inner, dict) else inner
        self.order = [next(iter(task)) for task in self.tasks]
        self.catch = (inner if isinstance(inner, dict) else node).get("catch", {}).get("cond", [])
        self.names = dict(names)
        self.previous = first
        self.results: dict[str, Any] = {}
        self.begun: dict[str, int] = {}
        self._call = call

    def run(self) -> Any:
        """Run it to its end; the last value. Raises Failed."""
        at, attempt = 0, 1
        while at < len(self.tasks):
            name = self.order[at]
            self.results[name] = self.previous
            args = value_of(self.tasks[at][name]["tool"]["args"], self._seen(name, attempt))
            outcome, code = self._call(args, 1 if self._rules(name) else None)
            if code is not None and not self._rules(name):
                raise Failed(outcome, code)
            if outcome.is_ok:
                self.previous = outcome.result
                self.names[name] = seen_as(outcome.result)
                at, attempt = at + 1, 1
                continue
            led = self._led(name, attempt, outcome)
            attempt = attempt + 1 if led is None else 1
            at = at if led is None else led
        return self.previous

    def _seen(self, name: str, attempt: int) -> dict[str, Any]:
        return {**self.names, "_prev": seen_as(self.previous), "_task": name, "_attempt": attempt}

    def _rules(self, name: str) -> list[Any]:
        """The rules for failures of a task: its own, and those of the pipe where its own take not all."""
        own = self.tasks[self.order.index(name)][name].get("catch", {}).get("cond", [])
        return list(own if any("else" in rule for rule in own) else (*own, *self.catch))

    def _led(self, name: str, attempt: int, outcome: Outcome) -> int | None:
        """The place of the task that follows a failure; None where the task is called once more.

        Behind a rule that is used up only those with a condition are asked (LANGUAGE §4), and what fails is the task.
        """
        names = self._seen(name, attempt) | {"_err": Error(code=outcome.code, message=outcome.message)}
        is_used_up = False
        for listed in self._rules(name):
            if is_used_up if "else" in listed else not is_true(listed["when"], names):
                continue
            rule = listed.get("else", listed)
            if rule["do"] != "retry":
                return self._done(rule, name, names, outcome)
            target = rule.get("from", rule.get("task", name))
            count = self.begun.get(target, 0) + 1 if target != name else attempt
            if count < rule.get("attempts", 3):
                return self._begun(target, name, count)
            is_used_up = True
        raise Failed(outcome, str(outcome.code))

    def _begun(self, target: str, name: str, count: int) -> int | None:
        if target == name:
            return None
        self.begun[target] = count
        self.previous = self.results.get(target, self.previous)
        return self.order.index(target)

    def _done(self, rule: Any, name: str, names: Mapping[str, Any], outcome: Outcome) -> int:
        if "set_prev" in rule:
            self.previous = value_of(rule["set_prev"], names)
        match rule["do"]:
            case "skip" | "continue":
                return self.order.index(name) + 1
            case "jump":
                return self.order.index(rule["to"])
        raise Failed(outcome, str(outcome.code))
