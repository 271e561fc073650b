"""Secrets in what signals bring, where the secrets of executions are with workers elsewhere."""

from pathlib import Path

import pytest

from harness.running import compiled
from noetl.app import secret_resolver
from noetl.app.hidden_signals import OwnSecrets
from noetl.app.programs import program_of
from noetl.app.secret_resolver import SecretResolver
from noetl.engine.execution import Execution
from noetl.host import process_secrets
from noetl.ports.needs import HERE

PASSWORD = "the-database-password"


def test_a_server_with_a_bus_hides_what_it_was_given_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_secrets, "_known", {PASSWORD: "NOETL_STORE"})
    program = program_of(compiled("workflow:\n  - {step: start, tool: {kind: wait, events: [go]}}\n"))
    secrets, execution = OwnSecrets(lambda: b"k" * 32), Execution("e1", program)
    plain = {"name": "go", "data": ["another text"]}
    assert secrets.is_ready(execution, program, [plain]) and secrets.redact(execution, program, plain) is plain
    hidden = repr(
        secrets.redact(execution, program, {"name": "go", "data": [f"x {PASSWORD}", PASSWORD.encode().hex()]})
    )
    assert PASSWORD not in hidden and PASSWORD.encode().hex() not in hidden
    assert hidden.count("[[secret:the%20deployment:NOETL_STORE:") == 2


def test_a_secret_that_could_not_be_had_at_first_is_hidden_once_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who goes on with a run may lack a file, or the network, when the first signal comes."""
    program = program_of(
        compiled("keychain: [{name: api, kind: file, path: s.txt}]\nworkflow: [{step: start, tool: {kind: noop}}]\n")
    )
    secrets = SecretResolver(program, "e1", {}, path=str(tmp_path / "secrets"), root=str(tmp_path))
    assert secrets.redact("the first", HERE) == "the first"
    (tmp_path / "s.txt").write_text("canary-of-a-file")
    secrets.look_again(HERE)
    assert secrets.redact("x canary-of-a-file", HERE) == "x canary-of-a-file", "not asked for so soon again"
    monkeypatch.setattr(secret_resolver, "monotonic", lambda: float("inf"))
    secrets.look_again(HERE)
    assert "canary" not in str(secrets.redact("x canary-of-a-file", HERE))
