"""Python code in whole runs: what it finds bound, from a playbook's text to its subprocess (LANGUAGE §7)."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Home

HANDED = """
workload: {rate: 3, day: monday}
workflow:
  - step: start
    tool: {kind: python, code: "result = {'v': 42}"}
    next:
      spec: {mode: inclusive}
      arcs:
        - {step: flat, args: {who: Ada, how: arc}}
        - {step: called, args: {who: Ada, how: arc}}
        - {step: whole, args: {who: Ada, data: mine}}
        - {step: looped, args: {who: Ada}}
  - step: flat
    tool: {kind: python, args: {how: task}, code: "result = [who, how, args, input_data, data, context['start']]"}
    next: {arcs: [{step: all}]}
  - step: called
    tool:
      - {name: one, kind: noop, result: {n: 1}}
      - name: two
        kind: python
        args: {how: task}
        code: |
          async def main(who, how, start, rate, one, day="sunday", other=None, **rest):
              return [who, how, start, rate, one, day, other, rest]
    next: {arcs: [{step: all}]}
  - step: whole
    tool:
      kind: python
      code: "result = [sorted(context), context['workload'], context['job']['uuid'] == execution_id, data]"
    next: {arcs: [{step: all}]}
  - step: looped
    loop: {in: "{{ [10, 20] }}", iterator: item, spec: {mode: parallel}}
    tool: {kind: python, code: "def main(item, who, loop_index): return [item, who, loop_index, context.get('item')]"}
    next: {arcs: [{step: all}]}
  - step: all
    spec: {policy: {join: all}}
    tool:
      kind: python
      code: |
        def main(looped, **rest):
            return [context[name] for name in ("flat", "called", "whole")] + [looped, rest]
"""


def test_code_finds_args_and_what_can_be_named(home: "Home") -> None:
    done = home.json("run", home.plan(HANDED))
    assert isinstance(done, dict)
    task: object = {"who": "Ada", "how": "task"}
    assert done["result"] == [
        ["Ada", "task", task, task, task, {"v": 42}],
        ["Ada", "task", {"v": 42}, 3, {"n": 1}, "monday", None, {}],
        [
            ["args", "ctx", "data", "day", "execution_id", "iter", "job", "rate", "start", "who", "workload"],
            {"rate": 3, "day": "monday"},
            True,
            "mine",
        ],
        [[10, "Ada", 0, 10], [20, "Ada", 1, 20]],
        {},
    ]


ITERATORS = """
workflow:
  - step: start
    loop: {in: "{{ [{'n': 1}, {'n': 2}] }}", iterator: data, loop: {in: "{{ [3] }}", iterator: id}}
    tool:
      - name: all
        kind: python
        code: |
          data["n"] += 1
          result = [data, type(id).__name__, input_data, context["id"]]
      - {name: called, kind: python, code: "def main(data, id, input): return [data, id, input]"}
      - {name: own, kind: python, args: {data: mine}, code: "result = data"}
      - {name: both, kind: noop, result: ["{{ all }}", "{{ called }}", "{{ own }}"]}
"""


def test_the_items_of_loops_have_their_iterators_names(home: "Home") -> None:
    done = home.json("run", home.plan(ITERATORS))
    builtin = "builtin_function_or_method"  # Python's own names stay, where no arg is called so
    assert isinstance(done, dict)
    assert done["result"] == [[[[{"n": n + 1}, builtin, {}, 3], [{"n": n}, 3, {}], "mine"]] for n in (1, 2)]


LARGE = """
workflow:
  - step: start
    tool: {kind: python, code: "result = {'text': 'x' * 2_000_000}"}
    next: {arcs: [{step: read}]}
  - step: read
    tool: {kind: python, code: "result = len(context.get('start', {})['text'])"}
"""


def test_a_stored_result_is_fetched_for_code_that_reads_it(home: "Home") -> None:
    done = home.json("run", home.plan(LARGE))
    assert isinstance(done, dict) and done["result"] == 2_000_000


SECRET = """
keychain: [{name: vault, kind: env, map: {key: TRIED_KEY}}]
workflow:
  - step: start
    tool: {kind: python, auth: vault, code: "result = {'url': 'https://x/' + auth['key']}"}
    next: {arcs: [{step: read, args: {url: "{{ start.url }}"}}]}
  - step: read
    tool:
      kind: python
      code: |
        def main(url, start):
            return [len(url), len(start['url']), len(context['start']['url']), len(input_data['url'])]
"""


def test_a_secret_reaches_code_by_args_and_by_context(home: "Home") -> None:
    home.env["TRIED_KEY"] = "k" * 30
    done = home.json("run", home.plan(SECRET))
    assert isinstance(done, dict) and done["result"] == [40, 40, 40, 40], done


FAULTY = """
workflow:
  - step: start
    tool:
      - name: odd
        kind: python
        code: "{code}"
        spec: {{policy: {{rules: [{{else: {{then: {{do: continue}}}}}}]}}}}
      - {{name: next, kind: noop, result: caught}}
"""


@pytest.mark.parametrize(
    ("code", "ended", "named"),
    [
        ("result = 1 + 2j", "failed", "result.type"),
        ("result = {1: 2, '1': 3}", "failed", "result.type"),
        ("raise ValueError('result.type')", "completed", "caught"),
        ("def main(who): return who", "completed", "caught"),
    ],
)
def test_rules_are_asked_about_what_code_raises_and_not_about_what_no_result_holds(
    home: "Home", code: str, ended: str, named: str
) -> None:
    done = home.json("run", home.plan(FAULTY.format(code=code)))
    assert isinstance(done, dict)
    assert (done["status"], done["result"] if ended == "completed" else done["error"]["code"]) == (ended, named)


SCRIPTS = """
workflow:
  - step: start
    tool:
      - {name: inline, kind: python, script: {uri: inline, source: {type: inline, code: "result = 3"}}}
      - {name: beside, kind: python, args: {x: 1}, script: {uri: jobs/a.py, source: {type: file}}}
      - {name: above, kind: script, args: {x: 1}, script: {uri: b.sh, source: {type: file}}}
      - {name: all, kind: noop, result: ["{{ inline }}", "{{ beside }}", "{{ above.stdout }}"]}
    next: {arcs: [{step: child}]}
  - step: child
    tool:
      - {name: call, kind: playbook, path: tests/child}
      - {name: both, kind: noop, result: ["{{ start }}", "{{ call }}"]}
"""
CHILD = """
workflow:
  - step: start
    tool: {kind: python, script: jobs/a.py, args: {x: 2}}
"""


def test_scripts_are_looked_for_beside_the_playbook_and_above(home: "Home") -> None:
    deep = home.folder / "deep" / "er"
    (deep / "jobs").mkdir(parents=True)
    (deep / "jobs" / "a.py").write_text("def main(x):\n    return ['a', x]\n")
    (home.folder / "deep" / "b.sh").write_text('echo "$NOETL_ARGS"')
    head = "apiVersion: noetl.io/v2\nkind: Playbook\n"
    (deep / "main.yaml").write_text(head + "metadata: {name: main, path: tests/main}\n" + SCRIPTS)
    (deep / "child.yaml").write_text(head + "metadata: {name: child, path: tests/child}\n" + CHILD)
    done = home.json("run", "deep/er/main.yaml", "--path", "deep/er")
    assert isinstance(done, dict) and done["result"] == [[3, ["a", 1], '{"x": 1}\n'], ["a", 2]], done
    assert home.run("replay", str(done["execution_id"])).returncode == 0
    root = home.folder / "root"
    root.mkdir()
    home.folder = root
    done = home.json("run", "../deep/er/main.yaml", "--path", "../deep/er")
    assert isinstance(done, dict) and done["error"]["code"] == "file.refused"  # `b.sh` is above
    (deep / "b.sh").write_text("echo beside")
    done = home.json("run", "../deep/er/main.yaml", "--path", "../deep/er")
    assert isinstance(done, dict) and done["result"] == [[3, ["a", 1], "beside\n"], ["a", 2]], done


def test_a_script_that_is_nowhere_is_told_with_the_places(home: "Home") -> None:
    (home.folder / "deep").mkdir()
    text = "workflow:\n  - {step: start, tool: {kind: python, script: gone.py}}\n"
    head = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: main, path: tests/main}\n"
    (home.folder / "deep" / "main.yaml").write_text(head + text)
    done = home.json("run", "deep/main.yaml")
    assert isinstance(done, dict) and done["error"]["code"] == "file.refused"
    assert f"{home.folder}/deep'" in done["error"]["message"] and f"'{home.folder}'" in done["error"]["message"]


OLD = """apiVersion: noetl.io/v1
kind: Playbook
metadata: {name: old, path: tests/old}
workload: {cities: [lisbon, oslo], unit: c}
workflow:
  - step: start
    tool: iterator
    collection: "{{ workload.cities }}"
    element: city
    task: {tool: python, code: "def main(input_data): return input_data.get('city')"}
    next: [{step: rest, data: {first: "{{ start[0] }}", dry: false}}]
  - step: rest
    tool: python
    code: "def main(input_data): return [input_data.get('first', 0), input_data.get('dry', True)]"
    next: [{step: words, args: {first: "{{ rest[0] }}"}}]
  - step: words
    type: iterator
    collection: "{{ workload.cities }}"
    element: city
    task: {type: python, with: {unit: "{{ workload.unit }}"}, code: "def main(**kwargs): return kwargs"}
    next: [{step: inside}]
  - step: inside
    tool:
      kind: python
      iterator: {items: "{{ workload.cities }}", item: city}
      code: "result = [city, context.get('rest'), input_data]"
    next: [{step: all}]
  - step: all
    tool: {kind: python, code: "def main(start, rest, words, inside): return [start, rest, words, inside]"}
"""


def test_older_playbooks_find_their_input_as_they_meant(home: "Home") -> None:
    (home.folder / "old.yaml").write_text(OLD)
    done = home.json("run", "old.yaml")
    assert isinstance(done, dict)
    rest = ["lisbon", False]
    assert done["result"] == [
        ["lisbon", "oslo"],
        rest,
        [{"first": "lisbon", "unit": "c", "city": city} for city in ("lisbon", "oslo")],
        [["lisbon", rest, {"city": "lisbon"}], ["oslo", rest, {"city": "oslo"}]],
    ], done


LIFTED = """apiVersion: noetl.io/v1
kind: Playbook
metadata: {name: lifted, path: tests/lifted}
workflow:
- {step: start, loop: {in: [1, 2], iterator: n}, next: a}
- {step: a, next: [{step: b, args: {k: "{{ n + 1 }}"}}]}
- {step: b, tool: python, args: {own: 5}, code: "def main(input_data): return [input_data, k]", next: c}
- {step: c, tool: python, code: "def main(input_data, b, n): return [input_data, b, n]", next: done}
- {step: done, end_loop: start, tool: python, code: "def main(start): return start"}
"""


def test_args_reach_code_in_a_loop_over_steps(home: "Home") -> None:
    (home.folder / "lifted.yaml").write_text(LIFTED)
    done = home.json("run", "lifted.yaml")
    assert isinstance(done, dict)
    assert done["result"] == [[{}, [{"k": n + 1, "own": 5}, n + 1], n] for n in (1, 2)]
