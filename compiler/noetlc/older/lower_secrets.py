"""lower_secrets: `env.X` and `token('x')` become entries of the keychain (LANGUAGE §2, §7).

    url: "{{ env.API_URL }}"            →  keychain: [{name: API_URL, kind: env}], "{{ keychain.API_URL.value }}"
    headers: {a: "{{ token('api') }}"}  →  keychain: [{name: api, kind: bearer}], "{{ keychain.api.token }}"

Only the worker knows the keychain, and only when it renders a task: anywhere else a secret is refused. A workload
value that is nothing but a secret goes, and the tasks that read it read the entry.
"""

from collections.abc import Iterator
from re import compile as pattern

from noetl_ir.expr import Call, Const, Expr, Name, Native
from noetl_ir.span import Span
from noetlc.ast.playbook import KeychainEntry, Playbook, Step, Task, Value
from noetlc.ast.walk import all_guards, all_values, blocks_in, expressions_in, loops_of
from noetlc.diag.change import Change, Note
from noetlc.expr.paths import accesses
from noetlc.expr.rewrite import Replace
from noetlc.expr.shorthand import path, static_path
from noetlc.expr.templates import value_with
from noetlc.older.legacy_names import Known, Path, renamed
from noetlc.older.name_nodes import OldSecrets

BY = "lower_secrets"
_FIELDS = {"env": "value", "static": "value", "file": "value"}
"""Kind of an entry → what holds its secret; `token` in all others."""
_IN_BLOCK = pattern(r"\{[%{][^}]*?(?<![\w.'\"])(env\s*[.\[]|token\s*\()")


def lower_secrets(playbook: Playbook, note: Note) -> Playbook:
    """The playbook whose secrets are those of its keychain."""
    extras = tuple(extra for extra in playbook.extras if not isinstance(extra, OldSecrets))
    if len(extras) == len(playbook.extras):
        return playbook
    return _Secrets(playbook._replace(extras=extras), note).lowered()


class _Secrets:
    """A playbook, and the entries that it needs: found while its tasks are rewritten."""

    def __init__(self, playbook: Playbook, note: Note) -> None:
        self._note = note
        self._entries = {entry.name: entry for entry in playbook.keychain}
        self._steps = frozenset([step.name for step in playbook.steps])
        self._declared = self._steps | {key for key, _ in playbook.workload}
        self._moved = {key: found for key, value in playbook.workload if (found := self._whole(key, value)) is not None}
        self._playbook = playbook

    def lowered(self) -> Playbook:
        """The playbook with the entries in the places of what they were."""
        playbook = self._playbook
        workload = tuple(pair for pair in playbook.workload if pair[0] not in self._moved)
        spans = tuple(pair for pair in playbook.workload_spans if pair[0] not in self._moved)
        shared = self._steps | {key for key, _ in workload}
        steps = tuple(self._step(step, shared) for step in playbook.steps)
        workbook = tuple((name, self._task(task, Known(shared, ()))) for name, task in playbook.workbook)
        made = playbook._replace(workload=workload, workload_spans=spans, steps=steps, workbook=workbook)
        for span, what in self._left(made):
            why = "a secret is known in the fields of a task only: give it to the task that needs it"
            self._note(Change(BY, span, what, "refused", why))
        return made._replace(keychain=tuple(self._entries.values()))

    def _whole(self, key: str, value: Value) -> Expr | None:
        """The entry that a workload value is, and nothing else."""
        if not isinstance(value.template, Native):
            return None
        found = self._secret(value.template.expr, value.span)
        if found is not None:
            said = "the keychain's entry in the tasks that read it: no payload can give it"
            self._note(Change(BY, value.span, f"a secret as `workload.{key}`", "review", said))
        return found

    def _step(self, step: Step, shared: frozenset[str]) -> Step:
        own = {loop.iterator for loop in loops_of(step)} | {task.name for task in step.tasks}
        known = Known(shared, own)
        tasks = tuple(self._task(task, known) for task in step.tasks)
        return step if tasks == step.tasks else step._replace(tasks=tasks)

    def _task(self, task: Task, known: Known) -> Task:
        """The task with the keychain in its fields."""

        def each(value: Value) -> Value:
            return value_with(value, self._replacing(value.span, known))

        return task._replace(
            fields=tuple((name, each(value)) for name, value in task.fields),
            args=None if task.args is None else each(task.args),
            knobs=tuple((name, each(value)) for name, value in task.knobs),
            timeout=None if task.timeout is None else each(task.timeout),
        )

    def _replacing(self, span: Span, known: Known) -> Replace:
        meanings: dict[Path, Expr] = {("workload", key): found for key, found in self._moved.items()}
        moved = renamed(meanings | {(key,): found for key, found in self._moved.items()}, known)

        def replace(expr: Expr) -> Expr | None:
            found = moved(expr)
            return self._secret(expr, span) if found is None else found

        return replace

    def _secret(self, expr: Expr, span: Span) -> Expr | None:
        """The entry's field in the place of `env.X` or `token('x')`; None for any other expression."""
        match static_path(expr):
            case ("env", name) if "env" not in self._declared:
                return self._entry(name, "env", "`env`", span)
        match expr:
            case Call(callee=Name(name="token"), args=(Const(value=str(name)),), named=()):
                return self._entry(name, "bearer", "`token()`", span)
        return None

    def _entry(self, name: str, kind: str, word: str, span: Span) -> Expr:
        if name not in self._entries:
            self._entries[name] = KeychainEntry(name, span, kind, (), span)
            said = f"the keychain's entry `{name}`, which must be there when the run starts"
            self._note(Change(BY, span, word, "review", said))
        return path("keychain", name, _FIELDS.get(self._entries[name].kind, "token"))

    def _left(self, playbook: Playbook) -> Iterator[tuple[Span, str]]:
        """Secrets at places that do not know the keychain."""
        for value in all_values(playbook):
            if any(_IN_BLOCK.search(block.text) for block in blocks_in(value)):
                yield value.span, "a secret in a block template"
            for expr, _ in expressions_in(value):
                yield from ((value.span, what) for what in self._asked(expr))
        for guard in all_guards(playbook):
            yield from ((guard.span, what) for what in self._asked(guard.expr))

    def _asked(self, expr: Expr) -> Iterator[str]:
        for access in accesses(expr):
            name, keys = access.root.name, access.keys
            if name == "env" and "env" not in self._declared:
                yield "`env` here"
            elif name in self._moved or (name == "workload" and (keys[0] in self._moved if keys else self._moved)):
                yield f"a secret of `{name}` here"
