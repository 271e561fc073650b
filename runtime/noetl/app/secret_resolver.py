"""The secrets of one execution: resolved by name when they are used, hidden in all that is recorded.

Nothing of it is loaded for an execution that neither declares nor uses a secret.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING

from noetl import deployment
from noetl.engine.program import Program
from noetl.engine.starting import Request, keychain_fields
from noetl.ports import Fence
from noetl_ir.evaluate import Fault
from noetl_ir.expr import Json
from noetl_ir.scopes.values import Sealed, View

if TYPE_CHECKING:
    from noetl.background import Brings
    from noetl.secrets.keychain import Keychain
    from noetl.worker.redaction import Redactor


class SecretResolver:
    """Credentials, markers and their redaction.

    `path` is the credential store's file, `root` where files start; the `fence` is asked before values are fetched.
    What is asked for over the network is had by way of `brings`: whatever needs a secret may raise its Pending.
    """

    def __init__(
        self,
        program: Program,
        execution_id: str,
        workload: dict[str, Json],
        *,
        path: str,
        root: str,
        fence: Fence | None = None,
        brings: Brings | None = None,
    ) -> None:
        self._fence = fence
        self._brings = brings
        self._program = program
        self._execution_id = execution_id
        self._workload = workload
        self._path = path
        self._root = root
        self._chain: Keychain | None = None
        self._redactor: Redactor | None = None
        self._declared = bool(program.plan.keychain) or "secrets" in program.plan.kinds
        self.names: Callable[[], Entries] = cache(self._names) if program.plan.keychain else lambda: Entries({}, self)
        """What `keychain` means in task fields. Raises Fault. Once it is known nothing that is redacted waits."""

    def credential(self, name: str) -> dict[str, Json]:
        """The fields behind a name, whose secrets are hidden from now on; raises KeyError with a clear text."""
        fields = self._keychain().fields(name)
        self._hiding().learn(self._keychain().secrets(name))
        return fields

    def named(self, name: str) -> object:
        """The fields of an entry of a computed name, which may be a stored credential that nothing declares."""
        try:
            fields = self._keychain().with_token(name)
        except KeyError as problem:
            return _Missing(str(problem))
        self._hiding().learn(self._keychain().secrets(name))
        return self._sealed(fields)

    def _sealed(self, value: object) -> object:
        """A value with its secret texts sealed, so that nothing works on a marker as if it were the text."""
        if isinstance(value, dict):
            return {key: self._sealed(entry) for key, entry in value.items()}
        if isinstance(value, list):
            return [self._sealed(entry) for entry in value]
        hide = self._hiding().redact_text
        return Sealed(value, hide) if isinstance(value, str) and hide(value) != value else value

    def _names(self) -> Entries:
        """Markers for secrets, other fields as they are; of what cannot be had the reason, for whoever reads it."""
        from noetl.secrets.keychain import secrets_of

        self._hiding()
        names: dict[str, object] = {}
        for entry in self._program.plan.keychain:
            try:
                fields = self._keychain().fields(entry.name)
            except KeyError as problem:
                names[entry.name] = _Missing(str(problem))
                continue
            if entry.name not in self._keychain().in_clear:
                self._hiding().learn((entry.name, field, value) for field, value in secrets_of(fields))
            names[entry.name] = self._sealed(fields)
        return Entries(names, self)

    def check(self) -> tuple[str, ...]:
        """The declared entries that cannot be resolved now, a sentence each."""
        return self._keychain().check() if self._program.plan.keychain else ()

    def redact(self, value: Json) -> Json:
        """A value with its known secrets hidden."""
        if self._redactor is None and not self._declared and not self._shows_own(value):
            return value
        return self._hiding().redact(value)

    def restore(self, value: Json) -> Json:
        """A value with its markers replaced by what they stand for."""
        if self._redactor is None and not self._declared and not self._names_own(value):
            return value
        return self._hiding().restore(value)

    def _shows_own(self, value: Json) -> bool:
        """Whether a value has something of the deployment's own in it."""
        if not deployment.secrets():
            return False
        from noetl.worker.redaction import forms_in

        return forms_in(value, tuple(deployment.secrets()))

    def _names_own(self, value: Json) -> bool:
        """Whether a value may have the marker of something of the deployment's own."""
        if not deployment.secrets():
            return False
        from noetl.worker.redaction import has_markers

        return has_markers(value)

    def _opened(self, entry: str, field: str) -> Json:
        """The secret that a marker stands for. Raises KeyError."""
        if entry == deployment.ENTRY:
            raise KeyError(f"{field} is what this deployment was given for itself: no task may use it")
        return self._keychain().value(entry, field)

    def _keychain(self) -> Keychain:
        if self._chain is None:
            from noetl.secrets.credentials import Credentials
            from noetl.secrets.keychain import Entry, Keychain
            from noetl.secrets.remote import fetcher_of

            self._chain = Keychain(
                [Entry(entry.name, entry.kind, {}) for entry in self._program.plan.keychain],
                Credentials(self._path),
                root=self._root,
                fetcher=fetcher_of(self._fence),
                brings=self._brings,
                render=partial(keychain_fields, self._program, self._execution_id, self._workload),
            )
        return self._chain

    def _hiding(self) -> Redactor:
        if self._redactor is None:
            from noetl.secrets.keys import KeyProblem, execution_key, master_key
            from noetl.worker.redaction import Redactor

            try:
                key = execution_key(master_key(f"{self._path}.key"), self._execution_id)
            except KeyProblem as problem:
                raise Fault("credential.missing", f"no secret can be used: {problem}") from None
            redactor = Redactor(key, self._opened)
            redactor.learn(self._keychain().known())
            redactor.learn((deployment.ENTRY, name, text) for text, name in deployment.secrets().items())
            self._redactor = redactor
        return self._redactor


class Entries(View):
    """The value of `keychain`: the declared entries, and what else the keychain finds by name when it is asked for."""

    __slots__ = ("_names", "_secrets")

    def __init__(self, names: dict[str, object], secrets: SecretResolver) -> None:
        self._names = names
        self._secrets = secrets

    def plain(self) -> object:
        return self._names

    def under(self, key: object) -> object:
        if isinstance(key, str) and key not in self._names:
            return self._secrets.named(key)
        return self._names.get(key) if isinstance(key, str) else None


class _Missing(View):
    """An entry of the keychain that this machine cannot resolve: reading anything of it fails with the reason."""

    __slots__ = ("_why",)

    def __init__(self, why: str) -> None:
        self._why = why

    def plain(self) -> object:
        raise Fault("credential.missing", self._why)

    def under(self, key: object) -> object:
        raise Fault("credential.missing", self._why)


def unresolvable(
    program: Program, execution_id: str, request: Request, *, path: str, root: str, fence: Fence | None = None
) -> tuple[str, ...]:
    """The entries of a program's keychain that cannot be had now, a sentence each; nothing where a run would end at its
    start.
    """
    workload = workload_of(program, execution_id, request)
    return () if workload is None else lacking(program, execution_id, workload, path=path, root=root, fence=fence)


def workload_of(program: Program, execution_id: str, request: Request) -> dict[str, Json] | None:
    """The workload over which a program's keychain is rendered; None without a keychain, or for a run that would end
    at its start."""
    if not program.plan.keychain:
        return None
    from noetl.engine.execution import Execution
    from noetl.engine.starting import start
    from noetl.engine.turn import Turn

    trial = Execution(execution_id, program)
    start(Turn(program, trial, 0), request)
    return None if trial.is_over else trial.workload


def lacking(
    program: Program, execution_id: str, workload: dict[str, Json], *, path: str, root: str, fence: Fence | None
) -> tuple[str, ...]:
    """The entries of a program's keychain that cannot be had here and now, a sentence each."""
    try:
        return SecretResolver(program, execution_id, workload, path=path, root=root, fence=fence).check()
    except Fault as fault:
        return (f"the keychain cannot be rendered: {fault.message}",)
