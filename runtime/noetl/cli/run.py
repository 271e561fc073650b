"""run: start an execution of a plan or playbook and drive it to its end."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from noetl.app.embedded import Embedded
from noetl.app.ending import ending_of
from noetl.app.runtime import Runtime
from noetl.app.snapshots import snapshot_of
from noetl.cli.acting import user
from noetl.cli.driving import DriveOptions, drive
from noetl.cli.driving_options import DrivingOptions, driving_options
from noetl.cli.ending import EXIT_CODES, tell_ending
from noetl.cli.inputs import PlanSource, label_option, payload_of, plan_bytes, slips_of, strict_option, with_sets
from noetl.cli.stores import command_with, json_option, opened_runtime, store_option
from noetl.cli.text import Problem, escaped, warn
from noetl.cli.tracing import received_here
from noetl.engine.inputs import texts_of, undeclared
from noetl.engine.program import Program
from noetl.engine.signals import unheard
from noetl.engine.starting import Request, unmet
from noetl.host.engine_files import holds
from noetl.host.runnable_kinds import unable
from noetl.ports.idempotency import BadKey, StartKey, other, start_key
from noetl.server.children import NotFound
from noetl_cli import STANDARD_INPUT
from noetl_cli import lazy_click as click
from noetl_ir.expr import Json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from noetl.worker.scripted import Script

STOPPED = EXIT_CODES["interrupted"]
"""The code of a run that is not over."""

_SCRIPT = (
    "Replace tools by the outcomes listed there, on a virtual clock. YAML: outcomes: [{step: NAME, attempt: 1, "
    "takes: 2s, outcome: {result: VALUE}}]; keys that are left out match anything, and the first entry that matches is "
    "used. An outcome of http is its body as `result`, or {http: {status: 503}}; an error is {error: {code: timeout}}. "
    "Tasks that are not listed fail, but for kinds without effects (noop): python does not run beside a script. "
    "signals: [{at: 10s, name: NAME, data: VALUE}]; with key: KEY one goes to whoever waits under that key."
)


@click.command("run", short_help="Run a plan or a playbook.")
@click.argument("source", metavar="PLAN|PLAYBOOK")
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE", help="Set one value: a.b=v.")
@click.option("--payload", metavar="JSON|@FILE", help="Values that replace those of the workload.")
@strict_option
@label_option
@click.option("--key", metavar="KEY", help="Run once: a second run with this key only tells how the first stands.")
@driving_options(_SCRIPT)
@store_option
@json_option
def run(
    source: str,
    sets: tuple[str, ...],
    payload: str | None,
    strict_inputs: bool,
    labels: dict[str, str],
    key: str | None,
    options: DrivingOptions,
    url: str,
    as_json: bool,
) -> int:
    """Run a plan or a playbook to its end; - is standard input.

    A playbook is compiled first. Progress goes to standard error, how it ended to standard output.

    The VALUE of --set is JSON where it can be read as JSON, else text: --set n=123 is a number, --set on=true a
    boolean, --set who=Ada text. Quotes make a text of anything: --set 'who="123"'. It stays text where the playbook
    declares the input as `type: string`.

    Exit codes: 0 completed, 1 failed, 4 blocked or cancelled, 5 stopped and can be resumed, or no room to
    store anything, or no place by a quota of its namespace.
    """
    base = _base_payload(source, payload, sets, options.script)
    request = Request(
        base, scripted=options.is_scripted, folder=_folder(source), labels=labels or None, started_by=received_here()
    )
    shown = options.progress()
    settings = options.settings(shown)
    scripted = settings.script
    plan = plan_bytes(source, options.folders, quiet=options.quiet, undone="nothing was started")
    with opened_runtime(url, settings) as runtime:
        program = _kept(runtime, source, plan)
        request = request._replace(payload=with_sets(base, sets, texts_of(program.plan)))
        # The key covers the plan by its digest: a playbook that was edited since is another start, and is refused.
        start_key = _start_key(key, program, request)
        if start_key is not None and (there := runtime.store.started_with(start_key.key)) is not None:
            return _tell_first(runtime, start_key, there, DriveOptions(there[0], url, as_json))
        execution_id = runtime.new_execution_id()
        # Read once and kept in the log's first event: a resume on another machine has the values of the start.
        request = request._replace(env=options.environment.variables_for(program))
        _check_kinds(program, scripted=options.is_scripted)
        _check_inputs(program, execution_id, request, strict_inputs=strict_inputs)
        if request.payload:
            warn(slips_of(program, request.payload))
        # The checks come in the order of their cost: secrets may be fetched over a network.
        _check_keychain(runtime, program, execution_id, request)
        shown.say(f"{execution_id}: {escaped(program.plan.path or program.plan.name)}")
        start = partial(_start, program, execution_id, request, start_key)
        code = drive(runtime, program, DriveOptions(execution_id, url, as_json), start, shown)
        if scripted is not None:
            deaf = _deaf(runtime, program, execution_id, scripted, is_over=code != STOPPED)
            warn((*scripted.unused(program.step_numbers), *deaf))
        return code


def _base_payload(source: str, payload: str | None, sets: tuple[str, ...], script: str | None) -> dict[str, Json]:
    """The payload as given, without what `--set` says; what is wrong with them is told before a compile."""
    # The second reader would find the input empty, and take that for an empty payload.
    if [source, (payload or "")[1:], script].count(STANDARD_INPUT) > 1:
        raise click.UsageError("standard input can be read only once")
    base = payload_of(payload)
    with_sets(base, sets)
    return base


def _start(program: Program, execution_id: str, request: Request, key: StartKey | None, embedded: Embedded) -> str:
    return embedded.start(program, execution_id, request, key, user(subject=execution_id))


def _start_key(key: str | None, program: Program, request: Request) -> StartKey | None:
    if key is None:
        return None
    try:
        labels: dict[str, Json] = {"labels": dict(request.labels)} if request.labels else {}
        return start_key(key, {"digest": program.digest, "payload": request.payload, **labels})
    except BadKey as problem:
        raise click.UsageError(f"--key: {problem}") from None


def _tell_first(runtime: Runtime, key: StartKey, there: tuple[str, str], asked: DriveOptions) -> int:
    """How the execution stands that a key has started."""
    execution_id, request = there
    if request != key.request:
        raise Problem(other(key, execution_id))
    row = runtime.store.execution(execution_id)
    if row is None or row.ended is None:
        again = command_with(asked.url, "status", execution_id)
        raise Problem(f"execution {execution_id} was started with this key and is not over: {escaped(again)}")
    look = snapshot_of(runtime, row)
    return tell_ending(ending_of(runtime, look.program, look.execution, row.status), asked.url, as_json=asked.as_json)


def _folder(source: str) -> str:
    """The folder of a file, from the one where tools run if it lies in that; empty where it is that, or no file."""
    if source == STANDARD_INPUT:
        return ""
    home, folder = os.path.realpath("."), os.path.realpath(os.path.dirname(source) or ".")
    if folder == home:
        return ""
    # Relative where it can be, so that the log says the same on the machine where the run is resumed.
    return os.path.relpath(folder, home) if holds(home, folder) else folder


def _kept(runtime: Runtime, source: str, plan: PlanSource) -> Program:
    try:
        return runtime.keep(lambda: runtime.programs.add_plan(plan.data, compiled=plan.compiled, sources=plan.sources))
    except NotFound as problem:
        raise Problem(f"{source}: {problem}") from None


def _check_kinds(program: Program, *, scripted: bool) -> None:
    """Nothing starts with a kind that cannot run here, unless a script stands in for its tool."""
    problems = () if scripted else unable(program.plan)
    if problems:
        raise Problem("\n".join(["nothing was started:", *problems]))


def _deaf(runtime: Runtime, program: Program, execution_id: str, scripted: Script, *, is_over: bool) -> Iterator[str]:
    """Sentences about signals of a script that nothing waits for, or that come when the run is over."""
    from noetl.app.script_letters import untaken

    direct = dict.fromkeys(signal.name for signal in scripted.signals if not signal.key)
    known = {name: unheard(program, name) for name in direct}
    yield from [said for said in known.values() if said]
    if is_over or scripted.ledger.sent == len(scripted.signals):
        yield from [said for _, said in untaken(runtime, execution_id, scripted)]
    for signal in scripted.signals[scripted.ledger.sent :] if is_over else ():
        if not signal.key and not known[signal.name]:
            yield f"signal `{signal.name}` of the script comes too late, at {signal.at / 1e6:g} s: the run is over then"


def _check_inputs(program: Program, execution_id: str, request: Request, *, strict_inputs: bool) -> None:
    """Nothing starts without the inputs that must be brought, nor with others than may be."""
    lacking = unmet(program, execution_id, request)
    if strict_inputs:
        lacking = (*undeclared(program, request.payload), *lacking)
    if lacking:
        raise Problem("\n".join(["nothing was started:", *lacking]))


def _check_keychain(runtime: Runtime, program: Program, execution_id: str, request: Request) -> None:
    """Nothing starts that could not get at the secrets it declares. A workload that has no value fails the run itself.

    A name in a task's `auth` that nothing declares is looked up when the task runs, which may never be.
    """
    from noetl.app.secret_resolver import secrets_at_start

    path, root = runtime.secrets_path, str(runtime.settings.root)
    found = secrets_at_start(program, execution_id, request, path=path, root=root)
    if found.lacking:
        raise Problem("\n".join(["nothing was started:", *found.lacking]))
    warn(found.exposed)


COMMAND = run
