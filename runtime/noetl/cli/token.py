"""token: who may do what with a server."""

from __future__ import annotations

import click

from noetl.api.bearer_tokens import ROLES, TokenProblem, TokenTaken, add_token, delete_token, read_tokens, replace_token
from noetl.cli.acting import record_beside
from noetl.cli.stores import json_option, path_of, store_option
from noetl.cli.text import Problem, escaped, json_text, table

_file = click.option("--tokens", "path", metavar="FILE", help="The file of tokens; beside the store by default.")


def tokens_path_of(url: str) -> str:
    """The file of tokens that belongs to a store."""
    # A store that is a database has no folder of its own on this machine.
    return f"{path_of(url)}.tokens" if "://" not in path_of(url) else ".noetl/server.tokens"


@click.group("token", short_help="Say who may do what with a server.")
def token() -> None:
    """Keep the bearer tokens of a server. Only their hashes are kept; a running server sees a change at once."""


@token.command("add", short_help="Make a token, and print it once.")
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), required=True, help="What its bearer may do.")
@click.option("--replace", is_flag=True, help="Instead of the one of that name, which is refused from then on.")
@_file
@store_option
@json_option
def add(name: str, role: str, replace: bool, path: str | None, url: str, as_json: bool) -> int:
    """Make a token. It is printed here and never again.

    Where there is one of that name, nothing is changed without --replace.
    """
    file, before = path or tokens_path_of(url), None
    record_beside(url, "token-add", name)
    try:
        if replace:
            made, before = replace_token(file, name, role)
        else:
            made = add_token(file, name, role)
    except TokenTaken as problem:
        raise Problem(f"{problem}; --replace makes a new one, and that one is refused from then on") from None
    except TokenProblem as problem:
        raise Problem(str(problem)) from None
    if before is not None:
        change = f"its role was `{before.role}` and is `{role}`" if before.role != role else f"its role stays `{role}`"
        click.echo(f"replaced: the token that `{escaped(name)}` had is refused from now on; {change}", err=True)
    replaced = before.role if before is not None else None
    click.echo(json_text({"name": name, "role": role, "token": made, "replaced": replaced}) if as_json else made)
    return 0


@token.command("list", short_help="List the tokens by name.")
@_file
@store_option
@json_option
def list_tokens(path: str | None, url: str, as_json: bool) -> int:
    """List the names and roles; the tokens themselves are known to nobody here."""
    try:
        rows = read_tokens(path or tokens_path_of(url))
    except TokenProblem as problem:
        raise Problem(str(problem)) from None
    if as_json:
        click.echo(json_text([{"name": row.name, "role": row.role} for row in rows]))
    elif rows:
        click.echo(table(("NAME", "ROLE"), ((escaped(row.name), row.role) for row in rows)))
    else:
        click.echo("no tokens", err=True)
    return 0


@token.command("delete", short_help="Forget a token.")
@click.argument("name")
@_file
@store_option
def delete(name: str, path: str | None, url: str) -> int:
    """Forget a token: it is refused from now on."""
    try:
        record_beside(url, "token-delete", name)
        if not delete_token(path or tokens_path_of(url), name):
            raise Problem(f"there is no token `{name}`")
    except TokenProblem as problem:
        raise Problem(str(problem)) from None
    return 0


COMMAND = token
