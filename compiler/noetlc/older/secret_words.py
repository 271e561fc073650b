"""`secret.NAME` and `auth.ALIAS.FIELD` in expressions of older dialects: what of the keychain they ask for.

    password: "{{ secrets.demo_password }}"     →  keychain: [{name: demo_password, kind: secrets}], `.value`
    key: "{{ auth.shop.client_id }}"            →  keychain: [{name: shop, kind: credential}], `.client_id`
      beside `auth: {shop: {credential: acme}}` →  keychain: [{name: acme, kind: credential}], `.client_id`

No engine had a scope of these names; what their authors meant is the secret of that name, and never a key of the
payload, which stands in plain in the log. A name that the playbook declares is its own.
"""

from collections.abc import Container, Mapping
from typing import TypeAlias

from noetl_ir.expr import Const, Expr, Literal, Native, Template
from noetl_ir.paths import static_path
from noetl_ir.records import NamedTuple
from noetlc.ast.playbook import KeychainEntry, Task
from noetlc.ast.workbook import pairs_of
from noetlc.older.legacy_names import below

WORDS = frozenset({"secret", "secrets", "auth", "credential", "credentials"})
"""Names that stand for secrets where nothing declares them."""

_NAMES = ("credential", "name")
_ABOUT = frozenset({"source", "tool", "type", "kind", "scope", "provider", "key"})
"""Keys that say nothing but which credential is meant, as `noetl.logins` reads them."""

_Pairs: TypeAlias = Mapping[str, Template]


class AskedSecret(NamedTuple):
    """A secret that an expression asks for: `name` is the entry, or the expression whose value names it; without
    `keys`, its one value.
    """

    name: str | Expr
    keys: tuple[str, ...]


def asked_secret(expr: Expr, known: Container[str], task: Task | None) -> AskedSecret | Expr | None:
    """The secret that an expression asks for in a task (None outside of any), or the value that the task's `auth` has
    there in plain; None for any other expression.
    """
    here = static_path(expr)
    if len(here) < 2 or here[0] not in WORDS or here[0] in known:
        return None
    word, name, keys = here[0], here[1], here[2:]
    auth = dict(task.fields).get("auth") if task is not None and word == "auth" else None
    return AskedSecret(name, keys) if auth is None else _of_auth(auth.template, name, keys)


def _of_auth(auth: Template, name: str, keys: tuple[str, ...]) -> AskedSecret | Expr:
    pairs = pairs_of(auth)
    inner = None if pairs is None or name not in pairs else pairs_of(pairs[name])
    if pairs is not None and inner is not None:  # an alias
        found = _named(inner, name, keys)
        return AskedSecret(name, keys) if found is None else found
    if pairs is not None:
        found = _named(pairs, "", (name, *keys))
        return AskedSecret(name, keys) if found is None else found
    named = _text_or_expr(auth)
    # `auth: shop` beside `auth.shop.id` names it twice; beside `auth.id` the id is a field of it.
    if named is None or named == name or keys:
        return AskedSecret(name, keys)
    return AskedSecret(named, (name,))


def _named(pairs: _Pairs, alias: str, keys: tuple[str, ...]) -> AskedSecret | Expr | None:
    """The value under some keys of a credential that `auth` names or writes out; None where it has no such key."""
    words = (*_NAMES, "key") if pairs.keys() <= _ABOUT else _NAMES
    for word in words:
        if word in pairs and (named := _text_or_expr(pairs[word])) is not None:
            return AskedSecret(named, keys)
    if keys and keys[0] in pairs:
        value = pairs[keys[0]]
        if isinstance(value, Native):
            return below(value.expr, keys[1:])
        if isinstance(value, Literal) and len(keys) == 1:
            return Const(value.value) if isinstance(value.value, str | int | float) else None
    return None


def _text_or_expr(template: Template) -> str | Expr | None:
    match template:
        case Literal(value=str() as text):
            return text
        case Native(expr=expr):
            return expr
    return None


def only_field(entry: KeychainEntry) -> str | None:
    """The field that holds the one value of an entry; None where it has several, or nobody knows."""
    fields = {name: value.template for name, value in entry.fields}
    mapped = pairs_of(fields["map"]) if "map" in fields else None
    if mapped is not None:
        return next(iter(mapped)) if len(mapped) == 1 else None
    return _ONLY.get(entry.kind)


_ONLY = {
    "env": "value", "static": "value", "file": "value", "secrets": "value", "secret": "value",
    "secret_manager": "value", "bearer": "token", "oauth2": "token", "google_id_token": "token",
}  # fmt: skip
"""Kind of an entry → what holds its one value."""
