"""The place of what failed: line and column of the template, not only of its task, with carets below it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.here import done_here
from harness.running import HEAD
from harness.suites import told

if TYPE_CHECKING:
    from conftest import Home

LINES = HEAD.count("\n")
"""Lines before the body of a playbook."""


def run(folder: Path, body: str, *words: str) -> list[str]:
    (folder / "p.yaml").write_text(HEAD + body, "utf-8")
    done = done_here(folder, ["run", "p.yaml", *words])
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout.splitlines()


def marked(body: str) -> tuple[str, int, int, str]:
    """A body without its marks, and what stands between them: line, column, text."""
    before, _, rest = body.partition("‹")
    text, _, after = rest.partition("›")
    line = before.rpartition("\n")[2]
    return before + text + after, LINES + before.count("\n") + 1, len(line) + 1, text


FIELD = """\
workflow:
  - step: start
    tool:
      - {name: first, kind: noop, result: {a: 1}}
      - name: sum
        kind: noop
        args:
          rows: [1, 2]
          total: "{{ ‹first.b.c› + 1 }}"
          other: "{{ first.a }}"
"""
SEVERAL = """\
workflow:
  - step: start
    tool:
      kind: noop
      result: "{{ 1 + 1 }} and {{ 1 ‹+› 'x' }} and {{ 2 }}"
"""
FOLDED = """\
workflow:
  - step: start
    tool:
      kind: noop
      result: |
        one {{ 1 }}
        two {{ ‹workload.missing› }}
"""
ESCAPED = """\
workflow:
  - step: start
    tool: {kind: noop, result: "say \\"{{ ‹workload.x› }}\\""}
"""
TWICE = """\
workflow:
  - step: start
    tool:
      kind: http
      url: "https://example.org"
      headers: {a: "{{ 1 }}"}
      params: {q: "{{ ‹workload.x› }}", r: "{{ workload.x }}"}
"""
GUARD = """\
workflow:
  - step: start
    tool: {kind: noop, result: 1}
    next:
      arcs:
        - {step: end, when: "{{ event.result > 5 }}"}
        - {step: end, when: "{{ event.result ‹+› 'x' }}"}
"""
ARGS = """\
workflow:
  - step: start
    tool: {kind: noop, result: 1}
    next: {arcs: [{step: next, args: {rows: {n: "{{ ‹start.rows› }}"}}}]}
  - {step: next, tool: {kind: noop}}
"""
RULE = """\
workflow:
  - step: start
    tool:
      kind: noop
      result: 1
      spec:
        policy:
          rules:
            - when: "{{ outcome.result == 1 }}"
              then: {do: continue, set_ctx: {a: "{{ 1 }}", b: "{{ ‹outcome.rows› }}"}}
            - else: {then: {do: continue}}
"""
ITEMS = """\
workflow:
  - step: start
    loop: {in: "{{ ‹workload.cities› }}", iterator: city}
    tool: {kind: noop}
"""
GATE = """\
workflow:
  - step: start
    spec: {policy: {admit: {rules: [{when: "{{ 1 ‹+› 'x' }}", then: {allow: true}}]}}}
    tool: {kind: noop}
"""
MISFIT = """\
workload: {n: 3}
workflow:
  - step: start
    tool:
      kind: http
      url: "https://example.org"
      headers: "{{ ‹workload.n› }}"
"""


@pytest.mark.parametrize(
    "body",
    [FIELD, SEVERAL, FOLDED, ESCAPED, TWICE, GUARD, ARGS, RULE, ITEMS, GATE, MISFIT],
    ids=["arg", "several", "block", "escaped", "twice", "guard", "args", "rule", "items", "gate", "misfit"],
)
def test_a_failure_shows_the_template_that_failed(tmp_path: Path, body: str) -> None:
    whole, line, column, text = marked(body)
    lines = run(tmp_path, whole)
    at = next(number for number, each in enumerate(lines) if each.startswith("error: "))
    assert f"at p.yaml:{line}:{column}: " in lines[at], lines[at]
    gutter = len(str(line))
    source = (HEAD + whole).splitlines()[line - 1]
    assert lines[at + 1 : at + 4] == [
        f"{'':>{gutter}} |",
        f"{line} | {source}",
        f"{'':>{gutter}} | {'':>{column - 1}}{'^' * len(text)}",
    ]
    shown = done_here(tmp_path, ["status", "last"]).stdout.splitlines()
    assert shown[shown.index(lines[at].replace("error: ", "failure: ", 1)) + 3] == lines[at + 3]
    document = json.loads(done_here(tmp_path, ["status", "last", "--json"]).stdout)
    place = {"file": "p.yaml", "line": line, "column": column, "end_line": line, "end_column": column + len(text)}
    assert document["error"]["at"] == place


CODE = """\
workflow:
  - step: start
    tool:
      kind: python
      args: {rows: [1]}
      code: |
        first = rows[0]
        ‹last = rows[first]›
        result = last
"""


def test_code_that_failed_shows_its_line(tmp_path: Path) -> None:
    whole, line, column, text = marked(CODE)
    lines = run(tmp_path, whole)
    at = next(number for number, each in enumerate(lines) if each.startswith("error: "))
    assert f"at p.yaml:{line}:{column}: python.exception: IndexError: " in lines[at], lines[at]
    assert lines[at + 2 : at + 4] == [f"{line} |         {text}", f"{'':>{len(str(line))}} |         {'^' * len(text)}"]


def test_what_stands_twice_is_told_by_its_task(tmp_path: Path) -> None:
    body = """\
workflow:
  - step: start
    tool: {kind: noop, args: {a: ["{{ workload.x }}", "{{ workload.x }}"]}}
"""
    [told_] = [line for line in run(tmp_path, body) if line.startswith("error: ")]
    assert f"at p.yaml:{LINES + 3}: " in told_


def test_a_plan_without_its_source_is_told_by_its_task(home: "Home") -> None:
    done = home.run("run", home.plan("workflow:\n  - {step: start, tool: {kind: noop, result: '{{ workload.x }}'}}\n"))
    [told_] = [line for line in done.stdout.splitlines() if line.startswith("error: ")]
    assert told_.startswith("error: start / start_task at plan.ir.yaml:5: "), told_


def test_a_failing_test_shows_the_template_in_the_playbook(tmp_path: Path) -> None:
    whole, line, column, text = marked(FIELD)
    cases = json.dumps({"cases": [{"case": "it sums", "expect": {"status": "completed"}}]})
    lines = told(tmp_path, cases, playbook=whole).stdout.splitlines()
    at = next(number for number, each in enumerate(lines) if each.endswith(": in the playbook"))
    assert f"orders.yaml:{line}:{column}: in the playbook" in lines[at]
    assert lines[at + 3].endswith(" | " + " " * (column - 1) + "^" * len(text))
