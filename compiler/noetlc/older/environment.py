"""`env.NAME` in expressions: the environment of the server, and which variables of it hold secrets (REAL.md, values).

lower_env: `env.NAME` is the environment of the server, read once at the start, in `workload` (REAL.md, values).

    url: "{{ env.API_URL }}" in a step        →  workload: {API_URL: "{{ env.API_URL }}"}, "{{ workload.API_URL }}"
    host: "{{ env.get('HOST', 'here') }}"     →  "{{ env.HOST | default('here') }}"

Variables that hold secrets are left to `lower_secrets`.
"""

from collections.abc import Callable, Iterator

from noetl_ir.expr import Attribute, Call, Const, Expr, Filter, Item, Name, Native, expressions_of
from noetl_ir.paths import static_path
from noetl_ir.span import Span
from noetlc.ast.playbook import Playbook, Value
from noetlc.ast.sugar import Guess
from noetlc.ast.walk import all_expressions
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.paths import accesses
from noetlc.expr.rewrite import rewritten
from noetlc.expr.secret_names import is_secret_name, names_of_secrets
from noetlc.expr.shorthand import otherwise, path
from noetlc.expr.templates import Templated, map_templated, native, templated_with
from noetlc.older.nearer import Nearer


class OldSecrets(Guess):
    """Some expression of the file may ask for `env` or `token()`."""

    span: Span


ENV = "env"


def variable_of(expr: Expr) -> str:
    """The variable that an expression is, and nothing else; "" for any other."""
    here = static_path(expr)
    return here[1] if len(here) == 2 and here[0] == ENV else ""


def is_declared(playbook: Playbook) -> bool:
    """Whether `env` is a name that the playbook has itself."""
    return any(name == ENV for name in (*dict(playbook.workload), *(step.name for step in playbook.steps)))


def having_own(playbook: Playbook) -> frozenset[str]:
    """The steps in which `env` is a task, an iterator, an arg or a key of `ctx`, and means nothing else then."""
    nearer = Nearer(playbook)
    return frozenset(
        step.name
        for step in playbook.steps
        if ENV in nearer.within(step) or any(task.name == ENV for task in step.tasks)
    )


def secrets_among(playbook: Playbook) -> frozenset[str]:
    """The variables that hold secrets, as their names say, but for those whose value is used as the name of one."""
    read = {str(keys[0]) for expr, _ in all_expressions(playbook) for keys in _keys(expr) if keys}
    return frozenset(name for name in read if is_secret_name(name)) - {*_naming(playbook)}


def _keys(expr: Expr) -> Iterator[tuple[str | int, ...]]:
    return (access.keys for access in accesses(expr) if access.root.name == ENV)


def _naming(playbook: Playbook) -> Iterator[str]:
    """The variables whose value is the name of a secret, directly or by way of a workload value."""
    workload = dict(playbook.workload)
    for expr in names_of_secrets(playbook):
        for access in accesses(expr):
            word, keys = access.root.name, access.keys
            if word == ENV and keys:
                yield str(keys[0])
                continue
            key = str(keys[0]) if word == "workload" and keys else word
            if key in workload:
                yield from (
                    str(keys[0]) for part in expressions_of(workload[key].template) for keys in _keys(part) if keys
                )


BY = "lower_env"


def lower_env(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which the environment is read in `workload` only, secrets aside."""
    if not any(isinstance(extra, OldSecrets) for extra in playbook.extras) or is_declared(playbook):
        return playbook
    return _Moving(_outside(playbook, lambda templated: templated_with(templated, _spelt)), record).moved()


def _outside(playbook: Playbook, change: Callable[[Templated], Templated]) -> Playbook:
    """The playbook changed but for the steps in which `env` is something else."""
    made, aside = map_templated(playbook._replace(steps=()), change), having_own(playbook)
    return made._replace(
        steps=tuple([step if step.name in aside else map_templated(step, change) for step in playbook.steps])
    )


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

    def __init__(self, playbook: Playbook, record: RecordChange) -> None:
        self._playbook = playbook
        self._record = record
        self._aside = having_own(playbook)
        self._secrets = secrets_among(playbook)
        self._taken = {key for key, _ in playbook.workload}
        self._keys: dict[Expr, str] = {}
        for key, value in playbook.workload:
            # A key of the workload that is that variable already is read in its stead: one key for one variable.
            if isinstance(value.template, Native) and self._read(value.template.expr):
                self._keys.setdefault(value.template.expr, key)
        self._made: list[tuple[str, Expr, Span]] = []

    def moved(self) -> Playbook:
        """The playbook with those keys."""
        playbook = self._playbook
        made = playbook._replace(
            keychain=map_templated(playbook.keychain, self._each),
            executor=map_templated(playbook.executor, self._each),
            steps=tuple(
                [step if step.name in self._aside else map_templated(step, self._each) for step in playbook.steps]
            ),
            workbook=map_templated(playbook.workbook, self._each),
        )
        values = tuple((key, Value(native(expr), span, None)) for key, expr, span in self._made)
        spans = tuple((key, span) for key, _, span in self._made)
        return made._replace(workload=(*playbook.workload, *values), workload_spans=(*playbook.workload_spans, *spans))

    def _each(self, templated: Templated) -> Templated:
        def replace(expr: Expr) -> Expr | None:
            name = self._read(expr)
            return path("workload", self._key(expr, name, templated.span)) if name else None

        return templated_with(templated, replace)

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
        self._record(Change(BY, span, f"`env.{name}` here", "review", said))
        return self._keys[expr]
