"""Rules that give roles to who signs in by OpenID Connect: a TOML file of claims, and what each value of one may do.

[[roles]]
claim = "groups"         # or ["realm_access", "roles"], a claim within another one
value = "data-ops"
role = "operator"
paths = ["team-a/"]      # scopes as those of tokens; all playbooks where there are none
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence

from noetl.ports.scopes import MOST, path_trouble, pool_trouble
from noetl_ir.expr import Json
from noetl_ir.nearest import nearest
from noetl_ir.records import NamedTuple

ROLES_OF_PEOPLE = ("viewer", "operator", "admin")
"""From the weakest to the strongest; `worker` is for machines, which have tokens."""

LARGEST = 256 * 1024
MOST_RULES = 200
MOST_VALUES = 10_000
"""The most values of one claim that are looked at: somebody may be in thousands of groups."""

_KEYS = ("claim", "value", "everybody", "role", "paths", "pools")


class RulesProblem(Exception):
    """The file cannot be used; the text names it and the rule, and says why."""


class RoleRule(NamedTuple):
    """One rule: who has that `value` in `claim`, or everybody where no claim is named, may do what `role` may."""

    claim: tuple[str, ...]
    value: Json
    role: str
    paths: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()

    def fits(self, claims: Mapping[str, Json]) -> bool:
        """Whether it is about somebody of whom the issuer says that."""
        if not self.claim:
            return True
        # Whoever may write any address into a profile is not the one whose address it is.
        if self.claim == ("email",) and not is_email_verified(claims):
            return False
        found: Json = dict(claims)
        for name in self.claim:
            found = found.get(name) if isinstance(found, dict) else None
        values = found[:MOST_VALUES] if isinstance(found, list) else [found]
        return any(type(each) is type(self.value) and each == self.value for each in values)


class RoleRules(NamedTuple):
    """The rules of a file, and the SHA-256 of its bytes."""

    rules: tuple[RoleRule, ...]
    digest: str

    def fitting(self, claims: Mapping[str, Json]) -> tuple[int, ...]:
        """The numbers of the rules that give somebody a role: of all that fit, those of the strongest role."""
        found = [number for number, rule in enumerate(self.rules) if rule.fits(claims)]
        strongest = max((ROLES_OF_PEOPLE.index(self.rules[number].role) for number in found), default=0)
        return tuple(number for number in found if self.rules[number].role == ROLES_OF_PEOPLE[strongest])

    def granted(self, numbers: Sequence[int]) -> RoleRule | None:
        """All that some rules of one role give together; None where there is none.

        Scopes are added only where that gives nothing which no single rule gives: those of the same pools have the
        paths of all, those of the same paths the pools of all. Another one is passed over, and so is one beyond as
        many paths or pools as a token may have.
        """
        rules = [self.rules[number] for number in numbers if 0 <= number < len(self.rules)]
        if not rules:
            return None
        sum_ = rules[0]
        for rule in rules[1:]:
            added = sum_
            if set(rule.pools) == set(sum_.pools):
                added = sum_._replace(paths=_both(sum_.paths, rule.paths))
            elif set(rule.paths) == set(sum_.paths):
                added = sum_._replace(pools=_both(sum_.pools, rule.pools))
            elif not (rule.paths or rule.pools):
                added = rule
            if max(len(added.paths), len(added.pools)) <= MOST:
                sum_ = added
        return sum_


def _both(some: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    """Scopes together; none at all are all playbooks, or pools."""
    return tuple(dict.fromkeys((*some, *others))) if some and others else ()


def is_email_verified(claims: Mapping[str, Json]) -> bool:
    """Whether the issuer says that the address is that of the person (Core §5.1); some say so in a text."""
    return claims.get("email_verified") in (True, "true")


def read_rules(path: str) -> RoleRules:
    """The rules in a file. Raises RulesProblem."""
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise RulesProblem(f"{path} has more than {LARGEST} bytes")
        document = tomllib.loads(data.decode("utf-8"))
    except OSError as problem:
        raise RulesProblem(f"{path} cannot be read: {problem.strerror}") from None
    except (ValueError, RecursionError) as problem:
        raise RulesProblem(f"{path} is no TOML: {problem}") from None
    rows = document.get("roles")
    if [*document] != ["roles"] or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise RulesProblem(f"{path}: write a [[roles]] for each rule, and nothing else")
    if len(rows) > MOST_RULES:
        raise RulesProblem(f"{path} has more than {MOST_RULES} rules")
    rules = tuple(_rule_of(f"{path}: rule {number}", row) for number, row in enumerate(rows, 1))
    return RoleRules(rules, hashlib.sha256(data).hexdigest())


def _rule_of(place: str, row: Mapping[str, object]) -> RoleRule:
    for key in row:
        if key not in _KEYS:
            near = nearest(key, _KEYS)
            raise RulesProblem(f"{place} has a key `{key}`: {f'did you mean `{near}`?' if near else 'there is none'}")
    role = row.get("role")
    if role not in ROLES_OF_PEOPLE:
        raise RulesProblem(f"{place}: `role` is one of {', '.join(ROLES_OF_PEOPLE)}")
    claim, value = _condition_of(place, row)
    paths, pools = _texts_of(place, row, "paths", path_trouble), _texts_of(place, row, "pools", pool_trouble)
    return RoleRule(claim, value, str(role), paths, pools)


def _condition_of(place: str, row: Mapping[str, object]) -> tuple[tuple[str, ...], Json]:
    """The claim and the value that a rule looks for."""
    if "everybody" in row:
        # A word of its own: a claim that was left out by mistake must not let all in.
        if row["everybody"] is not True or "claim" in row or "value" in row:
            raise RulesProblem(f"{place}: `everybody = true` stands instead of `claim` and `value`")
        return (), None
    claim, value = row.get("claim"), row.get("value")
    names = claim if isinstance(claim, list) else [claim]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise RulesProblem(f'{place}: `claim` is a name, or a list of names for one within another: claim = "groups"')
    if not isinstance(value, str | bool | int) or value == "":
        raise RulesProblem(f'{place}: `value` is the text that the claim has, or one of its list: value = "data-ops"')
    return tuple(map(str, names)), value


def _texts_of(place: str, row: Mapping[str, object], key: str, trouble: Callable[[str], str]) -> tuple[str, ...]:
    texts = row.get(key, [])
    # An empty list would be read as `none`, and means all.
    if not isinstance(texts, list) or (key in row and not texts) or not all(isinstance(text, str) for text in texts):
        raise RulesProblem(f"{place}: `{key}` is a list of texts; leave it out for all")
    if len(texts) > MOST:
        raise RulesProblem(f"{place}: `{key}` has {len(texts)} texts; at most {MOST} are taken")
    for text in texts:
        if why := trouble(text):
            raise RulesProblem(f"{place}: `{key}`: {why}")
    return tuple(dict.fromkeys(texts))


class RulesFile:
    """The rules of a file as it is now. Raises RulesProblem when made.

    Later on a file that cannot be read lets nobody in. `said` hears why, once for each state of the file.
    """

    def __init__(self, path: str, said: Callable[[str], None]) -> None:
        self._path = path
        self._said = said
        self._state = _file_state(path)
        self._rules: RoleRules | None = read_rules(path)

    def __call__(self) -> RoleRules | None:
        """The rules; the file is read again when it was changed. None where it cannot be used any more."""
        state = _file_state(self._path)
        if state != self._state:
            self._state = state
            try:
                self._rules = read_rules(self._path)
            except RulesProblem as problem:
                self._rules = None
                self._said(f"nobody who signs in by OIDC is let in: {problem}")
        return self._rules


def _file_state(path: str) -> tuple[int, int, int] | None:
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size
