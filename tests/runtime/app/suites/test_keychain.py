"""Secrets of cases: invented, used as real ones are, and seen nowhere but in the file of tests."""

import json
from pathlib import Path

import pytest

from harness.here import done_here
from harness.suites import put, run_tests, told

PASSWORD, TOKEN = "kanari-4711-door", 'kanari-4712-"key"'

SHOP = """
keychain:
  - {name: door, kind: postgres_credential, host: db.example.com, user: etl, password_env: DOOR}
  - {name: api, kind: oauth2, token_url: "https://login.example.com/token", client_id: a, client_secret_env: SECRET}
workload: {how: ""}
workflow:
  - step: start
    tool:
      - name: fetch
        kind: http
        url: "https://example.com/{{ keychain.door.user }}"
        headers: {Authorization: "Bearer {{ keychain.api.token }}"}
      - name: code
        kind: python
        auth: {door: door}
        args: {how: "{{ workload.how }}"}
        code: |
          import base64
          password = auth["door"]["password"]
          print(password)
          if how:
              raise ValueError(f"{how} {password}")
          result = {"seen": password, "coded": base64.b64encode(password.encode()).decode(), "length": len(password)}
"""

KEYCHAIN = {"door": {"user": "etl", "password": PASSWORD}, "api": TOKEN}


def cases(*rows: object, keychain: object = KEYCHAIN) -> str:
    outcomes = [{"step": "start", "task": "fetch", "outcome": {"result": {"data": [1]}}}]
    return json.dumps({"keychain": keychain, "outcomes": outcomes, "cases": rows})


def test_secrets_are_used_as_real_ones_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOOR", "not this one")
    call = {"url": "https://example.com/etl", "headers": {"Authorization": f"Bearer {TOKEN}"}}
    good = {
        "case": "good",
        "expect": {
            "result": {"seen": PASSWORD, "coded": "a2FuYXJpLTQ3MTEtZG9vcg==", "length": len(PASSWORD)},
            "calls": [{"step": "start", "task": "fetch", "fields": call, "times": 1}],
        },
    }
    done = told(tmp_path, cases(good), playbook=SHOP)
    assert done.returncode == 0, done.stdout + done.stderr


WRONG = {
    "a result": {"result": {"seen": PASSWORD + "!", "coded": "", "length": 3}},
    # A line of the file that has it in another form.
    "a coded result": {"result": {"seen": "", "coded": "a2FuYXJpLTQ3MTEtZG9vcg==", "length": 3}},
    "a call": {"calls": [{"step": "start", "task": "fetch", "fields": {"headers": {"Authorization": TOKEN}}}]},
    "an error": {"error": {"message": f"ValueError: no {PASSWORD}"}},
    "a status": {"status": "completed"},
}


@pytest.mark.parametrize("how", ["", "no"])
@pytest.mark.parametrize("words", [(), ("--json",), ("--junit", "out.xml")], ids=lambda words: "".join(words[:1]))
def test_no_failure_shows_a_secret(words: tuple[str, ...], how: str, tmp_path: Path) -> None:
    """Of a case that fails by each kind of expectation, the lines of its file and all that the run came to."""
    wrong = [{"case": name, "payload": {"how": how}, "expect": expect} for name, expect in WRONG.items()]
    wrong.append({"case": f"that {PASSWORD} opens it", "expect": {"status": "failed"}})
    # One without quotes, as people write it: the excerpts of failures show these lines.
    done = told(tmp_path, cases(*wrong), *words, playbook=SHOP)
    assert done.returncode == 1, done.stdout + done.stderr
    said = done.stdout + done.stderr + "".join(each.read_text("utf-8") for each in tmp_path.glob("out.xml"))
    assert "kanari" not in said and "a2FuYXJp" not in said
    assert "[[secret:door:password]]" in said
    assert words or "****" in said  # the lines of the file of tests


def test_a_secret_that_a_case_does_not_have_is_not_the_machines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DOOR", "SECRET"):
        monkeypatch.setenv(name, "kanari-of-the-machine")
    failing = {"case": "none", "expect": {"status": "completed"}}
    done = told(tmp_path, cases(failing, keychain={"door": {"user": "etl", "password": PASSWORD}}), playbook=SHOP)
    assert done.returncode == 1 and "kanari-of-the-machine" not in done.stdout
    assert "a test has no secrets but its own: give its case `keychain: {api: {…}}`" in done.stdout


CLEAR = """
keychain: [{name: mode, kind: env, var: MODE, default: trial}, {name: name, kind: static, value: a name in clear}]
workflow:
  - step: start
    tool: {kind: shell, command: "echo {{ keychain.mode.value }}"}
"""


def test_what_the_playbook_has_in_clear_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODE", "real")
    call = {"step": "start", "fields": {"command": "echo trial"}}
    row = {"case": "a", "outcomes": [{"step": "start"}], "expect": {"calls": [call]}}
    done = told(tmp_path, json.dumps({"cases": [row]}), playbook=CLEAR)
    assert done.returncode == 0, done.stdout + done.stderr


CALLS = """
workflow:
  - {step: start, tool: {name: c, kind: playbook, path: t/child}}
"""
CHILD = """
keychain: [{name: inner, kind: env}]
workflow: [{step: start, tool: {kind: noop, result: {sent: "{{ keychain.inner.value }}"}}}]
"""


def test_a_child_has_the_secrets_too(tmp_path: Path) -> None:
    put(tmp_path, "", CHILD, "child")
    (tmp_path / "child.test.yaml").unlink()
    child = tmp_path / "child.yaml"
    child.write_text(child.read_text("utf-8").replace("path: t/t", "path: t/child"), "utf-8")
    row = {"case": "a", "expect": {"result": {"sent": PASSWORD}}}
    done = told(tmp_path, json.dumps({"keychain": {"inner": PASSWORD}, "cases": [row]}), "--path", ".", playbook=CALLS)
    assert done.returncode == 0, done.stdout + done.stderr


RAISES = """
keychain: [{name: inner, kind: env}]
workflow:
  - step: start
    tool:
      kind: python
      args: {key: "{{ keychain.inner.value }}"}
      code: |
        raise ValueError(f"{key} is wrong")
"""


def test_a_child_that_fails_shows_its_line_and_no_secret(tmp_path: Path) -> None:
    put(tmp_path, "", RAISES, "child")
    (tmp_path / "child.test.yaml").unlink()
    child = tmp_path / "child.yaml"
    child.write_text(child.read_text("utf-8").replace("path: t/t", "path: t/child"), "utf-8")
    line = next(at for at, text in enumerate(child.read_text("utf-8").splitlines(), 1) if "raise" in text)
    row = {"case": "a", "expect": {"status": "completed"}}
    done = told(tmp_path, json.dumps({"keychain": {"inner": PASSWORD}, "cases": [row]}), "--path", ".", playbook=CALLS)
    assert done.returncode == 1 and PASSWORD not in done.stdout + done.stderr
    [error, code] = [text for text in done.stdout.splitlines() if "python.exception" in text or "raise" in text]
    assert error.lstrip().startswith("= in `t/child` by `python.exception` at start / start_task: ")
    assert error.endswith(f"is wrong (child.yaml:{line}:9)")
    assert code.strip() == '=   raise ValueError(f"{key} is wrong")'


SAY = """
keychain: [{name: door, kind: env, var: CANARY}]
workflow:
  - step: start
    tool:
      - name: say
        kind: shell
        env: {KEY: "{{ keychain.door.value }}"}
        command: "printf %s $KEY; printf %s $KEY | base64"
      - {name: all, kind: noop, result: "{{ say.stdout }}"}
"""


def test_a_recorded_case_has_invented_secrets_in_their_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", PASSWORD)
    put(tmp_path, "", SAY)
    (tmp_path / "orders.test.yaml").unlink()
    done = done_here(tmp_path, ["run", "orders.yaml", "--quiet"])
    assert done.returncode == 0, done.stdout + done.stderr
    done = run_tests(tmp_path, "--record", "last", "-o", "orders.test.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "orders.test.yaml").read_text("utf-8")
    assert "kanari" not in text and "a2FuYXJp" not in text and "[[secret" not in text
    assert "door: {value: invented door value}" in text
    # The text and its base64, by hand: both stand where the execution had the secret in that form.
    assert "invented door valueaW52ZW50ZWQgZG9vciB2YWx1ZQ==" in text
    again = run_tests(tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    # As a real secret it is hidden in what the case is told of.
    (tmp_path / "orders.test.yaml").write_text(text.replace("status: completed", "status: failed"), "utf-8")
    failed = run_tests(tmp_path)
    assert failed.returncode == 1 and "invented door value" not in failed.stdout


def test_generated_cases_have_invented_secrets(tmp_path: Path) -> None:
    put(tmp_path, "", SHOP)
    (tmp_path / "orders.test.yaml").unlink()
    done = run_tests(tmp_path, "--generate", "orders.yaml", "-o", "orders.test.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "orders.test.yaml").read_text("utf-8")
    assert "api: {token: invented api token}" in text and "status: completed" in text
    again = run_tests(tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr


HEARS = """
keychain: [{name: door, kind: env, var: CANARY}]
workflow:
  - step: start
    tool:
      - {name: kept, kind: wait, events: [go], correlation: "order 7"}
      - {name: direct, kind: wait, events: [now]}
      - {name: all, kind: noop, result: ["{{ kept.data }}", "{{ direct.data }}"]}
"""


def test_signals_of_a_case_may_bring_its_secrets(tmp_path: Path) -> None:
    """Recorded with markers, they are known again as those that the case sent."""
    signals = [
        {"at": 1, "key": "order 7", "name": "go", "data": {"a": f"<{PASSWORD}>"}},
        {"at": 2, "name": "now", "data": [PASSWORD]},
    ]
    case = {"case": "a", "signals": signals, "expect": {"result": [{"a": f"<{PASSWORD}>"}, [PASSWORD]]}}
    suite: dict[str, object] = {"keychain": {"door": PASSWORD}, "cases": [case]}
    done = told(tmp_path, json.dumps(suite), playbook=HEARS)
    assert done.returncode == 0, done.stdout + done.stderr
    signals.append({"at": 1, "key": "order 7", "name": "go", "data": {"a": f"[{PASSWORD}]"}})
    done = told(tmp_path, json.dumps(suite), playbook=HEARS)
    assert done.returncode == 1 and "no wait took the signal `go`" in done.stdout, "it is another one"
    assert PASSWORD not in done.stdout


def test_a_recorded_case_has_no_secret_that_came_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", PASSWORD)
    put(tmp_path, "", "workload: {note: none}" + HEARS)
    (tmp_path / "orders.test.yaml").unlink()
    sent = [{"at": 1, "key": "order 7", "name": "go", "data": PASSWORD}, {"at": 2, "name": "now", "data": PASSWORD}]
    (tmp_path / "script.json").write_text(json.dumps({"signals": sent}), "utf-8")
    done = done_here(tmp_path, ["run", "orders.yaml", "--script", "script.json", "--set", f"note=<{PASSWORD}>"])
    assert done.returncode == 0 and PASSWORD not in done.stdout + done.stderr, done.stdout + done.stderr
    assert "warning: `workload.note` holds the secret `door.value`" in done.stderr
    done = run_tests(tmp_path, "--record", "last", "-o", "orders.test.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "orders.test.yaml").read_text("utf-8")
    assert "kanari" not in text and "[[secret" not in text and 'payload: {note: "<invented door value>"}' in text
    again = run_tests(tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
