"""`pipe` of older playbooks with real tools and a real HTTP server, as it is written and as it is migrated.

The server fails every other request for some paths, and all of one. What is right is worked out by hand: `catch` is
asked on failures only, a failure passed over leaves `_prev` or sets it, and `finally` follows a success.
"""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from noetlc.migrate.migration import migrated
from older_runs import HEAD, results_of
from tool_doubles import JsonHandler, http_server

if TYPE_CHECKING:
    from conftest import Home

ASKED: Counter[str] = Counter()


class Flaky(JsonHandler):
    """Answers `/once…` with 503 the first time, `/none` with 404, and all else with cloth."""

    def do_GET(self) -> None:
        ASKED[self.path] += 1
        status = 404 if self.path == "/none" else 200
        if self.path.startswith("/once") and ASKED[self.path] % 2:
            status = 503
        self.respond({"cloth": [3, 4]}, status)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http_server(Flaky) as here:
        yield here


PIPE = """\
workload: {spare: 9}
workflow:
  - step: start
    tool: {kind: noop, args: {own: 1}}
    case:
      - when: "{{ event.name == 'call.done' }}"
        then:
          - pipe:
              - fetch: {tool: {kind: http, url: "URL/PATH"}}
              - count: {tool: {kind: python, args: {got: "{{ _prev }}"}, code: "COUNT"}}
              - wrap: {tool: {kind: python, args: {was: "{{ _prev }}"}, code: "result = {'was': was}"}}
            catch:
              cond:
RULES
                - else: {do: fail}
            finally:
              - next: [{step: fin, args: {given: "{{ start }}"}}]
"""
GOOD = "result = {'n': len(got['data']['cloth'])}"
BAD = "result = got['none']"
KEPT = "result = got['data']['cloth']"
RETRY = "{when: \"{{ _task == 'fetch' and _err.retryable }}\", do: retry, attempts: 3, backoff: linear, delay: 0.1}"
SKIP = "{when: \"{{ _task == 'count' }}\", do: skip}"
SET = '{when: "{{ _task == \'count\' }}", do: skip, set_prev: {n: 0, spare: "{{ workload.spare }}"}}'
LAST = "{when: \"{{ _task == 'wrap' }}\", do: skip, set_prev: {}}"


def _pipe(url: str, path: str, count: str, *rules: str) -> str:
    listed = "\n".join(f"                - {rule}" for rule in rules)
    text = PIPE.replace("URL", url).replace("PATH", path).replace("COUNT", count)
    return text.replace("RULES\n", f"{listed}\n" if listed else "")


@pytest.mark.parametrize(
    ("path", "count", "rules", "brought"),
    [
        ("good", GOOD, (), {"was": {"n": 2}}),  # `else: fail` is not asked of a success
        ("good", GOOD, (RETRY, SET), {"was": {"n": 2}}),  # nor is a rule that passes over
        ("once", GOOD, (RETRY,), {"was": {"n": 2}}),
        ("good", BAD, (RETRY, SET), {"was": {"n": 0, "spare": 9}}),
        ("good", "result = None", (SET,), {"was": None}),
    ],
)
def test_a_step_gives_the_last_value_of_its_pipe(
    home: "Home", url: str, path: str, count: str, rules: tuple[str, ...], brought: object
) -> None:
    for result in results_of(home, _pipe(url, path, count, *rules)):
        assert result == [{"given": brought}, {}]


def test_what_is_passed_over_leaves_the_value_before_it(home: "Home", url: str) -> None:
    text = _pipe(url, "good", BAD, SKIP).replace("{'was': was}", "{'was': was['data']}")
    for result in results_of(home, text):
        assert result == [{"given": {"was": {"cloth": [3, 4]}}}, {}]


def test_the_last_task_may_be_passed_over(home: "Home", url: str) -> None:
    text = _pipe(url, "good", GOOD, LAST).replace("{'was': was}", "was['none']")
    for result in results_of(home, text):
        assert result == [{"given": {}}, {}]


@pytest.mark.parametrize(("path", "rules"), [("none", (RETRY, SET)), ("none", ()), ("none", (SKIP,))])
def test_a_failure_that_is_not_passed_over_fails_and_nothing_follows(
    home: "Home", url: str, path: str, rules: tuple[str, ...]
) -> None:
    last = f"  - step: fin\n    tool: {{kind: http, url: {url}/fin}}\n"
    for otherwise in (True, False) if rules else (True,):
        written = HEAD + _pipe(url, path, GOOD, *rules) + last
        if not otherwise:
            written = written.replace("                - else: {do: fail}\n", "")
        after = migrated("written.yaml", written.encode()).after
        assert after is not None
        for name, data in (("written.yaml", written.encode()), ("migrated.yaml", after)):
            (home.folder / name).write_bytes(data)
            document = home.json("run", name)
            assert isinstance(document, dict) and document["status"] == "failed"
            assert document["error"]["step"] == "start"
    assert not ASKED["/fin"]
