"""The shapes that a playbook may be written in, and what they are read as."""

import pytest

from noetl_ir.expr import Literal
from noetlc.ast.workbook import inline_workbook
from noetlc.pipeline import compile_source, understood
from noetlc.source.yaml_reader import read_yaml
from playbooks import HEAD, codes, playbook_of, read


@pytest.mark.parametrize("version", ["noetl.io/v1", "noetl.io/v2", "noetl.io/v10"])
def test_versions(version: str) -> None:
    playbook, found = read(HEAD.replace("noetl.io/v2", version) + "workflow: [{step: start}]\n")
    assert playbook is not None and found == []


@pytest.mark.parametrize(
    ("tool", "names"),
    [
        ("[{name: a, kind: noop}, {kind: noop}, {c: {kind: noop}}]", ["a", "task_1", "c"]),
        ("{kind: noop}", ["start_task"]),
        ("{name: a, kind: noop}", ["a"]),
        ("{a: {kind: noop}}", ["a"]),
    ],
)
def test_task_forms(tool: str, names: list[str]) -> None:
    playbook = playbook_of(f"workflow: [{{step: start, tool: {tool}}}]\n")
    assert [task.name for task in playbook.steps[0].tasks] == names


@pytest.mark.parametrize("tool", ["", ", tool: []", ", tool: null"])
def test_a_step_without_a_tool_is_a_router(tool: str) -> None:
    (task,) = playbook_of(f"workflow: [{{step: start{tool}}}]\n").steps[0].tasks
    assert (task.name, task.kind, task.generated) == ("start_task", "noop", True)


@pytest.mark.parametrize(
    "workbook",
    ["[{name: a, kind: noop}]", "{a: {kind: noop}}", "{tasks: {a: {kind: noop}}}", "{tasks: [{name: a, kind: noop}]}"],
)
def test_workbook_shapes(workbook: str) -> None:
    playbook = playbook_of(f"workbook: {workbook}\nworkflow: [{{step: start}}]\n")
    assert [name for name, _ in playbook.workbook] == ["a"]


def test_an_empty_workbook() -> None:
    assert playbook_of("workbook: {tasks: {}}\nworkflow: [{step: start}]\n").workbook == ()


def test_a_workbook_task_is_replaced_by_its_entry_and_its_args_win() -> None:
    playbook = playbook_of(
        "workbook: {load: {kind: http, url: 'https://example.com', args: {a: 1, b: 2}}}\n"
        "workflow: [{step: start, tool: {name: mine, kind: workbook, task: load, args: {b: 3}}}]\n"
    )
    (task,) = inline_workbook(playbook).steps[0].tasks
    assert (task.name, task.kind) == ("mine", "http")
    assert task.args is not None and task.args.template == Literal({"a": 1, "b": 3})


def test_root_names_move_into_the_metadata_with_a_note() -> None:
    playbook, found = read("apiVersion: noetl.io/v2\nkind: Playbook\nname: n\npath: p\nworkflow: [{step: start}]\n")
    assert playbook is not None and (playbook.name, playbook.path) == ("n", "p")
    assert codes(found) == ["NL111", "NL111"]


def test_scenario_108_names_are_compared_after_nfc() -> None:
    playbook = playbook_of('workflow: [{step: start, next: {arcs: [{step: "cafe\\u0301"}]}}, {step: "caf\\u00e9"}]\n')
    router = playbook.steps[0].router
    assert router is not None and router.arcs[0].target == playbook.steps[1].name


def test_scenario_110_a_chain_of_5000_steps_reads_without_recursion() -> None:
    steps = "".join(f"  - {{step: s{i}, next: {{arcs: [{{step: s{i + 1}}}]}}}}\n" for i in range(5000))
    playbook = playbook_of("executor: {spec: {entry_step: s0}}\nworkflow:\n" + steps + "  - {step: s5000}\n")
    assert len(playbook.steps) == 5001


def test_scenario_66_program_text_reaches_the_tool_as_written() -> None:
    shell = "n=${#list[@]}; echo $n"
    playbook, found = read(HEAD + f"workflow: [{{step: start, tool: {{kind: shell, command: '{shell}'}}}}]\n")
    assert playbook is not None and codes(found) == []
    assert dict(playbook.steps[0].tasks[0].fields)["command"].template == Literal(shell)


def test_every_document_of_a_file_is_read_by_itself() -> None:
    text = HEAD + "workflow: [{step: start}]\n---\n" + HEAD + "workflow: []\n"
    reading = read_yaml("t.yaml", text.encode())
    found = [understood(reading.source, node).diagnostics for node in reading.documents]
    assert [codes(findings) for findings in found] == [[], ["NL103"]]


@pytest.mark.parametrize("attempts", ["0", "-1", "true", "2.5", "'3'", "'{{ workload.n }}'"])
def test_scenario_40_attempts(attempts: str) -> None:
    rule = f"{{when: \"{{{{ outcome.status == 'error' }}}}\", then: {{do: retry, attempts: {attempts}}}}}"
    _, found = read(
        HEAD + f"workflow: [{{step: start, tool: {{kind: noop, spec: {{policy: {{rules: [{rule}]}}}}}}}}]\n"
    )
    assert codes(found) == ["NL501"]


@pytest.mark.parametrize(("written", "meant"), [("no", "false"), ("yes", "true"), ("false", "false")])
def test_a_truth_value_in_quotes_is_told_with_the_one_that_is_meant(written: str, meant: str) -> None:
    tool = f'{{kind: http, url: "http://x.y", verify_ssl: "{written}"}}'
    _, found = read(HEAD + f"workflow: [{{step: start, tool: {tool}}}]\n")
    fix = found[0].fix
    assert [one.code for one in found] == ["NL102"] and fix is not None and fix.text == meant


def test_labels_are_texts_as_they_are_written() -> None:
    """Playbooks of before, whose labels nobody read, have truth values and numbers there."""
    labels = "{test: true, off: no, phase: 2, at: 1.50, day: 2026-01-02}"
    text = HEAD.replace("metadata: {", f"metadata: {{labels: {labels}, ") + "workflow: [{step: start}]\n"
    done = compile_source("t.yaml", text.encode())
    assert [found.code for found in done.diagnostics if found.code.startswith("NL0")] == []
    assert dict(done.plans[0].labels) == {"test": "true", "off": "no", "phase": "2", "at": "1.50", "day": "2026-01-02"}
