"""A duration is one from 0 to 10^10 s, however it is written; anything else is a fault of its place."""

from typing import TYPE_CHECKING

import pytest

from noetl_ir.kinds import MAX_SECONDS, grown, seconds_of

if TYPE_CHECKING:
    from conftest import Home

NINES = "9" * 320 + "s"
BAD = {"negative": "-1", "null": "null", "word": "soon", "long": NINES, "days": "20000000d", "number": "1728000000000"}
PLACES = {
    "task timeout": ("task.timeout", "tool: {kind: shell, command: 'true', spec: {timeout: '{{ workload.d }}'}}"),
    "timer": ("task.fields", "tool: {kind: wait, events: [go], timers: {late: '{{ workload.d }}'}}"),
    "step timeout": (
        "step.timeout", "spec: {policy: {lifecycle: {timeout_s: '{{ workload.d }}'}}}\n  tool: {kind: noop}",
    ),
    "arc delay": ("arc.delay", "next: {arcs: [{step: end, spec: {delay: '{{ workload.d }}'}}]}"),
    "retry delay": (
        "rule.delay",
        "tool: {kind: shell, command: 'false', spec: {policy: {rules: [{when: \"{{ outcome.status == 'error' }}\","
        " then: {do: retry, delay: '{{ workload.d }}'}}]}}}",
    ),
}  # fmt: skip


@pytest.mark.parametrize("value", BAD)
@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_duration_is_a_fault_of_its_place(home: "Home", place: str, value: str) -> None:
    code, body = PLACES[place]
    if (place, value) == ("timer", "null"):  # a timer that is null is not set
        return
    plan = home.plan(f"workload: {{d: 1}}\nworkflow:\n- step: start\n  {body}\n")
    ran = home.run("run", plan, "--set", f"d={BAD[value]}", "--quiet")
    assert ran.returncode == 1 and f"{code}:" in ran.stdout and "duration" in ran.stdout, (ran.stdout, ran.stderr)
    assert len(ran.stdout) < 1000
    assert home.run("replay", "last").returncode == 0


def test_an_arc_takes_a_step_whose_limit_is_no_duration(home: "Home") -> None:
    plan = home.plan("""
workload: {limit: -1}
workflow:
- step: start
  spec: {policy: {lifecycle: {timeout_s: "{{ workload.limit }}"}}}
  tool: {kind: noop}
  next: {arcs: [{step: after, when: "{{ event.error.code == 'step.timeout' }}"}]}
- {step: after, tool: {kind: noop, result: taken}}
""")
    assert home.run("run", plan, "--quiet").returncode == 0
    assert home.json("result", "last") == "taken"
    assert home.run("run", plan, "--set", "limit=5", "--quiet").returncode == 0


def test_a_pause_that_grows_without_end_is_its_cap(home: "Home") -> None:
    plan = home.plan("""
workflow:
- step: start
  tool:
    kind: noop
    spec: {policy: {rules: [{when: "{{ outcome.status == 'ok' and _attempt < 400 }}", then: {do: retry, attempts: 400,
      backoff: exponential, delay: 0.0001, multiplier: 10, max_delay: 0.0001}}, {else: {then: {do: continue}}}]}}
""")
    ran = home.run("run", plan, "--json")
    assert ran.returncode == 0 and '"retries": 399' in ran.stdout, (ran.stdout, ran.stderr)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (0, 0.0), ("0", 0.0), (MAX_SECONDS, 1e10), ("10000000000s", 1e10), (10**10 + 1, None), ("115741d", None),
        ("115740d", 9_999_936_000.0), (10**400, None), (float("nan"), None), (float("inf"), None), (-0.1, None),
        (True, None), (None, None), ("-1s", None), ("٣s", None), ("soon", None), (NINES, None), ("1.5m", 90.0),
    ],
)  # fmt: skip
def test_the_one_bound(value: object, seconds: float | None) -> None:
    assert seconds_of(value) == seconds  # type: ignore[arg-type]


def test_a_delay_that_is_multiplied_stays_within_the_bound() -> None:
    assert (grown(1, 2, 3), grown(1, 10, 400), grown(1.5, 3.0, 700), grown(0, 10.0, 400)) == (8, 1e10, 1e10, 0)


@pytest.mark.parametrize(("events", "kind"), [("17", "a number"), ("true", "a boolean"), ('["a", 17]', "a number")])
def test_what_a_wait_waits_for_is_names(home: "Home", events: str, kind: str) -> None:
    plan = home.plan("workload: {e: x}\nworkflow: [{step: start, tool: {kind: wait, events: '{{ workload.e }}'}}]\n")
    ran = home.run("run", plan, "--set", f"e={events}", "--quiet")
    assert ran.returncode == 1 and kind in ran.stdout, (ran.stdout, ran.stderr)


def test_what_is_missing_is_told_with_what_to_do(home: "Home") -> None:
    (home.folder / "schemas").mkdir()
    (home.folder / "schemas" / "order.json").write_text('{"type": "object", "required": ["id"]}')
    tool = "{kind: python, code: 'result = {}', spec: {schema_hint: order}}"
    plan = home.plan(f"workflow: [{{step: start, tool: {tool}}}]\n")
    assert "at the top, the key `id` is missing" in home.run("run", plan, "--quiet").stdout
    plan = home.plan(
        "keychain: [{name: k1, kind: bearer, credential: shop_key}]\n"
        "workflow: [{step: start, tool: {kind: http, url: 'http://127.0.0.1:1/', auth: k1}}]\n"
    )
    assert "`noetl credential add shop_key`" in home.run("run", plan, "--quiet").stderr
