"""Control-flow patterns: each is the smallest playbook that shows the published definition, run by its script.

A pattern is `NN_name.yaml`: a playbook whose `x-pattern` says what the definition asks of the run: which steps run and
in which order, after how many seconds it is over, how, and with which result. Each is proved sound and lints clean,
but for the `findings` that it is about.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

import pattern_page
from harness.running import compiled, run
from noetl_ir.plan_format import read_plan
from noetlc.analysis.soundness import soundness_of
from noetlc.analysis.verdict import Status
from playbooks import linted

PATTERNS = sorted(Path(__file__).parent.glob("*.yaml"))


def asked_of(path: Path) -> dict[str, Any]:
    """The requirements of the pattern's definition on the run."""
    found: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))["x-pattern"]
    return found


@pytest.mark.parametrize("path", PATTERNS, ids=lambda path: path.stem)
def test_a_pattern_runs_as_it_is_published(path: Path) -> None:
    asked = asked_of(path)
    text = path.read_text("utf-8")
    # The second copy is the catalogue, for the pattern that calls itself.
    ran = run(f"{text}---\n{text}", yaml.safe_dump(asked["script"]), at=asked.get("at"))
    names = [ran.program.plan.steps[event.step].name for event in ran.of("step.started")]
    assert (names, ran.status, ran.log[-1].ts / 1_000_000) == (asked["runs"], asked["status"], asked["seconds"])
    if "result" in asked:
        assert ran.execution.last_result == asked["result"]


@pytest.mark.parametrize("path", PATTERNS, ids=lambda path: path.stem)
def test_a_pattern_is_proved_sound_and_lints_clean(path: Path) -> None:
    text = path.read_text("utf-8")
    verdicts = soundness_of(read_plan(compiled(text)))
    assert {verdict.status for verdict in verdicts} == {Status.PROVED}
    assert [found.code for found in linted(text)] == asked_of(path).get("findings", [])


def test_a_file_is_named_after_its_pattern() -> None:
    for path in PATTERNS:
        asked = asked_of(path)
        assert path.stem == f"{asked['number']:02}_{asked['name'].lower().replace(' ', '_')}"


def test_the_page_names_what_yawl_supports_as_often_as_its_authors_count() -> None:
    # Russell and ter Hofstede 2010, 2.4.2: 31 of the 43 directly, and three in part.
    yawl = next(system for system in pattern_page.support()[1] if system.name == "YAWL")
    support = [word for word, _ in yawl.values.values()]
    assert (len(support), support.count("+"), support.count("+/-")) == (43, 31, 3)


@pytest.mark.parametrize(
    "row",
    [
        '{source: nobody, support: "+", patterns: [1]}',
        '{source: a, support: "yes", patterns: [1]}',
        '{source: a, support: "+", patterns: [44]}',
        '{source: a, support: "+", patterns: [1, 1]}',
    ],
)
def test_no_support_is_told_without_a_source_that_was_read(
    row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "sources: {a: {by: us, title: t, address: 'http://x', read: 2026-01-01}}"
    (tmp_path / "s.yaml").write_text(f"{source}\nsystems: [{{name: n, values: [{row}]}}]\n", "utf-8")
    monkeypatch.setattr(pattern_page, "SUPPORT", tmp_path / "s.yaml")
    with pytest.raises(ValueError, match="n: "):
        pattern_page.support()


def test_every_pattern_with_a_file_has_a_picture_that_its_row_leads_to() -> None:
    page = Path("schema/patterns.md").read_text("utf-8")
    for path in PATTERNS:
        asked = asked_of(path)
        assert f"### {asked['number']} {asked['name']}\n" in page
    assert page.count("```mermaid") == len(PATTERNS)
    assert max(len(part) for part in page.split("```mermaid")[1:-1]) < 2_000


def test_the_page_refuses_a_pattern_that_is_not_named_as_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PATTERNS[0].read_text("utf-8").replace("name: Sequence", "name: Sequel")
    (tmp_path / "01_sequel.yaml").write_text(text, "utf-8")
    monkeypatch.setattr(pattern_page, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match=r"01_sequel\.yaml"):
        pattern_page.control_flow()
