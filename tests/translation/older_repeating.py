"""How often the tool of a step is called, said as plainly as formal §7, formal-extended §6, case §4 and REAL.md do.

`retry` in all its forms, `poll`, and the rules of `case` that ask for the next page. All of them end before anything
else of the step is asked (REAL.md, flow). A failure that is repeated too often is used up: `retry.exhausted`; a
success that is repeated too often stops and keeps what it has; only `poll` fails then: `poll.exhausted`.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from translation.older_templates import Absent, Error, Items, Missing, Result, is_true, value_of

_ABOUT_FAILURE = re.compile(r"\b(error|status_code|success|status)\b")


class Outcome(NamedTuple):
    """The outcome of a tool; `code` is None where it succeeded, `status` the status of an http response."""

    result: Any
    code: str | None
    status: int | None = None
    message: str = ""

    @property
    def is_ok(self) -> bool:
        return self.code is None

    def names(self) -> dict[str, Any]:
        """The words that old dialects have for it."""
        result = seen_as(self.result) if self.result is not None else Absent(name="result")
        error: Any = Absent(name="error")
        if self.code is not None:
            error = Error(code=self.code, message=self.message, status=self.status)
            if self.status is None:
                del error["status"]
        word = "success" if self.is_ok else "error"
        return {
            **dict.fromkeys(("result", "response", "data"), result),
            "this": {"status": word, "data": result, "result": result, "error": error},
            "output": {"status": "ok" if self.is_ok else "error", "data": result, "error": error},
            "error": error,
            "status_code": Absent(name="status_code") if self.status is None else self.status,
            "success": self.is_ok,
        }


class Failed(Exception):
    """The step has failed: with the outcome that its arcs see, and the code."""

    def __init__(self, outcome: Outcome, code: str) -> None:
        super().__init__(code)
        self.outcome = outcome
        self.code = code


class Ended(NamedTuple):
    """The end of the repetitions: `outcome` as rules see it, `code` what the step fails with if no rule takes it,
    `attempt` the number of the last call, `result` the step's, `is_list` whether pages were gathered as a list,
    `stopped` the condition for another page where their number ended the loop.
    """

    outcome: Outcome
    code: str | None
    attempt: int
    result: Any
    is_list: bool = False
    stopped: str = ""


def seen_as(value: Any) -> Any:
    """A result with the names that templates have for its parts."""
    return Result(value) if isinstance(value, dict) else Items(value) if isinstance(value, list) else value


class Page(NamedTuple):
    """A policy of a list, or a rule of `case` that repeats the tool for more: `rule` has what it does besides."""

    when: Any
    attempts: int
    next_call: Mapping[str, Any]
    collect: Mapping[str, Any] | None
    sink: Any
    rule: Any = None

    @property
    def is_success(self) -> bool:
        """Whether it repeats successes: it asks for a next page, gathers or stores."""
        return bool(self.next_call) or self.collect is not None or self.sink is not None


class Retry(NamedTuple):
    """`retry` as a mapping."""

    attempts: int
    retry_when: Any
    stop_when: Any
    on: Any

    def repeats(self, outcome: Outcome, names: Mapping[str, Any]) -> bool:
        """`stop_when` is asked first and alone repeats whatever is not true; `retry_when` limits what repeats."""
        if self.stop_when is not None and is_true(self.stop_when, names):
            return False
        if self.retry_when is not None:
            return is_true(self.retry_when, names)
        if self.on is not None:
            return outcome.code in self.on or outcome.status in self.on
        return self.stop_when is not None or not outcome.is_ok


def retry_of(node: Any) -> Retry | tuple[Page, ...] | None:
    """`retry` in any of its forms; None where nothing is repeated."""
    match node:
        case None | False:
            return None
        case True:
            return Retry(3, None, None, None)
        case int():
            return Retry(node, None, None, None)
        case list():
            return tuple(_page(policy.get("when"), policy["then"]) for policy in node)
        case {"on_error": _} | {"on_success": _}:
            on_error = node.get("on_error")
            error = [] if on_error is None else [_page("{{ not success }}", on_error)]
            return (*error, *([_page(None, node["on_success"])] if "on_success" in node else []))
    causes = node.get("on")
    if causes is not None:
        causes = causes if isinstance(causes, list) else [causes]
        causes = None if {"error", "any", "all", "exception", "failure"} & set(map(str, causes)) else causes
    return Retry(node.get("max_attempts", 3), node.get("retry_when"), node.get("stop_when"), causes)


ALL = 1_000_000
"""Pages of a loop that names no number."""


def _page(when: Any, then: Mapping[str, Any]) -> Page:
    again = then.get("while")
    assert when is None or again is None
    call = {**then.get("next_call", {}), **{key: then[key] for key in ("params", "args") if key in then}}
    most = then.get("max_attempts", ALL if call else 3)
    return Page(when if again is None else again, most, call, then.get("collect"), then.get("sink"))


def pages_of_rules(rules: list[Any]) -> tuple[Page, ...]:
    """The rules of a case that repeat the tool for more: their `retry` has the fields of the next call."""
    found = []
    for rule in rules:
        named = actions_of(rule)
        if is_page(rule):
            kept = {"collect": named["collect"]} if "collect" in named else {}
            found.append(_page(rule["when"], {**named["retry"], **kept})._replace(rule=rule))
    return tuple(found)


def actions_of(rule: Any) -> dict[str, Any]:
    """The actions of a rule by their words."""
    body = rule.get("then", rule.get("else"))
    pairs = body.items() if isinstance(body, dict) else [pair for item in body for pair in item.items()]
    return dict(pairs)


def is_page(rule: Any) -> bool:
    """Whether a rule of a case repeats the tool for more."""
    named = actions_of(rule)
    retry = named.get("retry")
    return isinstance(retry, dict) and ("collect" in named or bool({"params", "next_call", "args"} & set(retry)))


Call = Callable[[Mapping[str, Any], int], Outcome]
"""Calls the tool with the fields of the next call, and tells which attempt it is."""
Store = Callable[[Any, Mapping[str, Any]], None]
"""Does what a sink, or what a rule says besides, of a page."""


class Repeating:
    """One step's calls. `names` are those of its scope, `store` runs a sink, `chain` what a rule does besides; `own`
    are the names under which all that repeats the tool sees what it has just given.
    """

    def __init__(
        self,
        retry: Retry | None,
        pages: tuple[Page, ...],
        poll: Any,
        call: Call,
        store: Store,
        chain: Store,
        own: tuple[str, ...],
    ) -> None:
        self.retry = retry
        self.pages = pages
        self.poll = poll
        self._call = call
        self._store = store
        self._chain = chain
        self._own = own
        self.attempt = 0
        self._page: dict[str, Any] = {}
        self._rounds = 0
        self._paged = 0
        self._gathered: list[Any] = []

    def ended(self, names: Mapping[str, Any]) -> Ended:
        """Call the tool until nothing repeats it."""
        gathered = self._gathered
        more = [page for page in self.pages if page.is_success]
        while True:
            outcome, used_up = self._polled(names)
            here = {**names, **self._of(outcome), "attempt": self.attempt}
            if not outcome.is_ok:
                return Ended(outcome, used_up or outcome.code, self.attempt, None if more else outcome.result)
            if not more:
                return Ended(outcome, None, self.attempt, outcome.result)
            self._paged += 1
            into = next((p.collect.get("into", "pages") for p in more if p.collect), "pages")
            counted = {
                "event": {"name": "call.done"},
                "page": seen_as(outcome.result),
                "_retry": {"index": self._paged, "count": self._paged},
                into: gathered,
            }
            chosen = next((page for page in more if page.when is None or is_true(page.when, {**here, **counted})), None)
            way = chosen or more[0]
            _gather(way.collect, outcome.result, gathered)
            if way.sink is not None:
                self._store(way.sink, {**here, **counted})
            if chosen is not None and chosen.rule is not None:
                self._chain(chosen.rule, {**here, **counted})
            if chosen is None or self._paged >= chosen.attempts:
                result = _together(way.collect, gathered) if way.collect else outcome.result
                is_list = way.collect is not None and _strategy(way.collect) not in ("replace", "merge")
                stopped = "" if chosen is None or chosen.when is None else str(chosen.when)
                return Ended(outcome, None, self.attempt, result, is_list, stopped)
            self._page = value_of(chosen.next_call, {**here, **counted})
            self.attempt = self._rounds = 0

    def _of(self, outcome: Outcome) -> dict[str, Any]:
        """The words and the names for what the tool has just given."""
        current = Missing(name="result") if outcome.result is None else seen_as(outcome.result)
        return {**outcome.names(), **dict.fromkeys(self._own, current)}

    def _polled(self, names: Mapping[str, Any]) -> tuple[Outcome, str | None]:
        """A success is asked for until the poll's condition is true; errors are retried afresh in each round."""
        while True:
            outcome, used_up = self._tried(names)
            if self.poll is None or not outcome.is_ok:
                return outcome, used_up
            self._rounds += 1
            if is_true(self.poll["until"], {**names, **self._of(outcome), "attempt": self._rounds}):
                self._rounds -= 1  # what is repeated by a rule of the case is counted on
                return outcome, None
            if self._rounds >= self.poll.get("max_attempts", 1_000_000):
                return outcome._replace(code="poll.exhausted", message=""), "poll.exhausted"
            self.attempt = 0

    def _tried(self, names: Mapping[str, Any]) -> tuple[Outcome, str | None]:
        """The outcome that no `retry` repeats, and `retry.exhausted` where one would have."""
        while True:
            self.attempt += 1
            outcome = self._call(self._page, self.attempt)
            here = {**names, **self._of(outcome), "attempt": self.attempt}
            most = 0
            if self.retry is not None:
                here["max_attempts"] = self.retry.attempts
                if self.retry.attempts > 1 and self.retry.repeats(outcome, here):
                    most = self.retry.attempts
            for page in self.pages:
                if not page.is_success and (page.when is None or is_true(page.when, here)):
                    most = max(most, page.attempts)
            if not most:
                return outcome, None
            if self.attempt >= most:
                return outcome, None if outcome.is_ok else "retry.exhausted"


def _part(collect: Mapping[str, Any], result: Any) -> Any:
    path = collect.get("path") or collect.get("from")
    found = seen_as(result)
    for key in path.split(".") if path else ():
        found = found.look(key) if isinstance(found, Result) else found[key]
    return found


def _strategy(collect: Mapping[str, Any]) -> str:
    word: str = collect.get("strategy", collect.get("mode", "append"))
    return word


def _gather(collect: Mapping[str, Any] | None, result: Any, gathered: list[Any]) -> None:
    """`append` extends by a list and appends anything else (LANGUAGE §6)."""
    if collect is None:
        return
    part = _part(collect, result)
    flat = _strategy(collect) in ("append", "extend")
    gathered.extend(part if flat and isinstance(part, list) else [part])


def _together(collect: Mapping[str, Any], gathered: list[Any]) -> Any:
    match _strategy(collect):
        case "replace":
            return gathered[-1]
        case "merge":
            return {key: value for part in gathered for key, value in part.items()}
        case _:
            return list(gathered)
