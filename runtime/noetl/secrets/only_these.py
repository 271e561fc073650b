"""The keychain of a test: the secrets that its case names, and none of the machine's.

Neither the environment nor a file, a stored credential or the network is asked. An entry that needs none of them, since
the playbook has its value in clear, resolves as it always does.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from noetl.secrets.credentials import Credentials
from noetl.secrets.keychain import Entry, Keychain, Unresolved, secrets_of
from noetl.secrets.keys import KEY_BYTES, execution_key
from noetl_ir.expr import Json
from noetl_ir.scopes.values import ResultView

Secrets: TypeAlias = Mapping[str, Mapping[str, Json]]
"""The fields of each secret, by its name."""

KEY_OF_TESTS = bytes(KEY_BYTES)
_IN_CLEAR = frozenset({"static", "env"})
"""Kinds of entries whose value the playbook itself may have; a variable is one that is not set."""


class OnlyThese(Keychain):
    """Resolves names to `secrets`; `entries` are those that the playbook declares."""

    def __init__(
        self, secrets: Secrets, entries: Sequence[Entry], render: Callable[[str, ResultView], Mapping[str, Json]]
    ) -> None:
        super().__init__(entries, Credentials(""), root="", environ=MappingProxyType({}), render=render)
        self._secrets = secrets

    def fields(self, name: str) -> dict[str, Json]:
        if (found := self._secrets.get(name)) is not None:
            return dict(found)
        entry = self._entries.get(name)
        if entry is not None and entry.kind in _IN_CLEAR:
            try:
                return super().fields(name)
            except Unresolved:
                pass
        raise Unresolved(
            f"a test has no secrets but its own: give its case `keychain: {{{name}: {{…}}}}` with an invented one"
        )

    def known_secrets(self) -> tuple[tuple[str, str, str], ...]:
        mine = [(name, *pair) for name, fields in self._secrets.items() for pair in secrets_of(fields)]
        return (*mine, *super().known_secrets())


def key_of_a_test(execution_id: str) -> bytes:
    """The key of an execution's markers. It is no secret, so that a run has the same markers every time."""
    return execution_key(KEY_OF_TESTS, execution_id)
