"""rerun: begin again where an execution failed, as a new one that keeps what the old one did before."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from uuid import uuid4

from noetl.app.embedded import Embedded
from noetl.app.reruns import PlannedRerun, RerunWish, begin_rerun, planned_rerun, source_of
from noetl.app.runtime import Runtime
from noetl.cli.acting import by_user
from noetl.cli.bulk import BulkOptions, bulk_options
from noetl.cli.bulk_reruns import rerun_many
from noetl.cli.driving import DriveOptions, drive
from noetl.cli.driving_options import DrivingOptions, driving_options
from noetl.cli.inputs import PlanSource, plan_bytes, program_from, slips_of, with_sets
from noetl.cli.stores import (
    command_with,
    existing_runtime,
    is_remote,
    json_option,
    opened_runtime,
    refused_by_quota,
    require_store,
    row_of,
    server_option,
    store_option,
)
from noetl.cli.text import Problem, escaped, json_text, warn
from noetl.engine.inputs import texts_of
from noetl.engine.program import Program
from noetl.engine.rerun_source import RerunSource
from noetl.engine.reruns import ACCEPTED, payload_of
from noetl.host.runnable_kinds import unable
from noetl.ports import Conflict, Taken
from noetl.ports.idempotency import BadKey, StartKey, start_key
from noetl_cli import lazy_click as click
from noetl_ir.expr import Json


@click.command("rerun", short_help="Begin again where an execution failed.")
@click.argument("execution", metavar="[ID]", required=False)
@click.option("--from", "step", default="", metavar="STEP[:N]", help="Begin at the first, or N-th, run of a step.")
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="Set one value: a.b=v.")
@click.option("--plan", metavar="PLAN|PLAYBOOK", help="Run this version instead.")
@click.option("--linear", is_flag=True, help="Keep only what was over before that run began.")
@click.option("--accept", "accepted", multiple=True, type=click.Choice(ACCEPTED), help="Take this hindrance for none.")
@bulk_options
@click.option("--newest", is_flag=True, help="With --query: each on the newest version of its path.")
@click.option("--key", metavar="KEY", help="Start once: all reruns with this key are one execution.")
@driving_options()
@server_option
@store_option
@json_option
def rerun(
    execution: str | None,
    step: str,
    sets: tuple[str, ...],
    plan: str | None,
    linear: bool,
    accepted: tuple[str, ...],
    many: BulkOptions,
    newest: bool,
    key: str | None,
    options: DrivingOptions,
    url: str,
    as_json: bool,
) -> int:
    """Begin again where an execution failed: a new execution that keeps the results of what ran before, whose effects
    are not repeated. Without --from it begins with the runs that it failed of; one that was cancelled, or ran out of
    time, goes on where it stood.

    Kept is what ran with the same values as it would have now. Where that cannot be shown, nothing is started, and it
    says what hinders. --set and --plan change what has not run yet. --accept phases: what follows main (`on_failure`,
    `finally`) has run and does no harm to what is kept; --accept execution_id: tasks that are kept have used the id of
    the old execution; --accept signals: signals that are kept came from elsewhere. ID may be the beginning of an id, or
    `last`.

    With --query one is begun of each that fits, is over and has none yet; a server of the store goes on with them.

    Exit codes: as for `run`; 1 also where something hinders.
    """
    wish = _wish(step, sets, accepted, linear=linear)
    if many.check(execution, tries_one=True):
        _check_for_many(alone=(plan, key, options.script))
        return rerun_many(url, many, wish._replace(payload=with_sets({}, sets)), newest=newest, as_json=as_json)
    _check_for_one(newest=newest)
    execution, dry_run = str(execution), many.dry_run
    if is_remote(url):
        return _asked(url, execution, wish, sets, plan, options.folders, key, dry_run=dry_run, as_json=as_json)
    require_store(url)
    shown = options.progress()
    with opened_runtime(url, options.settings(shown)) as runtime:
        row = row_of(runtime, execution)
        source = source_of(runtime, row)
        _check_script(source, is_scripted=options.is_scripted)
        found = None if plan is None else _plan(plan, options.folders)
        program = source.program if found is None else program_from(runtime, found)
        wish = wish._replace(payload=_payload(source, program, sets))
        planned = planned_rerun(runtime, source, row, program, wish)
        if dry_run:
            return _tell(planned.as_json(), as_json=as_json)
        _check(planned, is_scripted=options.is_scripted)
        if found is not None:
            # Only now: whoever just looks leaves no version behind that a start by path would take.
            runtime.keep(partial(runtime.programs.add_program, program, found.sources))
        _begin(runtime, planned, _key(key, planned, wish), url)
        shown.say(f"{planned.execution_id}: {escaped(row.playbook)}, {_summary(planned)}")
        go = partial(_resume, program, planned.execution_id)
        return drive(runtime, program, DriveOptions(planned.execution_id, url, as_json), go, shown)


def _begin(runtime: Runtime, planned: PlannedRerun, key: StartKey | None, url: str) -> None:
    try:
        with by_user():
            begin_rerun(runtime, planned, key)
    except Taken as there:
        raise Problem(_taken(there, url)) from None
    except Conflict as problem:
        raise refused_by_quota(problem) or problem from None


def _wish(step: str, sets: tuple[str, ...], accepted: tuple[str, ...], *, linear: bool) -> RerunWish:
    with_sets({}, sets)  # an assignment that is none is told before anything is asked
    return RerunWish(step, {}, linear, accepted)


def _check_for_many(alone: tuple[str | None, ...]) -> None:
    if any(value is not None for value in alone):
        raise click.UsageError("--plan, --key and --script go with the ID of an execution")


def _check_for_one(*, newest: bool) -> None:
    if newest:
        raise click.UsageError("--newest goes with --query")


def _payload(source: RerunSource, program: Program, sets: tuple[str, ...]) -> dict[str, Json]:
    """The payload of the old execution with what is set over it; slips in that are told."""
    texts = texts_of(program.plan)
    warn(slips_of(program, with_sets({}, sets, texts)))
    return with_sets(payload_of(source), sets, texts)


def _check_script(source: RerunSource, *, is_scripted: bool) -> None:
    if source.execution.scripted and not is_scripted:
        raise click.UsageError("a script stood in for its tools: say with --script FILE which one goes on doing so")
    if is_scripted and not source.execution.scripted:
        raise click.UsageError("no script stood in for its tools: leave --script out")


def _resume(program: Program, execution_id: str, embedded: Embedded) -> str:
    return embedded.resume(program, execution_id)


def _plan(plan: str, folders: tuple[Path, ...]) -> PlanSource:
    return plan_bytes(plan, folders, quiet=False, undone="nothing was started")


def _check(planned: PlannedRerun, *, is_scripted: bool) -> None:
    told = [one.as_text() for one in planned.rerun.hindrances]
    told += () if is_scripted else unable(planned.program.plan)
    if told:
        raise Problem("\n".join(["nothing was started:", *told]))


def _key(key: str | None, planned: PlannedRerun, wish: RerunWish) -> StartKey | None:
    if key is None:
        return None
    asked: dict[str, Json] = {
        "of": planned.of.execution_id, "digest": planned.program.digest, "payload": wish.payload, "from": wish.step,
        "linear": wish.linear,
    }  # fmt: skip
    try:
        return start_key(key, asked)
    except BadKey as problem:
        raise click.UsageError(f"--key: {problem}") from None


def _taken(there: Taken, url: str) -> str:
    again = command_with(url, "status", there.execution_id)
    return f"nothing was started: the key started execution {there.execution_id} already: {escaped(again)}"


def _summary(planned: PlannedRerun) -> str:
    kept = sum(row.runs for row in planned.rerun.kept)
    return f"a rerun of {planned.of.execution_id}: {kept} task{'s' if kept != 1 else ''} kept"


def _tell(document: dict[str, Json], *, as_json: bool) -> int:
    """Tell what a rerun would keep; returns the exit code."""
    hindrances = document["hindrances"]
    if as_json:
        click.echo(json_text(document))
    else:
        for line in _lines(document):
            click.echo(escaped(line))
    return 1 if hindrances else 0


def _lines(document: dict[str, Json]) -> Iterator[str]:
    steps = ", ".join(f"`{step}`" for step in _rows(document, "from")) or "where it stood"
    hindrances = [found for found in _rows(document, "hindrances") if isinstance(found, dict)]
    yield f"rerun of {document['of']}, from {steps}{': nothing would be started' if hindrances else ''}"
    for found in hindrances:
        yield f"hinders: {found['message']}{': ' if found['instead'] else ''}{found['instead'] or ''}"
    # With a hindrance it is not known what would be kept: a task that hinders would be neither.
    if hindrances:
        return
    if at := [str(name) for name in _rows(document, "at")]:
        yield f"goes on at: {', '.join(at)}"
    for key, head in (("kept", "kept"), ("again", "runs again")):
        rows = [row for row in _rows(document, key) if isinstance(row, dict)]
        yield f"{head}: {'nothing' if not rows else ''}".rstrip()
        for row in rows:
            # A task without a name of its own has that of its step.
            is_named = row["task"] not in (row["step"], f"{row['step']}_task")
            name = f"{row['step']} / {row['task']}" if is_named else str(row["step"])
            times = f", {row['runs']} times" if row["runs"] != 1 else ""
            yield f"  {name}{times}{', with effects' if row['effects'] else ''}"
    if signals := [str(name) for name in _rows(document, "signals")]:
        yield f"signals that it is to be sent again: {', '.join(signals)}"


def _rows(document: dict[str, Json], key: str) -> list[Json]:
    rows = document.get(key)
    return rows if isinstance(rows, list) else []


def _asked(
    url: str,
    execution: str,
    wish: RerunWish,
    sets: tuple[str, ...],
    plan: str | None,
    folders: tuple[Path, ...],
    key: str | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Have a server begin a rerun."""
    from noetl.cli.remote import ask_server
    from noetl.cli.start import named_plan, texts_at

    with existing_runtime(url) as runtime:
        row = row_of(runtime, execution)
    named: dict[str, Json] = named_plan(plan, folders, url, registers=False) if plan is not None else {}
    texts = texts_at(url, named or {"playbook_id": row.plan_digest}) if sets else None
    body: dict[str, Json] = {
        **named, "from": wish.step, "payload": with_sets({}, sets, texts), "linear": wish.linear,
        "accept": [*wish.accepted], "dry_run": dry_run,
    }  # fmt: skip
    path = f"/executions/{row.execution_id}/rerun"
    response = ask_server(url, "POST", path, body, key="" if dry_run else key or str(uuid4()))
    if dry_run:
        return _tell(response, as_json=as_json)
    if as_json:
        click.echo(json_text(response))
        return 0
    execution_id = str(response.get("execution_id"))
    click.echo(f"started: execution {execution_id}, a rerun of {row.execution_id}")
    click.echo(f"see how it stands: {escaped(command_with(url, 'status', execution_id))}")
    return 0


COMMAND = rerun
