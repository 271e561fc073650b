"""Runs of a playbook by the engine, compiled as it is or migrated, with tools that answer from a table."""

from collections.abc import Mapping
from typing import Any

import yaml

from harness.running import HEAD, MEMORY
from noetl.app.composition import driver_of
from noetl.app.runtime import Settings, open_runtime
from noetl.engine.starting import Request
from noetl.worker.scripted import Ledger, Script
from noetl_ir.plan_format import write_plan
from noetlc.diag.diagnostic import Severity
from noetlc.migrate.migration import migrated as migration_of
from noetlc.pipeline import compile_source
from translation.older_playbooks import Seen
from translation.playing import Outcomes, ToolDouble, compared, no_compiler, outcome_of


class Refused(Exception):
    """The compiler has refused the playbook."""


def text_of(playbook: Mapping[str, Any]) -> str:
    """The file of a playbook."""
    return HEAD + yaml.dump(dict(playbook), Dumper=_Plain, sort_keys=False)


class _Plain(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def run_of(text: str, outcomes: Outcomes) -> Seen:
    """The observations of a run of a file. Raises Refused."""
    done = compile_source("t.yaml", text.encode())
    errors = [f"{found.code}: {found.message}" for found in done.diagnostics if found.severity >= Severity.ERROR]
    if errors:
        raise Refused(errors[0])
    tools = ToolDouble(outcomes)
    with outcome_of(tools), open_runtime(MEMORY, Settings(script=Script((), (), Ledger())), no_compiler) as runtime:
        program = runtime.programs.add_plan(write_plan(done.plans[0]))
        started: list[int] = []

        def collected(_: Any, __: Any, event: Any) -> None:
            if event.event_type == "step.scheduled":
                started.append(event.step)

        with driver_of(runtime, "e1", collected) as driver:
            status = driver.embedded.start(program, "e1", Request({}))
            execution = driver.execution
            names = {number: name for name, number in program.step_numbers.items()}
            return Seen(
                [names[number] for number in started if not names[number].startswith("__")],
                compared(tools.calls),
                {key: value for key, value in execution.ctx.items() if not key.startswith("__")},
                status,
                None if execution.failure is None else str(execution.failure["code"]),
            )


def migrated(text: str) -> str | None:
    """The file migrated, where its changes claim to keep its meaning; None where some are for review or refused."""
    made = migration_of("t.yaml", text.encode())
    if made.after is None or any(change.klass not in ("exact", "safe") for change in made.changes):
        return None
    return made.after.decode()
