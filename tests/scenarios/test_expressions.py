"""Scenarios of group E and G as far as they concern a run: what templates see and give."""

from pathlib import Path
from typing import Any

import pytest

from harness.running import MEMORY, run


@pytest.mark.parametrize(
    ("value", "taken"),
    [(["x"], "yes"), ({"a": 1}, "yes"), ("0", "yes"), (0.5, "yes"), ([], "no"), ("", "no"), (0, "no"), ("False", "no")],
)
def test_scenario_56_guards_take_truth_from_jinja(value: object, taken: str) -> None:
    """The text `false` in any case is false, everything else is as Jinja has it (LANGUAGE §2)."""
    ran = run(
        """
workflow:
  - {step: start, next: {arcs: [{step: "yes", when: "{{ workload.v and workload.v }}"}, {step: "no"}]}}
  - {step: "yes"}
  - {step: "no"}
""",
        payload={"v": value},
    )
    assert [step for step in ("yes", "no") if ran.ran(step)] == [taken]


def test_scenario_58_null_inside_an_object_stays_null(tmp_path: Path) -> None:
    ran = run(
        """
workflow:
  - step: start
    tool:
      - {name: fetch, kind: python, code: "result = 1"}
      - name: use
        kind: noop
        args: {whole: "{{ _prev }}", part: "{{ fetch.cursor }}", listed: "{{ fetch['items'] }}"}
""",
        "outcomes: [{task: fetch, takes: 1, outcome: {result: {cursor: null, items: [null, {a: null}]}}}]",
        url=f"sqlite:///{tmp_path / 'x.db'}",
    )
    whole = {"cursor": None, "items": [None, {"a": None}]}
    assert ran.execution.last_result == {"whole": whole, "part": None, "listed": whole["items"]}


def test_scenario_60_default_does_not_replace_null() -> None:
    ran = run("""
workload: {page: null}
workflow:
  - step: start
    tool:
      kind: noop
      args:
        plain: "{{ workload.page | default(1) }}"
        forced: "{{ workload.page | default(1, true) }}"
        text: "page={{ workload.page }}"
        absent: "{{ workload.nope | default(1) }}"
""")
    assert ran.execution.last_result == {"plain": None, "forced": 1, "text": "page=", "absent": 1}


def test_scenario_62_default_works_below_a_missing_parent_and_nothing_else_does() -> None:
    """On the server (arc guard, arc args) and on the worker (field, rule)."""
    ran = run("""
workflow:
  - step: start
    tool:
      name: t
      kind: noop
      args: {next: "{{ ctx.paging.next | default('none') }}"}
      spec: {policy: {rules: [{when: "{{ (ctx.paging.next | default('none')) == 'none' }}", then: {do: break}}]}}
    next:
      arcs:
        - step: two
          when: "{{ (ctx.paging.next | default('none')) == 'none' }}"
          args: {n: "{{ ctx.a.b.c | default(3) }}"}
  - {step: two, tool: {kind: noop, args: {n: "{{ args.n }}", bad: "{{ ctx.paging.next }}"}}}
""")
    assert ran.result("start") == {"next": "none"}
    assert ran.of("next.selected")[0].data["arcs"] == [{"arc": 0, "key": "2", "args": {"n": 3}}]
    assert ran.execution.failure is not None
    assert ran.execution.failure["code"] == "template.undefined"
    assert "ctx.paging.next" in str(ran.execution.failure["message"])


def test_scenario_76_now_is_the_time_of_the_event_and_never_asked_again() -> None:
    """Replay of the log gives the same state, which the harness checks; chance is refused by the compiler."""
    ran = run(
        """
workflow:
  - {step: start, tool: {name: wait, kind: http, url: "http://x"}, next: {arcs: [{step: b, args: {at: "{{ now() }}"}}]}}
  - step: b
    tool:
      - name: t
        kind: noop
        args: {at: "{{ args.at }}", now: "{{ now() }}"}
        spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {stamp: "{{ now() }}"}}}}]}}
""",
        "outcomes: [{task: wait, takes: 7}]",
    )
    assert ran.execution.last_result == {"at": "1970-01-01T00:00:07.000000Z", "now": "1970-01-01T00:00:07.000000Z"}
    assert ran.execution.ctx == {"stamp": "1970-01-01T00:00:07.000000Z"}


HUGE = 123456789012345678901234567890


@pytest.mark.parametrize("url", [MEMORY, "sqlite"])
def test_scenario_94_big_integers_go_through_plan_events_and_templates_exactly(url: str, tmp_path: Path) -> None:
    ran = run(
        f"""
workload: {{id: 9007199254740993, huge: {HUGE}}}
workflow:
  - step: start
    tool:
      - {{name: a, kind: http, url: "http://x/{{{{ workload.huge }}}}"}}
      - name: b
        kind: noop
        args: {{id: "{{{{ workload.id }}}}", huge: "{{{{ a.huge }}}}", sum: "{{{{ a.huge + 1 }}}}"}}
""",
        f"outcomes: [{{task: a, takes: 1, outcome: {{result: {{huge: {HUGE}}}}}}}]",
        url=url if url == MEMORY else f"sqlite:///{tmp_path / 'x.db'}",
    )
    assert ran.execution.last_result == {"id": 9007199254740993, "huge": HUGE, "sum": HUGE + 1}
    assert ran.execution.workload == {"id": 9007199254740993, "huge": HUGE}


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "\0\ud800"])
def test_scenario_92_text_that_stores_refuse_is_kept_as_it_is(text: str, tmp_path: Path) -> None:
    """In a result, and in the text of an error: the way of a failure never fails on what it carries."""
    script: dict[str, Any] = {
        "outcomes": [
            {"task": "good", "takes": 1, "outcome": {"result": text}},
            {"task": "bad", "takes": 1, "outcome": {"status": "error", "error": {"message": text}}},
        ]
    }
    ran = run(
        """
workflow:
  - step: start
    tool: [{name: good, kind: python, code: "result = 1"}, {name: bad, kind: python, code: "result = 1"}]
    next: {arcs: [{step: late, when: "{{ event.status == 'error' }}", args: {m: "{{ event.error.message }}"}}]}
  - {step: late, tool: {kind: noop, args: {m: "{{ args.m }}"}}}
""",
        script,
        url=f"sqlite:///{tmp_path / 'x.db'}",
    )
    assert ran.status == "completed"
    assert ran.of("task.done", "start")[0].data["result"] == text
    assert ran.execution.last_result == {"m": text}


def test_scenario_52_text_of_digits_and_dates_stays_text() -> None:
    ran = run("""
workload: {zip: "02134", day: "2012-11-12", big: "1e5"}
workflow:
  - step: start
    tool: {kind: noop, args: {zip: "{{ workload.zip }}", day: "{{ workload.day }}", big: "{{ workload.big }}"}}
""")
    assert ran.execution.last_result == {"zip": "02134", "day": "2012-11-12", "big": "1e5"}


def test_scenario_54_a_lone_expression_keeps_its_type_through_plan_bus_and_log(tmp_path: Path) -> None:
    ran = run(
        """
workload: {limit: "7", ids: [1, 2]}
workflow:
  - step: start
    tool:
      kind: noop
      args:
        body:
          limit: "{{ workload.limit | default(10) | int }}"
          ids: "{{ workload.ids }}"
          text: "n={{ workload.limit }}"
        nested: [{deep: "{{ workload.ids | length }}"}]
    next: {arcs: [{step: last, args: {all: "{{ start }}"}}]}
  - {step: last, tool: {kind: noop, args: {all: "{{ args.all }}"}}}
""",
        url=f"sqlite:///{tmp_path / 'x.db'}",
    )
    body = {"limit": 7, "ids": [1, 2], "text": "n=7"}
    assert ran.execution.last_result == {"all": {"body": body, "nested": [{"deep": 2}]}}


def test_scenario_68_a_value_that_ends_like_a_file_is_data() -> None:
    ran = run("""
workload: {command: "touch out.sql", url: "https://example.test/x.sh"}
workflow:
  - step: start
    tool: {kind: noop, args: {command: "{{ workload.command }}", url: "{{ workload.url }}", plain: "run.sql"}}
""")
    assert ran.execution.last_result == {
        "command": "touch out.sql",
        "url": "https://example.test/x.sh",
        "plain": "run.sql",
    }


def test_scenario_72_what_only_looks_like_a_secret_reaches_the_next_step_as_it_is() -> None:
    ran = run("""
workload: {db_auth: pg_main, session_token: "abc-1", url_tpl: "https://x.test/?key="}
workflow:
  - step: start
    tool:
      kind: noop
      result: {auth_mode: basic, token: "{{ workload.session_token }}", url: "{{ workload.url_tpl ~ 1 }}"}
    next: {arcs: [{step: last, args: {seen: "{{ start }}", auth: "{{ workload.db_auth }}"}}]}
  - {step: last, tool: {kind: noop, args: {seen: "{{ args.seen }}", auth: "{{ args.auth }}"}}}
""")
    seen = {"auth_mode": "basic", "token": "abc-1", "url": "https://x.test/?key=1"}
    assert ran.execution.last_result == {"seen": seen, "auth": "pg_main"}
