"""Entries of the keychain that use each other: resolved in whatever order they stand, at use (REAL.md, values)."""

from pathlib import Path

import pytest

from harness.running import compiled
from noetl.app.programs import program_of
from noetl.app.secret_resolver import SecretResolver
from noetl.ports.needs import HERE

CHAIN = """
keychain:
  - name: whole
    kind: static
    map: {line: "{{ keychain.app.user }}:{{ keychain.deep.value }}", id: "{{ execution_id }}"}
  - {name: app, kind: static, map: {user: shop, token: "{{ keychain.deep.value }}"}}
  - {name: deep, kind: env, var: "{{ workload.var }}"}
workload: {var: SHOP_TEST_SECRET}
workflow:
- {step: start, tool: {kind: noop, result: 1}}
"""


def vault(tmp_path: Path) -> SecretResolver:
    path, root = str(tmp_path / "credentials.db"), str(tmp_path)
    return SecretResolver(program_of(compiled(CHAIN)), "7", {"var": "SHOP_TEST_SECRET"}, path=path, root=root)


def test_an_entry_is_made_of_others_that_stand_before_or_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_TEST_SECRET", "canary-4711")
    assert vault(tmp_path).credential("whole", HERE) == {"line": "shop:canary-4711", "id": "7"}
    assert vault(tmp_path).credential("app", HERE) == {"user": "shop", "token": "canary-4711"}
    assert vault(tmp_path).check() == ()


def test_what_is_made_of_a_secret_is_hidden_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TEST_SECRET", "canary-4711")
    keychain = vault(tmp_path)
    keychain.credential("whole", HERE)
    assert "canary" not in str(keychain.redact({"told": "shop:canary-4711", "part": "canary-4711"}, HERE))


def test_each_entry_that_an_unknown_one_is_in_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOP_TEST_SECRET", raising=False)
    problems = vault(tmp_path).check()
    # The file has three lines of a head and an empty one before it; each entry begins behind its dash.
    assert [problem.split(": ")[:2] for problem in problems] == [
        ["t.yaml:6:5", "keychain entry 'whole'"],
        ["t.yaml:9:5", "keychain entry 'app'"],
        ["t.yaml:10:5", "keychain entry 'deep'"],
    ]
    assert all("'SHOP_TEST_SECRET' is not set" in problem for problem in problems)
