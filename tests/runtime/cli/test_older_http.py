"""Older playbooks with real tools and a real HTTP server: what a run gives, as it is written and as it is migrated.

The server has four pages of three rows, and a body with keys that a result of http has too. What is right is counted
by hand; what constructs mean says REAL.md (values, flow).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

import pytest

from older_runs import results_of
from tool_doubles import JsonHandler, http_server

if TYPE_CHECKING:
    from conftest import Home

ROWS = [{"id": page * 10 + row} for page in (1, 2, 3, 4) for row in (0, 1, 2)]
USERS = [{"name": "Ada"}, {"name": "Bob"}]


class Pages(JsonHandler):
    """Answers with JSON."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        page = int(dict(parse_qsl(url.query)).get("page", 1))
        body: object = {"name": "Ada", "count": 2, "items": [4, 5]}
        if url.path == "/users":
            body = USERS
        elif url.path == "/job":
            body = {"status": "active", "more": True}
        elif url.path == "/pages":
            rows = ROWS[3 * (page - 1) :][:3]
            body = {"data": rows, "total": 12, "paging": {"page": page, "hasMore": page < 4, "next": page + 1}}
        elif url.path.startswith("/echo"):
            body = {"asked": self.path}
        self.respond(body, 404 if url.path == "/none" else 200)

    def do_POST(self) -> None:
        self.respond({"asked": self.path, "sent": self.rfile.read(int(self.headers["Content-Length"])).decode()})


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http_server(Pages) as here:
        yield here


PARTS = {
    "FETCH": "tool: {kind: http, method: GET, url: URL/pages, params: {page: 1}}",
    "MORE": """
      - when: "{{ response.data.paging.hasMore }}"
        then:
          next_call: {params: {page: "{{ response.data.paging.next }}"}}
          collect: {strategy: append, path: data.data, into: all}""",
}
"""The beginning that several cases share."""
CASES = {
    "data whose names are read beside it are args where a payload is sent": (
        """
workflow:
  - step: start
    tool: {kind: python, code: "result = {'k': 'key', 's': 'sec'}"}
    next: [{step: ask}]
  - step: ask
    tool: http
    method: POST
    endpoint: URL/x/{{ key }}
    data: {key: "{{ start.k }}", secret: "{{ start.s }}"}
    payload: {id: "{{ key }}", both: "{{ key }}-{{ secret }}"}
    next: [{step: fin, args: {n: "{{ ask.data }}"}}]
""",
        [{"n": {"asked": "/x/key", "sent": '{"id": "key", "both": "key-sec"}'}}, {}],
    ),
    "data are sent where what is read beside it is given by something else": (
        """
workload: {day: monday}
workflow:
  - step: start
    tool: http
    method: POST
    endpoint: URL/{{ day }}
    data: {day: "{{ day }}"}
    next: [{step: two, args: {key: k}}]
  - step: two
    tool: http
    method: POST
    endpoint: URL/{{ day }}/{{ key }}/{{ start.data.asked }}
    data: {day: 1, key: 2, start: 3}
    next: [{step: each}]
  - step: each
    loop: {in: [1, 2], iterator: it}
    tool: http
    method: POST
    endpoint: URL/{{ it }}
    data: {it: "{{ it * 10 }}"}
    next: [{step: brought}]
  - step: brought
    tool: http
    method: POST
    endpoint: URL/{{ who | default('x') }}
    data: {who: "{{ who | default('y') }}"}
    next:
      - step: fin
        args: {n: "{{ [start.data, two.data, each[0].data, each[1].data, brought.data] }}"}
""",
        [
            {
                "n": [
                    {"asked": "/monday", "sent": '{"day": "monday"}'},
                    {"asked": "/monday/k//monday", "sent": '{"day": 1, "key": 2, "start": 3}'},
                    {"asked": "/1", "sent": '{"it": 10}'},
                    {"asked": "/2", "sent": '{"it": 20}'},
                    {"asked": "/x", "sent": '{"who": "y"}'},
                ]
            },
            {},
        ],
    ),
    "names that rules set, pages are gathered into, executors declare and the step is given are not those of data": (
        """
executor: {spec: {ctx: {sum: {reduce: sum, initial: 4}}}}
workload: {day: monday}
workflow:
  - step: start
    tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {id: 3}}}}]}}}
    next: [{step: pages}]
  - step: pages
    FETCH
    retry:MORE
    next: [{step: one}]
  - step: one
    tool: http
    method: POST
    endpoint: URL/{{ id }}/{{ all | length }}/{{ sum }}
    data: {id: 7, all: [], sum: 0}
    next: [{step: two}]
  - step: two
    tool: http
    method: POST
    endpoint: URL/{{ who }}/{{ day }}/{{ now() | length > 0 }}
    data: {who: Ada, day: 5, now: 6}
    next: [{step: three}]
  - step: three
    tool: http
    method: POST
    endpoint: URL/{{ who }}/{{ what }}
    with: {who: Bo}
    data: {who: Ada, what: x}
    next:
      - step: fin
        args: {n: "{{ [one.data, two.data, three.data] }}"}
""",
        [
            {
                "n": [
                    {"asked": "/3/12/4", "sent": '{"id": 7, "all": [], "sum": 0}'},
                    {"asked": "/Ada/monday/True", "sent": '{"who": "Ada", "day": 5, "now": 6}'},
                    {"asked": "/Bo/x", "sent": '{"who": "Ada", "what": "x"}'},
                ]
            },
            {"id": 3, "sum": 4, "all": ROWS},
        ],
    ),
    "of a request without a body data is its query, but for names that are all read beside it": (
        """
workflow:
  - step: start
    tool: http
    endpoint: URL/echo/{{ id }}
    data: {id: "{{ 3 + 4 }}", more: 5}
    next: [{step: ask}]
  - step: ask
    tool: http
    endpoint: URL/echo/{{ id }}
    data: {id: 8}
    next: [{step: fin, args: {n: "{{ [start.data.asked, ask.data.asked] }}"}}]
""",
        [{"n": ["/echo/7?id=7&more=5", "/echo/8"]}, {}],
    ),
    "data of a POST is sent as JSON, and as a form where a header says so": (
        """
workflow:
  - step: start
    tool: http
    method: POST
    endpoint: URL/a
    data: {id: 7, more: {k: [1]}}
    next: [{step: ask}]
  - step: ask
    tool: {kind: http, method: POST, url: URL/b, headers: {Content-Type: application/x-www-form-urlencoded},
      payload: {grant_type: "client credentials"}}
    next: [{step: fin, args: {n: "{{ [start.data.sent, ask.data.sent] }}"}}]
""",
        [{"n": ['{"id": 7, "more": {"k": [1]}}', "grant_type=client+credentials"]}, {}],
    ),
    "a stored status is what its readers take it for, and block templates read the body": (
        """
workflow:
  - step: start
    tool: {kind: http, method: GET, url: URL/job}
    vars: {state: "{{ result.status }}", code: "{{ result.status }}", ended: "{{ result.status }}"}
    next:
      - when: "{{ vars.state == 'active' and vars.code == 200 and vars.ended == 'success' }}"
        then: [{step: judge, args: {given: "{{ start.status }}"}}]
  - step: judge
    tool: {kind: python, args: {more: "{% if start.more %}yes{% endif %}"}, code: "result = [given == 'active', more]"}
    next: [{step: fin, args: {n: "{{ judge }}"}}]
""",
        [{"n": [True, "yes"]}, {"state": "active", "code": 200, "ended": "success"}],
    ),
    "where a loop over pages stops at its number, the only way on is taken, which asks for the last page": (
        """
workflow:
  - step: start
    FETCH
    case:
      - when: "{{ event.name == 'call.done' and response.data.paging.hasMore }}"
        then:
          - collect: {strategy: append, path: data.data, into: all}
          - retry: {max_attempts: 2, params: {page: "{{ response.data.paging.next }}"}}
      - when: "{{ event.name == 'call.done' and not response.data.paging.hasMore }}"
        then: [{next: [{step: fin, args: {n: "{{ start | length }}"}}]}]
""",
        [{"n": 6}, {}],
    ),
    "where a loop over pages stops, what both rules ask does not matter": (
        """
workflow:
  - step: start
    FETCH
    case:
      - when: "{{ event.name == 'call.done' and response is defined and response.data.paging.hasMore == true }}"
        then:
          - collect: {strategy: append, path: data.data, into: all}
          - retry: {max_attempts: 2, params: {page: "{{ (response.data.paging.page | int) + 1 }}"}}
      - when: "{{ event.name == 'call.done' and response is defined and response.data.paging.hasMore != true }}"
        then:
          - collect: {strategy: append, path: data.data, into: all}
          - next: [{step: fin, args: {n: "{{ start | length }}"}}]
""",
        [{"n": 6}, {}],
    ),
    "what is set behind gathered pages is of all of them": (
        """
workflow:
  - step: start
    FETCH
    retry:MORE
    vars: {n: "{{ result | length }}", m: "{{ start | length }}", first: "{{ result[0].id }}"}
    next: [{step: fin, args: {k: "{{ result[11].id }}"}}]
""",
        [{"k": 42}, {"n": 12, "m": 12, "first": 10}],
    ),
    "a rule of a case behind them sees all of them, the last page below a key, and the last response": (
        """
workflow:
  - step: start
    FETCH
    retry:MORE
    case:
      - when: "{{ event.name == 'call.done' and not response.data.paging.hasMore }}"
        then:
          - set: {n: "{{ result | length }}", page: "{{ result.data.paging.page }}"}
          - set: {status: "{{ response.status_code }}"}
          - next: [{step: fin}]
""",
        [{}, {"n": 12, "page": 4, "status": 200}],
    ),
    "a rule that reads another page does its other actions with each": (
        """
workflow:
  - step: start
    FETCH
    case:
      - when: "{{ event.name == 'call.done' and response.data.paging.hasMore == true }}"
        then:
          - keep:
              tool: {kind: python, args: {p: "{{ response.data.paging.page }}"}, code: "result = p * 10"}
          - set: {seen: "{{ ctx.seen | default([]) + [keep] }}"}
          - retry: {max_attempts: 10, args: {params: {page: "{{ response.data.paging.page + 1 }}"}}}
      - when: "{{ event.name == 'call.done' and response.data.paging.hasMore != true }}"
        then:
          - keep:
              tool: {kind: python, args: {p: "{{ response.data.paging.page }}"}, code: "result = p * 10"}
          - set: {seen: "{{ ctx.seen + [keep] }}"}
          - next: [{step: fin, args: {page: "{{ start.data.paging.page }}"}}]
""",
        [{"page": 4}, {"seen": [10, 20, 30, 40]}],
    ),
    "what a rule sets and gives of http is of the body": (
        """
workflow:
  - step: start
    tool: {kind: http, method: GET, url: URL/one}
    case:
      - when: "{{ event.name == 'call.done' and response.count == 2 }}"
        then:
          set: {c: "{{ response.count }}", items: "{{ result['items'] }}", n: "{{ result.get('name') }}"}
          result: {from: response.name}
          collect: {from: response.count, into: all, mode: append}
          next: [{step: fin, args: {given: "{{ start }}"}}]
""",
        [{"given": "Ada"}, {"c": 2, "items": [4, 5], "n": "Ada", "all": [2]}],
    ),
    "what a rule sets of a failure is of the body that came with it": (
        """
workflow:
  - step: start
    tool: {kind: http, method: GET, url: URL/none}
    case:
      - when: "{{ event.name == 'call.error' }}"
        then:
          - set: {who: "{{ response.name }}", status: "{{ error.status }}"}
          - next: [{step: fin}]
""",
        [{}, {"who": "Ada", "status": 404}],
    ),
    "loops go over what a body has, and over a body that is a list": (
        """
workflow:
  - {step: start, tool: {kind: http, method: GET, url: URL/one}, next: each}
  - step: each
    loop: {in: "{{ start['items'] }}", iterator: x}
    tool: {kind: python, args: {x: "{{ x }}", i: "{{ loop.index }}"}, code: "result = [x, i]"}
    next: users
  - {step: users, tool: {kind: http, method: GET, url: URL/users}, next: names}
  - step: names
    loop: {in: "{{ users }}", iterator: user}
    tool: {kind: python, args: {n: "{{ user.name }}"}, code: "result = n"}
    next: [{step: fin, args: {each: "{{ each }}", names: "{{ names }}"}}]
""",
        [{"each": [[4, 0], [5, 1]], "names": ["Ada", "Bob"]}, {}],
    ),
    "arcs behind a loop that sets something are asked of the loop": (
        """
workflow:
  - step: start
    loop: {in: [1, 2, 3], iterator: x}
    tool: {kind: python, args: {x: "{{ x }}"}, code: "result = x * 2"}
    set: {n: "{{ result | length }}"}
    next:
      - step: fin
        when: "{{ event.name == 'loop.done' and event.total == 3 and event.failed == 0 and ctx.n == 3 }}"
        args: {e: "{{ event.result }}", o: "{{ output.data }}", r: "{{ result }}", s: "{{ event.step }}"}
""",
        [{"e": [2, 4, 6], "o": [2, 4, 6], "r": [2, 4, 6], "s": "start"}, {"n": 3}],
    ),
    "what fails in such a loop takes the arc for it": (
        """
workflow:
  - step: start
    loop: {in: [1], iterator: x}
    tool: {kind: python, code: "raise ValueError('no')"}
    vars: {n: "{{ result | length }}"}
    next:
      - {step: fin, when: "{{ event.status == 'error' }}", args: {why: "{{ event.error.code }}"}}
      - {step: start}
""",
        [{"why": "python.exception"}, {}],
    ),
    "what an arc sets is of the step that it leaves": (
        """
workflow:
  - {step: start, tool: {kind: noop}, next: {arcs: [{step: two, args: {p: 7}}]}}
  - step: two
    tool: {kind: python, code: "result = {'v': 5}"}
    next:
      arcs:
        - step: fin
          set: {ctx.k: "{{ result.v }}", ctx.s: "{{ output.status }}", ctx.e: "{{ event.step }}", ctx.a: "{{ args.p }}"}
          args: {t: "{{ output.status }}"}
""",
        [{"t": "ok"}, {"k": 5, "s": "ok", "e": "two", "a": 7}],
    ),
    "what a step sets sees what its task set, and wins": (
        """
workflow:
  - step: start
    tool:
      - one: {kind: python, code: "result = {'v': 4}", set: {k: "{{ output.v }}", m: 0}}
    set: {m: "{{ ctx.k + 1 }}"}
    next: fin
""",
        [{}, {"k": 4, "m": 5}],
    ),
    "no error is no error": (
        """
workflow:
  - step: start
    tool: {kind: python, code: "result = {'v': 1}"}
    case:
      - {when: "{{ event.name == 'step.exit' and error is defined }}", then: {next: [{step: bad}]}}
      - {when: "{{ event.name == 'step.exit' and output.error is defined }}", then: {next: [{step: bad}]}}
      - when: "{{ event.name == 'step.exit' }}"
        then: {next: [{step: fin, args: {d: "{{ error | default('none') }}", e: "{{ error is defined }}"}}]}
  - {step: bad, tool: {kind: noop, result: bad}}
""",
        [{"d": "none", "e": False}, {}],
    ),
    "steps behind an else are asked one after the other": (
        """
workflow:
  - step: start
    tool: {kind: noop, result: {v: 1}}
    next:
      - {when: "{{ start.v == 2 }}", then: [{step: bad}]}
      - else: [{step: fin, when: "{{ start.v == 1 }}", args: {x: 1}}, {step: bad}]
  - {step: bad, tool: {kind: noop, result: bad}}
""",
        [{"x": 1}, {}],
    ),
    "guards that are texts compare what templates in quotes render": (
        """
workload: {mode: tear-down, n: 5}
workflow:
  - step: start
    next:
      - when: "{{ workload.n }} >= 5 and '{{ workload.mode }}' == 'tear-down'"
        then: [{step: two}]
      - else: [{step: bad}]
  - step: two
    next:
      - {when: '"{{ workload.n }}" == "5" and "x-{{ workload.mode }}" != "x-tear"', then: [{step: fin}]}
      - else: [{step: bad}]
  - {step: bad, tool: {kind: noop, result: bad}}
""",
        [{}, {}],
    ),
    "an entry of the workbook reads what it is called with": (
        """
workload: {y: 1}
workbook:
  - name: add
    tool: {kind: sqlite, database: ":memory:", query: "select {{ x }} + {{ y }} as v"}
workflow:
  - step: start
    tool: {kind: workbook, name: add, args: {x: 3}}
    next: [{step: fin, args: {v: "{{ start.rows[0].v }}"}}]
""",
        [{"v": 4}, {}],
    ),
    "an iterator of v1 names its element": (
        """
workflow:
  - step: start
    tool:
      kind: iterator
      items: [1, 2]
      item: x
      tool:
        kind: python
        args: {x: "{{ x }}"}
        code: "result = x + 1"
        sink: {tool: {kind: sqlite, database: made.db, query: "create table if not exists t{{ x }} (a)"}}
    next: [{step: fin, args: {all: "{{ start }}"}}]
""",
        [{"all": [2, 3]}, {}],
    ),
    "args that are computed bring the names in them": (
        """
workload: {q: 5}
workflow:
  - {step: start, tool: {kind: noop, result: {x: 2}}, next: [{step: two, args: "{{ start }}"}]}
  - {step: two, tool: {kind: noop, result: "{{ [x, q] }}"}, next: [{step: fin, args: {all: "{{ two }}"}}]}
""",
        [{"all": [2, 5]}, {}],
    ),
    "code of a sink that reads data gets what is stored": (
        """
workflow:
  - step: start
    tool: {kind: python, code: "result = {'id': 4}"}
    sink: {tool: {kind: python, code: "open('stored.txt', 'w').write(str(data['id']))"}}
    next: two
  - {step: two, tool: {kind: shell, command: cat stored.txt}, next: [{step: fin, args: {id: "{{ two.stdout }}"}}]}
""",
        [{"id": "4"}, {}],
    ),
    "the args of the next call are read where the tool has no args of its own": (
        """
workflow:
  - step: start
    args: {page: 1}
    tool: {kind: http, method: GET, url: URL/pages, params: {page: "{{ args.page }}"}}
    case:
      - when: "{{ event.name == 'call.done' and response.paging.hasMore }}"
        then:
          - set: {seen: "{{ ctx.seen | default([]) + [response.paging.page] }}"}
          - retry: {max_attempts: 9, args: {page: "{{ response.paging.next }}"}}
    next: [{step: fin, args: {last: "{{ start.paging.page }}"}}]
""",
        [{"last": 4}, {"seen": [1, 2, 3]}],
    ),
    "the next call reads what its rule has set and done": (
        """
workflow:
  - step: start
    FETCH
    case:
      - when: "{{ event.name == 'call.done' and response.paging.page < 4 }}"
        then:
          - far: {tool: {kind: python, args: {p: "{{ response.paging.page }}"}, code: "result = p + 2"}}
          - set: {to: "{{ far }}", seen: "{{ ctx.seen | default([]) + [response.paging.page] }}"}
          - retry: {max_attempts: 9, params: {page: "{{ [ctx.to, far, 4] | min }}"}}
    next: [{step: fin, args: {last: "{{ start.paging.page }}"}}]
""",
        [{"last": 4}, {"to": 5, "seen": [1, 3]}],
    ),
    "behind a loop that sets something, args have their defaults": (
        """
workflow:
  - step: start
    args: {who: x}
    loop: {in: [1], iterator: i}
    tool: {kind: noop, args: {i: "{{ i }}"}}
    set: {ctx.n: 1}
    next: {arcs: [{step: bad, when: "{{ args.who != 'x' }}"}, {step: fin, args: {who: "{{ args.who }}"}}]}
  - {step: bad, tool: {kind: noop, result: bad}}
""",
        [{"who": "x"}, {"n": 1}],
    ),
    "what a task sets it sets when it went well, though an error passes": (
        """
workflow:
  - step: start
    tool:
      - name: t
        kind: python
        code: "raise ValueError('x')"
        set: {ctx.loaded: true}
        spec: {policy: {rules: [{when: "{{ output.status == 'error' }}", then: {do: continue, set: {ctx.k: 1}}}]}}
      - {name: u, kind: noop, args: {n: 7}}
    next: fin
""",
        [{}, {"k": 1}],
    ),
    "a loop that sets something leads on by its end": (
        """
workflow:
  - step: start
    loop: {in: [1, 2], iterator: x}
    tool: {kind: python, args: {x: "{{ x }}"}, code: "result = x"}
    vars: {all: "{{ result }}"}
    next: {arcs: [{step: fin, when: "{{ event.name == 'loop.done' }}", set: {ctx.f: "{{ event.failed }}"}}]}
""",
        [{}, {"all": [1, 2], "f": 0}],
    ),
    "a rule for the end of a loop stands behind what the loop sets": (
        """
workflow:
  - step: start
    loop: {in: [1, 2], iterator: x}
    tool: {kind: python, args: {x: "{{ x }}"}, code: "result = x"}
    set: {ctx.first: "{{ output.data[0] }}"}
    case:
      - when: "{{ event.name == 'loop.done' }}"
        then: [{set: {all: "{{ result }}"}}, {next: [{step: fin}]}]
""",
        [{}, {"first": 1, "all": [1, 2]}],
    ),
    "an entry of the workbook that loops call reads the element and its number": (
        """
workbook:
  - {name: each, tool: {kind: python, args: {who: "{{ city }}", i: "{{ iter.index }}"}, code: "result = [who, i]"}}
workflow:
  - step: start
    loop: {in: [a, b], iterator: city}
    tool: {kind: workbook, name: each}
    next: [{step: fin, args: {all: "{{ start }}"}}]
""",
        [{"all": [["a", 0], ["b", 1]]}, {}],
    ),
}


@pytest.mark.parametrize("about", CASES)
def test_a_run_gives_what_is_right_as_written_and_as_migrated(home: "Home", url: str, about: str) -> None:
    text, expected = CASES[about]
    for word, part in PARTS.items():
        text = text.replace(word, part)
    assert results_of(home, text.replace("URL", url)) == [expected, expected]
