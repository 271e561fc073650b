"""People who sign in to the page by OpenID Connect: who somebody is, and what the rules of now let them do.

Nothing is kept of them. Their cookie names them and the rules that fitted (`noetl.api.page_sessions` signs it). The
code over it is made with the rules, too: when these are changed, everybody who is signed in by them signs in again.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping

from noetl.api.bearer_tokens import BearerToken
from noetl.api.role_rules import RoleRules, is_email_verified
from noetl.clients.content import json_of
from noetl.clients.oidc_provider import RelyingParty
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

LONGEST_NAME = 254
"""Of an address of mail (RFC 5321, erratum 1690)."""


class NoRole(Exception):
    """No rule gives somebody a role; the text says whom."""


class Person(NamedTuple):
    """Somebody whom the issuer knows as `subject`, with a verified address of mail, empty for none, and the numbers of
    the rules that fit. `judged` is the state of the rules that they are numbers of.
    """

    subject: str
    email: str
    rules: tuple[int, ...]
    judged: str

    def text(self) -> str:
        """The person as a part of a cookie."""
        data = json.dumps([self.subject, self.email, *self.rules], separators=(",", ":"), ensure_ascii=False)
        return urlsafe_b64encode(data.encode("utf-8")).rstrip(b"=").decode("ascii")


class People:
    """Who may do what that signs in with one issuer. `rules` gives those of now, None where they cannot be used."""

    def __init__(self, party: RelyingParty, rules: Callable[[], RoleRules | None]) -> None:
        self.party = party
        self._rules = rules

    @property
    def digest(self) -> str:
        """The state of all that people's sessions rest on; empty where nobody has any."""
        rules = self._rules()
        return "" if rules is None else self._state_of(rules)

    def person_of(self, claims: Mapping[str, Json]) -> Person:
        """The person that verified claims are about. Raises NoRole."""
        subject, rules = str(claims["sub"]), self._rules()
        email = _verified_email_of(claims)
        if rules is None:
            raise NoRole("the rules that give roles cannot be read; the server's log says why")
        if not (fitting := rules.fitting(claims)):
            raise NoRole(f"no rule gives a role to {self.name_of(subject, email)} (`sub` {subject})")
        return Person(subject, email, fitting, self._state_of(rules))

    def _state_of(self, rules: RoleRules) -> str:
        return f"{self.party.issuer} {self.party.client} {rules.digest}"

    def name_of(self, subject: str, email: str) -> str:
        """The name of somebody for people."""
        return email or f"{self.party.issuer}#{subject}"

    def identity(self, text: str, end: int) -> BearerToken | None:
        """The token that a person counts as, until `end` in seconds since the epoch, of a text that was signed here."""
        padded = text + "=" * (-len(text) % 4)
        found, rules = json_of(urlsafe_b64decode(padded)), self._rules()
        if rules is None or not isinstance(found, list):
            return None
        subject, email, *numbers = found
        rule = rules.granted([number for number in numbers if isinstance(number, int)])
        if rule is None:
            return None
        name = self.name_of(str(subject), str(email))
        return BearerToken(name, rule.role, "", end * 1_000_000, rule.paths, rule.pools)


def is_person(token: BearerToken) -> bool:
    """Whether a token is none that was made here, but stands for somebody who signed in."""
    return not token.digest


def _verified_email_of(claims: Mapping[str, Json]) -> str:
    """The address of a person, where the issuer has verified it: all else people may call themselves."""
    email = claims.get("email")
    if not isinstance(email, str) or not is_email_verified(claims) or not 0 < len(email) <= LONGEST_NAME:
        return ""
    return email if email.isprintable() else ""
