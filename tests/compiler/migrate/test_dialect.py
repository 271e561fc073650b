"""Which dialect a file is mostly written in."""

import pytest

from noetlc.migrate.dialect import dialect_of_file

TOOL = "{kind: http, url: x}"
FILES = {
    "call": "- {step: start, call: {task: a}}",
    "pipe": "- {step: start, case: [{when: g, then: [{pipe: []}]}]}",
    "eval": "- {step: start, tool: [{a: {kind: http, eval: []}}]}",
    "labelled": "- {step: start, tool: [{a: {kind: http}}], next: {arcs: [{step: end}]}}",
    "type": "- {step: start, type: http, next: end}",
    "tool as a word": "- {step: start, tool: http, next: end}",
    "case": f"- {{step: start, tool: {TOOL}, case: []}}",
    "cursor": f"- {{step: start, tool: {TOOL}, loop: {{cursor: {{}}}}, next: {{arcs: []}}}}",
    "set and input": f"- {{step: start, tool: {TOOL}, set: {{ctx.a: 1}}, next: {{arcs: []}}}}",
    "local": f"- {{step: start, tool: {TOOL}, next: [{{step: end}}]}}",
    "lists of next steps": "- {step: start, tool: {kind: python}, next: [{step: end}]}",
    "formal": f"- {{step: start, tool: {TOOL}, retry: 3}}",
    "canonical but for a few keys": f"- {{step: start, tool: {TOOL}, next: {{arcs: [{{step: end}}]}}}}",
    "": "",
}


@pytest.mark.parametrize("name", FILES)
def test_the_first_question_that_is_true_names_it(name: str) -> None:
    text = f"workflow:\n{FILES[name]}\n" if name else "a: 1\n"
    assert dialect_of_file("t.yaml", text.encode()) == name


def test_documents_of_a_file_are_named_each_once() -> None:
    texts = [f"workflow:\n{FILES[name]}\n" for name in ("case", "call", "case")]
    assert dialect_of_file("t.yaml", "---\n".join(texts).encode()) == "case, call"
