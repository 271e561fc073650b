"""Rules look at what the author wrote: nothing is said of what lowering made of it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import noetlc.rules as package
from goldens import GOLDEN
from noetl_ir.span import Span
from noetlc.ast.playbook import Playbook
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.pipeline import check_source
from noetlc.rules import LintRule, Unit, all_rules
from noetlc.source.text import Source
from playbooks import HEAD

OLD = sorted(path for stage in ("dialects", "lower", "spec") for path in (GOLDEN / stage).glob("*.yaml"))
RULES = {rule.code for _, rule in all_rules()}


def made_places(playbook: Playbook, text: str) -> set[Span]:
    """Where rules, routers and arcs stand that do not look in the text like what they are: behind the key of a policy
    or of a router, a mapping with `when` or `else`, or `step`.
    """
    source = Source("t.yaml", text)
    rules = [rule.span for step in playbook.steps for task in step.tasks for rule in task.rules]
    routers = [step.router for step in playbook.steps if step.router is not None]
    found = {span for span in rules if not re.search(r"\b(when|else|expr)\b", written(source, span))}
    found |= {arc.span for router in routers for arc in router.arcs if "step" not in written(source, arc.span)}
    return found | {router.span for router in routers if "arcs" not in written(source, router.span)}


def written(source: Source, span: Span) -> str:
    return source.text[source.offset_of(*span[:2]) : source.offset_of(*span[2:])] if span.line else ""


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_nothing_is_said_of_a_construct_that_lowering_made(path: Path) -> None:
    found = [one for one in check_source(path.name, path.read_bytes()).diagnostics if one.code in RULES]
    text = path.read_text("utf-8")
    playbooks = [document.playbook for document in check_source(path.name, path.read_bytes()).documents]
    made = {place for playbook in playbooks if playbook is not None for place in made_places(playbook, text)}
    assert [one for one in found if one.span in made] == []
    assert [one for one in found if "__" in one.message + one.help] == []


SILENT = {
    "a choose whose branch ends the run": """  - step: start
    tool:
      - name: pick
        choose:
          - when: "{{ workload.x == 1 }}"
            then: [{name: bad, kind: noop, spec: {policy: {rules: [{else: {then: {do: fail, code: x.one}}}]}}}]
          - else: {then: [{name: good, kind: noop, result: 1}]}
      - {name: after, kind: noop, result: 2}
""",
    "a case with one rule on success": """  - step: start
    tool: {kind: python, code: "result = 1"}
    case:
      - when: "{{ event.name == 'call.done' and response is defined }}"
        then: {next: [{step: end}]}
  - {step: end, tool: {kind: noop}}
""",
    "a retry map": """  - step: start
    tool: {kind: shell, command: "true", retry: {max_attempts: 2, retry_on: [timeout]}}
    next: [{step: end}]
  - {step: end, tool: {kind: noop}}
""",
    "a poll": """  - step: start
    tool:
      kind: http
      url: "http://127.0.0.1:8080/"
      timeout: 5s
      retry: [{when: "{{ result.data.state != 'ready' }}", then: {max_attempts: 5, next_call: {params: {page: 2}}}}]
""",
    "a fork in the form of a list": """  - step: start
    tool: {kind: noop}
    next: [{step: a}, {step: b}]
  - {step: a, tool: {kind: shell, command: "true"}, next: [{step: c}]}
  - {step: b, tool: {kind: shell, command: "true"}, next: [{step: c}]}
  - {step: c, tool: {kind: noop}}
""",
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_constructs_about_whose_lowering_there_was_much_to_say(text: str) -> None:
    compiled = check_source("t.yaml", f"{HEAD}workload: {{x: 1}}\nworkflow:\n{text}".encode())
    assert [str(one) for one in compiled.diagnostics if one.code in RULES] == []


def test_the_same_faults_are_told_where_they_are_written() -> None:
    text = """  - step: start
    tool:
      - name: a
        kind: shell
        command: "true"
        spec: {policy: {rules: [{else: {then: {do: continue}}}]}}
      - {name: b, kind: noop, spec: {policy: {rules: [{else: {then: {do: break}}}]}}}
      - {name: c, kind: noop}
    next: {arcs: [{step: end, when: "{{ workload.x == 1 }}"}, {step: end, when: "{{ workload.x == 2 }}"}]}
"""
    compiled = check_source("t.yaml", f"{HEAD}workload: {{x: 1}}\nworkflow:\n{text}".encode())
    assert [one.code for one in compiled.diagnostics] == ["NL507", "NL506", "NL605"]


def test_a_rule_that_does_not_look_is_overruled(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that says something of each policy rule of each task is heard where it was written, and only there."""
    text = (
        HEAD
        + """workflow:
  - step: start
    tool:
      - {name: a, kind: shell, command: "true", retry: {max_attempts: 2}}
      - name: b
        kind: noop
        spec: {policy: {rules: [{else: {then: {do: break}}}]}}
"""
    )
    (document,) = check_source("t.yaml", text.encode()).documents
    assert document.playbook is not None and document.was is not None
    spans = [rule.span for step in document.playbook.steps for task in step.tasks for rule in task.rules]

    def each(unit: Unit) -> Iterator[Diagnostic]:
        yield from (Diagnostic("NL599", Severity.NOTE, "x", span) for span in spans)

    monkeypatch.setattr(
        package, "rules_for", lambda *_, **__: (("each", LintRule("NL599", Severity.NOTE, "ast", each)),)
    )
    told = package.check_playbook(Source("t.yaml", text), document.playbook, Severity.NOTE, document.was)
    assert (
        [one.span.line for one in told]
        == [text[: text.index("{else")].count("\n") + 1]
        != sorted({s.line for s in spans})
    )
