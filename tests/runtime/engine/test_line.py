"""The result of an execution is that of the last run on the line of its entry (EXTENSIONS.md §2).

The property at the end holds random playbooks of forks and joins against a second definition: a walk over the whole
log, from the entry token to where its line ends.
"""

import random
from typing import Any

import pytest

from harness.running import Ran, compiled, run
from noetl_ir.events import Event
from noetl_ir.plan_format import read_plan, write_plan

FORK = "  - {step: start, tool: {kind: noop, result: start}, next: {spec: {mode: inclusive}, arcs: [%s]}}\n"


def fork(*targets: str) -> str:
    """A workflow that begins with a fork to these steps."""
    return "workflow:\n" + FORK % ", ".join(f"{{step: {target}}}" for target in targets)


def step(name: str, to: str = "", takes: bool = True, more: str = "") -> str:
    """A step whose task gives its name; with an arc to each of the names in `to`."""
    tool = (
        f"tool: {{name: {name}, kind: python, code: 'result = 1'}}"
        if takes
        else f"tool: {{kind: noop, result: {name}}}"
    )
    arcs = ", ".join(f"{{step: {target}}}" for target in to.split())
    following = f", next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}" if to else ""
    return f"  - {{step: {name}, {tool}{following}{more}}}\n"


def join(kind: str) -> str:
    """The part of a step that says how it joins."""
    return f", spec: {{policy: {{join: {kind}}}}}"


def times(**seconds: float) -> dict[str, Any]:
    """A script in which each task takes so long and gives its name."""
    return {
        "outcomes": [
            {"task": name, "takes": each, "outcome": {"status": "ok", "result": name}} for name, each in seconds.items()
        ]
    }


@pytest.mark.parametrize(("quick", "slow"), [(1, 4), (4, 1)], ids=["the first arc is quick", "the first arc is slow"])
def test_a_race_gives_what_the_join_began(quick: float, slow: float) -> None:
    text = fork("quick", "slow") + step("quick", "use") + step("slow", "use") + step("use", "", False, join("first"))
    ran = run(text, times(quick=quick, slow=slow))
    assert ran.status == "completed" and ran.execution.last_result == "use"


@pytest.mark.parametrize("last", ["a", "b"])
def test_branches_without_a_join_give_what_the_first_arc_leads_to(last: str) -> None:
    ran = run(fork("a", "b") + step("a") + step("b"), times(a=4 if last == "a" else 1, b=4 if last == "b" else 1))
    assert ran.execution.last_result == "a"


def test_the_first_arc_that_fires_counts_and_none_to_an_undeclared_end() -> None:
    arcs = '{step: end}, {step: a, when: "{{ false }}"}, {step: b}, {step: c}'
    text = "workflow:\n" + FORK % arcs + step("a") + step("b") + step("c")
    assert run(text, times(b=1, c=4)).execution.last_result == "b"


def test_where_all_arcs_lead_to_an_undeclared_end_the_line_ends_at_the_fork() -> None:
    text = fork("a", "b") + step("a", "end") + step("b", "c") + step("c")
    assert run(text, times(a=1, b=2, c=2)).execution.last_result == "a"


@pytest.mark.parametrize("kind", ["all", "2"])
def test_a_join_is_on_the_line_that_one_of_its_tokens_is_on(kind: str) -> None:
    text = fork("a", "b") + step("a", "j") + step("b", "j") + step("j", "k", False, join(kind)) + step("k")
    ran = run(text, times(a=1, b=4, k=1))
    assert ran.execution.last_result == "k"


def test_a_token_that_comes_too_late_goes_on_with_what_the_wave_began_also_where_that_has_joined_again() -> None:
    text = (
        fork("slow", "b", "c")
        + step("slow", "j")
        + step("b", "j")
        + step("j", "k", False, join("first"))
        + step("c", "k")
        + step("k", "done", False, join("all"))
        + step("done", "", False)
    )
    assert run(text, times(slow=9, b=1, c=2)).execution.last_result == "done"


def test_what_stood_before_the_race_on_the_winning_branch_is_not_the_result() -> None:
    """`b` won and ended well, but the join is not on its line before it has begun: its run is denied."""
    deny = ", spec: {policy: {join: first, admit: {rules: [{else: {then: {allow: false}}}]}}}"
    text = fork("slow", "b") + step("slow", "j") + step("b", "j") + step("j", "", False, deny)
    assert run(text, times(slow=9, b=1)).execution.last_result == "slow"


def test_a_failure_that_an_arc_takes_is_on_the_line_and_has_no_result() -> None:
    taken = ", next: {arcs: [{step: end, when: \"{{ event.status == 'error' }}\"}]}"
    text = fork("a", "b") + step("a", "", True, taken) + step("b")
    script = {
        "outcomes": [
            {"task": "a", "outcome": {"status": "error", "error": {"code": "x", "message": "no"}}},
            {"task": "b", "takes": 3},
        ]
    }
    ran = run(text, script)
    assert ran.status == "completed" and ran.execution.last_result == "start"


def test_an_entry_that_failed_and_was_taken_leaves_no_result() -> None:
    text = """
workflow:
  - step: start
    tool: {name: a, kind: http, url: "http://x"}
    next: {arcs: [{step: end, when: "{{ event.status == 'error' }}"}]}
"""
    ran = run(
        text, {"outcomes": [{"task": "a", "outcome": {"status": "error", "error": {"code": "x", "message": "no"}}}]}
    )
    assert ran.status == "completed" and ran.execution.last_result is None


def test_a_loop_is_one_run_of_its_line() -> None:
    loop = ', loop: {in: "{{ [1, 2] }}", iterator: i, spec: {mode: parallel}}'
    text = fork("a", "b") + step("a", "j", False, loop) + step("b", "j") + step("j", "", False, join("all"))
    assert run(text, times(b=3)).execution.last_result == "j"
    alone = fork("a", "b") + step("a", "", False, loop) + step("b")
    entries = run(alone, times(b=3)).execution.last_result
    assert entries.entries == ["a", "a"]  # type: ignore[attr-defined]


def test_a_cycle_goes_on_along_the_line() -> None:
    text = """
workflow:
  - step: start
    tool: {kind: noop, args: {n: "{{ ctx.n | default(0) }}"}, spec: {policy: {rules: [{else: {then:
      {do: continue, set_ctx: {n: "{{ ctx.n | default(0) + 1 }}"}}}}]}}}
    next:
      spec: {mode: inclusive}
      arcs: [{step: start, when: "{{ ctx.n < 3 }}"}, {step: side}]
  - {step: side, tool: {kind: noop, result: side}}
"""
    ran = run(text)
    assert ran.ran("start") == 3
    assert ran.execution.last_result == "side", "at the last fork its arc is the only one that fires"


def test_the_caller_of_a_child_gets_the_result_of_the_childs_line() -> None:
    child = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: c, path: t/c}\n"
    child += fork("a", "b") + step("a") + step("b", "c") + step("c")
    text = "workflow:\n  - {step: start, tool: {name: call, kind: playbook, path: t/c}}\n---\n" + child
    ran = run(text, times(a=1, b=2, c=9))
    assert ran.execution.last_result == "a"


def test_a_plan_of_the_first_format_gives_what_its_last_run_came_to() -> None:
    data = compiled(fork("a", "b") + step("a") + step("b"))
    old = write_plan(read_plan(data)._replace(edition=1))
    assert run(old, times(a=1, b=4)).execution.last_result == "b"


# Random playbooks against a walk over the log


def test_the_walk_over_the_log_says_the_same() -> None:
    rolled, late = 0, 0
    for seed in range(150):
        dice = random.Random(seed)
        names = [f"s{number}" for number in range(dice.randint(4, 9))]
        ran = run(_random(dice, names), times(**{name: dice.randint(0, 9) for name in names}))
        found = _walked(ran)
        assert (ran.execution.last_result, seed) == (found, seed)
        rolled += ran.status == "completed"
        late += bool(ran.of("token.swallowed"))
    assert rolled > 50 and late > 20, (rolled, late)


def _random(dice: random.Random, names: list[str]) -> str:
    """A graph without cycles: every step leads to some later ones, and joins somehow."""
    sources: dict[str, list[str]] = {name: [] for name in names}
    rows: dict[str, str] = {}
    for number, name in enumerate(["start", *names]):
        later = names[number:]
        targets = sorted(dice.sample(later, min(len(later), dice.randint(1, 3))), key=lambda _: dice.random())
        if not number:
            targets = [*dict.fromkeys([*targets, *names[:2]])]
        for target in targets:
            sources[target].append(name)
        targets += ["end"] if dice.random() < 0.1 else []
        rows[name] = " ".join(targets)
    reached = {"start"}
    text = fork(*rows["start"].split())
    for name in names:
        mine = [source for source in sources[name] if source in reached]
        if not mine:
            continue
        reached.add(name)
        kind = dice.choice(["any", "all", "first", "first", str(dice.randint(1, len(mine)))])
        text += step(name, rows[name], dice.random() < 0.8, join(kind))
    return text


def _walked(ran: Ran) -> Any:
    """The result by the definition: follow the entry token through its whole log, and then along what it came to."""
    key, at, result = "1", 0, None
    while (found := _next(ran, key, at)) is not None:
        at, event = found
        if event.event_type == "step.done":
            result = _result_of(ran, event)
        elif event.event_type == "token.joined":
            key = event.run
        elif event.event_type == "token.swallowed":
            waves = [number for number, row in enumerate(ran.log[:at]) if _is_wave(row, event.step)]
            at, key = waves[-1], ran.log[waves[-1]].run
        elif event.event_type == "next.selected":
            arcs: Any = event.data["arcs"]
            going = [row["key"] for row in arcs if not row.get("ends")]
            if not going:
                return result
            key = going[0]
    return result


def _next(ran: Ran, key: str, at: int) -> tuple[int, Event] | None:
    for number, event in enumerate(ran.log):
        tokens: Any = event.data.get("tokens", ())
        if number > at and (event.run == key or key in tokens) and event.event_type in _TOLD:
            return number, event
    return None


_TOLD = ("step.done", "token.joined", "token.swallowed", "next.selected")


def _is_wave(event: Event, step: int) -> bool:
    return event.event_type == "token.joined" and event.step == step


def _result_of(ran: Ran, event: Event) -> Any:
    done = [row for row in ran.of("task.done") if row.run == event.run]
    return done[-1].data.get("result")
