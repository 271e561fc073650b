"""Inputs that a playbook must be given: nothing starts without them, and what is said names each and what to write."""

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
    assert done.stderr.splitlines() == [
        "error: nothing was started:",
        "`workload.order`: the input `order` must be brought: give `--set order=…`, or `order` in the payload",
        "`workload.db`: the input `user` must be brought: give `--set user=…`, or `user` in the payload",
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
