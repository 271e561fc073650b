"""A block template that no task could render in time is refused, and the message says what to write."""

import pytest

from noetlc.pipeline import check_source

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/t}\n"
STEP = "- {step: start, next: b}\n- {step: b}\n"

REFUSED = {
    "what only the policy knows": (
        "workflow:\n- {step: start, tool: noop, vars: {a: '{% if success %}1{% endif %}'}, next: b}\n- {step: b}\n",
        "NL903",
        "`success` is not known in the task that would render it",
    ),
    "read before the first step": (
        "workload: {k: 1, a: '{% if workload.k %}1{% endif %}', c: '{{ workload.a }}'}\nworkflow:\n" + STEP,
        "NL903",
        "what is rendered before the first step reads it",
    ),
    "read by another": (
        "workload: {k: 1, a: '{% if workload.k %}1{% endif %}'}\nworkflow:\n"
        "- {step: start, tool: {kind: noop, args: {v: '{% if workload.a %}1{% endif %}'}}, next: b}\n- {step: b}\n",
        "NL903",
        "another block template reads it",
    ),
    "items of a loop": (
        "workflow:\n- {step: start, loop: {in: '{% if true %}[1]{% endif %}', iterator: i}, next: b}\n- {step: b}\n",
        "NL306",
        "block templates have no place in `loop.in`",
    ),
    "a condition": (
        "workflow:\n- {step: start, when: '{% if true %}1{% endif %}', next: b}\n- {step: b}\n",
        "NL302",
        "a guard is exactly one expression in braces",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_what_to_write(name: str) -> None:
    text, code, message = REFUSED[name]
    found = [one for one in check_source("t.yaml", (HEAD + text).encode()).diagnostics if one.code == code]
    assert [message in one.message for one in found] == [True], found
    assert found[0].help or "write" in found[0].message or "build" in found[0].message


def test_without_a_legacy_construct_it_is_an_error_as_ever() -> None:
    text = HEAD + "workload: {a: '{% if true %}1{% endif %}'}\nworkflow:\n- {step: start}\n"
    assert [one.code for one in check_source("t.yaml", text.encode()).diagnostics] == ["NL306"]
