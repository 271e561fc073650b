"""Ways on from an execution that failed, as commands that can be pasted: its story, and a start with what it had."""

from __future__ import annotations

import os
from collections.abc import Iterator

from noetl.app.runtime import Runtime
from noetl.app.snapshots import Snapshot
from noetl.cli.stores import command_with, is_bundle, is_remote, path_of
from noetl.cli.text import escaped, json_text
from noetl.engine.execution import Execution
from noetl_ir.expr import Json

LONGEST = 4_000
"""Characters of a payload that still stands in a command line."""


def ways_on(runtime: Runtime, look: Snapshot, url: str) -> Iterator[str]:
    """A line for each way; none for what has not failed, or was called by another execution, which starts it again."""
    execution = look.execution
    if look.row.status != "failed" or not execution.is_over or look.row.parent_execution_id is not None:
        return
    name = look.row.execution_id
    yield f"how it came to that: {escaped(command_with(url, 'events', name))}"
    if is_bundle(url):
        from shlex import join

        yield f"to go on from there, bring it back into a store: {escaped(join(['noetl', 'restore', path_of(url)]))}"
        return
    if execution.fault is not None:
        told = command_with(url, "resume", name, "--retry-fault")
        yield f"a mistake of the engine, not of the playbook; go on with: {escaped(told)}"
        return
    if not execution.scripted:
        told = command_with(url, "rerun", name)
        yield f"go on from there, once its cause is mended, with what ran before: {escaped(told)}"
    yield from _start_again(runtime, look, url)


def _start_again(runtime: Runtime, look: Snapshot, url: str) -> Iterator[str]:
    execution, plan = look.execution, look.program.plan
    data = next(event.data for _, event in runtime.events(look.row.execution_id))
    words, lacking = list[str](), list[str]()
    if payload := data.get("payload"):
        text = json_text(payload)
        words += ["--payload", text] if len(text) <= LONGEST else []
        lacking += ["its payload, which is too long for a line"] * (len(text) > LONGEST)
        lacking += ["the secrets in its payload, which are hidden here"] * ("[[secret:" in text)
    # A server starts by path from its catalogue, a store beside us from the file.
    if is_remote(url):
        verb, what = "start", plan.path or plan.name
    else:
        verb, what = "run", _file(execution, plan.source)
        words += _variables(data.get("env"))
        lacking += ["its script (`--script`)"] * execution.scripted
        lacking += ["the folders of its children (`--path`)"] * bool(plan.children)
        if not os.path.isfile(what):
            lacking.append(f"the folder, since `{what}` is not here")
    with_these = f"; not in it: {', '.join(lacking)}" if lacking else ""
    # A server has the file as it was registered: a start by path would run the fault again.
    mended = "the mended file is registered (`noetl register FILE`)" if is_remote(url) else "it is mended"
    yield escaped(f"start again, once {mended}, with: {command_with(url, verb, what, *words)}{with_these}")


def _file(execution: Execution, source: str) -> str:
    """The playbook's file, from the folder where tools of the execution ran."""
    path = os.path.join(execution.folder, source)
    # What begins with a dash would be read as an option.
    return os.path.join(".", path) if path.startswith("-") else path


def _variables(env: Json) -> list[str]:
    return [word for name in env for word in ("--env", name)] if isinstance(env, dict) else []
