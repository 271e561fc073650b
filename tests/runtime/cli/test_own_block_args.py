"""Args that are block templates, read by name, with real tools: each reader gets the text that they render to.

What is right is counted by hand: `{% if workload.x %}a{% else %}b{% endif %}` is `a` where `x` is true.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

import pytest

from noetlc.pipeline import compile_source
from older_runs import HEAD, results_of
from tool_doubles import JsonHandler, http_server

if TYPE_CHECKING:
    from conftest import Home


class Pages(JsonHandler):
    """The number of the page that was asked for."""

    def do_GET(self) -> None:
        self.respond({"page": int(dict(parse_qsl(urlsplit(self.path).query))["page"])})


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http_server(Pages) as here:
        yield here


A = '"{% if workload.x %}a{% else %}b{% endif %}"'
TWO = '"{% if workload.x %}2{% else %}3{% endif %}"'
CASES = {
    "a statement, bare and behind args, in a filter, a number, a block template and a mapping": (
        f"""
workload: {{x: true}}
workflow:
  - step: start
    tool:
      kind: sqlite
      args: {{q: {A}, n: {TWO}, m: {{k: [{A}]}}, plain: 7}}
      command: >-
        SELECT '{{{{ q }}}}' AS bare, '{{{{ args.q | upper }}}}' AS up, {{{{ n | int + 1 }}}} AS n,
        '{{% if q == 'a' %}}{{{{ args.q }}}}{{{{ plain }}}}{{% endif %}}' AS block, '{{{{ m.k[0] }}}}' AS inner
    next: [{{step: fin, args: {{rows: "{{{{ start.rows }}}}"}}}}]
""",
        {"rows": [{"bare": "a", "up": "A", "n": 3, "block": "a7", "inner": "a"}]},
    ),
    "own args win over those of the token, which they may read": (
        """
workload: {x: true}
workflow:
  - {step: start, tool: {kind: noop}, next: [{step: say, args: {q: brought, other: too}}]}
  - step: say
    tool:
      kind: sqlite
      args: {q: "{% if workload.x %}{{ args.q }}, own{% endif %}"}
      command: "SELECT '{{ args.q }}' AS q, '{{ args.other }}' AS other"
    next: [{step: fin, args: {rows: "{{ say.rows }}"}}]
""",
        {"rows": [{"q": "brought, own", "other": "too"}]},
    ),
    "the address and a parameter of http": (
        f"""
workload: {{x: true}}
workflow:
  - step: start
    tool: {{kind: http, method: GET, url: "URL?page={{{{ p }}}}", args: {{p: {TWO}}}}}
    next: [{{step: other, args: {{page: "{{{{ start.page }}}}"}}}}]
  - step: other
    tool: {{kind: http, method: GET, url: URL, args: {{p: {TWO}}}, params: {{page: "{{{{ args.p }}}}"}}}}
    next: [{{step: fin, args: {{first: "{{{{ start.page }}}}", page: "{{{{ other.page }}}}"}}}}]
""",
        {"first": 2, "page": 2},
    ),
    "an entry of the workbook whose fields and own args read what it is called with": (
        f"""
workload: {{x: true}}
workbook:
  - name: asked
    tool: sqlite
    args: {{chain: "{{{{ q }}}}?", same: "{{{{ q }}}}"}}
    command: "SELECT '{{{{ q }}}}' AS q, '{{{{ chain }}}}' AS chain, '{{{{ same }}}}' AS same"
  - name: told
    tool: python
    args: {{chain: "{{{{ q }}}} {{{{ who }}}}", again: "{{% for c in [1, 2] %}}{{{{ q }}}}{{{{ c }}}}{{% endfor %}}"}}
    code: "result = [q, chain, again]"
workflow:
  - step: start
    tool: workbook
    name: asked
    args: {{q: {A}}}
    next: [{{step: tell}}]
  - step: tell
    tool: workbook
    name: told
    args: {{who: Ada, q: {A}}}
    next: [{{step: fin, args: {{rows: "{{{{ start.rows }}}}", told: "{{{{ tell }}}}"}}}}]
""",
        {"rows": [{"q": "a", "chain": "a?", "same": "a"}], "told": ["a", "a Ada", "a1a2"]},
    ),
    "an entry of the workbook that computes with what it is called with, which the token brings too": (
        f"""
workload: {{x: true}}
workbook:
  - name: twice
    tool: python
    args: {{n: "{{{{ q | int * 2 }}}}", more: "{{{{ args.q | int + 1 }}}}"}}
    code: "result = [n, more, q]"
  - {{name: through, tool: {{kind: workbook, task: twice, args: {{q: "{{{{ given }}}}"}}}}}}
workflow:
  - {{step: start, tool: {{kind: noop}}, next: [{{step: ask, args: {{q: 100}}}}]}}
  - step: ask
    tool: {{kind: workbook, task: twice, args: {{q: {TWO}}}}}
    next: [{{step: each, args: {{q: 100, given: 100}}}}]
  - step: each
    loop: {{in: [1, 2], iterator: i}}
    tool: {{kind: workbook, task: through, args: {{given: "{{% if i == 1 %}}5{{% else %}}6{{% endif %}}"}}}}
    next: [{{step: fin, args: {{ask: "{{{{ ask }}}}", each: "{{{{ each }}}}"}}}}]
""",
        {"ask": [4, 3, "2"], "each": [[10, 6, "5"], [12, 7, "6"]]},
    ),
    "the policy, sets and sinks of an entry, which ask what it is called with": (
        """
workload: {x: true}
workbook:
  - name: judge
    tool:
      kind: python
      code: "result = 1"
      spec:
        policy:
          rules:
            - when: "{{ q == PLAIN and args.q != 100 }}"
              then: {do: continue, set_ctx: {rule: "{{ q }}"}}
            - {else: {then: {do: fail}}}
    vars: {got: "{{ q }}", more: "{{ args.q | int + 1 }}"}
    sink: {tool: {kind: sqlite, database: kept.db, command: "CREATE TABLE kept AS SELECT '{{ q }}' AS q"}}
  - {name: through, tool: {kind: workbook, task: judge, args: {q: "{{ given }}"}}}
workflow:
  - {step: start, tool: {kind: noop}, next: [{step: ask, args: {q: 100}}]}
  - step: ask
    tool: {kind: workbook, task: through, args: {given: GIVEN}}
    next: [{step: look}]
  - step: look
    tool: {kind: sqlite, database: kept.db, command: "SELECT q FROM kept; DROP TABLE kept"}
    next: [{step: fin, args: {ctx: "{{ ctx }}", rows: "{{ look.command_0.rows }}"}}]
""",
        {"ctx": {"rule": "2", "got": "2", "more": 3}, "rows": [{"q": "2"}]},
    ),
    "a sink whose statement reads its args under data": (
        f"""
workload: {{x: true}}
workflow:
  - step: start
    tool: {{kind: python, code: "result = {{'n': 1}}"}}
    sink:
      tool:
        kind: sqlite
        database: kept.db
        args: {{q: {A}}}
        command: "CREATE TABLE kept AS SELECT '{{{{ data.q }}}}' AS q"
    next: [{{step: look}}]
  - step: look
    tool: {{kind: sqlite, database: kept.db, command: "SELECT q FROM kept; DROP TABLE kept"}}
    next: [{{step: fin, args: {{rows: "{{{{ look.command_0.rows }}}}"}}}}]
""",
        {"rows": [{"q": "a"}]},
    ),
}


@pytest.mark.parametrize("about", CASES)
def test_who_reads_a_block_by_name_gets_what_it_renders_to(home: "Home", url: str, about: str) -> None:
    text, args = CASES[about]
    # An arg that is no block template is read alike.
    for value in (TWO, "'2'") if "GIVEN" in text else ("",):
        for found in results_of(home, text.replace("URL", url).replace("GIVEN", value).replace("PLAIN", "'2'")):
            assert isinstance(found, list)
            assert found[0] == args


def test_a_canonical_task_reads_its_own_block_too(home: "Home") -> None:
    tool = f"{{kind: sqlite, args: {{q: {A}}}, command: \"SELECT '{{{{ args.q }}}}' AS q\"}}"
    text = f"{HEAD}workload: {{x: true}}\nworkflow:\n  - {{step: start, tool: {tool}}}\n"
    assert not [one for one in compile_source("p.yaml", text.encode()).diagnostics if one.severity.name == "ERROR"]
    (home.folder / "p.yaml").write_text(text)
    document = home.json("run", "p.yaml")
    assert isinstance(document, dict)
    assert document["result"]["rows"] == [{"q": "a"}]
