"""Secrets in what signals bring, where the secrets of executions are with workers elsewhere."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.running import compiled, run
from noetl.app import secret_resolver
from noetl.app.hidden_signals import KnownSecrets, OwnSecrets
from noetl.app.programs import program_of
from noetl.app.secret_resolver import SecretResolver, secrets_at_start
from noetl.engine.execution import Execution
from noetl.engine.starting import Request
from noetl.host import process_secrets
from noetl.ports.needs import HERE, Needs

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


def test_what_is_fetched_for_an_execution_that_is_over_is_fetched_no_further() -> None:
    begun: list[object] = []

    def begin(key: object, work: object) -> Any:
        begun.append(key)
        return SimpleNamespace(is_over=False, problem="")

    environments: Any = SimpleNamespace(
        fetches=SimpleNamespace(needs=lambda: Needs(begin)),
        redact=lambda execution, program, brought, needs: needs.get("token", lambda: brought),
    )
    program = program_of(compiled("workflow:\n  - {step: start, tool: {kind: wait, events: [go]}}\n"))
    secrets, execution = KnownSecrets(environments), Execution("e1", program)
    assert not secrets.is_ready(execution, program, ["x"]) and not secrets.is_ready(execution, program, ["x"])
    assert begun == ["token"]
    secrets.forget("e1")
    secrets.forget("another")
    assert not secrets.is_ready(execution, program, ["x"]) and begun == ["token", "token"]


def test_a_control_plane_forgets_what_is_fetched_for_who_is_over() -> None:
    forgotten: list[str] = []

    class Watched(KnownSecrets):
        def forget(self, execution_id: str) -> None:
            forgotten.append(execution_id)
            super().forget(execution_id)

    from noetl.app import composition

    kept, composition.KnownSecrets = composition.KnownSecrets, Watched  # type: ignore[misc]
    try:
        run("workflow:\n  - {step: start}\n")
    finally:
        composition.KnownSecrets = kept  # type: ignore[misc]
    assert "e1" in forgotten


def test_a_start_resolves_its_secrets_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    keychain = secret_resolver.SecretResolver._made_keychain
    monkeypatch.setattr(SecretResolver, "_made_keychain", lambda self: made.append(self) or keychain(self))
    (tmp_path / "s.txt").write_text("canary-of-a-file")
    text = "keychain: [{name: api, kind: file, path: s.txt}, {name: lost, kind: file, path: l.txt}]\n"
    program = program_of(compiled(f"{text}workload: {{a: 1}}\nworkflow: [{{step: start}}]\n"))
    found = secrets_at_start(
        program, "e1", Request({"a": "x canary-of-a-file"}), path=str(tmp_path / "secrets"), root=str(tmp_path)
    )
    assert len(made) == 1
    assert [one.split(":")[0] for one in found.lacking] == ["t.yaml"] and "l.txt" in found.lacking[0]
    assert [one[: len("`workload.a` holds the secret `api.")] for one in found.exposed] == [
        "`workload.a` holds the secret `api."
    ]


def test_a_value_that_an_entry_gives_under_two_names_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `token` and `access_token` of oauth2; another secret is told beside it."""
    known = [("api", "token", "canary-one"), ("api", "access_token", "canary-one"), ("db", "password", "canary-two")]
    chain = SimpleNamespace(known_secrets=lambda: known, check=dict, asked_by=lambda needs: chain)
    monkeypatch.setattr(SecretResolver, "_made_keychain", lambda self: chain)
    text = "keychain: [{name: api, kind: env}, {name: db, kind: env}]\nworkload: {a: 1}\nworkflow: [{step: start}]\n"
    request = Request({"a": "canary-one and canary-two"})
    found = secrets_at_start(program_of(compiled(text)), "e1", request, path=str(tmp_path / "s"), root=str(tmp_path))
    assert [one.split("`")[3] for one in found.exposed] == ["api.token", "db.password"]
