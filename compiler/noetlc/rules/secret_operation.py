"""secret-operation: something is done to a keychain value that cannot be done to a secret.

Why it matters
    A secret is hidden in everything that is recorded. Once it is changed, it could not be found there any more, so the
    task fails with `template.error`. A secret can be joined with texts, compared, and given to `length`, `urlencode`,
    `b64encode` and `tojson`: these work on the true value, and their result is hidden as the secret is.
Example
    headers: {X-Key: "{{ keychain.shop.token | upper }}"}
Instead
    headers: {X-Key: "{{ keychain.shop.token }}"}
    Store the value as it is needed; or let a tool change it, as code of `python` with `auth: shop` can.
When to ignore
    Never: the task fails whenever its fields are rendered.
"""

from collections.abc import Callable, Iterator

from noetl_ir.expr import (
    Attribute,
    Binary,
    Call,
    Concat,
    Conditional,
    Const,
    Expr,
    Filter,
    Item,
    Json,
    ListOf,
    Literal,
    Logic,
    MapTemplate,
    Name,
    Slice,
    Test,
    TupleOf,
    Unary,
    walk,
)
from noetl_ir.records import NamedTuple
from noetl_ir.secret_fields import ADDRESSES, PUBLIC, SHORTEST
from noetlc.ast.once import Once
from noetlc.ast.playbook import KeychainEntry, Value
from noetlc.ast.walk import expressions_in, task_values
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.block_reads import in_blocks
from noetlc.rules import LintRule, Unit

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
            blocks = [(one.expr, scalar) for one, scalar in in_blocks(value) if "keychain" not in one.bound]
            for expr, scalar in (*expressions_in(value), *blocks):
                if not _reads_keychain(expr):
                    continue
                for done in secret_operations(expr, lambda name, field: _is_text(entries.get(name), field)):
                    part, secret = done.expr, done.secret
                    whole = scalar.text[secret.start : secret.end] if scalar is not None else ""
                    shown = f"`{whole}`" if whole.startswith("keychain") else "a keychain value"
                    yield RULE.finding(
                        f"{done.name} cannot be done to {shown}, which is a secret",
                        unit.source.inner_span(scalar, part.start, part.end) if scalar is not None else value.span,
                        help=_HELP,
                    )


_reads_keychain: Once[Expr, bool] = Once(
    lambda expr: any(type(part) is Name and part.name == "keychain" for part in walk(expr))
)

_HELP = (
    "join it with texts (`~`), compare it, or give it to `length`, `urlencode`, `b64encode` or `tojson`; have a tool "
    "do the rest"
)


def _is_text(entry: KeychainEntry | None, field: str) -> bool:
    """Whether a field is a text that is hidden, whatever the entry holds; None is an entry that nothing declares."""
    # Addresses are secret only with a password in them, which nobody knows here.
    if field in PUBLIC or field in ADDRESSES:
        return False
    # Such an entry may hold anything: only fields that are texts in every credential count.
    if entry is None or entry.kind in ("credential", "postgres_credential"):
        return field in _LOGIN
    fields = {name: _written(value) for name, value in entry.fields}
    if entry.kind in _FETCHED:
        return field in _FETCHED[entry.kind]
    mapping = fields.get("map")
    if entry.kind == "static":
        return _is_long(mapping.get(field) if isinstance(mapping, dict) else fields.get(field))
    if entry.kind == "bearer":
        texts = [fields[name] for name in ("token", "value") if name in fields]
        return field == "token" and all(map(_is_long, texts))
    if entry.kind == "file":
        return field == "value" and "format" not in fields
    if entry.kind not in _MAPPED or "default" in fields:
        return False  # what the playbook has in clear is not hidden
    return field in mapping if isinstance(mapping, dict) else field == "value" and mapping is None


def _written(value: Value) -> Json:
    """The text in the playbook; of a template that there is one, as a number."""
    match value.template:
        case Literal(value=written):
            return written
        case MapTemplate(items=items):
            return dict.fromkeys((name for name, _ in items), 0)
    return 0


def _is_long(written: Json) -> bool:
    """Whether it is a text that is long enough to be hidden."""
    return isinstance(written, str) and len(written) >= SHORTEST


RULE = LintRule("NL317", Severity.ERROR, "ast", check, words=("keychain",))


# What an expression does to a secret that cannot be done: a worker would do it to the marker, and it is a fault.
#
# A secret joins with texts, compares, has a length, and is given to the filters that work on the true value
# (`noetl_ir.scopes.values.Sealed`). Only what is certain is told: a part is a secret where each way of coming to it is.
IsSecret = Callable[[str, str], bool]
"""Whether a field of a keychain entry, by the names of both, is a text that is hidden."""

_MAKING = frozenset({"urlencode", "b64encode", "tojson"})
"""Filters that make another secret of one."""
_PASSING = frozenset({"default", "d"})
_WORKING = frozenset({"length", "count"}) | _MAKING | _PASSING
_OF_PLAIN = frozenset({"replace", "format"})
"""Filters whose arguments become part of what they give, as texts."""
_REFUSING_TESTS = frozenset({"odd", "even", "divisibleby", "lower", "upper", "filter", "test"})


class SecretOperation(NamedTuple):
    """An operation: the expression that does it, the one that is the secret, and its name in words."""

    expr: Expr
    secret: Expr
    name: str


def secret_operations(expr: Expr, is_secret: IsSecret) -> Iterator[SecretOperation]:
    """The operations of an expression on keychain values that are none for a secret, innermost first."""
    parts = list(walk(expr))
    # The method's attribute is a part, too; its call is told, with the method's name.
    called = {id(part.callee) for part in parts if isinstance(part, Call)}
    secrets: set[int] = set()
    for part in reversed(parts):  # what is inside comes before what it is in
        if (key := _entry(part)) is not None and is_secret(*key):
            secrets.add(id(part))
        elif found := _refused(part, secrets, called):
            yield found
        elif _stays(part, secrets):
            secrets.add(id(part))


def _entry(expr: Expr) -> tuple[str, str] | None:
    """The entry and the field of `keychain.ENTRY.FIELD`, in all its spellings."""
    keys: list[str] = []
    while len(keys) < 3:
        match expr:
            case Attribute(of=of, name=name) | Item(of=of, key=Const(value=str() as name)):
                keys.append(name)
                expr = of
            case Name(name="keychain") if len(keys) == 2:
                return keys[1], keys[0]
            case _:
                return None
    return None


def _refused(part: Expr, secrets: set[int], called: set[int]) -> SecretOperation | None:
    match part:
        case Attribute(of=of, name=name) if id(of) in secrets and id(part) not in called:
            return SecretOperation(part, of, f"`.{name}`")
        case Call(callee=Attribute(of=of, name=name)) if id(of) in secrets:
            return SecretOperation(part, of, f"the method `{name}`")
        case Item(of=of) | Slice(of=of) if id(of) in secrets:
            return SecretOperation(part, of, "`[…]`")
        case Filter(of=of, name=name) if id(of) in secrets and name not in _WORKING:
            return SecretOperation(part, of, f"the filter `{name}`")
        case Filter(name=name, args=args) if name in _OF_PLAIN:
            return _first(part, args, secrets, f"the filter `{name}`")
        case Test(of=of, name=name) if id(of) in secrets and name in _REFUSING_TESTS:
            return SecretOperation(part, of, f"the test `{name}`")
        case Unary(of=of, op=op) if id(of) in secrets:
            return SecretOperation(part, of, f"`{op}`")
        case Binary(op=op, left=left, right=right) if op != "+":
            return _first(part, (left, right), secrets, f"`{op}`")
        case Call(callee=Name(name="range"), args=args):
            return _first(part, args, secrets, "`range`")
    return None


def _first(part: Expr, of: tuple[Expr, ...], secrets: set[int], name: str) -> SecretOperation | None:
    secret = next((one for one in of if id(one) in secrets), None)
    return None if secret is None else SecretOperation(part, secret, name)


def _stays(part: Expr, secrets: set[int]) -> bool:
    """Whether a part that is no field of the keychain is a secret all the same."""
    match part:
        case Concat(parts=parts):
            return any(id(one) in secrets for one in parts)
        case Binary(op="+", left=left, right=right):
            return id(left) in secrets or id(right) in secrets
        case Filter(of=of, name=name) if name in _MAKING | _PASSING:
            return id(of) in secrets
        case Filter(of=ListOf(items=items) | TupleOf(items=items), name="join", args=args):
            return any(id(one) in secrets for one in (*items, *args[:1]))
        # Both branches must be secret: with one of them the run may be right.
        case Conditional(then=then, otherwise=otherwise):
            return id(then) in secrets and id(otherwise) in secrets
        # `secret or x` is the secret wherever there is one; `secret and x` is `x`.
        case Logic(op="or", left=left):
            return id(left) in secrets
    return False
