"""Older names wherever an expression may stand beside tasks and arcs: executor, step limits, loops at every level.

What stays old there is undefined when it is asked, and behind a `default` it is another value without a word.
"""

import pytest

from noetlc.migrate.migration import Migration, migrated

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\n"
STEP = "- step: start\n  tool: {kind: python, code: return 3}\n  vars: {q: '{{ result }}'}\n  next: [{step: it}]\n"
LIMIT = "spec: {policy: {lifecycle: {timeout_s: READ}}}"
PLACES = {
    "executor.spec.result": ("executor: {spec: {result: {a: READ}}}\n", ""),
    "executor.spec.policy.lifecycle.timeout_s": ("executor: {spec: {policy: {lifecycle: {timeout_s: READ}}}}\n", ""),
    "step.spec.policy.lifecycle.timeout_s": ("", "  spec: {policy: {lifecycle: {timeout_s: READ}}}\n"),
    "step.spec.timeout": ("", "  spec: {timeout: READ}\n"),
    "loop.spec.policy.lifecycle.timeout_s": (
        "",
        f"  loop: {{in: [1], iterator: i, {LIMIT}}}\n",
    ),
    "loop.spec.max_in_flight": ("", "  loop: {in: [1], iterator: i, spec: {mode: parallel, max_in_flight: READ}}\n"),
    "loop.loop.in": ("", "  loop: {in: [1], iterator: i, loop: {in: READ, iterator: j}}\n"),
    "loop.loop.spec": (
        "",
        f"  loop: {{in: [1], iterator: i, loop: {{in: [1], iterator: j, {LIMIT}}}}}\n",
    ),
}


def migration(place: str, read: str, root: str = "") -> Migration:
    """The migration of a file that reads an older name at that place."""
    executor, keys = (text.replace("READ", f'"{{{{ {read} | default(5) }}}}"') for text in PLACES[place])
    text = f"{HEAD}{root}{executor}workflow:\n{STEP}- step: it\n  tool: {{kind: noop}}\n{keys}"
    return migrated("t.yaml", text.encode())


def canonical(place: str, read: str, root: str = "") -> str:
    """That file in canonical form."""
    made = migration(place, read, root)
    assert made.after is not None, made.problems
    return made.after.decode()


AT_START = "executor.spec.policy.lifecycle.timeout_s"
"""Asked before anything is set."""


@pytest.mark.parametrize("place", [place for place in PLACES if place != AT_START])
def test_a_variable_is_a_key_of_ctx(place: str) -> None:
    assert "{{ ctx.q | default(5) }}" in canonical(place, "vars.q")


def test_a_variable_is_refused_where_none_is_set_yet() -> None:
    assert "ctx" in str(migration(AT_START, "vars.q").problems[0].message)


@pytest.mark.parametrize("place", PLACES)
def test_a_variable_of_the_root_that_nothing_sets_is_a_key_of_workload(place: str) -> None:
    assert "{{ workload.limit | default(5) }}" in canonical(place, "vars.limit", "vars: {limit: 9}\n")


RESULTS = {
    "a row of a statement": ("ask.command_0[0].n", "ask.command_0.rows[0].n"),
    "a task by the name of its step": ("two.results.last.n", "two.n"),
    "the reference": ("ask._ref", "ref(ask)"),
    "a key of the body": ("get.total", "get.data.total"),
}
"""Paths into a step as the declared result reads them, each with the canonical path that it means (REAL.md, values)."""


@pytest.mark.parametrize("about", RESULTS)
def test_the_declared_result_reads_steps_as_steps_do(about: str) -> None:
    written, read = RESULTS[about]
    text = f"""executor: {{spec: {{result: {{a: "{{{{ {written} | default(5) }}}}"}}}}}}
workflow:
- {{step: start, tool: {{kind: sqlite, query: SELECT 1}}, next: [{{step: ask}}]}}
- {{step: ask, tool: {{kind: sqlite, query: SELECT 1}}, next: [{{step: get}}]}}
- {{step: get, tool: {{kind: http, url: "http://x"}}, next: [{{step: two}}]}}
- step: two
  tool: [{{name: first, kind: noop}}, {{name: last, kind: python, code: 'return {{"n": 3}}'}}]
"""
    made = migrated("t.yaml", (HEAD + text).encode())
    assert made.after is not None, made.problems
    # Where there is no reference, `ref` gives null: its default is for that, too.
    assert f"{{{{ {read} | default(5" in made.after.decode()
