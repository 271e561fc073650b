"""The options that say with whom people sign in to the page of a server, and what that lets them do."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from noetl.clients.egress import is_loopback
from noetl.host.process_secrets import learn
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    from noetl.api.people import People

LONGEST_SECRET = 4_096
_VARIABLE = "NOETL_OIDC_SECRET"


class OidcTrouble(Exception):
    """Nobody could sign in so; the text says why, by options."""


class OidcOptions(NamedTuple):
    """The provider of OpenID Connect of a server; without an `issuer` it has none."""

    issuer: str | None
    client: str | None
    secret_path: str | None
    rules_path: str | None
    scopes: tuple[str, ...]
    public_url: str | None

    def wrong(self, host: str, *, behind_proxy: bool) -> str | None:
        """Why these options do not go together; None where they do."""
        from noetl.clients.oidc_provider import faulty_issuer

        if self.public_url is not None and (why := _faulty_page(self.public_url)):
            return f"--public-url {self.public_url}: {why}"
        if self.issuer is None:
            others = {"--oidc-client": self.client is not None, "--oidc-secret-file": self.secret_path is not None}
            others |= {"--oidc-roles": self.rules_path is not None, "--oidc-scope": bool(self.scopes)}
            alone = next((name for name, is_there in others.items() if is_there), None)
            return None if alone is None else f"{alone} is of the sign-in by OpenID Connect: give --oidc-issuer too"
        if why := faulty_issuer(self.issuer):
            return f"--oidc-issuer {self.issuer}: {why}"
        if self.client is None:
            return "--oidc-issuer needs --oidc-client: the name that the provider gave this server"
        if self.rules_path is None:
            return "--oidc-issuer needs --oidc-roles FILE: who may do what"
        if self.public_url is None and (behind_proxy or not is_loopback(host)):
            return (
                "--oidc-issuer needs --public-url: where browsers reach the page, which the provider sends them back to"
            )
        return None

    def people(self, say: Callable[[str], None]) -> People | None:
        """Who signs in so, None without an issuer. Raises OidcTrouble."""
        if self.issuer is None:
            return None
        from noetl.clients.id_tokens import is_there

        if not is_there():
            raise OidcTrouble("the sign-in by OpenID Connect needs the extra: pip install 'noetlc[oidc]'")
        from noetl.api.people import People
        from noetl.api.role_rules import RulesFile, RulesProblem
        from noetl.clients.oidc_provider import RelyingParty

        try:
            rules = RulesFile(self.rules_path or "", say)
        except RulesProblem as problem:
            raise OidcTrouble(str(problem)) from None
        return People(RelyingParty(self.issuer, self.client or "", self._secret(), self.scopes), rules)

    def faulty_files(self) -> list[str]:
        """Why the files of these options cannot be used; a check tells it beside what else is wrong."""
        if self.issuer is None or self.rules_path is None:
            return []
        try:
            self.people(lambda said: None)
        except OidcTrouble as problem:
            return [str(problem)]
        return []

    def _secret(self) -> str:
        """The secret of the client, learnt so that it is hidden wherever it could be shown. Raises OidcTrouble."""
        if self.secret_path is None:
            # A variable that is empty is none: then this is a public client.
            source, secret = _VARIABLE, os.environ.get(_VARIABLE, "").strip()
        else:
            source, secret = f"--oidc-secret-file {self.secret_path}", _read_secret(self.secret_path)
        if len(secret) > LONGEST_SECRET or not (secret.isascii() and (secret + "x").isprintable()):
            raise OidcTrouble(f"{source}: it is to have one line, the secret, and no more")
        learn("the secret of --oidc-client", [secret])
        return secret


def _read_secret(path: str) -> str:
    """The secret in a file. Raises OidcTrouble."""
    try:
        with open(path, encoding="utf-8") as file:
            secret = file.read(LONGEST_SECRET + 1).strip()
    except (OSError, UnicodeError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "it is no text in UTF-8"
        raise OidcTrouble(f"--oidc-secret-file {path}: it cannot be read: {why}") from None
    if not secret:
        raise OidcTrouble(f"--oidc-secret-file {path}: it is to have one line, the secret, and no more")
    return secret


def _faulty_page(url: str) -> str:
    """Why a URL cannot be that of the page; empty where it can."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "it is no URL"
    if parts.scheme not in ("https", "http") or not host or not (url.isascii() and url.isprintable()) or " " in url:
        return "write https://HOST, and the path of the page behind it where a proxy has it below one"
    if "?" in url or "#" in url or "@" in parts.netloc or ";" in parts.path:
        return "an address of the page has no user, query, fragment or `;`"
    if parts.scheme == "http" and not is_loopback(host):
        return "it must be https://, since whoever reads a code on its way signs in with it"
    return ""


_FILE = click.Path(dir_okay=False)
_OPTIONS = (
    click.option("--oidc-issuer", metavar="URL", help="People sign in to the page at this provider of OpenID Connect."),
    click.option("--oidc-client", metavar="ID", help="This server as the provider knows it."),
    click.option("--oidc-secret-file", type=_FILE, metavar="FILE", help="Its secret; a public client has none."),
    click.option("--oidc-roles", type=_FILE, metavar="FILE", help="Which claims give which role: TOML."),
    click.option("--oidc-scope", multiple=True, metavar="SCOPE", help="Asked for beside openid and email; repeatable."),
    click.option("--public-url", metavar="URL", help="Where browsers reach the page; where it listens by default."),
)
_NAMES = ("oidc_issuer", "oidc_client", "oidc_secret_file", "oidc_roles", "oidc_scope", "public_url")


def oidc_options(function: Callable[..., int]) -> Callable[..., int]:
    """Options that a command gets as one argument, `oidc`."""

    @wraps(function)
    def command(*args: Any, **values: Any) -> int:
        oidc = OidcOptions(*[values.pop(name) for name in _NAMES])
        return function(*args, oidc=oidc, **values)

    for option in reversed(_OPTIONS):
        option(command)
    return command
