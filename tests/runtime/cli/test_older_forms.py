"""Rare forms of older playbooks, with real tools: what a run gives, as written and as migrated.

Each works as its author meant it. What is right is counted by hand from REAL.md and LANGUAGE §6.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

import pytest

from noetlc.pipeline import compile_source
from older_runs import FIN, HEAD, results_of
from tool_doubles import JsonHandler, http_server

if TYPE_CHECKING:
    from conftest import Home


class Pages(JsonHandler):
    """Three pages of two rows: the number of the page, and whether there are more."""

    def do_GET(self) -> None:
        page = int(dict(parse_qsl(urlsplit(self.path).query)).get("page", 1))
        self.respond({"page": page, "more": page < 3, "data": [page * 10, page * 10 + 1]})


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http_server(Pages) as here:
        yield here


FOUR = "workflow:\n  - step: start\n    tool: {kind: python, code: \"result = {'n': 4}\"}\n"
OTHER = "  - {step: other, tool: {kind: noop, result: other}}\n"
PAGED = """
workflow:
  - step: start
    tool: {kind: http, method: GET, url: URL, params: {page: 1}}
    retry:
      - when: "{{ response.more }}"
        then: {next_call: {params: {page: "{{ response.page + 1 }}"}}, collect: {strategy: append, COLLECT, into: rows}}
"""
ROWS = [10, 11, 20, 21, 30, 31]
CASES = {
    "what is gathered, as a template": (
        PAGED.replace("COLLECT", 'from: "{{ response.data.data }}"')
        + '    next: [{step: fin, args: {n: "{{ rows | length }}", sum: "{{ start | sum }}"}}]\n',
        [{"n": 6, "sum": 123}, {}],
    ),
    "what is gathered, by its name behind the step": (
        PAGED.replace("COLLECT", "path: data")
        + """
    next: mid
  - step: mid
    tool: {kind: python, args: {a: "{{ rows }}", b: "{{ vars.rows }}"}, code: "result = [sum(a), len(b)]"}
    next: [{step: fin, args: {mid: "{{ mid }}", behind: "{{ start.rows | length }}"}}]
""",
        [{"mid": [123, 6], "behind": 6}, {"rows": ROWS}],
    ),
    "own args of http": (
        """
workflow:
  - step: start
    tool: {kind: http, method: GET, url: "URL?page={{ p }}", args: {p: 3}, headers: {x-page: "{{ args.p }}"}}
    next: [{step: fin, args: {page: "{{ start.page }}"}}]
""",
        [{"page": 3}, {}],
    ),
    "own args of http that the next call gives anew": (
        """
workflow:
  - step: start
    tool: {kind: http, method: GET, url: URL, args: {page: 1}, params: {page: "{{ args.page }}"}}
    case:
      - when: "{{ event.name == 'call.done' and response.more }}"
        then:
          - set: {seen: "{{ ctx.seen | default([]) + [response.page] }}"}
          - retry: {max_attempts: 9, args: {page: "{{ response.page + 1 }}"}}
    next: [{step: fin, args: {last: "{{ start.page }}"}}]
""",
        [{"last": 3}, {"seen": [1, 2]}],
    ),
    "an iterator comes before an own arg of its name": (
        """
workflow:
  - step: start
    loop: {in: [1, 2], iterator: p}
    tool: {kind: http, method: GET, url: URL, args: {p: 3}, params: {page: "{{ p }}"}}
    next: [{step: fin, args: {pages: "{{ start | map(attribute='data.page') | list }}"}}]
""",
        [{"pages": [1, 2]}, {}],
    ),
    "an entry of the workbook that calls another by name": (
        """
workbook:
  - {name: outer, tool: {kind: workbook, name: inner, args: {b: "{{ a + 1 }}"}}}
  - {name: inner, tool: {kind: python, code: "result = b * 10"}}
workflow:
  - step: start
    tool: {kind: workbook, name: outer, args: {a: 2}}
    next: [{step: fin, args: {n: "{{ start }}"}}]
""",
        [{"n": 30}, {}],
    ),
    "set of a next step": (
        FOUR + '    next: [{step: fin, when: "{{ start.n > 3 }}", set: {ctx.n: "{{ result.n }}"}}, other]\n' + OTHER,
        [{}, {"n": 4}],
    ),
    "set of a step in then": (
        FOUR
        + '    next: [{when: "{{ start.n > 3 }}", then: [{step: fin, set: {n: "{{ start.n }}"}}]}, other]\n'
        + OTHER,
        [{}, {"n": 4}],
    ),
    "set beside then, and of each of its steps": (
        FOUR
        + '    next: [{when: "{{ start.n > 3 }}", set: {n: "{{ start.n }}"},'
        + " then: [{step: fin, set: {b: 1}}, {step: beside, set: {c: 2}}]}, other]\n"
        + OTHER
        + "  - {step: beside}\n",
        [{}, {"n": 4, "b": 1, "c": 2}],
    ),
    "set of the next step of a rule": (
        FOUR + '    case: [{when: "{{ result.n > 3 }}", then: {next: [{step: fin, set: {n: "{{ result.n }}"}}]}}]\n',
        [{}, {"n": 4}],
    ),
    "a ladder in then": (
        FOUR
        + '    next: [{when: "{{ start.n > 3 }}", then: [{when: "{{ start.n > 9 }}", then: [other]},'
        + " {else: [fin]}]}, other]\n"
        + OTHER,
        [{}, {}],
    ),
    "an iterator alone in a list": (
        """
workflow:
  - step: start
    tool:
      - {name: each, kind: iterator, collection: [1, 2], element: x,
         task: {kind: python, args: {x: "{{ x }}"}, code: "result = x * 2"}}
    next: [{step: fin, args: {n: "{{ start }}"}}]
""",
        [{"n": [2, 4]}, {}],
    ),
    "the reference of an own result": (
        FOUR
        + "    output: {store: kv}\n"
        + '    vars: {there: "{{ start._ref is defined }}", size: "{{ start._ref.size > 0 }}"}\n'
        + '    next: [{step: fin, args: {size: "{{ start._ref.size > 0 }}"}}]\n',
        [{"size": True}, {"there": True, "size": True}],
    ),
    "the reference of an own result that a rule asks for": (
        FOUR
        + "    output: {store: kv}\n"
        + '    case: [{when: "{{ start._ref is defined }}", then: [{set: {r: "{{ result._ref is defined }}"}},'
        + " {next: [{step: fin}]}]}, {else: [{next: [{step: other}]}]}]\n"
        + OTHER,
        [{}, {"r": True}],
    ),
}


@pytest.mark.parametrize("about", CASES)
def test_a_rare_form_does_what_its_author_meant(home: "Home", url: str, about: str) -> None:
    text, expected = CASES[about]
    assert results_of(home, text.replace("URL", url)) == [expected, expected]


ENDING = {
    "no step in then": '    next: [{when: "{{ start.n > 3 }}", then: []}, other]\n',
    "no match in a ladder in then": (
        '    next: [{when: "{{ start.n > 3 }}", then: [{when: "{{ start.n > 9 }}", then: [fin]}]}, other]\n'
    ),
    "no match of a step in then": (
        '    next: [{when: "{{ start.n > 3 }}", then: [{step: fin, when: "{{ start.n > 9 }}"}]}, other]\n'
    ),
}


@pytest.mark.parametrize("about", ENDING)
def test_a_branch_that_is_taken_and_leads_nowhere_ends(home: "Home", about: str) -> None:
    (home.folder / "p.yaml").write_text(HEAD + FOUR + ENDING[about] + OTHER + FIN)
    document = home.json("run", "p.yaml")
    assert isinstance(document, dict) and document["status"] == "completed"
    assert document["result"] != "other"


REFUSED = {
    "pages of a workbook's entry": (
        """
workbook: [{name: page, tool: {kind: http, method: GET, url: "http://shop.test", params: {page: "{{ page }}"}}}]
workflow:
  - step: start
    tool: {kind: workbook, name: page, args: {page: 1}}
    retry: [{when: "{{ response.more }}", then: {next_call: {args: {page: 2}}, collect: {path: data, into: rows}}}]
""",
        "write the task with its pages in the step",
    ),
    "conditions in the next of a rule": (
        FOUR + '    case: [{when: true, then: [{next: [{when: "{{ result.n > 3 }}", then: [fin]}]}]}]\n' + FIN,
        "write a rule for each of its conditions",
    ),
    "an iterator beside other tasks": (
        """
workflow:
  - step: start
    tool: [{name: a, kind: noop}, {name: b, kind: iterator, collection: [1], element: x, task: {kind: noop}}]
""",
        "write the tasks before and behind it as steps",
    ),
    "the reference of a task's own result": (
        "workflow: [{step: start, tool: [{name: t, kind: noop, output: {store: kv},"
        ' set: {r: "{{ output._ref }}", s: "{{ t._ref }}"}}]}]\n',
        "read it in a step behind",
    ),
}


@pytest.mark.parametrize("about", REFUSED)
def test_what_is_refused_says_what_to_write(about: str) -> None:
    text, expected = REFUSED[about]
    compiled = compile_source("p.yaml", (HEAD + text).encode())
    errors = [one.message for one in compiled.diagnostics if one.severity.name == "ERROR"]
    assert len(errors) == 1 and expected in errors[0], errors


def test_a_part_of_a_mapping_is_no_list(home: "Home") -> None:
    for word in ("limit: 1", "chunk: 1", "order_by: value"):
        loop = f"    loop: {{in: '{{{{ workload.m }}}}', iterator: x, {word}}}\n    tool: {{kind: noop}}\n"
        text = HEAD + "workload: {m: {a: 1}}\nworkflow:\n  - step: start\n" + loop
        (home.folder / "p.yaml").write_text(text)
        document = home.json("run", "p.yaml")
        assert isinstance(document, dict) and document["status"] == "failed", word
