"""Runs a playbook of the old dialects, said as plainly as REAL.md, LANGUAGE §6 and the specs of the dialects say it.

It reads the document and nothing of ours: it knows no rules, jumps, places or plans. Tools answer from a table
(`playing.Answering`); what can be seen is `Seen`.

A step, in its order: its args under the token's; `when` and `pass`; for each item of its loop, or once: the tool with
all that repeats it (`older_repeating`); `vars` and `set`; `sink`; `case` (`older_cases`). In a loop, `vars` and `set`
are evaluated once, of the list. Then the step leads to what its case chose, else to its `next`.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from translation.older_cases import Again, Case, Chosen
from translation.older_repeating import (
    Ended,
    Failed,
    Outcome,
    Repeating,
    Retry,
    pages_of_rules,
    retry_of,
    seen_as,
)
from translation.older_routing import following
from translation.older_templates import Fault, Gathered, is_true, plain, value_of
from translation.playing import Outcomes, ToolDouble, compared


class Seen(NamedTuple):
    """The observations of a run: the steps in the order in which they began, the calls of tools with their arguments
    (a step tells what it got of the results of others), `ctx`, how it ended and with what code.
    """

    steps: list[str]
    calls: list[dict[str, Any]]
    ctx: dict[str, Any]
    status: str
    code: str | None


class Open(Exception):
    """Nothing says what happens: two tokens are on their way where steps are visited again, or steps are for ever."""


MOST = 50
"""Steps of a run that ends."""


def seen_in(playbook: Mapping[str, Any], outcomes: Outcomes) -> Seen:
    """The observations of a run of the playbook."""
    execution = Execution(playbook, outcomes)
    code = execution.run()
    calls = compared(execution.tools.calls)
    status = "completed" if code is None else "failed"
    return Seen(execution.steps, calls, execution.ctx, status, code)


class Execution:
    """One run: the tokens on their way, and what it has so far."""

    def __init__(self, playbook: Mapping[str, Any], outcomes: Outcomes) -> None:
        self.workload = playbook.get("workload", {})
        self.workflow = {step["step"]: step for step in playbook["workflow"]}
        self.entry = "start" if "start" in self.workflow else next(iter(self.workflow))
        self.workbook = {entry.get("name", entry.get("task")): entry for entry in playbook.get("workbook", [])}
        self.tools = ToolDouble(outcomes)
        self.ctx: dict[str, Any] = {}
        self.results: dict[str, Any] = {}
        self.steps: list[str] = []

    def run(self) -> str | None:
        """Run to the end; the code of an unhandled failure."""
        waiting: deque[tuple[str, dict[str, Any]]] = deque([(self.entry, {})])
        while waiting:
            if len(self.steps) > MOST or (len(waiting) > 1 and "visits" in self.ctx):
                raise Open
            name, args = waiting.popleft()
            if name not in self.workflow:
                continue
            self.steps.append(name)
            try:
                waiting += StepRun(self, self.workflow[name], args).run()
            except Failed as failure:
                return failure.code
            except Fault as fault:
                return str(fault)
        return None

    def names(self) -> dict[str, Any]:
        """The names that every template sees; bare names are looked up in ctx, workload, then step results."""
        results = {name: seen_as(value) for name, value in self.results.items()}
        return {**results, **self.workload, **self.ctx, "workload": self.workload, "vars": self.ctx, "ctx": self.ctx}


class StepRun:
    """A run of a step."""

    def __init__(self, execution: Execution, step: Mapping[str, Any], token: Mapping[str, Any]) -> None:
        self.execution = execution
        self.step = step
        own = {} if "type" in step else {**step.get("input", {}), **step.get("args", {})}
        self.args = {**value_of(own, {**execution.names(), **token, "args": token}), **token}
        self.task = _task_of(step)
        self.own = (step["step"], *((self.task["name"],) if isinstance(step.get("tool"), list) else ()))
        self.case = Case(self)
        self.last = Outcome(None, None)

    def names(self, scope: Mapping[str, Any] = {}) -> dict[str, Any]:
        """The names that a template of the step sees; `scope` is that of the iteration."""
        return {**self.execution.names(), **self.args, "args": self.args, **scope}

    def run(self) -> list[tuple[str, dict[str, Any]]]:
        """Run it; where it leads, with the args for it."""
        chosen: Chosen | None = None
        try:
            if not self.is_skipped():
                chosen = self.looped() if "loop" in self.step else self.once({})
            elif "loop" in self.step:
                self.done([], {})
                chosen = self.case.of_loop(None)
            else:  # the step is done, and nothing ran that would give a result (LANGUAGE §2, §6)
                self.execution.results[self.step["step"]] = None
                chosen = self.case.of_skipped()
        except Failed as failure:
            nothing = Ended(failure.outcome, failure.code, 1, None)
            if "loop" not in self.step and self.case.only_routes and (fired := self.case.fired(nothing, {})):
                return self.case.arrivals(self.case.branches(fired, nothing, failure.outcome.names()) or fired[0])
            led = following(self, failure.outcome, failure.code)
            if led is None:
                raise
            return led
        except Fault as fault:  # no rule is asked; an arc may take it (LANGUAGE §2)
            led = following(self, Outcome(None, str(fault)), str(fault))
            if led is None:
                raise
            return led
        if chosen is not None:
            return self.case.arrivals(chosen)
        led = following(self, None, None)
        assert led is not None
        return led

    def is_skipped(self) -> bool:
        """`when` that is false or `pass` that is true."""
        when, skips = self.step.get("when", True), self.step.get("pass", False)
        return not is_true(when, self.names()) or is_true(skips, self.names())

    def looped(self) -> Chosen | None:
        """Every iteration asks the rules that are not about the end of the loop; then those, in file order."""
        loop = self.step["loop"]
        items = value_of(loop["in"], self.names())
        results: list[Any] = []
        first: Chosen | None = None
        for index, item in enumerate(items):
            scope = {loop["iterator"]: item, "loop_index": index, "iter": {loop["iterator"]: item, "index": index}}
            found = self.once(scope, results)
            first = first or found
        self.done(results, {})
        return self.case.of_loop(first)

    def once(self, scope: Mapping[str, Any], results: list[Any] | None = None) -> Chosen | None:
        """The tool with what repeats it, then what is asked about it."""
        tool = Tool(self, self.task, scope)
        retry = retry_of(self.step["retry"]) if "retry" in self.step else tool.retry()
        listed = retry if isinstance(retry, tuple) and not isinstance(retry, Retry) else ()
        plain = retry if isinstance(retry, Retry) else None
        pages = (*listed, *pages_of_rules(self.step.get("case", [])))
        repeating = Repeating(plain, pages, self.step.get("poll"), tool.call, self.sink, self.case.with_page, self.own)
        while True:
            ended = repeating.ended(self.names(scope))
            before = dict(self.execution.ctx)
            try:
                return self.asked(ended, tool, scope, results)
            except Again:
                self.execution.ctx = before

    def asked(self, ended: Ended, tool: "Tool", scope: Mapping[str, Any], results: list[Any] | None) -> Chosen | None:
        """Decide about an outcome that nothing repeats: of pages, what the step keeps is what was gathered, and
        the conditions of the case are about the last page. Raises Again where a rule of the case repeats it.
        """
        own = {**dict.fromkeys(self.own, seen_as(ended.result)), "attempt": ended.attempt}
        own["is_gathered"] = ended.result is not ended.outcome.result
        self.last = ended.outcome
        here = {**scope, **ended.outcome.names(), **own}
        kept = {**scope, **ended.outcome._replace(result=ended.result).names(), **own}
        if ended.code is None:
            before = dict(self.execution.ctx)
            self.assigned(tool.node, kept)
            try:
                if results is None:
                    self.assigned({**self.step, "set": {}} if self.case.may_give else self.step, kept)
            except Fault:
                self.execution.ctx = before  # what a task and its step set is set at once
                raise
        fired = self.case.fired(ended, here)
        if ended.code is not None and not fired:
            raise Failed(ended.outcome, ended.code)
        if ended.code is None:
            for sink in (*tool.sinks(), *_listed(self.step.get("sink"))):
                self.sink(sink, self.names(kept))
        self.case.has_result = False
        chosen = self.case.branches(fired, ended, {**here, **self.in_chains(ended)})
        if self.case.has_result:  # the step gives what its pipe gave
            ended = ended._replace(result=self.case.result)
        if results is None and self.case.may_give:  # a step sets of what it gives itself, when it has ended well (D10)
            self.assigned({**self.step, "vars": {}}, {**kept, self.step["step"]: seen_as(ended.result)})
        if results is None and ended.code is not None and self.case.only_routes:
            pass  # what an earlier run of the step gave stays
        elif results is None:
            self.execution.results[self.step["step"]] = plain(ended.result)
        else:
            results.append(plain(ended.result))
        return chosen

    def in_chains(self, ended: Ended) -> Mapping[str, Any]:
        """The names that chains of a case see otherwise: `response` is the last page, any other word all of them."""
        if ended.result is ended.outcome.result:
            return {}
        last = seen_as(ended.outcome.result)
        whole = Gathered(ended.result, last) if ended.is_list else seen_as(ended.result)
        words = ended.outcome.names()
        below = {word: words[word] | {"data": whole, "result": whole} for word in ("this", "output")}
        return {**below, "result": whole, "data": whole, **dict.fromkeys(self.own, whole)}

    def done(self, results: list[Any], scope: Mapping[str, Any]) -> None:
        """The loop has ended: its result, and what the step sets of it."""
        self.execution.results[self.step["step"]] = results
        here = {**scope, **Outcome(results, None).names(), self.step["step"]: seen_as(results)}
        self.assigned(self.step, here)

    def assigned(self, node: Mapping[str, Any], here: Mapping[str, Any]) -> None:
        """`vars` and `set`; all values are evaluated on the state before."""
        is_task = "kind" in node
        names = self.names(here)
        if is_task and "output" in here:
            names = {**names, "output": names["result"]}
        self.patch({**(node.get("vars", {}) if not is_task else {}), **dict(node.get("set", {}))}, names)

    def patch(self, pairs: Mapping[str, Any], names: Mapping[str, Any]) -> None:
        """Set keys of `ctx`; `ctx.` and `step.` before a key mean that too, and so does a mapping under `ctx`."""
        made = {key: value_of(value, names) for key, value in _flat(pairs)}
        for key, value in made.items():
            scope, _, name = key.rpartition(".")
            if scope != "iter":
                self.execution.ctx[name] = value

    def sink(self, node: Mapping[str, Any], names: Mapping[str, Any], own: Any = None) -> None:
        """Store, unless `when` is false; a failure of it is one of the step."""
        if not is_true(node.get("when", True), names):
            return
        args = value_of(node["args"], names)
        outcome, code = self.tried(args, own)
        if code is not None:
            raise Failed(outcome, code)

    def tried(self, args: Mapping[str, Any], own: Any) -> tuple[Outcome, str | None]:
        """Call another tool than the step's, with its own `retry` or that of the step.

        What it inherits repeats failures only: `stop_when` and `retry_when` of a step are about its tool, and a
        success of what stores is never repeated.
        """
        retry = retry_of(own if own is not None else self.step.get("retry"))
        most = retry.attempts if isinstance(retry, Retry) else 1
        for attempt in range(1, most + 1):
            outcome = outcome_of(self.execution.tools(args), "python")
            names = {**self.names(), **outcome.names(), "attempt": attempt, "max_attempts": most}
            if outcome.is_ok or (isinstance(retry, Retry) and not retry.repeats(outcome, names)):
                return outcome, outcome.code
        return outcome, "retry.exhausted" if most > 1 else outcome.code


def _task_of(step: Mapping[str, Any]) -> Any:
    """The task of a step, in any of the forms in which it calls an entry of the workbook too; beside `type` all that is
    no word of a step is the task's own, `args` too.
    """
    if "call" in step:
        return {"kind": "workbook", "name": step["call"]["task"], "args": step["call"].get("with", {})}
    if "type" in step:
        return {"kind": step["type"], "name": step["task"], "args": step.get("args", {})}
    return step["tool"][0] if isinstance(step.get("tool"), list) else step.get("tool")


class Tool:
    """The tool of a step, an entry of the workbook looked up."""

    def __init__(self, run: StepRun, node: Mapping[str, Any], scope: Mapping[str, Any]) -> None:
        self.run = run
        self.scope = scope
        self.node = node
        self.args = {**run.args, **value_of(node.get("args", {}), run.names(scope))}
        self.entry: Mapping[str, Any] = {}
        if node["kind"] == "workbook":
            self.entry = run.execution.workbook[node.get("name", node.get("task"))]
            self.node = self.entry["tool"]

    def retry(self) -> Any:
        """The entry's, where the step has none."""
        return retry_of(self.entry.get("retry"))

    def sinks(self) -> list[Any]:
        """The entry's come along."""
        return _listed(self.entry.get("sink"))

    def call(self, page: Mapping[str, Any], attempt: int) -> Outcome:
        """Call it; `page` are the fields of the next call."""
        names = {**self.run.names(self.scope), **self.args, "args": self.args, "attempt": attempt}
        field = "params" if self.node["kind"] == "http" else "args"
        args = value_of(self.node.get(field, {}), names)
        for part in page.values():  # `args` that hold fields of the kind are those fields
            args |= part["params"] if field == "params" and "params" in part else part
        if self.entry:
            args = {**args, **{key: value for key, value in self.args.items() if key in args or field == "args"}}
        if self.node["kind"] == "noop":
            return Outcome(value_of(self.node.get("result"), names), None)
        return outcome_of(self.run.execution.tools(args), self.node["kind"])


def outcome_of(row: Mapping[str, Any], kind: str) -> Outcome:
    """An answer as an outcome."""
    code = row.get("code", "scripted") if row["status"] == "error" else None
    status = row["http"]["status"] if "http" in row else None
    return Outcome(row.get("result"), code, status, f"no {code}")


def _flat(pairs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The pairs, those of a mapping under a scope with the scope before each key."""
    for key, value in pairs.items():
        if key in ("ctx", "iter", "vars") and isinstance(value, dict):
            yield from ((f"{key}.{name}", below) for name, below in value.items())
        else:
            yield key, value


def _listed(node: Any) -> Sequence[Any]:
    return node if isinstance(node, list) else [] if node is None else [node]
