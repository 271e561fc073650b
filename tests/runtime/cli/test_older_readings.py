"""Values as authors of older playbooks read them, with real tools: as it is written and as it is migrated.

What is right is counted by hand; what the words mean says REAL.md (values, python).
"""

from typing import TYPE_CHECKING

import pytest

from older_runs import results_of

if TYPE_CHECKING:
    from conftest import Home

CASES = {
    "what a step without a tool saves into no store is its result, and nothing beside a tool": (
        """
workflow:
  - step: start
    tool: {kind: python, code: "result = {'n': 1}"}
    save: {data: {n: 2}}
    next: [{step: told}]
  - step: told
    save: {data: {n: "{{ start.n }}"}}
    next: [{step: logged}]
  - step: logged
    sink: {tool: event_log, args: {n: "{{ told.n + 1 }}"}}
    next: [{step: fin, args: {told: "{{ told }}", logged: "{{ logged }}", first: "{{ start.n }}"}}]
""",
        {"told": {"n": 1}, "logged": {"n": 2}, "first": 1},
    ),
    "what is set when a looped step is entered is set once, before the first item": (
        """
workflow:
  - step: start
    loop: {in: "{{ [1, 2, 3] }}", iterator: x, mode: sequential}
    tool: {kind: python, args: {x: "{{ x }}"}, code: "result = {'n': x}"}
    case:
      - when: "{{ event.name == 'step.enter' }}"
        then: {set: {ctx: {seen: []}}}
      - when: "{{ event.name == 'step.exit' and result.n > 0 }}"
        then: {collect: {from: result, into: seen, mode: append}}
    next: [{step: fin, args: {count: "{{ ctx.seen | length }}"}}]
""",
        {"count": 3},
    ),
    "what is set when a loop over nothing is entered is set, with the args of its token": (
        """
workflow:
  - {step: start, tool: {kind: noop}, next: [{step: each, args: {first: 7}}]}
  - step: each
    loop: {in: "{{ [] }}", iterator: x, mode: parallel}
    tool: {kind: python, args: {x: "{{ x }}"}, code: "result = {'n': x}"}
    case:
      - when: "{{ event.name == 'step.enter' }}"
        then: {set: {ctx: {seen: ["{{ args.first }}"]}}}
    next: [{step: fin, args: {seen: "{{ ctx.seen }}"}}]
""",
        {"seen": [7]},
    ),
    "`data` beside a statement is what the statement reads, of an entry of the workbook too": (
        """
workbook:
  - {name: counted, type: sqlite, data: {twice: true}, command: "SELECT {% if twice %}2{% else %}1{% endif %} AS n"}
workflow:
  - {step: start, type: sqlite, data: {who: Ada}, command: "SELECT '{{ who }}' AS who", next: [{step: count}]}
  - step: count
    type: workbook
    task: counted
    next: [{step: fin, args: {who: "{{ start.rows }}", n: "{{ count.rows }}"}}]
""",
        {"who": [{"who": "Ada"}], "n": [{"n": 2}]},
    ),
    "block templates read the task's own args, which win over the token's, and those of a call": (
        """
workbook:
  - {name: counted, kind: sqlite, args: {from: 1}, command: "SELECT {% if big and args.from %}2{% endif %} AS n"}
workflow:
  - {step: start, tool: {kind: noop}, next: {arcs: [{step: own, args: {kept: 5, won: 6}}]}}
  - step: own
    tool:
      kind: sqlite
      args: {won: 7, deep: {k: [1, 2]}, text: "a{{ 1 + 1 }}"}
      command: >-
        SELECT {% for k in deep.k %}{{ k }} + {% endfor %}0 AS m,
        {% if args.won %}{{ args.won }}{{ args.kept }}{% endif %} AS n,
        '{% if text %}{{ text }}{% endif %}' AS t
    next: {arcs: [{step: count}]}
  - step: count
    tool: {kind: workbook, task: counted, args: {big: true}}
    next: {arcs: [{step: fin, args: {own: "{{ own.rows }}", n: "{{ count.rows }}"}}]}
""",
        {"own": [{"m": 3, "n": 75, "t": "a2"}], "n": [{"n": 2}]},
    ),
    "braces in code are values, of args too, and a `return` of `result` is what it returns": (
        """
workload: {size: 7, names: [a, b]}
workflow:
  - {step: start, tool: {kind: noop}, next: [{step: count, args: {brought: 5}}]}
  - step: count
    tool:
      kind: python
      code: |
        # {{ nothing }}
        brought = {{ brought }}
        result = {{ workload.size }} * brought
        return {"n": result, "names": {{ workload.names | tojson }}, "braces": f"{{x}}"}
    next: [{step: fin, args: {n: "{{ count.n }}", names: "{{ count.names }}", braces: "{{ count.braces }}"}}]
""",
        {"n": 35, "names": ["a", "b"], "braces": "{x}"},
    ),
    "results and counts of a loop, by their keys": (
        """
workflow:
  - step: start
    loop: {in: "{{ [1, 2, 3] }}", iterator: n, mode: sequential}
    tool: {kind: python, args: {n: "{{ n }}"}, code: "result = n * 2"}
    next: [{step: read, args: {brought: "{{ start }}"}}]
  - step: read
    tool:
      kind: python
      args: {done: "{{ start }}", plain: "{{ start }}"}
      code: |
        whole = input_data.get("done", {})
        result = [sum(whole.get("results", [])), done["stats"]["success"], len(plain), brought["stats"]["total"]]
    next: [{step: fin, args: {all: "{{ read }}"}}]
""",
        {"all": [12, 3, 3, 3]},
    ),
    "`outcome.response` is the result": (
        """
workflow:
  - step: start
    tool:
      kind: python
      code: "result = {'rows': [{'id': 4}]}"
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {id: "{{ outcome.response.rows[0].id }}"}}}}]}}
    next: {arcs: [{step: fin, args: {id: "{{ ctx.id }}"}}]}
""",
        {"id": 4},
    ),
    "JSON that code takes for the value is it, and stays text where code reads it": (
        """
workload: {user: {name: Ada}}
workflow:
  - {step: start, tool: {kind: noop}, next: [{step: read, args: {b: "{{ workload.user | tojson }}"}}]}
  - step: read
    tool:
      kind: python
      args: {a: "{{ workload.user | tojson }}", c: "{{ workload.user | tojson }}", d: "{{ workload.user | tojson }}"}
      code: |
        import json
        if isinstance(d, str):
            d = json.loads(d)
        result = [a["name"], isinstance(b, dict), json.loads(c)["name"], d.get("name")]
    next: [{step: fin, args: {all: "{{ read }}"}}]
""",
        {"all": ["Ada", True, "Ada", "Ada"]},
    ),
    "a loop in a tool is the step's, and a row of a statement is its number": (
        """
workflow:
  - step: start
    tool: {kind: sqlite, database: s.db, query: "SELECT {{ n }} AS n", loop: {in: "{{ [1, 2] }}", iterator: n}}
    next: [{step: look}]
  - step: look
    tool: {kind: sqlite, database: s.db, command: "SELECT 1 AS n; SELECT 2 AS n"}
    next:
      - step: fin
        args: {rows: "{{ start | length }}", n: "{{ look.command_1[0].n }}", first: "{{ look.data.command_0[0].n }}"}
""",
        {"rows": 2, "n": 2, "first": 1},
    ),
    "tasks are read under their step, a policy sets what its step gives, `result` is that of the step before": (
        """
workflow:
  - step: start
    tool:
      - {name: make, kind: python, code: "result = {'n': 2}"}
      - {name: check, kind: python, args: {made: "{{ start.make }}"}, code: "result = {'more': made['n'] < 2}"}
    next:
      arcs:
        - {step: start, when: "{{ start.results.check.more == true }}"}
        - {step: count, when: "{{ start.results.check.more != true }}"}
  - step: count
    tool:
      kind: python
      code: "result = {'n': 3}"
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {n: "{{ count.n }}"}}}}]}}
    next: {arcs: [{step: show}]}
  - step: show
    tool: {kind: python, args: {found: "{{ result.n }}"}, code: "result = found"}
    next: {arcs: [{step: fin, args: {n: "{{ ctx.n }}", found: "{{ show }}"}}]}
""",
        {"n": 3, "found": 3},
    ),
    "the args of a sink are the data that it stores": (
        """
workflow:
  - step: start
    tool: {kind: python, code: "result = {'data': {'n': 2}}"}
    sink:
      tool: {kind: sqlite, database: s.db}
      statement: "CREATE TABLE IF NOT EXISTS t (id, n); INSERT INTO t VALUES ({{ data.id }}, {{ data.n }})"
      args: {id: 1}
    next: [{step: look}]
  - step: look
    tool: {kind: sqlite, database: s.db, query: "SELECT id, n FROM t"}
    next: [{step: fin, args: {row: "{{ look.rows[0] }}"}}]
""",
        {"row": {"id": 1, "n": 2}},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_run_gives_what_its_author_meant(home: "Home", case: str) -> None:
    text, args = CASES[case]
    for found in results_of(home, text):
        assert isinstance(found, list)
        assert found[0] == args
