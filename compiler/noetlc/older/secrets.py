"""`env`, `token()` and `secret` in expressions of older dialects: secrets are entries of the keychain.

lower_secrets: `env.X`, `token('x')` and `secret.x` become entries of the keychain (LANGUAGE §2, §7).

    key: "{{ env.API_KEY }}"            →  keychain: [{name: API_KEY, kind: env}], "{{ keychain.API_KEY.value }}"
    headers: {a: "{{ token('api') }}"}  →  keychain: [{name: api, kind: bearer}], "{{ keychain.api.token }}"
    headers: {a: "{{ secret.api }}"}    →  keychain: [{name: api, kind: secrets}], "{{ keychain.api.value }}"

A `default` beside such a variable is that of its entry. What `env` has besides is no secret (`lower_env`).

Only the worker knows the keychain, and only when it renders a task: anywhere else a secret is refused. A workload
value that is nothing but a secret goes, and the tasks that read it read the entry.
"""

from collections.abc import Callable, Container, Iterator
from re import compile as pattern

from noetl_ir.expr import Attribute, Call, Const, Expr, Filter, Item, Json, Literal, Name, Native
from noetl_ir.paths import static_path
from noetl_ir.span import Span
from noetlc.ast.bodies import all_taken
from noetlc.ast.playbook import Guard, KeychainEntry, Pairs, Playbook, Step, Task, Value
from noetlc.ast.walk import all_guards, all_values, blocks_in, expressions_in, loops_of
from noetlc.ast.workbook import pairs_of, workbook_name
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.block_names import expressions_within
from noetlc.expr.paths import accesses
from noetlc.expr.rewrite import Replace
from noetlc.expr.shorthand import path
from noetlc.expr.templates import Templated, map_templated, templated_in, templated_with, value_with
from noetlc.older.environment import OldSecrets, having_own, is_declared, secrets_among, variable_of
from noetlc.older.legacy_names import DeclaredNames, LegacyPath, below, renamed
from noetlc.older.nearer import Nearer
from noetlc.older.secret_words import WORDS, AskedSecret, asked_secret, only_field

BY = "lower_secrets"

_FIELDS = {"env": "value", "static": "value", "file": "value"}
"""Kind of an entry → what holds its secret; `token` in all others."""

_ONLY_IN_TASKS = "a secret is known in the fields of a task only: give it to the task that needs it"

_IN_BLOCK = pattern(r"\{[%{][^}]*?(?<![\w.'\"])(env\s*[.\[]|token\s*\()")


def lower_secrets(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook whose secrets are those of its keychain."""
    asked, playbook = all_taken(playbook, OldSecrets)
    return _Secrets(playbook, record).lowered() if asked else playbook


class _Secrets:
    """A playbook, and the entries that it needs: found while its tasks are rewritten."""

    def __init__(self, playbook: Playbook, record: RecordChange) -> None:
        self._record = record
        self._nearer = Nearer(playbook)
        self._entries = {entry.name: entry for entry in playbook.keychain}
        self._steps = frozenset([step.name for step in playbook.steps])
        self._variables = frozenset[str]() if _is_own(playbook) else secrets_among(playbook)
        self._workload = dict(playbook.workload)
        self._shared = self._steps | self._nearer.everywhere
        # In a canonical file a name that nothing declares is an error, whose page says what to write.
        self._words = WORDS - self._shared if playbook.legacy else frozenset[str]()
        # A secret in `workload` would be in the log of every run. The value is taken out, and its readers get the
        # entry.
        self._moved = {key: found for key, value in playbook.workload if (found := self._whole(key, value)) is not None}
        self._brought = frozenset(_brought_to_workbook(playbook, self._nearer))
        self._playbook = playbook

    def lowered(self) -> Playbook:
        """The playbook with the entries in the places of what they were."""
        playbook = self._playbook
        workload = tuple(pair for pair in playbook.workload if pair[0] not in self._moved)
        spans = tuple(pair for pair in playbook.workload_spans if pair[0] not in self._moved)
        shared = self._steps | {key for key, _ in workload}
        steps = tuple(self._step(step, shared) for step in playbook.steps)
        workbook = tuple(
            (name, self._task(task, DeclaredNames(shared, ()), self._brought)) for name, task in playbook.workbook
        )
        for entry in playbook.keychain:
            if entry.name in self._entries:
                self._entries[entry.name] = entry._replace(fields=map_templated(entry.fields, self._within(entry.name)))
        made = playbook._replace(workload=workload, workload_spans=spans, steps=steps, workbook=workbook)
        made = made._replace(keychain=tuple(self._entries.values()))
        # What is left would be evaluated by the server, which never knows a secret: it is refused before anything
        # runs.
        for span, what in self._left(made):
            self._record(Change(BY, span, what, "refused", _ONLY_IN_TASKS))
        return made

    def _whole(self, key: str, value: Value) -> Expr | None:
        """The entry that a workload value is, and nothing else."""
        if not isinstance(value.template, Native):
            return None
        expr = value.template.expr
        found = self._secret(expr, value.span) or self._word(expr, value.span, self._shared, None)
        if found is not None:
            said = "the keychain's entry in the tasks that read it: no payload can give it"
            self._record(Change(BY, value.span, f"a secret as `workload.{key}`", "review", said))
        return found

    def _step(self, step: Step, shared: frozenset[str]) -> Step:
        own = (
            {loop.iterator for loop in loops_of(step)}
            | {task.name for task in step.tasks}
            | self._nearer.args_and_ctx(step)
        )
        known = DeclaredNames(shared, own)
        tasks = tuple(self._task(task, known) for task in step.tasks)
        return step if tasks == step.tasks else step._replace(tasks=tasks)

    def _task(self, task: Task, known: DeclaredNames, brought: frozenset[str] = frozenset()) -> Task:
        """The task with the keychain in its fields; `brought` are args that its callers may give it besides."""
        own_args = frozenset(pairs_of(task.args.template) or ()) if task.args is not None else frozenset[str]()

        def each(value: Value, own_args: frozenset[str] = own_args | brought) -> Value:
            here = DeclaredNames(self._nearer.everywhere, DeclaredNames(known, own_args))
            return value_with(value, self._replacing(value.span, known, here, task))

        return task._replace(
            fields=tuple((name, each(value)) for name, value in task.fields),
            args=None if task.args is None else each(task.args, brought),
            knobs=tuple((name, each(value)) for name, value in task.knobs),
            timeout=None if task.timeout is None else each(task.timeout),
        )

    def _within(self, name: str) -> Callable[[Templated], Templated]:
        """The change of the fields of an entry, which may use others, but not itself."""

        def change(templated: Templated) -> Templated:
            return templated_with(templated, lambda expr: self._word(expr, templated.span, self._shared, None, name))

        return change

    def _replacing(self, span: Span, known: DeclaredNames, nearer: DeclaredNames, task: Task) -> Replace:
        meanings: dict[LegacyPath, Expr] = {("workload", key): found for key, found in self._moved.items()}
        moved = renamed(meanings | {(key,): found for key, found in self._moved.items()}, known)

        def replace(expr: Expr) -> Expr | None:
            found = moved(expr) or self._secret(expr, span)
            return self._word(expr, span, nearer, task) if found is None else found

        return replace

    def _word(self, expr: Expr, span: Span, known: Container[str], task: Task | None, within: str = "") -> Expr | None:
        """The entry's field in the place of `secret.x` and its like; None for any other expression."""
        asked = asked_secret(expr, known, task) if self._words else None
        if not isinstance(asked, AskedSecret):
            return asked
        name, keys = asked
        if not isinstance(name, str):
            said = "the keychain's entry that its `auth` names, looked up when the task runs"
            self._record(Change(BY, span, f"`{static_path(expr)[0]}`", "review", said))
            return below(Item(Name("keychain"), name), keys or ("token",))
        entry = self._entries.get(name)
        if entry is not None and name != within:
            field = only_field(entry)
            if not keys and field is None:
                why = f"the keychain's entry has several fields: write `keychain.{name}.` and the one that is meant"
                self._record(Change(BY, span, f"`{name}` as a secret", "refused", why))
            return path("keychain", name, *(keys or (field or "value",)))
        kind = "credential" if keys else "secrets"
        own = name if entry is None else f"{name}_{kind}"
        fields = () if own == name else (("key", Value(Literal(name), span, None)),)
        self._entry(own, kind, f"`{static_path(expr)[0]}`", span, fields)
        return path("keychain", own, *(keys or ("value",)))

    def _secret(self, expr: Expr, span: Span) -> Expr | None:
        """The entry's field in the place of `env.X` or `token('x')`; None for any other expression."""
        match expr:
            case Filter(
                of=of, name="default" | "d", args=(Const(value=str() | int() | float() as value), *_), named=()
            ):
                name = variable_of(of)
                return self._variable(name, value, span) if name in self._variables else None
            case Call(callee=Name(name="token"), args=(Const(value=str(name)),), named=()):
                return self._entry(name, "bearer", "`token()`", span)
            case Call(callee=Name(name="token"), args=(asked,), named=()):
                return self._named(asked, span)
        name = variable_of(expr)
        return self._variable(name, None, span) if name in self._variables else None

    def _variable(self, name: str, default: Json, span: Span) -> Expr:
        """The entry of a variable with that default: another default is another entry."""
        fields = () if default is None else (("default", Value(Literal(default), span, None)),)
        # Two reads with different defaults are two entries. With one, the second would get the default of the first.
        same = [entry.name for entry in self._entries.values() if entry.kind == "env" and _reads(entry, name, default)]
        if same:
            return path("keychain", same[0], "value")
        if name not in self._entries:
            return self._entry(name, "env", "`env`", span, fields)
        own = f"{name}_{len(self._entries)}"
        return self._entry(own, "env", "`env`", span, (("var", Value(Literal(name), span, None)), *fields))

    def _named(self, asked: Expr, span: Span) -> Expr | None:
        """The entry whose name a workload value is, looked up when the task runs: a payload may name another one."""
        here = static_path(asked)
        key = here[1] if len(here) == 2 and here[0] == "workload" else here[0] if len(here) == 1 else ""
        if not here or key not in self._workload:
            return None
        said = f"the keychain's entry that `workload.{key}` names, looked up when the task runs"
        self._record(Change(BY, span, "`token()` of a computed name", "review", said))
        # The name is looked up when the task runs: the payload may name another entry, which a name that is fixed
        # here would pass over.
        return Attribute(Item(Name("keychain"), path("workload", key)), "token")

    def _entry(self, name: str, kind: str, word: str, span: Span, fields: Pairs = ()) -> Expr:
        if name not in self._entries:
            self._entries[name] = KeychainEntry(name, span, kind, fields, span)
            said = f"the keychain's entry `{name}`, which must be there when the run starts"
            if kind in ("credential", "secrets"):
                stored = next(
                    (value.template.value for _, value in fields if isinstance(value.template, Literal)), name
                )
                said = f"the keychain's entry `{name}`: the credential that `noetl credential add {stored}` stores"
            if any(field == "default" for field, _ in fields):
                said = f"the keychain's entry `{name}`, with the default as its own"
            self._record(Change(BY, span, word, "review", said))
        return path("keychain", name, _FIELDS.get(self._entries[name].kind, "token"))

    def _left(self, playbook: Playbook) -> Iterator[tuple[Span, str]]:
        """Secrets at places that do not know the keychain."""
        for value in all_values(playbook):
            # A block template is rendered as text, into which no entry can be put from here.
            if "env" not in self._workload and any(_IN_BLOCK.search(block.text) for block in blocks_in(value)):
                yield value.span, "`env` or `token()` in a block template"
            for expr, _ in expressions_in(value):
                yield from ((value.span, what) for what in self._asked(expr))
        for guard in all_guards(playbook):
            yield from ((guard.span, what) for what in self._asked(guard.expr))
        if self._words:
            yield from self._words_left(playbook)

    def _asked(self, expr: Expr) -> Iterator[str]:
        for access in accesses(expr):
            name, keys = access.root.name, access.keys
            if name == "env" and keys and keys[0] in self._variables:
                yield "`env` here"
            elif name in self._moved or (name == "workload" and (keys[0] in self._moved if keys else self._moved)):
                yield f"a secret of `{name}` here"

    def _words_left(self, playbook: Playbook) -> Iterator[tuple[Span, str]]:
        """`secret.x` and its like at places that do not know the keychain."""
        around: list[tuple[object, frozenset[str]]] = [(playbook._replace(steps=(), workbook=()), self._shared)]
        around += [(task, self._shared | self._brought) for _, task in playbook.workbook]
        for step in playbook.steps:
            arg_keys = [
                key for task in step.tasks if task.args is not None for key in pairs_of(task.args.template) or ()
            ]
            own = self._nearer.within(step) | {task.name for task in step.tasks} | self._steps | frozenset(arg_keys)
            around.append((step, frozenset(own)))
        for part, known in around:
            for templated in templated_in(part):
                exprs = (
                    [templated.expr]
                    if isinstance(templated, Guard)
                    else [e.expr for e in expressions_within(templated.template)]
                )
                read = {access.root.name for expr in exprs for access in accesses(expr) if access.keys}
                for word in sorted((read & self._words) - known):
                    yield templated.span, f"`{word}` here"


def _brought_to_workbook(playbook: Playbook, nearer: Nearer) -> Iterator[str]:
    """The args that calls of entries of the workbook may bring to them."""
    for step in playbook.steps:
        calls = [task for task in step.tasks if workbook_name(task)]
        yield from nearer.brought(step) if calls else ()
        yield from (key for task in calls if task.args is not None for key in pairs_of(task.args.template) or ())


def _is_own(playbook: Playbook) -> bool:
    """Whether `env` is a name of the playbook's own, in one step at least."""
    return is_declared(playbook) or bool(having_own(playbook))


def _reads(entry: KeychainEntry, variable: str, default: Json) -> bool:
    """Whether an entry of the kind `env` is that variable with that default."""
    fields = {name: value.template for name, value in entry.fields}
    own = fields.get("default", Literal(None))
    return fields.get("var", Literal(entry.name)) == Literal(variable) and own == Literal(default)
