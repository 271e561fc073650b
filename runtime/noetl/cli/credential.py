"""credential: the encrypted credentials that playbooks name, kept beside the store."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from noetl.app.adapters import secrets_path_of
from noetl.cli.acting import record_beside
from noetl.cli.inputs import json_of, read_input
from noetl.cli.stores import json_option, store_option
from noetl.cli.text import Problem, escaped, json_text, moment, table
from noetl.host.engine_files import make_folder
from noetl.secrets.credentials import CredentialProblem, Credentials, CredentialTaken
from noetl_ir.events import iso_of
from noetl_ir.expr import Json
from noetl_ir.nearest import nearest


@click.group("credential", short_help="Keep the credentials that playbooks name.")
def credential() -> None:
    """Keep the credentials that playbooks name, encrypted beside the store. No command prints a secret."""


@credential.command("add", short_help="Store a credential.")
@click.argument("name")
@click.option("--type", "kind", metavar="TYPE", help="What it is for: postgres, bearer, …; generic when not given.")
@click.option("--field", "fields", multiple=True, metavar="K=V", help="A field and its value, for what is no secret.")
@click.option("--secret", "secrets", multiple=True, metavar="K", help="Ask for a field's value, or read a line of it.")
@click.option("--json-file", metavar="FILE", help="Fields from a JSON object; - is standard input.")
@click.option("--replace", is_flag=True, help="Instead of the one of that name; its type stays unless --type is given.")
@store_option
@json_option
def add(
    name: str,
    kind: str | None,
    fields: tuple[str, ...],
    secrets: tuple[str, ...],
    json_file: str | None,
    replace: bool,
    url: str,
    as_json: bool,
) -> int:
    """Store a credential. Where there is one of that name, nothing is changed without --replace.

    What is on a command line can be seen by others: give secrets with --secret, which asks for them on a terminal
    and else reads a line each from standard input, or with --json-file.
    """
    if secrets and json_file == "-":
        raise click.UsageError("standard input can be read only once")
    if not replace:  # before anybody is asked for a secret
        with _credentials(url) as store:
            store.check_free(name)
    values = _from_file(json_file) if json_file is not None else {}
    for words in fields:
        key, equals, text = words.partition("=")
        if not key or not equals:
            # The words are not told back, as in other messages: the value may be a secret that was given by mistake.
            raise click.UsageError("--field: write it as name=value")
        values[key] = text
    for key in secrets:
        values[key] = _secret(key)
    if not values:
        raise click.UsageError("give at least one field: --field, --secret or --json-file")
    with _credentials(url) as store:
        make_folder(os.path.dirname(secrets_path_of(url)))
        before = store.type_of(name)
        record_beside(url, "credential-add", name)
        (store.replace if replace else store.add_credential)(name, kind or before or "generic", values)
    _report(name, "replaced" if before is not None else "stored", as_json=as_json)
    _warn_of_short(values)
    return 0


def _is_short(field: str, value: str) -> bool:
    """Whether a value is too short to be hidden. How a server of mail is spoken to is told in the documentation."""
    from noetl_ir.secret_fields import SHORTEST

    return len(value) < SHORTEST and not (field == "security" and value in _OF_MAIL)


_OF_MAIL = ("none", "tls", "starttls")


def _warn_of_short(values: dict[str, Json]) -> None:
    """Say which secrets a log will show where a tool prints them."""
    from noetl.secrets.keychain import secrets_of
    from noetl_ir.secret_fields import SHORTEST

    for field in dict.fromkeys(field for field, value in secrets_of(values) if _is_short(field, value)):
        click.echo(
            f"warning: `{escaped(field)}` has fewer than {SHORTEST} characters; where a tool prints it, "
            "it cannot be hidden in results, logs and events",
            err=True,
        )


def _from_file(name: str) -> dict[str, Json]:
    """The fields in a JSON file. A parser's message would quote it, so what is wrong with it is not told in full."""
    try:
        value = json_of(read_input(name).decode("utf-8"))
    except ValueError:
        raise click.UsageError(f"--json-file {escaped(name)} is no JSON") from None
    if not isinstance(value, dict):
        raise click.UsageError(f"--json-file {escaped(name)} must hold a JSON object")
    return value


def _secret(key: str) -> str:
    if sys.stdin.isatty():
        value: str = click.prompt(escaped(key), hide_input=True, err=True)
        return value
    # A line and not all of it, so that several secrets can be given one after the other.
    line = sys.stdin.readline()
    if not line:
        raise click.UsageError(f"--secret {escaped(key)}: standard input has no line for it")
    # Only the line end goes: spaces at the end may be part of a password.
    return line.removesuffix("\n").removesuffix("\r")


@credential.command("list", short_help="List the names of credentials.")
@store_option
@json_option
def list_(url: str, as_json: bool) -> int:
    """List names and types; never values."""
    with _credentials(url) as store:
        rows = store.list()
    if as_json:
        click.echo(json_text([{"name": row.name, "type": row.type, "changed": iso_of(row.changed)} for row in rows]))
    elif rows:
        click.echo(table(("NAME", "TYPE", "CHANGED"), ((row.name, row.type, moment(row.changed)) for row in rows)))
    else:
        click.echo("no credentials", err=True)
    return 0


@credential.command("delete", short_help="Remove a credential.")
@click.argument("name")
@store_option
@json_option
def delete(name: str, url: str, as_json: bool) -> int:
    """Remove a credential."""
    record_beside(url, "credential-delete", name)
    with _credentials(url) as store:
        if not store.delete(name):
            raise Problem(_unknown(name, [row.name for row in store.list()]))
    _report(name, "deleted", as_json=as_json)
    return 0


def _unknown(name: str, names: list[str]) -> str:
    near = nearest(name, names)
    return f"there is no credential `{name}`" + (f"; did you mean `{near}`?" if near else "")


@contextmanager
def _credentials(url: str) -> Iterator[Credentials]:
    try:
        yield Credentials(secrets_path_of(url))
    except CredentialTaken as problem:
        raise Problem(f"{problem}; --replace stores this one instead") from None
    except CredentialProblem as problem:
        raise Problem(str(problem)) from None
    except OSError as problem:
        raise Problem(f"the credential store cannot be used: {problem.strerror}") from None


def _report(name: str, done: str, *, as_json: bool) -> None:
    click.echo(json_text({"name": name, "done": done}) if as_json else f"{done}: {escaped(name)}")


COMMAND = credential
