"""secret-operation: something is done to a keychain value that cannot be done to a secret.

Why it matters
    What is hidden in all that is recorded cannot be known again once it was changed, so the task fails with
    `template.error`. A secret can be joined with texts, compared, and given to `length`, `urlencode`, `b64encode` and
    `tojson`: these work on the true value, and what they give is hidden as it is.
Example
    headers: {X-Key: "{{ keychain.shop.token | upper }}"}
Instead
    headers: {X-Key: "{{ keychain.shop.token }}"}
    Store the value as it is needed; or let a tool change it, as code of `python` with `auth: shop` can.
When to ignore
    Never: the task fails whenever its fields are rendered.
"""

from collections.abc import Iterator

from noetl_ir.expr import Json, Literal, MapTemplate
from noetl_ir.secret_fields import ADDRESSES, PUBLIC, SHORTEST
from noetlc.ast.playbook import KeychainEntry, Value
from noetlc.ast.walk import expressions_in, task_values
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.secret_operations import secret_operations
from noetlc.rules import Rule, Unit

_FETCHED = {"oauth2": ("token", "access_token"), "google_id_token": ("token", "id_token")}
_MAPPED = frozenset({"env", "secrets", "secret", "secret_manager"})
_LOGIN = frozenset(
    {"password", "token", "access_token", "refresh_token", "api_key", "secret", "client_secret", "secret_key"}
)
"""Fields of stored credentials that nothing but a text is kept under; what others hold is not known here."""


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Operations on fields of the keychain that are certainly hidden texts, in what tasks are given."""
    entries = {entry.name: entry for entry in unit.playbook.keychain}
    for step in unit.playbook.steps:
        for value in (value for task in step.tasks for value in task_values(task)):
            for expr, scalar in expressions_in(value):
                for done in secret_operations(expr, lambda name, field: _is_text(entries.get(name), field)):
                    part, secret = done.expr, done.secret
                    whole = scalar.text[secret.start : secret.end] if scalar is not None else ""
                    shown = f"`{whole}`" if whole.startswith("keychain") else "a keychain value"
                    yield RULE.finding(
                        f"{done.name} cannot be done to {shown}, which is a secret",
                        unit.source.inner_span(scalar, part.start, part.end) if scalar is not None else value.span,
                        help=_HELP,
                    )


_HELP = (
    "join it with texts (`~`), compare it, or give it to `length`, `urlencode`, `b64encode` or `tojson`; have a tool "
    "do the rest"
)


def _is_text(entry: KeychainEntry | None, field: str) -> bool:
    """Whether a field is a text that is hidden, whatever the entry holds; None is an entry that nothing declares."""
    if field in PUBLIC or field in ADDRESSES:
        return False
    if entry is None or entry.kind in ("credential", "postgres_credential"):
        return field in _LOGIN
    fields = {name: _written(value) for name, value in entry.fields}
    if entry.kind in _FETCHED:
        return field in _FETCHED[entry.kind]
    mapping = fields.get("map")
    if entry.kind == "static":
        return _is_long(mapping.get(field) if isinstance(mapping, dict) else fields.get(field))
    if entry.kind == "bearer":
        given = [fields[name] for name in ("token", "value") if name in fields]
        return field == "token" and all(map(_is_long, given))
    if entry.kind == "file":
        return field == "value" and "format" not in fields
    if entry.kind not in _MAPPED or "default" in fields:
        return False  # what the playbook has in clear is not hidden
    return field in mapping if isinstance(mapping, dict) else field == "value" and mapping is None


def _written(value: Value) -> Json:
    """What stands in the playbook; of a template that there is one, as a number."""
    match value.template:
        case Literal(value=written):
            return written
        case MapTemplate(items=items):
            return dict.fromkeys((name for name, _ in items), 0)
    return 0


def _is_long(written: Json) -> bool:
    """Whether it is a text that is long enough to be hidden."""
    return isinstance(written, str) and len(written) >= SHORTEST


RULE = Rule("NL317", Severity.ERROR, "ast", check)
