"""`error.kind` (REAL.md, values): one word for what many codes mean, from real tools, scripts and children alike."""

import json
import socket
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, ClassVar

import pytest

from noetl_ir.outcome import kind_of_error
from tool_doubles import http_server

if TYPE_CHECKING:
    from conftest import Home

STATUSES = {
    429: "rate_limit", 401: "auth", 403: "auth", 404: "not_found", 400: "client_error", 422: "client_error",
    500: "server_error", 503: "server_error",
}  # fmt: skip
TAKE = 'spec: {policy: {rules: [{else: {then: {do: continue, set_iter: {kind: "{{ outcome.error.kind }}"}}}}]}}'


class Statuses(BaseHTTPRequestHandler):
    """Answers `/NNN` with that status, `/once/…` with 503 and then with 200."""

    seen: ClassVar[Counter[str]] = Counter()

    def do_GET(self) -> None:
        self.seen[self.path] += 1
        name = self.path.rpartition("/")[2]
        status = (503 if self.seen[self.path] == 1 else 200) if self.path.startswith("/once") else int(name)
        self.send_response(status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def address() -> Iterator[str]:
    Statuses.seen.clear()
    with http_server(Statuses) as url:
        yield url


def test_of_an_answer_it_follows_from_the_status(home: "Home", address: str) -> None:
    plan = home.plan(f"""
workflow:
- step: start
  loop: {{in: "{{{{ {[*STATUSES]} }}}}", iterator: status, spec: {{mode: sequential}}}}
  tool:
  - {{name: ask, kind: http, url: "{address}/{{{{ iter.status }}}}", {TAKE}}}
  - {{name: told, kind: noop, result: "{{{{ iter.kind }}}}"}}
""")
    assert home.run("run", plan, "--quiet").returncode == 0
    assert home.json("result", "last") == [*STATUSES.values()]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


TOOLS = {
    'kind: http, url: "http://127.0.0.1:PORT/"': "connection",
    "kind: shell, command: sleep 9, timeout": "timeout",
    'kind: python, code: "import time; time.sleep(9)", timeout': "timeout",
    'kind: python, code: "result = 1 // 0"': "code",
    "kind: python, code: \"raise RuntimeError('x')\"": "code",
    "kind: shell, command: exit 3": "shell.exit",
    "kind: sqlite, database: a.db, query: select 1 from nowhere": "sqlite.error",
    "kind: playbook, path: \"{{ 'no/where' }}\"": "playbook.not_found",
    "kind: python, code: \"result = {'n': 1}\", schema": "schema",
}


@pytest.mark.parametrize(("tool", "kind"), TOOLS.items())
def test_of_other_errors_it_follows_from_the_code(home: "Home", tool: str, kind: str) -> None:
    (home.folder / "schemas").mkdir()
    (home.folder / "schemas" / "order.json").write_text(json.dumps({"type": "object", "required": ["id"]}))
    spec = TAKE
    if tool.endswith(", timeout"):
        tool, spec = tool.removesuffix(", timeout"), TAKE.replace("spec: {", "spec: {timeout: 0.3, ")
    if tool.endswith(", schema"):
        tool, spec = tool.removesuffix(", schema"), TAKE.replace("spec: {", "spec: {schema_hint: order, ")
    tool = tool.replace("PORT", str(free_port()))
    plan = home.plan(f"""
workflow:
- step: start
  tool:
  - {{name: ask, {tool}, {spec}}}
  - {{name: told, kind: noop, result: "{{{{ iter.kind }}}}"}}
""")
    ran = home.run("run", plan, "--quiet")
    assert ran.returncode == 0, ran.stderr
    assert home.json("result", "last") == kind


def test_a_rule_on_it_repeats_what_it_names_and_nothing_else(home: "Home", address: str) -> None:
    plan = home.plan(f"""
workflow:
- step: start
  tool:
    kind: http
    url: "{address}/{{{{ workload.path }}}}"
    spec:
      policy:
        rules:
        - {{when: "{{{{ output.error.kind == 'server_error' }}}}", then: {{do: retry, attempts: 3, delay: 0}}}}
        - {{when: "{{{{ output.status == 'error' }}}}", then: {{do: fail}}}}
        - else: {{then: {{do: continue}}}}
  next:
    arcs:
    - {{step: gone, when: "{{{{ event.name == 'step.failed' and event.error.kind == 'not_found' }}}}"}}
    - {{step: fine}}
- {{step: gone, tool: {{kind: noop, result: gone}}}}
- {{step: fine, tool: {{kind: noop, result: fine}}}}
""")
    assert home.run("run", plan, "--set", "path=once/1", "--quiet").returncode == 0
    assert (home.json("result", "last"), Statuses.seen["/once/1"]) == ("fine", 2)
    assert home.run("run", plan, "--set", "path=404", "--quiet").returncode == 0
    assert (home.json("result", "last"), Statuses.seen["/404"]) == ("gone", 1)


SCRIPTED = [
    ("error: {code: http.503}", "server_error"),
    ("error: {message: busy}, http: {status: 429}", "rate_limit"),
    ("error: {code: timeout}", "timeout"),
    ("error: {code: shop.closed}", "shop.closed"),
    ("error: {code: http.503, kind: mine}", "mine"),
]


@pytest.mark.parametrize(("outcome", "kind"), SCRIPTED)
def test_a_script_without_it_gets_it_in_arcs_too(home: "Home", outcome: str, kind: str) -> None:
    plan = home.plan("""
workflow:
- step: start
  tool: {name: ask, kind: http, url: "http://127.0.0.1:1/"}
  next: {arcs: [{step: told, when: "{{ event.status == 'error' }}", args: {kind: "{{ event.error.kind }}",
    same: "{{ event.outcome.error.kind }}"}}]}
- {step: told, tool: {kind: noop, result: ["{{ args.kind }}", "{{ args.same }}"]}}
""")
    (home.folder / "script.yaml").write_text(f"outcomes: [{{task: ask, outcome: {{status: error, {outcome}}}}}]\n")
    assert home.run("run", plan, "--script", "script.yaml", "--quiet").returncode == 0
    assert home.json("result", "last") == [kind, kind]


def test_of_a_rule_that_fails_and_of_a_limit_it_is_that_of_their_code(home: "Home") -> None:
    plan = home.plan("""
workflow:
- step: start
  spec: {policy: {lifecycle: {timeout_s: 0.3}}}
  tool: {kind: shell, command: sleep 9}
  next: {arcs: [{step: next, when: "{{ event.error.kind == 'timeout' }}"}]}
- step: next
  tool:
    kind: python
    code: "result = 1 // 0"
    spec: {policy: {rules: [{when: "{{ outcome.error.kind == 'code' }}", then: {do: fail, code: shop.closed}}]}}
  next: {arcs: [{step: told, when: "{{ event.status == 'error' }}", args: {kind: "{{ event.error.kind }}"}}]}
- {step: told, tool: {kind: noop, result: "{{ args.kind }}"}}
""")
    assert home.run("run", plan, "--quiet").returncode == 0
    assert home.json("result", "last") == "shop.closed"


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("http.429", None, "rate_limit"), ("http.502", None, "server_error"), ("http.status", True, "http.status"),
        ("http.200", None, "http.200"), ("http.9999", None, "http.9999"), ("http.٤٠٤", None, "http.٤٠٤"),
        ("gcs.not_found", 404, "not_found"), ("http.status", 600, "http.status"), (None, None, "None"),
    ],
)  # fmt: skip
def test_a_status_is_a_whole_number_from_400_to_599(code: str | None, status: int | None, kind: str) -> None:
    assert kind_of_error(code, status) == kind
