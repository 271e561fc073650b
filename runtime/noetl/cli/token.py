"""token: who may do what with a server."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from noetl.api.bearer_tokens import (
    ROLES,
    BearerToken,
    TokenProblem,
    TokenTaken,
    add_token,
    delete_token,
    read_tokens,
    replace_token,
)
from noetl.cli.acting import record_beside
from noetl.cli.stores import json_option, path_of, store_option
from noetl.cli.text import Problem, escaped, json_text, moment, table
from noetl.ports.scopes import MOST, path_trouble, pool_trouble

if TYPE_CHECKING:
    from collections.abc import Callable

_file = click.option("--tokens", "path", metavar="FILE", help="The file of tokens; beside the store by default.")


def tokens_path_of(url: str) -> str:
    """The file of tokens that belongs to a store."""
    # A store that is a database has no folder of its own on this machine.
    return f"{path_of(url)}.tokens" if "://" not in path_of(url) else ".noetl/server.tokens"


@click.group("token", short_help="Say who may do what with a server.")
def token() -> None:
    """Keep the bearer tokens of a server. Only their hashes are kept; a running server sees a change at once."""


def _checked_end(_: click.Context, __: click.Parameter, text: str | None) -> int | None:
    """The microseconds at which a token ends. Raises UsageError."""
    if text is None:
        return None
    from noetl.app.retention import age_of
    from noetl.server.schedules.times import BadTimes, time_of
    from noetl_ir.events import iso_of

    now = time.time_ns() // 1_000
    try:
        age = age_of(text)
        end = time_of(text if age is None else iso_of(now + age))  # the file takes no time behind 2999
    except BadTimes:
        raise click.UsageError(f"--expires {escaped(text)}: write 30d, 12h, or 2027-01-01T00:00:00Z") from None
    if end <= now:
        raise click.UsageError(f"--expires {escaped(text)}: that is over")
    return end


def _checked_texts(trouble: Callable[[str], str]) -> Callable[..., tuple[str, ...]]:
    def checked(_: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
        for text in texts:
            if why := trouble(text):
                raise click.UsageError(f"{option.opts[0]}: {escaped(why)}")
        if len(texts) > MOST:
            raise click.UsageError(f"{option.opts[0]}: {len(texts)} are given; a token has at most {MOST}")
        return tuple(dict.fromkeys(texts))

    return checked


@token.command("add", short_help="Make a token, and print it once.")
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), required=True, help="What its bearer may do.")
@click.option("--expires", metavar="AGE|TIME", callback=_checked_end, help="When it ends: 30d, 2027-01-01T00:00:00Z.")
@click.option(
    "--path",
    "paths",
    metavar="PREFIX",
    multiple=True,
    callback=_checked_texts(path_trouble),
    help="For playbooks below `team-a/`, or the one of that path; repeatable. All by default.",
)
@click.option(
    "--pool",
    "pools",
    multiple=True,
    callback=_checked_texts(pool_trouble),
    help="For playbooks whose steps run in that pool; repeatable. All by default.",
)
@click.option("--replace", is_flag=True, help="Instead of the one of that name, which is refused from then on.")
@_file
@store_option
@json_option
def add(
    name: str,
    role: str,
    expires: int | None,
    paths: tuple[str, ...],
    pools: tuple[str, ...],
    replace: bool,
    path: str | None,
    url: str,
    as_json: bool,
) -> int:
    """Make a token. It is printed here and never again.

    Where there is one of that name, nothing is changed without --replace.
    """
    file, before = path or tokens_path_of(url), None
    record_beside(url, "token-add", name)
    try:
        if replace:
            made, before = replace_token(file, name, role, expires=expires, paths=paths, pools=pools)
        else:
            made = add_token(file, name, role, expires=expires, paths=paths, pools=pools)
    except TokenTaken as problem:
        raise Problem(f"{problem}; --replace makes a new one, and that one is refused from then on") from None
    except TokenProblem as problem:
        raise Problem(str(problem)) from None
    token = BearerToken(name, role, "", expires, paths, pools)
    if before is not None:
        click.echo(
            f"replaced: the token that `{escaped(name)}` had is refused from now on; {_change(before, token)}", err=True
        )
    replaced = before.role if before is not None else None
    click.echo(json_text({**token.document(), "token": made, "replaced": replaced}) if as_json else made)
    return 0


def _change(before: BearerToken, token: BearerToken) -> str:
    """The differences between a token and the one that takes its place, in words."""
    role = f"its role was `{before.role}` and is `{token.role}`" if before.role != token.role else ""
    limits = [name for name in ("expires", "paths", "pools") if getattr(before, name) != getattr(token, name)]
    changed = [f"it {_was(before, name)}" for name in limits]
    return "; ".join([role or f"its role stays `{token.role}`", *changed])


def _was(before: BearerToken, limit: str) -> str:
    """A limit that a token had, in words."""
    if limit == "expires":
        if before.expires is None:
            return "would never have expired"
        return f"{'had' if before.has_expired(time.time()) else 'would have'} expired at {moment(before.expires)}"
    named = " ".join(getattr(before, limit))
    what = "playbooks" if limit == "paths" else "pools"
    return f"was for the {what} {escaped(named)} before" if named else f"was for all {what} before"


def _shown(token: BearerToken, limit: str) -> str:
    """A limit of a token as people are shown it."""
    if limit == "expires":
        return moment(token.expires) if token.expires is not None else "never"
    return " ".join(getattr(token, limit)) or "all"


@token.command("list", short_help="List the tokens by name.")
@_file
@store_option
@json_option
def list_tokens(path: str | None, url: str, as_json: bool) -> int:
    """List the names, roles, ends and scopes; the tokens themselves are known to nobody here."""
    try:
        rows = read_tokens(path or tokens_path_of(url))
    except TokenProblem as problem:
        raise Problem(str(problem)) from None
    if as_json:
        click.echo(json_text([row.document() for row in rows]))
    elif rows:
        click.echo(table(("NAME", "ROLE", "EXPIRES", "PLAYBOOKS", "POOLS"), map(_line, rows)))
    else:
        click.echo("no tokens", err=True)
    return 0


def _line(row: BearerToken) -> tuple[str, ...]:
    end = _shown(row, "expires")
    end = f"{end} (over)" if row.has_expired(time.time()) else end
    return escaped(row.name), row.role, end, escaped(_shown(row, "paths")), _shown(row, "pools")


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
