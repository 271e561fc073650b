"""store: look after a store: check it, give room back, copy it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress

import click

from noetl.app.adapters import secrets_path_of
from noetl.app.clock import WallClock
from noetl.app.store_check import StoreCheck, StoreFault, leftovers, remove_never_begun
from noetl.cli.stores import existing_runtime, is_remote, json_option, path_of, runtime_to_change, store_option
from noetl.cli.text import Problem, amount, escaped, json_text
from noetl.ports import Store
from noetl.ports.maintenance import Maintained, Maintenance

_BESIDE = (".blobs", ".output")
_FILES = (".credentials", ".tokens")
"""What lies beside the database and goes into a copy; the key of the credentials does not."""


@click.group("store", short_help="Check a store, give room back, copy it.")
def store() -> None:
    """Look after a store: its log is never changed by it."""


@store.command("check", short_help="Whether all that a store keeps is whole.")
@click.option("--replay", "replays", is_flag=True, help="Hold each log against its plan, too, as `noetl replay` does.")
@store_option
@json_option
def check(replays: bool, url: str, as_json: bool) -> int:
    """Read all logs, values and plans of the store, and tell what is gone or was altered. Nothing is changed.

    Ends with 1 where there is a fault. Executions that go on meanwhile are no fault.
    """
    _refuse_remote(url)
    faults = []
    with existing_runtime(url) as runtime:
        looked = StoreCheck(runtime, replays=replays)
        for fault in looked.faults():
            faults.append(fault)
            if not as_json:
                click.echo(f"{fault.execution_id or 'database'}: {escaped(fault.what)}")
        unknown = leftovers(runtime)
    count = looked.count
    if as_json:
        found = [each._asdict() for each in faults]
        click.echo(json_text({"faults": [*found], **count._asdict(), "unknown_folders": [*unknown]}))
        return 1 if faults else 0
    if unknown:
        click.echo(f"note: values of {amount(len(unknown), 'execution')} that this store does not know", err=True)
    looked_at = (
        f"{amount(count.executions, 'execution')}, {amount(count.events, 'event')}, {amount(count.values, 'value')}"
    )
    click.echo(f"{amount(len(faults), 'fault')} in {looked_at}" if faults else f"whole: {looked_at}")
    return 1 if faults else 0


@store.command("vacuum", short_help="Give room that became free back to the disk.")
@store_option
@json_option
def vacuum(url: str, as_json: bool) -> int:
    """Give the room of what was purged back to the disk, and that of values of executions that never began.

    Others may go on; they wait while SQLite writes its file anew.
    """
    _refuse_remote(url)
    with runtime_to_change(url) as runtime:
        gone = remove_never_begun(runtime, WallClock().now())
        before, after = _maintenance(runtime.store).vacuum()
    if as_json:
        click.echo(json_text({"before": before, "after": after, "never_began": gone._asdict()}))
        return 0
    if gone.executions:
        of = amount(gone.executions, "execution")
        click.echo(f"removed values of {of} that never began, {amount(gone.size, 'byte')}")
    click.echo(f"{before:,} bytes before, {after:,} after")
    return 0


@store.command("backup", short_help="Copy a store while it is used.")
@click.argument("folder", metavar="FOLDER")
@store_option
@json_option
def backup(folder: str, url: str, as_json: bool) -> int:
    """Copy the store to a folder that is not there yet, as it stands at one moment, and check the copy.

    Credentials go with it as they are kept, encrypted; their key does not. To go on from a copy, put its files where
    the store was while nobody uses it.
    """
    _refuse_remote(url)
    if os.path.exists(folder):
        raise Problem(f"{folder}: there is something already")
    name = os.path.basename(path_of(url))
    # Under its name it is whole, or not there.
    part = f"{folder.rstrip(os.sep)}.{os.getpid()}-{os.urandom(4).hex()}.part"
    try:
        _copy(url, part, name)
        with existing_runtime(f"sqlite:///{part}/{name}") as copy:
            looked = StoreCheck(copy)
            faults = [*looked.faults()]
        known = _known_fault(url, faults) if faults else ""
        os.rename(part, folder)
    except OSError as problem:
        raise Problem(f"{folder}: the copy cannot be written: {problem}") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    if known:
        raise Problem(
            f"{folder}: the copy is made, and as damaged as the store is: {known}; `noetl store check` tells all"
        )
    if as_json:
        click.echo(json_text({"backup": os.path.join(folder, name), **looked.count._asdict()}))
    else:
        click.echo(f"{escaped(os.path.join(folder, name))}: {amount(looked.count.executions, 'execution')}, checked")
    return 0


def _copy(url: str, folder: str, name: str) -> None:
    """Copy a store to a folder that is made. Raises OSError, Problem."""
    path, secrets = path_of(url), secrets_path_of(url).removesuffix(".credentials")
    with runtime_to_change(url) as runtime:
        os.makedirs(folder, mode=0o700)
        # First the database: a value is on disk before an event that names it, so all that its logs name are there.
        _maintenance(runtime.store).backup(os.path.join(folder, name))
        for ending in _BESIDE:
            if os.path.isdir(path + ending):
                shutil.copytree(path + ending, os.path.join(folder, name + ending))
        for ending in _FILES:
            with suppress(FileNotFoundError):
                shutil.copy2(secrets + ending, os.path.join(folder, name + ending))


def _known_fault(url: str, faults: Sequence[StoreFault]) -> str:
    """A fault of a store, in words, whose copy has faults. Raises Problem where the store has not all of them."""
    with existing_runtime(url) as runtime:
        known = {each.execution_id: each.what for each in StoreCheck(runtime).faults()}
    # Whoever purges or collects meanwhile takes values away that the copy still names.
    if new := [each for each in faults if each.execution_id not in known]:
        what = f"{new[0].execution_id or 'database'}: {new[0].what}"
        raise Problem(f"the copy was not whole and is removed, make it anew: {what}")
    # A store that is damaged is copied before anybody mends it.
    name = faults[0].execution_id
    return f"{name or 'database'}: {known[name]}"


def _refuse_remote(url: str) -> None:
    if is_remote(url):
        raise click.UsageError("it is done beside the store: give --store, not --server")


def _maintenance(store: Store) -> Maintenance:
    if not isinstance(store, Maintained):
        raise Problem("this store has nothing to maintain")
    return store.maintenance


COMMAND = store
