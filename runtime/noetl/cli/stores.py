"""The options that every command takes, the store that they name, and the executions in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from noetl.app.adapters import DEFAULT_STORE, narrowed, protect_files
from noetl.app.runtime import Runtime, Settings, open_runtime
from noetl.app.snapshots import UnreadableExecution
from noetl.cli.text import Problem, Stopped, escaped
from noetl.ports import Conflict, ExecutionRow, NoRoom, Store, StoreFailure, Wanted
from noetl.server.children import NotFound, root_of
from noetl_cli import lazy_click as click
from noetl_ir.nearest import nearest

if TYPE_CHECKING:
    from pathlib import Path

LAST = "last"
"""What may stand for an id: the newest execution."""

_LOOK_AT = 100
_SCHEME = "sqlite:///"
_BUNDLE = "bundle:///"
_OBJECTS = "s3://"
_DATABASES = ("postgresql://", "postgres://")
_VARIABLE = "NOETL_STORE"
SERVER_VARIABLE = "NOETL_SERVER"
_SERVER = "noetl.server"


def _checked(context: click.Context, parameter: click.Parameter, url: str) -> str:
    """The URL of a store that there can be, or of the server that was named. Raises UsageError."""
    server = context.meta.get(_SERVER)
    if server is not None:
        typed = click.core.ParameterSource.COMMANDLINE
        # A store in the environment is a default, and a server that was named beats it. Only where both were typed is
        # it unclear what is meant.
        if context.get_parameter_source(parameter.name or "") is not typed:
            return str(server)
        if context.get_parameter_source("server") is typed:
            raise click.UsageError("give either --store or --server")
    if (url.startswith((_SCHEME, _BUNDLE)) and path_of(url)) or url.startswith(_DATABASES) or is_bundle(url):
        return url
    at = url.rpartition("/")[2]
    example = f", as in {_SCHEME}{escaped(at)}," if "://" not in url and at else ""
    forms = f"{_SCHEME}PATH{example} or {_DATABASES[0]}HOST/DATABASE"
    raise click.UsageError(f"--store (or {_VARIABLE}) is `{escaped(without_secrets(url))}`: write it as {forms}")


def _served(context: click.Context, _: click.Parameter, url: str | None) -> None:
    """Remember the server that was named, for the option of the store. Raises UsageError."""
    if url:
        context.meta[_SERVER] = server_url(url)


def _folders(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> tuple[Path, ...]:
    """Catalogue folders, which must be there. Raises UsageError."""
    if not names:
        return ()
    from pathlib import Path  # most starts name no catalogue

    for name in names:
        if not os.path.isdir(name):
            raise click.UsageError(f"--path {escaped(name)}: there is no such folder")
    return tuple(Path(name) for name in names)


store_option = click.option(
    "--store", "url", default=DEFAULT_STORE, show_default=True, metavar="URL", envvar=_VARIABLE, callback=_checked,
    help=f"Where executions are kept; {_VARIABLE} says it for all commands.",
)  # fmt: skip
server_option = click.option(
    # Eager, as the option of the store has to know of it, in whatever order they are given.
    "--server", metavar="URL", envvar=SERVER_VARIABLE, callback=_served, expose_value=False, is_eager=True,
    help=f"Ask a server instead; {SERVER_VARIABLE} says it for all commands.",
)  # fmt: skip
path_option = click.option(
    "--path", "folders", multiple=True, metavar="CATALOGUE", callback=_folders, help="A folder with child playbooks."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@contextmanager
def opened_runtime(url: str, settings: Settings | None = None) -> Iterator[Runtime]:
    """The store at a URL, made if need be. What goes wrong with it is a Problem."""
    chosen = settings or Settings()
    if is_bundle(url):
        raise Problem(f"{path_of(url)} is only looked at: `noetl restore` brings what is in it into a store")
    # Before anything else, so that there is no moment at which a tool could reach the files of the store.
    protect_files(url)
    try:
        with open_runtime(url, chosen, lambda path: _compiled(path, chosen.folders)) as runtime:
            narrow_rights(url)
            if runtime.store.dropped:
                click.echo(f"note: {runtime.store.dropped}", err=True)
            yield runtime
    except NoRoom as problem:
        if not chosen.waits:
            raise Problem(str(problem)) from None
        raise Stopped(f"{problem}\nnothing was begun") from None
    except StoreFailure as problem:
        raise problem_of(problem) from None
    except (Conflict, UnreadableExecution) as problem:
        raise Problem(str(problem)) from None


def narrow_rights(url: str) -> None:
    """Keep others from the files of a store that is one, and say which ones they could use until now."""
    for path in narrowed(url):
        click.echo(f"note: others on this machine could use {escaped(path)}: now its owner alone can", err=True)


def problem_of(problem: StoreFailure) -> Problem:
    """A refusal of a store or a server, also of one that is not there: the command did not do what was asked."""
    from noetl.store.http import NoPlace

    return Stopped(str(problem)) if isinstance(problem, NoPlace) else Problem(str(problem))


def refused_by_quota(problem: Exception) -> Stopped | None:
    """The refusal of a start by a quota of its namespace, which can be begun later; None of anything else."""
    from noetl.ports.namespaces import QuotaExceeded  # most stores have no namespaces

    if not isinstance(problem, QuotaExceeded):
        return None
    return Stopped(f"{problem}\nnothing was started: {problem.way_on}")


@contextmanager
def existing_runtime(url: str) -> Iterator[Runtime]:
    """The store at a URL, which must be there: who only looks makes no files."""
    require_store(url)
    with unpacked(url) as there, opened_runtime(there) as runtime:
        yield runtime


@contextmanager
def runtime_to_change(url: str) -> Iterator[Runtime]:
    """The store at a URL, which must be there and is no bundle: who changes one changes what goes again."""
    require_store(url)
    with opened_runtime(url) as runtime:
        yield runtime


@contextmanager
def unpacked(url: str) -> Iterator[str]:
    """The URL itself; that of a store which goes again, with what is in it, where it is that of a bundle."""
    if not is_bundle(url):
        yield url
        return
    from tempfile import TemporaryDirectory

    from noetl.app.bundles import BadBundle, fetched_bundle, read_bundle

    with TemporaryDirectory(prefix="noetl-") as folder:
        there = f"{_SCHEME}{folder}/bundle.db"
        with opened_runtime(there) as runtime:
            try:
                with fetched_bundle(path_of(url)) as path:
                    read_bundle(runtime, path)
            except (BadBundle, OSError) as problem:
                raise Problem(f"{path_of(url)}: {problem}") from None
        yield there


def require_store(url: str) -> None:
    """A Problem where opening the store would make it."""
    if not is_there(url):
        raise Problem(f"there is no store at {path_of(url)}")


def is_there(url: str) -> bool:
    """Whether opening the store would find one; stores that are no files say it when they are opened."""
    return not url.startswith((_SCHEME, _BUNDLE)) or os.path.exists(path_of(url))


def server_url(url: str) -> str:
    """The URL of a server that there can be, without a slash at its end. Raises UsageError."""
    if not is_remote(url):
        raise click.UsageError(f"--server (or {SERVER_VARIABLE}) is `{escaped(url)}`: write it as http://HOST:PORT")
    return url.rstrip("/")


def is_remote(url: str) -> bool:
    """Whether a server keeps the store."""
    return url.startswith(("http://", "https://"))


def is_bundle(url: str) -> bool:
    """Whether it is a bundle that is only looked at."""
    return url.startswith(_BUNDLE) or (url.startswith(_OBJECTS) and url.endswith(".noetl"))


def path_of(url: str) -> str:
    """The file of a store, or its URL as it may be shown where it is none."""
    scheme = next((each for each in (_SCHEME, _BUNDLE) if url.startswith(each)), None)
    return without_secrets(url) if scheme is None else url.removeprefix(scheme)


def without_secrets(url: str) -> str:
    """The URL of a store as it may be shown: without a password."""
    import re

    bare = re.sub(r"(//[^/?@:]*):.*@", r"\1@", url)  # to the last one: a password may hold others
    return re.sub(r"([?&])\w*password=[^&]*&?", r"\1", bare).rstrip("?&")


def command_with(url: str, verb: str, what: str, *more: str) -> str:
    """The command line that does something with an execution or a playbook, as a user would type it."""
    from shlex import join

    words = ["noetl", verb, what, *more]
    if is_remote(url):
        return join(words if url == os.environ.get(SERVER_VARIABLE, "").rstrip("/") else [*words, "--server", url])
    return join(words if url == os.environ.get(_VARIABLE, DEFAULT_STORE) else [*words, "--store", without_secrets(url)])


def row_of(runtime: Runtime, text: str) -> ExecutionRow:
    """The execution whose id is `text` or alone begins with it; `last` is the newest that no other one called.

    A Problem where there is none; it names an id that looks much like the text.
    """
    if text == LAST:
        return _newest(runtime.store)
    found = runtime.store.execution(text)
    if found is not None:
        return found
    rows = runtime.store.executions()
    begun = [row for row in rows if text and row.execution_id.startswith(text)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        ids = ", ".join(row.execution_id for row in begun[:5])
        raise Problem(f"{len(begun)} executions begin with `{text}`: {ids}{', …' if begun[5:] else ''}")
    near = _nearest(text, [row.execution_id for row in rows])
    raise Problem(f"there is no execution `{text}` in this store" + (f"; did you mean {near}?" if near else ""))


def _newest(store: Store) -> ExecutionRow:
    """The newest execution that no other one called; only as many are looked at as there are children behind it."""
    before = ""
    while rows := store.executions(Wanted(before=before, limit=_LOOK_AT)):
        for row in rows:
            if row.parent_execution_id is None:
                return row
        before = rows[-1].execution_id
    raise Problem("there are no executions in this store")


def _nearest(text: str, ids: list[str]) -> str:
    """The id that is a slip of the fingers away from a text; empty when none is."""
    # Ids share their first digits, so a lower bound would find any id near any other.
    return nearest(text, ids[:10_000], 0.85)


@contextmanager
def owning_root(runtime: Runtime, row: ExecutionRow) -> Iterator[None]:
    """Hold what keeps the callers of a child from driving it meanwhile; nothing for one that nobody called."""
    root = root_of(runtime.store, row)
    if root == row.execution_id:
        yield
    else:
        with ExitStack() as owning:
            runtime.keep(lambda: owning.enter_context(runtime.store.own(root)))
            yield


def _compiled(path: Path, folders: tuple[Path, ...]) -> tuple[bytes, dict[str, bytes]]:
    """Compile a child found in a catalogue folder; raises NotFound."""
    from noetl.clients.compiler import CompileError, compile_playbook

    try:
        plan, sources, _ = compile_playbook(path, folders)
    except CompileError as problem:
        raise NotFound(f"{path} does not compile: {problem}") from None
    return plan, sources
