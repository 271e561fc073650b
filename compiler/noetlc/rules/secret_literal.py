"""secret-literal: something that looks like a secret is written into the playbook.

Why it matters
    Playbooks are stored, shown and logged; plans and events would carry the value.
Example
    headers: {Authorization: "Bearer 0123456789abcdef"}
Instead
    keychain: [{name: api_token, kind: env}]
    headers: {Authorization: "Bearer {{ keychain.api_token }}"}
When to ignore
    Where the value is no secret: a placeholder, or a key of a local test system. Nothing is
    said of fields that take the name of a secret.
"""

from collections.abc import Container, Iterator
from re import IGNORECASE
from re import compile as pattern

from noetl_ir.expr import Expr
from noetl_ir.patterns import LatePattern
from noetlc.ast.playbook import Playbook
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.paths import accesses
from noetlc.expr.secret_names import names_of_secrets
from noetlc.rules import LintRule, Unit
from noetlc.source.nodes import Mapping, Node, Scalar

_KEY = pattern(
    r"(^|_|-)(password|passwd|secret|api_?key|access_?key|private_?key|authorization|auth_?token)$", IGNORECASE
)
_SHORTEST = 8
_NAME = LatePattern(r"[a-z0-9]+([_-][a-z0-9]+)*[_-](password|secret|key|token|credentials?)", IGNORECASE)


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Texts of 8 characters and more, without a template or a space but one, under a key that names a
    secret; not what some field takes as the name of one.
    """
    # A value that some field takes as the name of a secret is looked up elsewhere, and may be read by anybody.
    names = {key for expr in names_of_secrets(unit.playbook) for key in _workload_keys(expr)}
    waiting = list(_named(unit.playbook, names))
    while waiting:
        name, here = waiting.pop()
        if isinstance(here, Mapping):
            waiting.extend((entry.text, item) for entry, item in here.entries)
        elif isinstance(here, Scalar) and isinstance(here.value, str) and _is_secret(name, here.text):
            yield RULE.finding(
                f"`{name}` looks like a secret written into the playbook",
                here.span,
                help="declare it in `keychain` and write `{{ keychain.<name> }}`",
            )


def _workload_keys(expr: Expr) -> Iterator[str]:
    for access in accesses(expr):
        if access.root.name != "workload":
            yield access.root.name
        elif access.keys:
            yield str(access.keys[0])


def _named(playbook: Playbook, names: Container[str]) -> Iterator[tuple[str, Node | None]]:
    for key, value in playbook.workload:
        if key not in names:
            yield key, value.node
    for step in playbook.steps:
        for task in step.tasks:
            for name, value in task.fields:
                yield name, value.node
            if task.args is not None:
                yield "args", task.args.node


def _is_secret(name: str, text: str) -> bool:
    if not _KEY.search(name) or (name.lower().endswith("secret") and _NAME.fullmatch(text)):
        return False  # what the secret is called, as `db_secret: shop-db-password`
    # `Bearer abc…` has one space; a sentence has more, and is no secret.
    scheme, _, rest = text.rpartition(" ")
    secret = rest if scheme.lower() in ("", "bearer", "basic", "token") else ""
    # `$NAME`, `<your key>` and paths stand for a secret that is elsewhere.
    return len(secret) >= _SHORTEST and "{{" not in text and not secret.startswith(("$", "<", "/"))


RULE = LintRule("NL805", Severity.WARNING, "ast", check)
