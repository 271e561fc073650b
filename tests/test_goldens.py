"""Every golden view is what its printer makes of its input now.

`pytest tests/test_goldens.py --snapshot-update` rewrites them; the table is in `tests/goldens.py`.
"""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import goldens
from goldens import Case, Golden


@pytest.mark.parametrize("golden", list(goldens.goldens()), ids=str)
def test_a_view_is_what_its_printer_makes_of_the_input(golden: Golden, golden_text: SnapshotAssertion) -> None:
    assert golden.text() == golden_text(name=str(golden))


def upper(case: Case) -> str:
    """A printer for the tests below."""
    return case.path.read_text(encoding="utf-8").upper()


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A golden directory with one input of a stage `loud`, whose view `up` is required and `off` optional."""
    monkeypatch.setattr(goldens, "VIEWS", {"loud": {"up": "test_goldens:upper"}})
    monkeypatch.setattr(goldens, "OPTIONAL", {"off": "test_goldens:upper"})
    (tmp_path / "loud").mkdir()
    (tmp_path / "loud" / "a.yaml").write_text("x: 1\n", encoding="utf-8")
    return tmp_path


def test_required_views_are_goldens_and_optional_ones_when_they_exist(sample: Path) -> None:
    assert [str(golden) for golden in goldens.goldens(sample)] == ["loud/a.up"]
    (sample / "loud" / "a.off").touch()
    assert [str(golden) for golden in goldens.goldens(sample)] == ["loud/a.up", "loud/a.off"]


def test_a_missing_view_a_view_without_input_and_an_unknown_view_are_strays(sample: Path) -> None:
    for name in ("b.up", "a.down", "a.script"):
        (sample / "loud" / name).touch()
    assert [line.partition(":")[0] for line in goldens.strays(sample)] == [
        "loud/a.yaml",
        "loud/a.down",
        "loud/b.up",
    ]


def test_an_input_of_a_stage_without_a_row_is_a_stray(sample: Path) -> None:
    (sample / "loud" / "a.up").write_text("X: 1\n", encoding="utf-8")
    assert list(goldens.strays(sample)) == []
    (sample / "quiet").mkdir()
    (sample / "quiet" / "c.yaml").touch()
    assert ["quiet" in line for line in goldens.strays(sample)] == [True]


def test_update_writes_the_view_beside_its_input_and_keeps_everything_else(pytester: pytest.Pytester) -> None:
    tests = Path(__file__).parent
    pytester.makeini("[pytest]\npythonpath = tests\naddopts = -p no:cacheprovider --import-mode=importlib")
    for name in ("conftest.py", "goldens.py", "test_goldens.py"):
        pytester.path.joinpath("tests").mkdir(exist_ok=True)
        pytester.path.joinpath("tests", name).write_text((tests / name).read_text("utf-8"), encoding="utf-8")
    table = pytester.path / "tests" / "goldens.py"
    row = 'VIEWS: dict[str, dict[str, str]] = {"loud": {"up": "test_goldens:upper"}, **{'
    text = table.read_text("utf-8").replace("VIEWS: dict[str, dict[str, str]] = {", row, 1)
    table.write_text(text.replace("\n}\n", "\n}}\n", 1), encoding="utf-8")
    stage = pytester.path / "golden" / "loud"
    stage.mkdir(parents=True)
    (stage / "a.yaml").write_text("x: 1\n", encoding="utf-8")
    (stage / "stray.up").write_text("left alone\n", encoding="utf-8")
    only = ("tests/test_goldens.py", "-k", "printer")

    assert pytester.runpytest_subprocess(*only).ret == pytest.ExitCode.TESTS_FAILED
    assert pytester.runpytest_subprocess(*only, "--snapshot-update").ret == pytest.ExitCode.OK
    assert pytester.runpytest_subprocess(*only).ret == pytest.ExitCode.OK
    assert {path.name: path.read_text("utf-8") for path in stage.iterdir()} == {
        "a.yaml": "x: 1\n",
        "a.up": "X: 1\n",
        "stray.up": "left alone\n",
    }


def test_no_two_cases_of_the_older_dialects_say_the_same() -> None:
    seen: dict[str, str] = {}
    for case in goldens.cases():
        if case.stage == "dialects" and not case.beside("same").exists():
            lines = case.beside("canon").read_text(encoding="utf-8").splitlines()
            text = "\n".join(line for line in lines if not line.startswith("#"))
            assert text not in seen, f"{case.name} says what {seen[text]} says: name that one in {case.name}.same"
            seen[text] = case.name
