"""The steps that have surely happened when main has completed, worked out by hand."""

import pytest

from noetl_ir.span import NOWHERE
from noetlc.ast.at_the_end import surely_at_the_end
from noetlc.ast.graph import graph_of
from noetlc.ast.playbook import Playbook
from noetlc.pipeline import compile_source

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/t}\nworkflow:\n"


def playbook_of(text: str) -> Playbook:
    lines = "".join(f"  - {{step: {line}}}\n" for line in text.splitlines() if line)
    (document,) = compile_source("t.yaml", (HEAD + lines).encode()).documents
    assert document.playbook is not None
    return document.playbook


IF = 'when: "{{ workload.x }}"'
CASES = {
    "a chain": ("start, next: {arcs: [{step: a}]}\na", "start a"),
    "a choice": (f"start, next: {{arcs: [{{step: a, {IF}}}, {{step: b}}]}}\na\nb", "start"),
    "a choice that comes together": (
        f"start, next: {{arcs: [{{step: a, {IF}}}, {{step: b}}]}}\na, next: {{arcs: [{{step: c}}]}}\n"
        "b, next: {arcs: [{step: c}]}\nc",
        "start c",
    ),
    "a choice that may take nothing": (f"start, next: {{arcs: [{{step: a, {IF}}}]}}\na", "start"),
    "a choice that is none": ('start, next: {arcs: [{step: a, when: "{{ true }}"}, {step: b}]}\na\nb', "start a"),
    "a fork": ("start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}\na\nb", "start a b"),
    "a fork with a condition": (
        f"start, next: {{spec: {{mode: inclusive}}, arcs: [{{step: a}}, {{step: b, {IF}}}]}}\na\nb",
        "start a",
    ),
    "a cycle": (
        f"start, next: {{arcs: [{{step: a}}]}}\na, next: {{arcs: [{{step: start, {IF}}}, {{step: b}}]}}\nb",
        "start a b",
    ),
    "an end": (f"start, next: {{arcs: [{{step: end, {IF}}}, {{step: a}}]}}\na", "start"),
    # Where `a` fails and `c` takes it, `a` has not succeeded and `b` never ran; a failure of `start` fails the run.
    "a failure that is taken": (
        "start, next: {arcs: [{step: a}]}\n"
        "a, tool: {kind: shell, command: x}, next: {arcs: [{step: b}, "
        "{step: c, when: \"{{ event.name == 'step.failed' }}\"}]}\nb\nc",
        "start",
    ),
    "a gate": (
        "start, next: {arcs: [{step: a}]}\n"
        'a, spec: {policy: {admit: {rules: [{when: "{{ ctx.x }}", then: {allow: true}}]}}}',
        "start",
    ),
    "a gate that waits": (
        "start, next: {arcs: [{step: a}]}\n"
        'a, spec: {policy: {admit: {on_deny: wait, rules: [{when: "{{ ctx.x }}", then: {allow: true}}]}}}',
        "start a",
    ),
    # What ends the execution takes the other branch away; an end as failed completes nothing.
    "an end that completes": (
        "start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}\na\n"
        "b, tool: {kind: noop}, spec: {policy: {terminate: completed}}",
        "start b",
    ),
    "an end that fails": (
        f"start, next: {{arcs: [{{step: a, {IF}}}, {{step: b}}]}}\na\n"
        "b, tool: {kind: noop}, spec: {policy: {terminate: failed}}",
        "start a",
    ),
    "the first of two": (
        "start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}\na, next: {arcs: [{step: c}]}\n"
        "b, next: {arcs: [{step: c}]}\nc, spec: {policy: {join: first}}",
        "start a b c",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_every_completed_run_has_done(case: str) -> None:
    text, expected = CASES[case]
    playbook = playbook_of(text)
    added = [frozenset({step.name}) for step in playbook.steps]
    assert surely_at_the_end(playbook, graph_of(playbook), added) == frozenset(expected.split())


def test_a_chain_of_thousands_takes_no_stack_and_one_walk() -> None:
    lines = "".join(f"s{n}, next: {{arcs: [{{step: s{n + 1}}}]}}\n" for n in range(3000))
    playbook = playbook_of("start, next: {arcs: [{step: s0}]}\n" + lines + "s3000")
    added = [frozenset({"last"}) if step.name == "s3000" else frozenset() for step in playbook.steps]
    assert surely_at_the_end(playbook, graph_of(playbook), added) == {"last"}
    assert playbook.span != NOWHERE
