"""lsp: the language server for editors, on standard input and output."""

import os

from noetl_cli import lazy_click as click


@click.command("lsp", short_help="Serve an editor: findings, completion, navigation.")
@click.option("--stdio", is_flag=True, help="Speak on standard input and output, as it does in any case.")
def serve_editor(stdio: bool) -> int:
    """Serve an editor: findings as one types and their fixes, completion, hover, navigation,
    renaming, outline and pictures.

    The editor starts this and speaks the language server protocol with it on standard input and output. Needs
    `pip install 'noetlc[lsp]'`; editors/README.md says how each editor is set up.
    """
    try:
        import pygls  # noqa: F401
    except ImportError:
        raise click.UsageError("the server needs pygls: pip install 'noetlc[lsp]'") from None
    from noetlc.cli.workspace import Workspace
    from noetlc.lsp.server import serve

    # The server closes what it speaks on; the streams of the process are for whoever ends the command.
    with os.fdopen(os.dup(0), "rb") as asked, os.fdopen(os.dup(1), "wb") as told:
        serve(Workspace, asked, told)
    return 0


COMMAND = serve_editor
