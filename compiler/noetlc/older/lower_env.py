"""lower_env: `env.NAME` is the environment of the server, read once at the start, in `workload` (REAL.md, values).

    url: "{{ env.API_URL }}" in a step        →  workload: {API_URL: "{{ env.API_URL }}"}, "{{ workload.API_URL }}"
    host: "{{ env.get('HOST', 'here') }}"     →  "{{ env.HOST | default('here') }}"

Variables that hold secrets are left to `lower_secrets`.
"""

from noetl_ir.expr import Attribute, Call, Const, Expr, Filter, Item, Name, Native
from noetl_ir.span import Span
from noetlc.ast.playbook import Playbook, Value
from noetlc.diag.change import Change, Note
from noetlc.expr.rewrite import Replace, rewritten
from noetlc.expr.shorthand import otherwise, path
from noetlc.expr.templates import Held, guard_with, map_held, native, value_with
from noetlc.older.name_nodes import OldSecrets
from noetlc.older.environment import ENV, is_declared, secrets_among, variable_of

BY = "lower_env"


def lower_env(playbook: Playbook, note: Note) -> Playbook:
    """The playbook in which the environment is read in `workload` only, secrets aside."""
    if not any(isinstance(extra, OldSecrets) for extra in playbook.extras) or is_declared(playbook):
        return playbook
    spelt = map_held(playbook, lambda held: _with(held, _spelt))
    return _Moving(spelt, note).moved()


def _with(held: Held, replace: Replace) -> Held:
    return value_with(held, replace) if isinstance(held, Value) else guard_with(held, replace)


def _spelt(expr: Expr) -> Expr | None:
    """`env.get('X', d)` and `env['X']` as `env.X`."""
    match expr:
        case Call(callee=Attribute(of=Name(name="env"), name="get"), args=(Const(value=str(name)), *rest), named=()):
            return otherwise(path(ENV, name), rewritten(rest[0], _spelt) if rest else Const(None))
        case Item(of=Name(name="env"), key=Const(value=str(name))) if name.isidentifier():
            return path(ENV, name)
    return None


class _Moving:
    """A playbook, and the workload keys of what is read of the environment elsewhere."""

    def __init__(self, playbook: Playbook, note: Note) -> None:
        self._playbook = playbook
        self._note = note
        self._secrets = secrets_among(playbook)
        self._taken = {key for key, _ in playbook.workload}
        self._keys: dict[Expr, str] = {}
        for key, value in playbook.workload:
            if isinstance(value.template, Native) and self._read(value.template.expr):
                self._keys.setdefault(value.template.expr, key)
        self._made: list[tuple[str, Expr, Span]] = []

    def moved(self) -> Playbook:
        """The playbook with those keys."""
        playbook = self._playbook
        made = playbook._replace(
            keychain=map_held(playbook.keychain, self._each),
            executor=map_held(playbook.executor, self._each),
            steps=map_held(playbook.steps, self._each),
            workbook=map_held(playbook.workbook, self._each),
        )
        values = tuple((key, Value(native(expr), span, None)) for key, expr, span in self._made)
        spans = tuple((key, span) for key, _, span in self._made)
        return made._replace(workload=(*playbook.workload, *values), workload_spans=(*playbook.workload_spans, *spans))

    def _each(self, held: Held) -> Held:
        def replace(expr: Expr) -> Expr | None:
            name = self._read(expr)
            return path("workload", self._key(expr, name, held.span)) if name else None

        return _with(held, replace)

    def _read(self, expr: Expr) -> str:
        """The variable that an expression reads and is no secret, alone or with a default that is written out."""
        match expr:
            case Filter(of=of, name="default" | "d", args=(Const(), *_), named=()):
                name = variable_of(of)
            case _:
                name = variable_of(expr)
        return "" if name in self._secrets else name

    def _key(self, expr: Expr, name: str, span: Span) -> str:
        if expr not in self._keys:
            numbered = (name, f"{name}_env", *(f"{name}_{number}" for number in range(2, len(self._taken) + 3)))
            key = next(key for key in numbered if key not in self._taken)
            self._taken.add(key)
            self._keys[expr] = key
            self._made.append((key, expr, span))
        said = f"`workload.{self._keys[expr]}`, which is read at the start where `--env {name}` allows it"
        self._note(Change(BY, span, f"`env.{name}` here", "review", said))
        return self._keys[expr]
