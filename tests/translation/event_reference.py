"""The meaning of a step with `eval_mode: on_event`, as plainly as `spec/case-dialect.md` §1.2 and LANGUAGE §6 say it.

The rules are asked on every event that comes. Those of the step's own tool come when it has ended, once; then the
signals in their order, none lost, and those whose name no rule has are nobody's; the timer `timeout` comes once. An
event for which a rule fires, in inclusive mode some rule, is the end of waiting; any other is waited behind. `else`
takes what comes from outside and no rule takes, never an event of the tool.
"""

from collections.abc import Mapping
from typing import Any

from translation.case_reference import CaseRun, Failed
from translation.event_steps import SIGNALS, TIMER, Waiting
from translation.playing import Observed
from translation.world import NO_EVENT, Seen

WAITS = "interrupted"
"""How a run stands that still waits when nothing comes any more."""


class Forever(Exception):
    """Nothing comes any more."""


def expected(waiting: Waiting) -> Observed:
    """The observations that a run of the step's playbook must give."""
    running = _Waiting(waiting)
    status = "completed"
    try:
        running.step()
    except Failed:
        status = "failed"
    except Forever:
        status = WAITS
    return Observed(running.tools.calls, status, running.ctx)


class _Waiting(CaseRun):
    def __init__(self, waiting: Waiting) -> None:
        super().__init__(waiting.body)
        self.waiting = waiting
        self.event: Mapping[str, Any] = NO_EVENT

    def seen(self, outcome: Any) -> Seen:
        return super().seen(outcome)._replace(event=self.event)

    def step(self) -> None:
        """The tool, its events, then those that come until one is taken."""
        outcome: Any = {"status": "ok"}
        if self.waiting.has_tool:
            outcome = self.tools({"tag": "tool"})
            own = {"success", "call.done", "step.exit"} if outcome["status"] == "ok" else {"call.error"}
            if self.hears(own, outcome):
                return
            if outcome["status"] == "error":
                raise Failed
        for event in self.comes():
            self.event = event
            if self.hears({"success", self.event["name"]}, outcome) or self.hears({"else"}, outcome):
                return
        raise Forever

    def comes(self) -> list[dict[str, Any]]:
        """The events from outside that some rule names, and the timer's, in the order of their times."""
        named = {name for rule in self.body.rules for name in rule.events} & set(SIGNALS)
        found = [
            (float(at), {"name": name, "data": data})
            for at, (name, data) in enumerate(self.waiting.signals, 1)
            if name in named
        ]
        if self.waiting.timeout is not None:
            found.append((self.waiting.timeout, {"name": TIMER, "data": {"timer_id": "timeout"}}))
        return [event for _, event in sorted(found, key=lambda pair: pair[0])]

    def hears(self, events: set[str], outcome: Any) -> bool:
        """Whether a rule fires for an event; then what it does is done, and the step is over."""
        matching = self.matching(self.body.rules, events, outcome)
        fired = matching if self.body.mode == "inclusive" else matching[:1]
        if not fired:
            return False
        reached = self.branches(fired, outcome, {})
        self.arrive(self.body.fallback if reached is None else reached[1].following.targets, reached and reached[1])
        return True
