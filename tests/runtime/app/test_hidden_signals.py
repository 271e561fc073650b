"""Secrets in what signals bring, where the secrets of executions are with workers elsewhere."""

import pytest

from harness.running import compiled
from noetl.app.hidden_signals import OwnSecrets
from noetl.app.programs import program_of
from noetl.engine.execution import Execution
from noetl.host import process_secrets

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
