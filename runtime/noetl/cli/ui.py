"""ui: the page of a server over a store on this machine, for who has none."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path

import click

from noetl.app.runtime import Settings
from noetl.cli.daemons import log, say
from noetl.cli.environment import env_option
from noetl.cli.stores import opened_runtime, path_option, store_option, unpacked
from noetl.cli.text import Problem
from noetl.host.environment import Environment

DEFAULT_PORT = 8083
HOST = "127.0.0.1"


@click.command("ui", short_help="Show the executions of a store in the browser.")
@click.option("--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True, help="0 takes any.")
@click.option("--open", "opens", is_flag=True, help="Open it in the browser.")
@env_option
@path_option
@store_option
def ui(port: int, opens: bool, environment: Environment, folders: tuple[Path, ...], url: str) -> int:
    """Show the executions of a store in the browser, on this machine only, until Ctrl-C.

    What is started on the page runs here, in this folder, as with `noetl run`. Other executions are looked at and left
    alone, until something is asked of one that no process drives: then it goes on here. To drive all of them, and for
    others to see them, start `noetl server`.
    """
    try:
        from noetl.api.compiling import compiled_source
        from noetl.api.listening import Listening
        from noetl.api.serving import ServingCallbacks, serve
    except ImportError as missing:
        raise Problem(f"the page needs the extra: pip install 'noetlc[server]' ({missing})") from None
    from noetl.app.sessions import sessions_beside

    def ready(address: str) -> None:
        click.echo(f"{address}/", err=True)
        if opens:
            import webbrowser

            webbrowser.open(f"{address}/")

    settings = Settings(folders, log=log, environment=environment)
    with unpacked(url) as there, opened_runtime(there, settings) as runtime:
        try:
            with closing(sessions_beside(runtime.secrets_path)) as sessions:
                good = serve(
                    runtime, Listening(HOST, port), partial(compiled_source, folders=folders),
                    ServingCallbacks(say, ready), sessions=sessions, asked=set(),
                )  # fmt: skip
        except OSError as problem:
            raise Problem(f"{HOST}:{port} cannot be listened on: {problem.strerror or problem}") from None
    return 0 if good else 3


COMMAND = ui
