"""Names and guards of older dialects with real tools: what a run does, not only what it is read as."""

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Home

RETRIED = """
workflow:
  - step: start
    tool: {kind: shell, command: "echo called >> called.txt; exit %s"}
    retry: {max_attempts: 3, initial_delay: 0.01, retry_when: "{{ %s }}"}
    next: [{step: report}]
  - {step: report, tool: {kind: noop, result: "{{ start.exit_code }}"}}
"""
ROUTED = """
workload: {action: tear-down}
workflow:
  - step: start
    tool: {kind: shell, command: "echo up-2; echo 7 >&2"}
    next:
      - {when: "{{ workload.action }} == deploy", then: [{step: wrong}]}
      - {when: "{{ start.stdout }} != up-2 or {{ start.stderr }} == 8", then: [{step: wrong}]}
      - when: "{{ start.exit_code }} == 0 and {{ start.stderr }} == 7 and {{ workload.action }} == tear-down"
        then: [{step: right}]
      - {step: wrong}
  - {step: right, tool: {kind: noop, result: right}}
  - {step: wrong, tool: {kind: noop, result: wrong}}
"""
CODED = """
workflow:
  - step: start
    tool: {kind: shell, command: "exit %s"}
    next: {arcs: [{step: clean, cond: exit_code == 100}, {step: fine, cond: exit_code == 0}]}
  - {step: clean, tool: {kind: noop, result: cleaned}}
  - {step: fine, tool: {kind: noop, result: fine}}
"""


@pytest.mark.parametrize("asked", ["error != None", "error is not none", "None != error", "error is defined"])
def test_a_success_is_not_tried_again_and_a_failure_is(home: "Home", asked: str) -> None:
    fine = home.json("run", home.plan(RETRIED % (0, asked)))
    assert isinstance(fine, dict) and (fine["status"], fine["result"]) == ("completed", 0)
    assert (home.folder / "called.txt").read_text() == "called\n"
    failed = home.json("run", home.plan(RETRIED % (1, asked)))
    assert isinstance(failed, dict) and failed["status"] == "failed"
    assert (home.folder / "called.txt").read_text() == "called\n" * 4


def test_guards_that_are_texts_compare_what_programs_print(home: "Home") -> None:
    document = home.json("run", home.plan(ROUTED))
    assert isinstance(document, dict) and document["result"] == "right"


@pytest.mark.parametrize(("code", "result"), [(0, "fine"), (100, "cleaned")])
def test_the_exit_code_of_a_program_chooses_the_way(home: "Home", code: int, result: str) -> None:
    document = home.json("run", home.plan(CODED % code))
    assert isinstance(document, dict) and (document["status"], document["result"]) == ("completed", result)


VISITED = """
workflow:
  - step: start
    tool: [{name: count, kind: shell, command: "echo x >> n.txt; wc -l < n.txt"}]
    case_mode: %s
    case:
      - when: "{{ count.stdout | int >= 2 }}"
        then: {set: {seen: "{{ count.stdout | int }}"}, next: [{step: end}]}
      - when: "{{ count.stdout | int < 2 }}"
        then: {set: {seen: "{{ count.stdout | int }}"}, next: [{step: again}]}
  - {step: again, tool: {kind: noop}, next: [{step: start}]}
  - {step: end, tool: {kind: noop, result: "{{ vars.seen }}"}}
"""


@pytest.mark.parametrize("mode", ["exclusive", "inclusive"])
def test_a_rule_that_names_its_task_asks_of_this_run_and_not_of_the_one_before(home: "Home", mode: str) -> None:
    document = home.json("run", home.plan(VISITED % mode))
    assert isinstance(document, dict) and (document["status"], document["result"]) == ("completed", 2)
    assert (home.folder / "n.txt").read_text() == "x\n" * 2


REPEATED = """
workflow:
  - step: start
    tool: [{name: count, kind: shell, command: "echo x >> n.txt; wc -l < n.txt"}]
    %s
    next: [{step: end}]
  - {step: end, tool: {kind: noop, result: "{{ start.stdout | int }}"}}
"""


@pytest.mark.parametrize("name", ["count", "start"])
@pytest.mark.parametrize(
    "repeats",
    [
        'poll: {until: "{{ %s.stdout | int >= 2 }}", interval: 0.01, max_attempts: 5}',
        'retry: {max_attempts: 5, initial_delay: 0.01, stop_when: "{{ %s.stdout | int >= 2 }}"}',
        'retry: {max_attempts: 5, initial_delay: 0.01, retry_when: "{{ %s.stdout | int < 2 }}"}',
        'retry: {on_success: {while: "{{ %s.stdout | int < 2 }}", max_attempts: 5, collect: {strategy: replace}}}',
    ],
)
def test_what_repeats_a_task_asks_of_what_it_has_just_given(home: "Home", name: str, repeats: str) -> None:
    document = home.json("run", home.plan(REPEATED % (repeats % name)))
    assert isinstance(document, dict) and (document["status"], document["result"]) == ("completed", 2)
    assert (home.folder / "n.txt").read_text() == "x\n" * 2


def test_a_route_gives_what_the_named_task_has_just_given(home: "Home") -> None:
    steps = REPEATED.replace("next: [{step: end}]", "").replace("start.stdout", "args.n")
    case = """case:
      - when: "{{ count.stdout | int == 1 }}"
        then: {next: [{step: end, args: {n: "{{ count.stdout }}"}}]}"""
    document = home.json("run", home.plan(steps % case))
    assert isinstance(document, dict) and (document["status"], document["result"]) == ("completed", 1)


WORDS = ["env", "job", "payload", "response", "data", "this", "vars", "result", "output", "input", "token", "secret"]
"""Words that older dialects know without a declaration."""


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("kind", ["task", "iterator", "step"])
def test_a_name_of_the_playbooks_own_comes_before_an_old_word(word: str, kind: str, home: "Home") -> None:
    value, read = (
        "{k: a, uuid: b, data: c, API_KEY: d}",
        f"{{{{ {word}.k ~ {word}.uuid ~ {word}.data ~ {word}.API_KEY }}}}",
    )
    body = {
        "task": f"- {{step: start, tool: [{{name: {word}, kind: noop, result: {value}}}, "
        f'{{name: reads, kind: noop, result: "{read}"}}]}}',
        "iterator": f"- step: start\n  loop: {{in: [{value}], iterator: {word}}}\n"
        f'  tool: {{kind: noop, result: "{read}"}}\n  next: {{arcs: [{{step: last}}]}}\n'
        '- {step: last, tool: {kind: noop, result: "{{ start[0] }}"}}',
        "step": f"- {{step: start, next: {{arcs: [{{step: {word}}}]}}}}\n"
        f"- {{step: {word}, tool: {{kind: noop, result: {value}}}, next: {{arcs: [{{step: last}}]}}}}\n"
        f'- {{step: last, tool: {{kind: noop, result: "{read}"}}}}',
    }[kind]
    home.env |= {"k": "wrong", "uuid": "wrong", "data": "wrong", "API_KEY": "wrong"}
    done = home.run("run", home.plan(f"workflow:\n{body}\n"), "--env", "*", "--json")
    assert json.loads(done.stdout)["result"] == "abcd", done.stderr
