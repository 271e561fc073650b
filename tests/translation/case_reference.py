"""The meaning of a step with `case`, said as plainly as `spec/case-dialect.md` §1–2 and LANGUAGE §6 say it.

An interpreter of `Body`: it knows nothing of rules, jumps, places or plans. Where the texts leave something open: for
http, `call.done` is any response, then `call.error` what no rule for `call.done` takes; in exclusive mode a success is
first the end of the call and then the end of the step, `step.exit`, unless a rule routed before; `vars` come before
the case (formal §3.4); what the route gives is computed when the step is over, and what it gives of an iteration when
that is over; a used-up retry leaves the last outcome to the rules. The action `retry` of a rule tries the tool again
before anything else is done (`vars` of a success that is repeated are not kept), counting from the tool's first
attempt; used up, the rest of its rule is done, and one without a rest leaves the outcome to later rules, but never to
`else` or to the step's `next` (LANGUAGE §4). A chain that is repeated as a whole begins anew with all of its actions,
and its tools have no other policy (case §4.1, §4.2).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from translation.case_steps import OF_ITERATION, Body, CaseRule, Next, Put, Work
from translation.playing import Observed, ToolDouble
from translation.world import Seen


class Failed(Exception):
    """The step has failed."""


class UsedUp(Failed):
    """The tool was to be repeated, and may not: it has failed, whatever its outcome."""


class Stopped(Exception):
    """The step is over; nothing that is left of it runs."""


class Again(Exception):
    """The tool is to be called once more."""


class Chosen(NamedTuple):
    """A `next` that was reached, and the outcome that its rule saw."""

    following: Next
    seen: Seen


def expected(body: Body) -> Observed:
    """The observations that a run of the step's playbook must give."""
    running = CaseRun(body)
    status = "completed"
    try:
        running.step()
    except Failed:
        status = "failed"
    return Observed(running.tools.calls, status, running.ctx)


class CaseRun:
    """A run of the step."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.tools = ToolDouble(body.outcomes)
        self.ctx: dict[str, Any] = {"c": 1}

    def step(self) -> None:
        """The step, then what it leads to."""
        if self.body.items is None:
            rules = list(self.body.rules)
            routed = self.once(rules, {})
        else:
            routed = self.loop()
        if routed is not None:
            self.arrive(routed.following.targets, routed)
        else:
            self.arrive(self.body.fallback, None)

    def loop(self) -> Chosen | None:
        """Every iteration asks the rules that are not about the end of the loop; then those, in file order."""
        ending = [rule for rule in self.body.rules if "loop.done" in rule.events]
        inside = [rule for rule in self.body.rules if rule not in ending]
        first: tuple[CaseRule, Chosen] | None = None
        for index in range(self.body.items or 0):
            found = self.once_of(inside, {"i": index})
            first = first or found
        seen = self.seen({"status": "ok"})
        for rule in self.in_order(self.body.rules):
            if rule in ending and rule.asks.of(seen):
                return Chosen(_route_of(rule), seen) if _route_of(rule) else None
            if first is not None and rule is first[0]:
                return first[1]
        return None

    def once(self, rules: Sequence[CaseRule], who: dict[str, int]) -> Chosen | None:
        found = self.once_of(rules, who)
        return None if found is None else found[1]

    def once_of(self, rules: Sequence[CaseRule], who: dict[str, int]) -> tuple[CaseRule, Chosen] | None:
        """The tool, its case, and the `next` that wins with its rule."""
        attempt = 0
        while True:
            attempt += 1
            outcome = self.tools({"tag": "tool", **who})
            if outcome["status"] == "error" and attempt < self.body.attempts:
                continue
            before = dict(self.ctx)
            if self.body.takes_v and outcome["status"] == "ok":
                self.ctx["v"] = outcome["result"]["k"]
            try:
                return self.decided(rules, outcome, attempt, who)
            except Again:
                self.ctx = before
            except UsedUp:
                self.ctx = before
                raise

    def decided(
        self, rules: Sequence[CaseRule], outcome: Any, attempt: int, who: dict[str, int]
    ) -> tuple[CaseRule, Chosen] | None:
        """The case about an outcome of the tool. Raises Again where a rule tries it once more."""
        any_fired = is_used_up = False
        for events in _events(self.body, outcome):
            if (any_fired and not events & {"step.exit"}) or (is_used_up and events == {"else"}):
                break
            matching = self.matching(rules, events, outcome)
            fired = []
            for rule in matching:
                if attempt < rule.again:
                    raise Again
                is_used_up = is_used_up or bool(rule.again)
                fired += [rule] if rule.chain else []
                if fired and self.body.mode == "exclusive":
                    break
            if fired:
                any_fired = True
                reached = self.branches(fired, outcome, who)
                if reached is not None:
                    return reached
        if is_used_up and not any_fired:
            raise UsedUp
        if outcome["status"] == "error" and not any_fired:
            raise Failed
        return None

    def matching(self, rules: Sequence[CaseRule], events: set[str], outcome: Any) -> list[CaseRule]:
        """The rules that are true of an outcome: all guards are asked before anything runs."""
        seen = self.seen(outcome)
        fired = [
            rule
            for rule in self.in_order(rules)
            if not rule.is_else and rule.asks.of(seen) and events & set(rule.events or ("success",))
        ]
        return [rule for rule in rules if rule.is_else] if "else" in events else fired

    def in_order(self, rules: Sequence[CaseRule]) -> list[CaseRule]:
        if self.body.order == "source":
            return list(rules)
        return sorted(rules, key=lambda rule: -rule.priority)

    def branches(self, fired: list[CaseRule], outcome: Any, who: dict[str, int]) -> tuple[CaseRule, Chosen] | None:
        reached: list[tuple[CaseRule, Chosen]] = []
        try:
            for rule in fired:
                self.chain(rule, outcome, who, reached)
        except Stopped:
            pass
        if not reached:
            return None
        if self.body.policy == "defer" and self.body.mode == "inclusive":
            return max(reached, key=lambda pair: pair[1].following.priority)
        return reached[0]

    def chain(self, rule: CaseRule, outcome: Any, who: dict[str, int], reached: list[tuple[CaseRule, Chosen]]) -> None:
        """The actions of a rule, all of them again where the chain is repeated as a whole."""
        for run in range(1, rule.whole + 1):
            try:
                return self.actions(rule, outcome, who, reached)
            except Failed:
                if run == rule.whole:
                    raise
        return self.actions(rule, outcome, who, reached)

    def actions(
        self, rule: CaseRule, outcome: Any, who: dict[str, int], reached: list[tuple[CaseRule, Chosen]]
    ) -> None:
        for part in rule.chain:
            seen = self.seen(outcome)
            match part:
                case Put(name, value):
                    self.ctx[name] = value.of(seen)
                case Work(tag, reads, attempts, _, when) if when is None or when.of(seen):
                    args = {"tag": tag, **who, "read": reads.of(seen)}
                    inherited = 0 if rule.whole else self.body.attempts
                    if self.called(args, max(attempts or inherited, 1))["status"] == "error":
                        raise Failed
                case Next(_, _, policy, _):
                    reached.append((rule, Chosen(part, seen)))
                    effective = policy or self.body.policy
                    if self.body.mode == "exclusive" or effective == "end_step":
                        raise Stopped
                    if effective == "break_chain":
                        return

    def called(self, args: dict[str, Any], attempts: int) -> Any:
        """The outcome of a tool, the last of so many attempts at most."""
        for _ in range(attempts):
            outcome = self.tools(args)
            if outcome["status"] == "ok":
                break
        return outcome

    def arrive(self, targets: Sequence[str], by: Chosen | None) -> None:
        sends = None if by is None else by.following.sends
        assert by is not None or sends is None
        got = "none"
        if sends is not None and by is not None:
            got = sends.of(by.seen if sends in OF_ITERATION else self.seen(by.seen.outcome))
        for name in targets:
            self.tools({"tag": name, "got": got})

    def seen(self, outcome: Any) -> Seen:
        return Seen(outcome, dict(self.ctx), self.body.workload)


def _route_of(rule: CaseRule) -> Next:
    return next(part for part in rule.chain if isinstance(part, Next))


def _events(body: Body, outcome: Any) -> list[set[str]]:
    """The events that have happened, as a rule can name them; one set after the other."""
    if outcome["status"] == "ok" and body.mode == "inclusive":
        return [{"success", "call.done", "step.exit"}, {"else"}]
    if outcome["status"] == "ok":
        return [{"success", "call.done"}, {"step.exit"}, {"else"}]
    if body.kind == "http" and "http" in outcome:
        return [{"call.done"}, {"call.error"}]
    return [{"call.error"}]
