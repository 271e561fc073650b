"""Right playbooks, on which no rule may say anything: the measure of false alarms (compiler/README.md).

`correct/` holds them, one idea each, written as people write them; together they use every join, loop, route, kind of
retry and most tools.
"""

from pathlib import Path

import pytest

from noetlc.pipeline import check_source

CORRECT = sorted((Path(__file__).parent / "correct").glob("*.yaml"))
EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "examples").rglob("*.yaml"))

CONSTRUCTS = (
    "join: all", "join: any", "join: first", "join: taken", "join: 2", "mode: inclusive", "mode: parallel", "loop:",
    "max_in_flight", "best_effort", "admit:", "on_deny: wait", "delay:", "do: retry", "do: jump", "do: break",
    "do: fail", "backoff: linear", "backoff: exponential", "choose:", "while:", "until:", "set_ctx", "set_iter",
    "lifecycle", "step.failed", "loop.done", "workbook:", "keychain:", "x-assert:", "entry_step", "{% for", "_prev",
    "kind: http", "kind: python", "kind: postgres", "kind: sqlite", "kind: duckdb", "kind: shell", "kind: script",
    "kind: playbook", "kind: wait", "kind: secrets", "kind: noop",
)  # fmt: skip


def test_there_are_enough_of_them_and_they_use_every_construct() -> None:
    assert len(CORRECT) >= 60
    texts = "\n".join(path.read_text() for path in CORRECT)
    assert [each for each in CONSTRUCTS if each not in texts] == []


@pytest.mark.parametrize("path", CORRECT, ids=lambda path: path.stem)
def test_nothing_is_found_in_a_right_playbook(path: Path) -> None:
    found = check_source(path.name, path.read_bytes()).diagnostics
    assert [(one.code, str(one.span), one.message) for one in found] == []


@pytest.mark.parametrize(
    "path",
    [each for each in EXAMPLES if not each.name.endswith((".script.yaml", ".test.yaml"))],
    ids=lambda path: path.stem,
)
def test_nothing_but_what_it_says_itself_is_found_in_an_example(path: Path) -> None:
    rules = [one.code for one in check_source(path.name, path.read_bytes()).diagnostics]
    assert rules == []
