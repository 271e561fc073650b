"""The meaning of `case`, said as plainly as `spec/case-dialect.md` §1–2, LANGUAGE §6 and REAL.md (flow) say it.

Where the texts leave something open: a success is first the end of the call, `call.done`, and then the end of the
step, `step.exit`, unless a rule routed before; in inclusive mode both at once. On failures rules are asked in file
order: those that name `call.error`, and those that read `error` or a status. What a route gives is computed when the
step is over. The action `retry` of a rule tries the tool again before anything else is done, counting from the tool's
first attempt; used up, the rest of its rule is done, and one without a rest leaves the outcome to later rules: a
success stops and keeps (REAL.md), a failure is used up. A chain that is repeated as a whole begins anew
with all its actions.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from translation.older_pipes import Pipe
from translation.older_repeating import Ended, Failed, Outcome, is_page, seen_as
from translation.older_routing import Led, arrivals
from translation.older_templates import is_true, plain, reads, value_of

_ABOUT_FAILURE = re.compile(r"\b(error|status_code)\b|this\.status|response\.status")
_ABOUT_TOOL = re.compile(r"\b(result|response|this|data|error|success|status_code|s)\b")
_WORD = re.compile(r"'[^']*'")
_EVENT = re.compile(r"\bevent\.name\b")


class Again(Exception):
    """The tool is to be called once more."""


class Stopped(Exception):
    """The step is over; nothing that is left of it runs."""


class Chosen(NamedTuple):
    """A `next` that was reached: its rule, its targets, and what its rule saw."""

    rule: Any
    targets: list[Any]
    priority: int
    here: Mapping[str, Any]


class Case:
    """The case of a step's run."""

    def __init__(self, run: Any) -> None:
        self.run = run
        self._left: list[set[str]] = []
        self.has_result = False
        self.result: Any = None
        self.rules: list[Any] = [rule for rule in run.step.get("case", []) if not is_page(rule)]
        spec = run.step.get("spec", {})
        self.is_inclusive = spec.get("case_mode") == "inclusive"
        self.policy = spec.get("next_policy", "end_step")
        self.by_priority = spec.get("branch_order") == "priority"

    @property
    def may_give(self) -> bool:
        """Whether a rule may say what the step gives."""
        return any(word == "pipe" for rule in self.rules for word, _ in _chain(rule))

    def in_order(self) -> list[Any]:
        """The rules as they are asked."""
        if not self.by_priority:
            return self.rules
        return sorted(self.rules, key=lambda rule: -rule.get("priority", 0))

    def fired(self, ended: Ended, here: Mapping[str, Any]) -> list[Any]:
        """The rules that fire for an outcome: those of the first event for which any does.

        Raises Again where one of them repeats the tool, and Failed where one is used up and no other takes it.
        """
        names = self.run.names(here)
        is_used_up = False
        self._left = self.events(ended)
        while self._left:
            events = self._left.pop(0)
            chosen: list[Any] = []
            for rule in [rule for rule in self.in_order() if self.matches(rule, events, ended, names)]:
                most = _attempts(rule)
                if ended.attempt < most:
                    raise Again
                is_used_up = is_used_up or bool(most and ended.code is not None)
                chosen += [rule] if _chain(rule) or not most else []
                if chosen and not self.is_inclusive:
                    break
            if chosen:
                return chosen
        if is_used_up:
            raise Failed(ended.outcome, "retry.exhausted")
        return []

    def events(self, ended: Ended) -> list[set[str]]:
        """The events that have happened, as a rule can name them, one set after the other; a poll that is used up is
        the end.
        """
        if ended.code == "poll.exhausted" and not self.only_routes:
            return []
        if ended.code is not None:
            return [{"call.error"}]
        if self.is_inclusive:
            return [{"", "call.done", "step.exit"}, {"else"}]
        return [{"", "call.done"}, {"step.exit"}, {"else"}]

    def matches(self, rule: Any, events: set[str], ended: Ended, names: Mapping[str, Any]) -> bool:
        """Whether a rule is true of what happened."""
        if "when" not in rule:
            return "else" in events
        when = rule["when"]
        named = reads(when, _EVENT)
        if "call.error" in events:
            asked = {"call.error"} | ({"call.done", "step.exit"} if reads(when, _ABOUT_FAILURE) else set())
            asked = asked if named else ({"call.error"} if reads(when, _ABOUT_FAILURE) else set())
        else:
            asked = (events - {"", "else"}) if named else (events & {""})
        if asked and self.is_of_the_last_page(rule, ended.stopped):
            return True
        return any(is_true(when, {**names, "event": {"name": event}}) for event in sorted(asked))

    def is_of_the_last_page(self, rule: Any, stopped: str) -> bool:
        """Whether a rule is the only way on behind a loop over pages, and is taken where their number ended the loop.

        Such a rule asks for the opposite of one thing that another page was asked for, and of nothing else (REAL.md,
        flow).
        """
        leading = [each for each in self.rules if any(word == "next" for word, _ in _chain(each))]
        has_else = any("when" not in each and _chain(each) for each in self.rules)
        if not stopped or leading != [rule] or has_else or "next" in self.run.step:
            return False
        page = _parts(stopped)
        own = set(_parts(rule["when"])).difference(page)
        return len(own) == 1 and own <= {f"not {part}" for part in page}

    def branches(self, fired: list[Any], ended: Ended, here: Mapping[str, Any]) -> Chosen | None:
        """Do what the rules say, and those for the end of the step behind them; the `next` that wins."""
        while fired:
            reached: list[Chosen] = []
            try:
                for rule in fired:
                    self.chain(rule, dict(here), reached)
            except Stopped:
                pass
            if reached and self.policy == "defer" and self.is_inclusive:
                return max(reached, key=lambda one: one.priority)
            if reached:
                return reached[0]
            events = next((events for events in self._left if events == {"step.exit"}), None)
            self._left = []
            names = self.run.names(here)
            asked = [] if events is None else [r for r in self.in_order() if self.matches(r, events, ended, names)]
            fired = asked[:1]
        return None

    def with_page(self, rule: Any, here: Mapping[str, Any]) -> None:
        """Apply a rule that reads another page than the last one to the page that it is true of."""
        self.actions(rule, dict(here), [], whole=False)

    def chain(self, rule: Any, here: dict[str, Any], reached: list[Chosen]) -> None:
        """The actions of a rule, all of them again where the chain is repeated as a whole."""
        retry = rule.get("retry", {})
        whole = retry.get("max_attempts", 3) if retry.get("scope") == "chain" else 0
        for _ in range(1, whole):
            try:
                return self.actions(rule, here, reached, whole=True)
            except Failed:
                pass
        try:
            self.actions(rule, here, reached, whole=bool(whole))
        except Failed as failure:
            if whole > 1:
                raise Failed(failure.outcome, "retry.exhausted") from failure
            raise

    def actions(self, rule: Any, here: dict[str, Any], reached: list[Chosen], *, whole: bool) -> None:
        for word, node in _chain(rule):
            names = self.run.names(here)
            match word:
                case "set" | "vars":
                    self.run.patch(_pairs(node), names)
                case "sink" | "save":
                    self.run.sink(node, names, 1 if whole else None)  # a whole chain hides the step's retry
                case "result":
                    value = value_of("{{ " + node["from"] + " }}", names)
                    self.run.execution.results[self.run.step["step"]] = value
                case "pipe":
                    first = plain(self.run.last.result)
                    self.result = Pipe(node, names, first, self.run.tried).run()
                    self.has_result = True
                case "next" | "call" | "step":
                    targets, policy, priority = _next(node)
                    reached.append(Chosen(rule, targets, priority, dict(here)))
                    effective = policy or self.policy
                    if not self.is_inclusive or effective == "end_step":
                        raise Stopped
                    if effective == "break_chain":
                        return
                case _:
                    own = node.get("retry", node["tool"].get("retry", None if whole else rule.get("retry")))
                    outcome, code = self.run.tried(
                        value_of(node["tool"]["args"], names), 1 if whole and own is None else own
                    )
                    if code is not None:
                        raise Failed(outcome, code)
                    here[word] = seen_as(outcome.result)

    def of_skipped(self) -> Chosen | None:
        """A skipped step is done, and routing goes on: an exclusive case that only routes by `event`, `ctx` and
        `workload` is that (LANGUAGE §6); any other is about a tool, which did not run.
        """
        if not self.only_routes:
            return None
        nothing = Outcome(None, None)
        ended = Ended(nothing, None, 1, None)
        return self.branches(self.fired(ended, nothing.names()), ended, nothing.names())

    @property
    def only_routes(self) -> bool:
        """Whether it is arcs (LANGUAGE §6): a failed step leads on by them, and has no result."""
        words = {word for rule in self.rules for word, _ in _chain(rule)}
        if self.is_inclusive or words - {"next", "call", "step"} or any(_attempts(rule) for rule in self.rules):
            return False
        return not any(reads(_WORD.sub("", rule.get("when") or ""), _ABOUT_TOOL) for rule in self.rules)

    def of_loop(self, first: Chosen | None) -> Chosen | None:
        """The rules about the end of the loop, and what an iteration chose, in file order."""
        result = self.run.execution.results[self.run.step["step"]]
        here = {**Outcome(result, None).names(), "event": {"name": "loop.done"}}
        for rule in self.in_order():
            if first is not None and rule is first.rule:
                return first
            if "when" in rule and reads(rule["when"], _EVENT) and is_true(rule["when"], self.run.names(here)):
                found: list[Chosen] = []
                with suppress(Stopped):
                    self.chain(rule, here, found)
                return found[0] if found else None
        return None

    def arrivals(self, chosen: Chosen) -> Led:
        """The tokens for the `next` that won: they give of the step's result, of pages what was gathered, and of a pipe
        its last value.
        """
        result = seen_as(self.run.execution.results.get(self.run.step["step"]))
        is_gathered = "loop" not in self.run.step and chosen.here.get("is_gathered", False)
        is_its_own = is_gathered or self.has_result
        words = dict.fromkeys(("result", "response", "data"), result) if is_its_own else {}
        if self.has_result:  # the name of the step means what it gives, too
            words[self.run.step["step"]] = result
        return arrivals(self.run, chosen.targets, self.run.names({**chosen.here, **words}))


def _chain(rule: Any) -> list[tuple[str, Any]]:
    """The actions of a rule in order, without what repeats its tool; of a mapping, `next` is the last."""
    body = rule.get("then", rule.get("else"))
    if isinstance(body, dict):
        pairs = [pair for key, node in body.items() if key != "next" for pair in _of_pipe(key, node, body)]
        pairs += [("next", body["next"])] if "next" in body else []
    else:
        pairs = [("step", item) if "step" in item else next(iter(item.items())) for item in body if "pipe" not in item]
        at = next((n for n, item in enumerate(body) if "pipe" in item), 0)
        piped = [pair for item in body for pair in (_of_pipe("pipe", None, item) if "pipe" in item else ())]
        pairs[at:at] = piped
    return [(word, node) for word, node in pairs if word not in ("retry", "collect")]


def _of_pipe(word: str, node: Any, body: Any) -> list[tuple[str, Any]]:
    """An action of a mapping: a pipe with what stands beside it, and then what its `finally` does."""
    if word in ("catch", "finally"):
        return []
    if word != "pipe":
        return [(word, node)]
    return [("pipe", body), *(pair for item in body.get("finally", []) for pair in item.items())]


def _parts(when: Any) -> list[str]:
    """The parts of a condition, as texts; the name of an event apart."""
    parts = str(when).strip("{} ").split(" and ")
    return [part.strip() for part in parts if "event.name" not in part]


def _attempts(rule: Any) -> int:
    """How often the tool may be called by the action `retry` of a rule; 0 without one."""
    body = rule.get("then", [])
    pairs = body.items() if isinstance(body, dict) else [pair for item in body for pair in item.items()]
    for word, node in pairs:
        if word == "retry":
            return int(node) if isinstance(node, int) else int(node.get("max_attempts", 3))
    return 0


def _pairs(node: Any) -> dict[str, Any]:
    if isinstance(node, dict):
        return node
    return {item["name"]: item["value"] for item in node}


def _next(node: Any) -> tuple[list[Any], str | None, int]:
    """The targets of `next`, its policy and priority."""
    if isinstance(node, dict) and "to" in node:
        return node["to"], node.get("policy"), node.get("priority", 0)
    return (node if isinstance(node, list) else [node]), None, 0
