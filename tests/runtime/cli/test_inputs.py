"""Inputs that a playbook must be given: nothing starts without them, and what is said names each and what to write."""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Home

ASKING = """
workload:
  order: "{{ order }}"
  who: "{{ workload.who | default('guest') }}"
  db: {user: "{{ user }}", port: 5432}
  sum: "{{ workload.order }}"
workflow:
  - step: start
    tool: {kind: noop, result: "{{ workload }}"}
"""
CALLING = """
workflow:
  - step: start
    tool: {kind: playbook, path: tests/asking}
"""


def test_nothing_starts_without_the_inputs_that_must_be_brought(home: "Home") -> None:
    done = home.run("run", home.plan(ASKING))
    assert done.returncode == 1
    bring = "must be brought: give"
    assert done.stderr.splitlines() == [
        "error: nothing was started:",
        f"plan.ir.yaml:6:10: `workload.order`: the input `order` {bring} `--set order=…`, or `order` in the payload",
        f"plan.ir.yaml:8:7: `workload.db`: the input `user` {bring} `--set user=…`, or `user` in the payload",
    ]
    assert home.run("list", "--json").stdout == "[]\n"


def test_what_is_brought_stands_where_it_is_asked_for(home: "Home") -> None:
    document = home.json("run", home.plan(ASKING), "--set", "order=7", "--set", "db.user=Ada", "--set", "who=me")
    assert isinstance(document, dict)
    assert document["result"] == {"order": 7, "who": "me", "db": {"user": "Ada", "port": 5432}, "sum": 7}


def test_a_child_without_its_input_fails_its_caller(home: "Home") -> None:
    head = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: asking, path: tests/asking}\n"
    (home.folder / "tests").mkdir()
    (home.folder / "tests" / "asking.yaml").write_text(head + ASKING, "utf-8")
    done = home.run("run", home.plan(CALLING), "--path", ".", "--json")
    assert done.returncode == 1
    assert '"inputs.invalid"' in done.stdout and "the input `order` must be brought" in done.stdout


READING = """
workload:
  host: "{{ env.SHOP_HOST | default('localhost') }}"
  port: "{{ env.SHOP_PORT }}"
workflow:
  - step: start
    tool: {kind: noop, result: "{{ workload }}"}
"""
CALLING_IT = """
workflow:
  - step: start
    tool: {kind: playbook, path: tests/reading, return_step: start}
"""


def test_a_variable_is_read_only_where_it_is_allowed_and_recorded(home: "Home") -> None:
    home.env |= {"SHOP_HOST": "db.example.com", "SHOP_PORT": "5433", "SHOPPING": "no"}
    plan = home.plan(READING)
    refused = home.run("run", plan, "--env", "SHOP_HOST")
    assert refused.returncode == 1
    assert (
        "plan.ir.yaml:7:9: `workload.port`: the environment variable SHOP_PORT is not set, or not allowed"
        in refused.stderr
    )
    assert "`--env SHOP_PORT`" in refused.stderr and home.run("list", "--json").stdout == "[]\n"
    some = home.json("run", plan, "--env", "SHOP_PORT")
    assert isinstance(some, dict) and some["result"] == {"host": "localhost", "port": "5433"}
    every = home.json("run", plan, "--env", "SHOP_*")
    assert isinstance(every, dict) and every["result"] == {"host": "db.example.com", "port": "5433"}
    shown = home.json("run", plan, "--set", "port=1")
    assert isinstance(shown, dict) and shown["result"] == {"host": "localhost", "port": 1}
    home.env.pop("SHOP_HOST")  # what was read is what a replay reads
    assert home.run("replay", str(every["execution_id"])).stdout.startswith("a legal run")
    first = json.loads(home.run("events", str(every["execution_id"]), "--json").stdout.splitlines()[0])
    assert "db.example.com" in json.dumps(first) and "SHOPPING" not in json.dumps(first)


def test_a_variable_may_be_allowed_for_all_commands_and_reaches_children(home: "Home") -> None:
    home.env |= {"SHOP_PORT": "5433", "NOETL_ENV": "SHOP_HOST SHOP_P*"}
    head = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: reading, path: tests/reading}\n"
    (home.folder / "tests").mkdir()
    (home.folder / "tests" / "reading.yaml").write_text(head + READING, "utf-8")
    document = home.json("run", home.plan(CALLING_IT), "--path", ".")
    assert isinstance(document, dict)
    assert document["result"] == {"host": "localhost", "port": "5433"}


def test_a_server_reads_its_own_environment(home: "Home") -> None:
    plan = home.plan(READING)
    home.env |= {"SHOP_PORT": "5433", "SHOP_HOST": "db.example.com"}
    with home.serving("--env", "SHOP_P*") as (_, url):
        document = home.json("start", plan, "--server", url, "--follow")
        assert isinstance(document, dict)
        assert document["result"] == {"host": "localhost", "port": "5433"}
    with home.serving() as (_, url):
        refused = home.run("start", plan, "--server", url)
        assert refused.returncode == 1 and "SHOP_PORT is not set, or not allowed" in refused.stderr


def test_what_is_allowed_is_a_name_or_a_pattern(home: "Home") -> None:
    done = home.run("run", home.plan(READING), "--env", "SHOP_HOST=here")
    assert done.returncode == 2 and "write a name, or a pattern" in done.stderr


SECRET = """
workload: {password: "{{ env.SHOP_PASSWORD | default('demo') }}", user: demo}
workflow:
  - step: start
    tool:
      kind: python
      args: {password: "{{ workload.password }}", user: "{{ workload.user }}"}
      code: |
        result = {"user": user, "password": password, "length": len(password)}
"""


def test_a_default_in_clear_hides_nothing_and_a_variable_is_hidden(home: "Home") -> None:
    plan = home.plan(SECRET)
    document = home.json("run", plan)
    assert isinstance(document, dict)
    assert document["result"] == {"user": "demo", "password": "demo", "length": 4}
    home.env["SHOP_PASSWORD"] = "sesame-open-0123"
    hidden = home.json("run", plan)
    assert isinstance(hidden, dict) and hidden["result"]["length"] == 16
    assert hidden["result"]["user"] == "demo" and "sesame" not in json.dumps(hidden)
    store = b"".join(path.read_bytes() for path in (home.folder / ".noetl").iterdir() if path.is_file())
    assert b"sesame-open" not in store


ASKED = """
workload: {api: first}
workflow:
  - step: start
    tool:
      kind: python
      args: {token: "{{ token(workload.api) }}"}
      code: |
        result = [len(token), token == "other-token-0123456789"]
"""


def test_a_token_of_a_computed_name_is_that_of_the_entry_of_that_name(home: "Home") -> None:
    for name, token in (("first", "first-token-0123"), ("other", "other-token-0123456789")):
        added = home.run("credential", "add", name, "--secret", "token", stdin=token + "\n")
        assert added.returncode == 0, added.stderr
    plan = home.plan(ASKED)
    first = home.json("run", plan)
    assert isinstance(first, dict) and first["result"] == [16, False]
    other = home.json("run", plan, "--set", "api=other")
    assert isinstance(other, dict) and other["result"] == [22, True]
    missing = home.json("run", plan, "--set", "api=none")
    assert isinstance(missing, dict) and missing["status"] == "failed"
    assert missing["error"]["code"] == "credential.missing" and "'none'" in missing["error"]["message"]


DECLARING = """
executor:
  spec:
    inputs:
      code: {type: string, pattern: "^[0-9]+$", required: true}
      box: {type: object, properties: {id: {type: string}, n: {type: integer}}}
workflow:
  - step: start
    tool: {kind: noop, result: "{{ [workload.code, workload.box] }}"}
"""


def test_a_value_that_is_declared_to_be_text_stays_text(home: "Home") -> None:
    plan = home.plan(DECLARING)
    words = ("--set", "code=007", "--set", "box.id=1e3", "--set", "box.n=4")
    assert json.loads(home.run("run", plan, *words, "--json").stdout)["result"] == ["007", {"id": "1e3", "n": 4}]
    # In quotes it is what is in the quotes, as for any input.
    assert json.loads(home.run("run", plan, "--set", 'code="12"', "--json").stdout)["result"] == ["12", None]
    # A payload is JSON, and says itself what is a text.
    done = home.run("run", plan, "--payload", '{"code": 7}')
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "error: nothing was started:",
        "plan.ir.yaml:8:7: the input `code` must be a text, and is a whole number",
    ]
    assert home.run("run", plan, "--set", "code=x", "--set", "cod=1").stderr.splitlines()[1:] == [
        "`cod` is no input of this playbook: did you mean `code`?",
    ]
    assert [row["status"] for row in home.json("list")] == ["completed", "completed"]  # type: ignore[attr-defined]


def test_a_server_refuses_what_is_not_declared_before_anything_is_kept(home: "Home") -> None:
    plan = home.plan(DECLARING)
    with home.serving() as (_, url):
        registered = json.loads(home.run("register", plan, "--server", url, "--json").stdout)
        for what in (plan, registered["path"]):
            started = home.run("start", what, "--server", url, "--set", "code=007", "--follow", "--json")
            assert json.loads(started.stdout)["result"] == ["007", None], started.stderr
        for words, said in (
            (("--set", "code=7x"), 'the input `code` must match "^[0-9]+$"'),
            (("--set", "cod=7"), "`cod` is no input of this playbook: did you mean `code`?"),
        ):
            refused = home.run("start", plan, "--server", url, *words)
            assert refused.returncode != 0 and said in refused.stderr
        assert len(home.json("list", "--server", url)) == 2  # type: ignore[arg-type]


def test_strict_inputs_refuse_what_else_is_a_warning(home: "Home") -> None:
    plan = home.plan("workload: {n: 1}\nworkflow:\n  - {step: start, tool: {kind: noop, result: '{{ workload.n }}'}}\n")
    assert "warning: nothing reads `m`" in home.run("run", plan, "--set", "m=2", "--quiet").stderr
    refused = home.run("run", plan, "--set", "m=2", "--strict-inputs")
    assert refused.returncode == 1
    assert refused.stderr.splitlines() == ["error: nothing was started:", "`m` is no key of `workload`"]
    assert home.run("run", plan, "--set", "n=2", "--strict-inputs").returncode == 0
    with home.serving() as (_, url):
        refused = home.run("start", plan, "--server", url, "--set", "m=2", "--strict-inputs")
        assert refused.returncode != 0 and "`m` is no key of `workload`" in refused.stderr
        assert home.run("start", plan, "--server", url, "--set", "m=2").returncode == 0
