"""Runs a playbook whose tools answer from a table, and notes what they were called with.

A tool says who it is by an argument `tag`, and in a loop by `i` too. `outcomes[tag]` are its outcomes call by call,
the last for ever; a tag that is not listed answers `FINE`. So a test need not know the names that lowering generates.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import yaml

import noetl.worker.scripted
from harness.running import HEAD, MEMORY, compiled
from noetl.app.composition import driver_of
from noetl.app.runtime import Settings, open_runtime
from noetl.engine.starting import Request
from noetl.ports import ToolCall
from noetl.worker.scripted import Ledger, Script, ScriptedLauncher, Signal
from noetl_ir.outcome import Outcome

COMPARED = ("tag", "i", "page", "read", "at", "got")
"""The arguments of a call that are looked at; others are brought by the way of binding."""
FINE: dict[str, Any] = {"status": "ok", "result": {"k": 0, "f": True}}
Outcomes = Mapping[str, Sequence[Mapping[str, Any]]]


def compared(calls: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Calls by what is looked at."""
    return [{key: call[key] for key in COMPARED if key in call} for call in calls]


class Observed(NamedTuple):
    """The observations of a run: calls in their order with arguments, how it ended, and `ctx` then."""

    calls: list[dict[str, Any]]
    status: str
    ctx: dict[str, Any]


class ToolDouble:
    """Answers by tag, and remembers the calls."""

    def __init__(self, outcomes: Outcomes) -> None:
        self._outcomes = outcomes
        self._asked: dict[str, int] = {}
        self.calls: list[dict[str, Any]] = []

    def __call__(self, args: Mapping[str, Any]) -> Mapping[str, Any]:
        """The next outcome of the tool that these arguments name."""
        self.calls.append(dict(args))
        who = str(args["tag"]) + (f"/{args['i']}" if "i" in args else "")
        number = self._asked.get(who, 0)
        self._asked[who] = number + 1
        listed = self._outcomes.get(who) or [FINE]
        return listed[min(number, len(listed) - 1)]


def played(playbook: Mapping[str, Any], outcomes: Outcomes, signals: Sequence[Signal] = ()) -> Observed:
    """Compile the sections of a playbook, run them while these signals come, and look. Fails on a compile error."""
    plan = compiled(HEAD + yaml.dump(dict(playbook), Dumper=yaml.CSafeDumper, sort_keys=False))
    tools = ToolDouble(outcomes)
    with (
        outcome_of(tools),
        open_runtime(MEMORY, Settings(script=Script((), tuple(signals), Ledger())), no_compiler) as runtime,
    ):
        program = runtime.programs.add_plan(plan)
        with driver_of(runtime, "e1", lambda *_: None) as driver:
            status = driver.embedded.start(program, "e1", Request({}))
            return Observed(compared(tools.calls), status, dict(driver.execution.ctx))


@contextmanager
def outcome_of(tools: ToolDouble) -> Iterator[None]:
    """The runtimes that are put together inside ask `tools` instead of a script."""

    class Launcher(ScriptedLauncher):
        def immediate(self, call: ToolCall) -> Outcome | None:
            if call.kind == "noop":
                return super().immediate(call)
            args = call.args if "tag" in call.args else call.fields["params"]
            assert isinstance(args, dict), call
            return _outcome(tools(args))

    assembled = noetl.worker.scripted.ScriptedLauncher
    noetl.worker.scripted.ScriptedLauncher = Launcher  # type: ignore[misc]
    try:
        yield
    finally:
        noetl.worker.scripted.ScriptedLauncher = assembled  # type: ignore[misc]


def no_compiler(path: Path) -> tuple[bytes, dict[str, bytes]]:
    raise AssertionError(f"{path} is to be compiled")


def _outcome(row: Mapping[str, Any]) -> Outcome:
    extras = {"http": row["http"]} if "http" in row else {}
    problem = None
    if row["status"] == "error":
        code = row.get("code", "scripted")
        problem = {"code": code, "message": f"no {code}", "retryable": False}
    return Outcome(row["status"], row.get("result"), problem, extras)


def tool(kind: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """A tool that is called with these arguments."""
    match kind:
        case "http":
            return {"kind": "http", "url": "https://example.com", "params": dict(args)}
        case "postgres":
            return {"kind": "postgres", "auth": "pg", "command": "SELECT 1", "args": dict(args)}
        case _:
            return {"kind": "python", "args": dict(args), "code": "result = 1"}


def entered(step: Mapping[str, Any], targets: Sequence[str], workload: Mapping[str, Any]) -> dict[str, Any]:
    """A playbook: `begin` sets `ctx.c` to 1 and leads to the step `s`; the targets tell what reached them."""
    begin = {
        "step": "begin",
        "tool": {"kind": "noop", "args": {"one": 1}},
        "vars": {"c": "{{ result.one }}"},
        "next": "s",
    }
    arrivals = [
        {"step": name, "tool": tool("python", {"tag": name, "got": "{{ args.x | default('none') }}"})}
        for name in targets
    ]
    return {
        "workload": dict(workload),
        "executor": {"spec": {"entry_step": "begin"}},
        "workflow": [begin, dict(step), *arrivals],
    }
