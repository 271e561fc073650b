"""Loops that have enough before their items are over (EXTENSIONS §5): what is told in no golden."""

import pytest

from harness.running import Ran, resume_prefix, run

NUMBERS = {
    # What is written, and how many of five iterations have ended when the loop has enough.
    "3": 3,
    '"{{ workload.n }}"': 2,
    '"{{ event.done == 4 }}"': 4,
    '"{{ event.ok >= event.total - 1 }}"': 4,
    '"{{ event.failed >= 1 or event.ok > 0 }}"': 1,
}
SECONDS = {"outcomes": [{"index": n, "takes": n + 1, "outcome": {"result": n}} for n in range(5)]}


def text(enough: str, rest: str = "cancel", more: str = "", mode: str = "") -> str:
    failure = f"spec: {{policy: {{failure: {{mode: {mode}}}}}}}" if mode else "desc: none"
    return f"""
workload: {{n: 2}}
workflow:
  - step: start
    {failure}
    loop:
      in: "{{{{ range(5) | list }}}}"
      iterator: i
      spec: {{mode: parallel, policy: {{enough: {enough}, rest: {rest}}}}}
    tool: {{kind: http, url: "http://x/"}}
    next: {{arcs: [{{step: z, when: "{{{{ event.status in ['ok', 'error'] }}}}"}}]}}
  - {{step: z}}
{more}"""


def stats(ran: Ran) -> dict[str, int]:
    [done] = [event.data["stats"] for event in ran.log if event.event_type == "loop.done"]
    return done  # type: ignore[return-value]


@pytest.mark.parametrize("enough", NUMBERS, ids=list(NUMBERS))
def test_a_loop_ends_with_the_iteration_that_makes_it_enough(enough: str) -> None:
    ran = run(text(enough), SECONDS)
    [said] = ran.of("loop.enough")
    count = NUMBERS[enough]
    assert said.ts == count * 1_000_000
    assert stats(ran) == {"total": 5, "ok": count, "failed": 0, "skipped": 5 - count}


@pytest.mark.parametrize("rest", ["cancel", "finish", "swallow"])
def test_a_loop_goes_on_alike_after_a_crash_anywhere(rest: str) -> None:
    whole = run(text("2", rest), SECONDS)
    for length in whole.commits[:-1]:
        resumed = resume_prefix(whole, length, SECONDS)
        assert resumed.status == "completed"
        assert stats(resumed)["ok"] == stats(whole)["ok"], length


def test_failures_behind_enough_change_nothing_though_the_first_failure_stops_a_loop() -> None:
    script = (
        "{outcomes: [{index: 0, takes: 1, outcome: {result: 1}}, {step: start, takes: 2, outcome: {status: error}}]}"
    )
    ran = run(text("1", "finish", mode="fail_fast"), script)
    assert ran.status == "completed"
    assert stats(ran) == {"total": 5, "ok": 1, "failed": 4, "skipped": 0}


def test_the_first_failure_stops_a_loop_that_says_so_before_it_has_enough() -> None:
    script = "{outcomes: [{index: 0, takes: 1, outcome: {status: error}}, {takes: 2, outcome: {result: 1}}]}"
    ran = run(text("2", mode="fail_fast"), script)
    [failed] = ran.of("step.failed")
    assert failed.data["error"]["code"] == "scripted"  # type: ignore[index]


@pytest.mark.parametrize("verb", ["cancel", "pause"])
def test_what_is_left_behind_is_cancelled_and_waits_while_paused(verb: str) -> None:
    ran = run(text("1", "swallow"), SECONDS, at={2.5: verb, 100.0: "resume"})
    assert ran.status == ("cancelled" if verb == "cancel" else "completed")
    left = [event for event in ran.of("loop.iteration.done") if event.ts > 2_500_000]
    assert len(left) == (0 if verb == "cancel" else 3)


def test_an_unhandled_failure_waits_for_what_is_left_behind() -> None:
    more = "  - {step: y, tool: {kind: fail, code: mine}}"
    ran = run(text("1", "swallow", more).replace("step: z,", "step: y,"), SECONDS)
    assert ran.status == "failed" and ran.log[-1].ts == 5_000_000


def test_the_time_limit_of_a_step_is_no_failure_once_it_has_enough() -> None:
    limited = text("1", "finish").replace("desc: none", "spec: {policy: {lifecycle: {timeout_s: 3.5}}}")
    ran = run(limited, SECONDS)
    assert ran.status == "completed"
    assert stats(ran) == {"total": 5, "ok": 3, "failed": 2, "skipped": 0}
