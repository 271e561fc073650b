"""Results of steps, told to others: to a caller, to phases, to compensations, to the next step of nested loops.

A result that lies outside of the log is the value wherever somebody reads it, and never what names it there. Each
playbook is run with its results inside and outside: both come to the same, which is written here.
"""

import json
import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Home

WAYS = """
  - step: good
    tool: {kind: python, args: {told: "{{ args.told }}"}, code: "print('good', told)"}
  - step: bad
    tool: {kind: python, code: "print('bad')"}
"""

COMPENSATION = """
workflow:
  - step: start
    tool: {kind: python, code: "result = {'id': 7, 'rows': [1, 2]}", spec: {inline_max_bytes: SIZE}}
    spec: {policy: {compensate: undo}}
    next: {arcs: [{step: broken}]}
  - step: broken
    tool: {kind: python, code: "raise ValueError('x')"}
  - step: undo
    tool: {kind: python, args: {id: "{{ args.result.id }}", r: "{{ args.result }}"}, code: "print('undo', id, r)"}
    next:
      arcs:
        - step: good
          when: "{{ args.result.rows | length == 2 and args.status == 'done' }}"
          args: {told: "{{ args.result.id }}"}
        - {step: bad}
"""

BOUND = """
executor: {spec: {finally: tell}}
workflow:
  - step: start
    tool: {kind: python, code: "result = {'id': 7}", spec: {inline_max_bytes: SIZE}}
  - step: tell
    tool: {kind: python, code: "print('told', status, result)"}
    next: {arcs: [{step: good, when: "{{ args.result.id == 7 }}", args: {told: "{{ args.result }}"}}, {step: bad}]}
"""

LOOP_OF_MAIN = """
executor: {spec: {finally: tell}}
workflow:
  - step: start
    loop: {in: [1, 2], iterator: one}
    tool: {kind: python, args: {n: "{{ iter.one }}"}, code: "result = {'n': n, 'x': 'y' * LONG}"}
  - step: tell
    tool: {kind: python, args: {r: "{{ args.result }}"}, code: "print('told', [one['n'] for one in r])"}
    next: {arcs: [{step: good, args: {told: 0}}]}
"""

NESTED = """
workflow:
  - step: start
    loop: {in: [1, 2], iterator: a, loop: {in: [1, 2], iterator: b}}
    tool:
      kind: python
      args: {a: "{{ iter.parent.a }}", b: "{{ iter.b }}"}
      code: "result = {'n': a * 10 + b, 'x': 'y' * LONG}"
    next: {arcs: [{step: show}]}
  - step: show
    tool:
      kind: python
      args: {all: "{{ start }}", one: "{{ start[1][0].n }}"}
      code: "print('told', [[one['n'] for one in some] for some in all], one)"
    next: {arcs: [{step: good, args: {told: 0}}]}
"""

CASES = {
    "compensation": (COMPENSATION, ["undo 7 {'id': 7, 'rows': [1, 2]}", "good 7"], "failed"),
    "finally": (BOUND, ["told completed {'id': 7}", "good {'id': 7}"], "completed"),
    "finally-loop": (LOOP_OF_MAIN, ["told [1, 2]", "good 0"], "completed"),
    "nested-loops": (NESTED, ["told [[11, 12], [21, 22]] 21", "good 0"], "completed"),
}


@pytest.mark.parametrize(("size", "length"), [(1_000_000, 1), (0, 2_000_000)], ids=["inside", "outside"])
@pytest.mark.parametrize("case", CASES)
def test_whoever_is_told_of_a_result_has_its_value(home: "Home", case: str, size: int, length: int) -> None:
    body, printed, status = CASES[case]
    text = body.replace("SIZE", str(size)).replace("LONG", str(length)) + WAYS
    done = home.run("run", home.plan(text))
    lines = [line.partition(" | ")[2] for line in done.stderr.splitlines() if " | " in line]
    assert [line for line in lines if not line.startswith("  ")][: len(printed)] == printed, done.stdout + done.stderr
    assert home.json("status", "last")["status"] == status  # type: ignore[index]
    assert home.run("replay", "last").stdout.startswith("a legal run")


CHILD = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: child, path: t/child}
workflow:
"""
SINGLE = """  - step: start
    tool: {kind: python, code: "result = {'n': 5, 'x': 'y' * LONG}"}
"""
MANY = """  - step: start
    loop: {in: [1, 2], iterator: one}
    tool: {kind: python, code: "result = {'n': 5, 'x': 'y' * LONG}"}
"""
INNER = """  - step: start
    loop: {in: [1, 2], iterator: one, loop: {in: [3], iterator: other}}
    tool: {kind: python, code: "result = {'n': 5, 'x': 'y' * LONG}"}
"""
CALLER = """
workflow:
  - step: start
    tool:
      name: call
      kind: playbook
      path: t/child
      spec:
        policy:
          rules:
            - when: "{{ outcome.result PATH .n == 5 }}"
              then: {do: continue, set_ctx: {n: "{{ outcome.result PATH .n }}"}}
            - {else: {then: {do: continue, set_ctx: {n: -1}}}}
    next: {arcs: [{step: show, when: "{{ start PATH .n == 5 }}"}, {step: bad}]}
  - step: show
    tool:
      kind: python
      args: {v: "{{ start PATH }}", n: "{{ ctx.n }}"}
      code: "print('told', sorted(v), n)"
  - step: bad
    tool: {kind: noop}
"""


@pytest.mark.parametrize("length", [1, 2_000_000])
@pytest.mark.parametrize(("child", "path"), [(SINGLE, ""), (MANY, "[1]"), (INNER, "[1][0]")])
def test_a_caller_and_its_rules_have_what_its_child_came_to(home: "Home", child: str, path: str, length: int) -> None:
    folder = home.folder / "kids"
    folder.mkdir()
    (folder / "child.yaml").write_text(CHILD + child.replace("LONG", str(length)))
    body = CALLER.replace(" PATH ", path).replace(" PATH", path)
    done = home.run("run", home.plan(body), "--path", "kids")
    assert "told ['n', 'x'] 5" in done.stderr, done.stdout + done.stderr
    assert home.run("replay", "last").stdout.startswith("a legal run")


POSING = """
executor: {spec: {finally: tell}}
workflow:
  - step: start
    tool:
      kind: python
      code: |
        result = [
          {'__ref__': True, 'projected': 1, 'key': 'e1/' + 'a' * 64},
          {'__ref__': True, 'entries': [1], 'levels': 1},
        ]
  - step: tell
    tool: {kind: python, args: {r: "{{ args.result }}"}, code: "print('told', [sorted(one) for one in r])"}
    next: {arcs: [{step: good, args: {told: "{{ args.result[0].projected }}"}}]}
"""


def test_data_that_looks_like_a_reference_stands_for_itself(home: "Home") -> None:
    done = home.run("run", home.plan(POSING + WAYS))
    lines = [line.partition(" | ")[2] for line in done.stderr.splitlines() if " | " in line]
    told = "told [['__ref__', 'key', 'projected'], ['__ref__', 'entries', 'levels']]"
    assert lines[:2] == [told, "good 1"], done.stdout + done.stderr


ALONE = """
executor: {spec: {finally: tell}}
workflow:
  - step: start
    tool: {kind: python, code: "result = {'__ref__': True, 'entries': [{'__ref__': True, 'key': 'k'}], 'levels': 1}"}
  - step: tell
    tool: {kind: python, args: {r: "{{ args.result }}"}, code: "print('told', sorted(r))"}
"""


def test_a_result_that_looks_like_the_reference_to_a_loop_stands_for_itself(home: "Home") -> None:
    done = home.run("run", home.plan(ALONE))
    assert "told ['__ref__', 'entries', 'levels']" in done.stderr, done.stdout + done.stderr


LISTED = """
workflow:
  - step: start
    tool: {kind: python, code: "result = [{'__ref__': True, 'projected': 1, 'key': 'k', 'size': 5}]"}
"""
LOOPED = """
workflow:
  - step: start
    loop: {in: [1, 2], iterator: one}
    tool: {kind: python, code: "result = 'y' * 2000000"}
"""


def test_the_end_of_a_run_shows_its_result_or_how_much_lies_elsewhere(home: "Home") -> None:
    """Data stays whole, whatever it looks like; of entries outside of the log nobody is shown checksums."""
    done = home.run("run", home.plan(LISTED))
    assert 'result: [{"__ref__": true, "projected": 1, "key": "k", "size": 5}]' in done.stdout
    done = home.run("run", home.plan(LOOPED))
    # Two texts of 2,000,000 characters, each behind the five bytes that MessagePack says its length with.
    assert "result: 4000010 bytes, stored outside of the log (noetl result " in done.stdout, done.stdout


NAMED = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: child, path: t/child}
executor: {spec: {result: "{{ workload.x }}", finally: tell}}
workload: {x: null}
workflow:
  - step: start
    tool: {kind: noop}
  - step: tell
    tool: {kind: python, args: {r: "{{ args.result }}"}, code: "print('told', sorted(r))"}
    next: {arcs: [{step: good, when: "{{ args.result.store == 'files' }}", args: {told: 0}}, {step: bad}]}
"""
ASKING = """
workload: {x: null}
workflow:
  - step: start
    tool: {kind: playbook, path: t/child, args: {x: "{{ workload.x }}"}}
    next: {arcs: [{step: show, when: "{{ start.store == 'files' }}"}]}
  - step: show
    tool: {kind: python, args: {r: "{{ start }}"}, code: "print('seen', sorted(r)); result = 'end'"}
"""


def test_a_declared_result_made_of_what_somebody_brought_is_followed_nowhere(home: "Home") -> None:
    """Inputs that name a value of another execution: its caller, `finally` and whoever asks for it have the inputs."""
    home.run("run", home.plan(SINGLE.replace("LONG", "2000000").join(["workflow:\n", ""]), "other.ir"))
    lines = home.run("events", "last", "--json").stdout.splitlines()
    found = next(re.findall(r'"key": *"([^"]+)"', line) for line in lines if '"__ref__"' in line)[0]
    brought = {"__ref__": True, "store": "files", "key": found, "range": None, "size": 9, "checksum": found[-64:]}
    folder = home.folder / "kids"
    folder.mkdir()
    (folder / "child.yaml").write_text(NAMED + WAYS.removeprefix("\n"))
    done = home.run("run", home.plan(ASKING), "--path", "kids", "--payload", json.dumps({"x": brought}))
    keys = str(sorted(brought))
    assert f"seen {keys}" in done.stderr and f"told {keys}" in done.stderr, done.stdout + done.stderr
    alone = home.run("run", "kids/child.yaml", "--payload", json.dumps({"x": brought}))
    assert "good 0" in alone.stderr and '"store": "files"' in alone.stdout, alone.stdout + alone.stderr
    assert json.loads(home.run("result", "last").stdout) == brought
    assert home.run("replay", "last").stdout.startswith("a legal run")


AGAIN = """
executor: {spec: {finally: tell}}
workload: {x: {__ref__: true, entries: [1, 2], levels: 1, projected: 5}}
workflow:
  - step: start
    tool: {kind: python, code: "result = {'id': 7}", spec: {inline_max_bytes: 0}}
  - step: tell
    tool: {kind: python, args: {r: "{{ args.result }}"}, code: "print('told', sorted(r)); result = 1"}
    next:
      arcs:
        - {step: tell, when: "{{ args.result.id == 7 }}", args: {result: "{{ workload.x }}"}}
        - {step: good, when: "{{ args.result.projected == 5 }}", args: {told: 0}}
        - {step: bad}
"""


def test_a_step_that_is_told_of_results_is_told_data_by_its_arcs(home: "Home") -> None:
    done = home.run("run", home.plan(AGAIN + WAYS))
    lines = [line.partition(" | ")[2] for line in done.stderr.splitlines() if " | " in line]
    told = "told ['__ref__', 'entries', 'levels', 'projected']"
    assert lines == ["told ['id']", told, "good 0"], done.stdout + done.stderr
    assert home.run("replay", "last").stdout.startswith("a legal run")
