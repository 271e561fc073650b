"""Secrets of a request stay at the origin that their task sent them to first, whatever an answer says of the next page.

Two servers answer, each with the address of the next page, which may lie at the other one. What each was sent is
searched for the secrets.
"""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tool_doubles import JsonHandler, http_server

if TYPE_CHECKING:
    from conftest import Home

KEY = "origin-canary-0123"
SEEN: list[tuple[str, str]] = []
"""The host and all of each request that came."""
NEXT: dict[str, str] = {}
"""The address of the next page by path."""


class Pages(JsonHandler):
    """Answers with the address of the next page, and null behind the last."""

    def do_GET(self) -> None:
        SEEN.append((f"http://{self.headers['host']}", f"{self.path} {self.headers}"))
        moved = self.path == "/moved"
        there = {"location": NEXT[self.path]} if moved else {}
        self.respond({"next": NEXT.get(self.path.partition("?")[0])}, 302 if moved else 200, **there)


@pytest.fixture
def ends() -> Iterator[tuple[str, str]]:
    """The two origins."""
    SEEN.clear()
    NEXT.clear()
    with http_server(Pages) as here, http_server(Pages) as there:
        yield here, there


CREDENTIALS = {
    "auth": "auth: api",
    "header": 'headers: {X-Any: "{{ keychain.api.token }}"}',
    "query": 'params: {k: "{{ keychain.api.token }}"}',
    "inline": 'auth: {token: "{{ keychain.api.token }}"}',
    "password": "auth: login",
}
ROUNDS = {
    "while": """
      - while:
          when: "{{ iter.next is not none }}"
          then:
            - {name: get, kind: http, url: "{{ iter.next }}", GIVEN, spec: {policy: {rules: [RULE]}}}""",
    # The order of the second page is another one, for a worker that knows the first from the log.
    "later": """
      - name: get
        kind: http
        url: "{{ iter.next }}"
        GIVEN
        spec:
          policy:
            rules:
              - FAILS
              - when: "{{ outcome.result.data.next is not none }}"
                then: {do: jump, to: get, delay: 0.1, set_iter: {next: "{{ outcome.result.data.next }}"}}""",
    "retry": """
      - name: get
        kind: http
        url: "{{ iter.next }}"
        GIVEN
        spec:
          policy:
            rules:
              - FAILS
              - when: "{{ outcome.result.data.next is not none }}"
                then: {do: retry, attempts: 9, delay: 0, set_iter: {next: "{{ outcome.result.data.next }}"}}""",
}
FAILS = "{when: \"{{ outcome.status == 'error' }}\", then: {do: fail}}"
RULE = FAILS + ', {else: {then: {do: continue, set_iter: {next: "{{ outcome.result.data.next }}"}}}}'


PLAYBOOK = """
workload: WORKLOAD
keychain:
  - {name: api, kind: bearer, env: API_KEY}
  - {name: login, kind: secrets, provider: env, map: {password: API_KEY, username: API_USER}}
workflow:
  - step: start
    tool:
      - name: first
        kind: noop
        spec: {policy: {rules: [{else: {then: {do: continue, set_iter: {next: "{{ workload.first }}"}}}}]}}"""


def playbook(round_: str, credential: str, workload: str) -> str:
    """One that reads page after page."""
    text = PLAYBOOK.replace("WORKLOAD", workload) + ROUNDS[round_]
    return text.replace("GIVEN", CREDENTIALS[credential]).replace("RULE", RULE).replace("FAILS", FAILS)


def ran(home: "Home", text: str) -> tuple[str, str]:
    """The status of a run, and the code of its error."""
    home.env |= {"API_KEY": KEY, "API_USER": "shop"}
    done = home.run("run", home.plan(text), "--json")
    assert done.stdout, done.stderr
    last = json.loads(done.stdout.splitlines()[-1])
    return str(last["status"]), str((last.get("error") or {}).get("code"))


@pytest.mark.parametrize(
    ("round_", "credential"), [*((r, "auth") for r in ROUNDS), *(("while", g) for g in CREDENTIALS)]
)
def test_the_next_page_elsewhere_gets_nothing(
    home: "Home", ends: tuple[str, str], round_: str, credential: str
) -> None:
    here, there = ends
    NEXT.update({"/1": f"{here}/2", "/2": f"{there}/3"})
    found = ran(home, playbook(round_, credential, f"{{first: {here}/1}}"))
    assert found == ("failed", "http.refused")
    assert [origin for origin, _ in SEEN] == [here, here]


def test_pages_of_one_origin_are_read_to_the_last(home: "Home", ends: tuple[str, str]) -> None:
    here, _ = ends
    NEXT.update({"/1": f"{here}/2", "/2": f"{here.upper().replace('HTTP', 'http')}/3"})
    assert ran(home, playbook("later", "auth", f"{{first: {here}/1}}"))[0] == "completed"
    assert len(SEEN) == 3 and all(KEY in said for _, said in SEEN)


def test_an_origin_that_the_workload_names_may_have_it(home: "Home", ends: tuple[str, str]) -> None:
    here, there = ends
    NEXT.update({"/1": f"{there}/2"})
    assert ran(home, playbook("while", "auth", f"{{first: {here}/1, mirrors: [{there}/x]}}"))[0] == "completed"
    assert [(origin, KEY in said) for origin, said in SEEN] == [(here, True), (there, True)]


def test_what_holds_no_secret_goes_anywhere(home: "Home", ends: tuple[str, str]) -> None:
    here, there = ends
    NEXT.update({"/1": f"{there}/2"})
    text = playbook("while", "auth", f"{{first: {here}/1}}").replace("auth: api", "headers: {X: y}")
    assert ran(home, text)[0] == "completed"
    assert [origin for origin, _ in SEEN] == [here, there]


def test_a_redirect_makes_no_other_origin_the_first(home: "Home", ends: tuple[str, str]) -> None:
    """The first page is answered by another origin, which has no part in the secret, and asks for more of itself."""
    here, there = ends
    NEXT.update({"/moved": f"{there}/1", "/1": f"{there}/2"})
    text = playbook("while", "auth", f"{{first: {here}/moved}}").replace(
        "auth: api", "auth: api, follow_redirects: true"
    )
    assert ran(home, text) == ("failed", "http.refused")
    assert [(origin, KEY in said) for origin, said in SEEN] == [(here, True), (there, False)]


def test_each_item_of_a_loop_has_an_origin_of_its_own(home: "Home", ends: tuple[str, str]) -> None:
    """The playbook sends its key to all of them: nothing of that follows an answer."""
    here, there = ends
    text = """
keychain: [{name: api, kind: bearer, env: API_KEY}]
workload: {hosts: [ENDS]}
workflow:
  - step: start
    loop: {in: "{{ workload.hosts }}", iterator: host}
    tool: {kind: http, url: "http://{{ iter.host }}/1", auth: api}
"""
    assert ran(home, text.replace("ENDS", ", ".join(end.removeprefix("http://") for end in ends)))[0] == "completed"
    assert sorted((origin, KEY in said) for origin, said in SEEN) == sorted([(here, True), (there, True)])
