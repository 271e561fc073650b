"""The secrets of one execution: resolved by name when they are used, hidden in all that is recorded.

Nothing of it is loaded for an execution that neither declares nor uses a secret.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache, partial
from time import monotonic
from typing import TYPE_CHECKING

from noetl.engine.program import Program
from noetl.engine.starting import Request, keychain_fields
from noetl.host import process_secrets
from noetl.ports import Fence
from noetl.ports.needs import HERE, Needs
from noetl.worker.texts import has_markers
from noetl_ir.evaluate import Fault
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple
from noetl_ir.scopes.values import ResultView, Sealed

if TYPE_CHECKING:
    from noetl.secrets.keychain import Keychain
    from noetl.secrets.only_these import Secrets
    from noetl.worker.redaction import Redactor

LOOK_AGAIN = 30.0
"""Seconds before secrets that could not be had are asked for again."""


class SecretResolver:
    """Credentials, markers and their redaction.

    `path` is the credential store's file, `root` where files start; the `fence` is asked before values are fetched.
    What comes over the network is one of the `needs` of whoever asks: whatever needs a secret may raise Absent.
    `only` are the secrets of a test, where there are no others.
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
        only: Secrets | None = None,
    ) -> None:
        self._fence = fence
        self._only = only
        self._program = program
        self._execution_id = execution_id
        self._workload = workload
        self._path = path
        self._root = root
        self._chain: Keychain | None = None
        self._redactor: Redactor | None = None
        self._lacking: tuple[str, ...] = ()
        self._look_at = 0.0
        self._declared = bool(program.plan.keychain or only or _stored_by(program)) or "secrets" in program.plan.kinds
        self._entries: dict[str, object] | None = None if program.plan.keychain else {}

    def credential(self, name: str, needs: Needs) -> dict[str, Json]:
        """The fields behind a name, whose secrets are hidden from now on; raises KeyError with a clear text."""
        keychain = self._keychain(needs)
        fields = keychain.fields(name)
        self._hiding(needs).learn(keychain.secrets(name))
        return fields

    def entries(self, needs: Needs) -> Entries:
        """The value of `keychain` in task fields. Raises Fault. Once it is known nothing that is redacted waits."""
        if self._entries is None:
            made = self._declared_entries(needs)
            needs.check()  # one that is not here yet looks like one that cannot be had
            self._entries = made
        self.look_again(needs)
        return Entries(self._entries, self, needs)

    def named(self, name: str, needs: Needs) -> object:
        """The fields of an entry of a computed name, which may be a stored credential that nothing declares."""
        keychain = self._keychain(needs)
        try:
            fields = keychain.with_token(name)
        except KeyError as problem:
            # To name an entry is no failure by itself; to read anything of it is.
            return _Missing(str(problem))
        redactor = self._hiding(needs)
        redactor.learn(keychain.secrets(name))
        return _sealed(fields, redactor)

    def _declared_entries(self, needs: Needs) -> dict[str, object]:
        """Markers for secrets, other fields as they are; of what cannot be had the reason, for whoever reads it."""
        from noetl.secrets.keychain import secrets_of

        redactor, keychain = self._hiding(needs), self._keychain(needs)
        names: dict[str, object] = {}
        for entry in self._program.plan.keychain:
            try:
                fields = keychain.fields(entry.name)
            except KeyError as problem:
                names[entry.name] = _Missing(str(problem))
                continue
            if entry.name not in keychain.in_clear:
                redactor.learn((entry.name, field, value) for field, value in secrets_of(fields))
            names[entry.name] = _sealed(fields, redactor)
        return names

    def check(self) -> tuple[str, ...]:
        """The declared entries that cannot be resolved now, a sentence each, which says where the entry stands."""
        plan = self._program.plan
        # Asked before the start, from a thread that may wait: `HERE` has everything fetched on the spot.
        problems = self._keychain(HERE).check() if plan.keychain else {}
        spans = {entry.name: entry.span for entry in plan.keychain}
        places = {name: f"{plan.source}:{spans[name].line}:{spans[name].column}: " for name in problems}
        return tuple([(places[name] if spans[name].line else "") + told for name, told in problems.items()])

    def exposed(self) -> tuple[str, ...]:
        """The inputs that hold a declared secret, a sentence each: what a run begins with is not hidden in its log."""
        from noetl.worker.redaction import forms_in

        # What is `static` stands in the playbook: it may well be a word that others use, too.
        is_static = {entry.name for entry in self._program.plan.keychain if entry.kind == "static"}
        known = [secret for secret in self._keychain(HERE).known_secrets() if secret[0] not in is_static]
        # An entry may give one value under two names, as `token` and `access_token` of oauth2: the first is told.
        secrets = [*{secret[2]: secret for secret in reversed(known)}.values()][::-1]
        return tuple([
            f"`workload.{key}` holds the secret `{entry}.{field}`, and stands in the log in clear, as every input does:"
            f" leave it out, and write `{{{{ keychain.{entry}.{field} }}}}` where it is used"
            for key, value in self._workload.items()
            for entry, field, secret in secrets
            if forms_in(value, (secret,))
        ])  # fmt: skip

    def look_again(self, needs: Needs) -> None:
        """Learn of secrets that could not be had when the others were learnt: their file was not there, or the network
        did not answer. Not by whoever redacts: a tool that prints waits for nothing.
        """
        if self._redactor is not None and self._lacking and monotonic() >= self._look_at:
            self._lacking = self._learnt(self._redactor, self._lacking, needs)
            self._look_at = monotonic() + LOOK_AGAIN

    def redact(self, value: Json, needs: Needs) -> Json:
        """A value with its known secrets hidden."""
        # An execution without secrets pays for no search, and the modules of the keychain are not imported for it.
        if self._redactor is None and not self._declared and not self._shows_own(value):
            return value
        return self._hiding(needs).redact(value)

    def finished(self, text: str, needs: Needs) -> int:
        """How much of a text that goes on can be redacted now: behind that a known secret may have begun."""
        if self._redactor is not None or self._declared:
            return self._hiding(needs).finished(text)
        if not process_secrets.secrets():
            return len(text)
        from noetl.worker.redaction import own_finished

        return own_finished(text, tuple(process_secrets.secrets()))

    def restore(self, value: Json, needs: Needs, *, carries: bool = False) -> Json:
        """A value with its markers replaced by what they stand for. Raises Fault (`Redactor.restore`)."""
        if self._redactor is None and not self._declared and not has_markers(value):
            return value
        return self._hiding(needs).opened_by(partial(_opened, self._keychain(needs))).restore(value, carries=carries)

    def _shows_own(self, value: Json) -> bool:
        """Whether a value has something of the deployment's own in it."""
        if not process_secrets.secrets():
            return False
        from noetl.worker.redaction import forms_in

        return forms_in(value, tuple(process_secrets.secrets()))

    def _keychain(self, needs: Needs) -> Keychain:
        if self._chain is None:
            self._chain = self._made_keychain()
        return self._chain.asked_by(needs)

    def _made_keychain(self) -> Keychain:
        from noetl.secrets.keychain import Entry, Keychain

        entries = [Entry(entry.name, entry.kind, {}) for entry in self._program.plan.keychain]
        render = partial(keychain_fields, self._program, self._execution_id, self._workload)
        if self._only is not None:
            from noetl.secrets.only_these import OnlyThese

            return OnlyThese(self._only, entries, render=render)
        from noetl.secrets.credentials import Credentials
        from noetl.secrets.remote import fetcher_of

        return Keychain(
            entries, Credentials(self._path), root=self._root, fetcher=fetcher_of(self._fence), render=render
        )

    def _master_key(self) -> bytes:
        """The key that those of markers are made of. Raises Fault."""
        from noetl.secrets.keys import KeyProblem, master_key

        if self._only is not None:
            from noetl.secrets.only_these import KEY_OF_TESTS

            return KEY_OF_TESTS
        try:
            return master_key(f"{self._path}.key")
        except KeyProblem as problem:
            raise Fault("credential.missing", f"no secret can be used: {problem}") from None

    def _hiding(self, needs: Needs) -> Redactor:
        if self._redactor is None:
            from noetl.secrets.keys import execution_key, shared_key
            from noetl.worker.redaction import Redactor

            master, keychain = self._master_key(), self._keychain(needs)
            own = execution_key(master, self._execution_id)
            redactor = Redactor(own, partial(_opened, keychain), shared_key(master))
            # A task that asks for a stored one may come late: what comes before it may have the secret in it.
            declared = [entry.name for entry in self._program.plan.keychain]
            if self._only is not None:  # all of these, also in the place of what stands in the playbook in clear
                redactor.learn(keychain.known_secrets())
            lacking = self._learnt(redactor, (*declared, *_stored_by(self._program)), needs)
            redactor.learn((process_secrets.ENTRY, name, text) for text, name in process_secrets.secrets().items())
            # Kept only when it was asked for all secrets. A half one would let the others through into the log.
            self._redactor, self._lacking = redactor, lacking
            self._look_at = monotonic() + LOOK_AGAIN
        return self._redactor

    def _learnt(self, redactor: Redactor, names: Iterable[str], needs: Needs) -> tuple[str, ...]:
        """Have secrets hidden from now on; returns the names of those that cannot be had. Raises Absent."""
        keychain, lacking = self._keychain(needs), list[str]()
        for name in names:
            try:
                redactor.learn(keychain.secrets(name))
            except KeyError:  # `check` tells; a run may have been started long ago
                lacking.append(name)
        needs.check()  # a secret that is not here yet would never be hidden
        return tuple(lacking)


@lru_cache(maxsize=64)
def _stored_by(program: Program) -> tuple[str, ...]:
    """The names of stored credentials that tasks ask for, as far as the playbook writes them out."""
    from noetl_ir.plan_secrets import secrets_named

    declared = {entry.name for entry in program.plan.keychain}
    return tuple([name for name in secrets_named([program.plan]).fields if name not in declared])


class Entries(ResultView):
    """The value of `keychain`: the declared entries, and what else the keychain finds by name when it is asked for."""

    __slots__ = ("_names", "_needs", "_secrets")

    def __init__(self, names: dict[str, object], secrets: SecretResolver, needs: Needs) -> None:
        self._names = names
        self._secrets = secrets
        self._needs = needs

    def plain(self) -> object:
        return self._names

    def under(self, key: object) -> object:
        if isinstance(key, str) and key not in self._names:
            return self._secrets.named(key, self._needs)
        return self._names.get(key) if isinstance(key, str) else None


class _Missing(ResultView):
    """An entry of the keychain that this machine cannot resolve: reading anything of it fails with the reason."""

    __slots__ = ("_why",)

    def __init__(self, why: str) -> None:
        self._why = why

    def plain(self) -> object:
        raise Fault("credential.missing", self._why)

    def under(self, key: object) -> object:
        raise Fault("credential.missing", self._why)


def _sealed(value: object, redactor: Redactor) -> object:
    """A value with its secret texts sealed, so that nothing works on a marker as if it were the text."""
    if isinstance(value, dict):
        return {key: _sealed(entry, redactor) for key, entry in value.items()}
    if isinstance(value, list):
        return [_sealed(entry, redactor) for entry in value]
    hide = redactor.redact_text
    return Sealed(value, hide) if isinstance(value, str) and hide(value) != value else value


def _opened(keychain: Keychain, entry: str, field: str) -> Json:
    """The secret that a marker stands for. Raises KeyError."""
    if entry == process_secrets.ENTRY:
        # The server's own database password is hidden like any secret. But its marker in a log must not give it to
        # whoever writes a playbook.
        raise KeyError(f"{field} is what this deployment was given for itself: no task may use it")
    return keychain.value(entry, field)


class SecretsAtStart(NamedTuple):
    """The entries of a keychain that cannot be had now, and the inputs that hold a secret of it, a sentence each."""

    lacking: tuple[str, ...] = ()
    exposed: tuple[str, ...] = ()


def secrets_at_start(
    program: Program, execution_id: str, request: Request, *, path: str, root: str, fence: Fence | None = None
) -> SecretsAtStart:
    """Look for the secrets of a program before it starts; nothing is told where a run would end at its start."""
    workload = workload_of(program, execution_id, request)
    if workload is None:
        return SecretsAtStart()
    # One resolver for both: what is asked for over the network is fetched once.
    secrets = SecretResolver(program, execution_id, workload, path=path, root=root, fence=fence)
    try:
        problems = secrets.check()
    except Fault as fault:
        return SecretsAtStart((_not_rendered(fault),))
    try:
        return SecretsAtStart(problems, secrets.exposed() if request.payload or request.env else ())
    except Fault:  # what cannot be had is among the problems
        return SecretsAtStart(problems)


def workload_of(program: Program, execution_id: str, request: Request) -> dict[str, Json] | None:
    """The workload over which a program's keychain is rendered; None without a keychain, or for a run that would end
    at its start."""
    return trial_workload(program, execution_id, request) if program.plan.keychain else None


def trial_workload(program: Program, execution_id: str, request: Request) -> dict[str, Json] | None:
    """The workload that a run would begin with; None for one that would end at its start."""
    from noetl.engine.execution import Execution
    from noetl.engine.starting import start
    from noetl.engine.turn import Turn

    trial = Execution(execution_id, program)
    # A trial start, in memory and without a log, has the workload exactly as the run will have it.
    start(Turn(program, trial, 0), request)
    return None if trial.is_over else trial.workload


def lacking(
    program: Program, execution_id: str, workload: dict[str, Json], *, path: str, root: str, fence: Fence | None
) -> tuple[str, ...]:
    """The entries of a program's keychain that cannot be had here and now, a sentence each."""
    try:
        return SecretResolver(program, execution_id, workload, path=path, root=root, fence=fence).check()
    except Fault as fault:
        return (_not_rendered(fault),)


def _not_rendered(fault: Fault) -> str:
    return f"the keychain cannot be rendered: {fault.message}"
