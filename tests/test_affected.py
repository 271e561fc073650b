"""tools/affected chooses the tests of what was changed."""

import pytest

import affected
import goldens


@pytest.mark.parametrize(
    ("name", "tests", "shown"),
    [
        ("compiler/noetlc/rules/secret_operation.py", [], ["rules"]),
        ("compiler/noetlc/codegen/net.py", ["tests/compiler/codegen/test_net.py"], ["net", "plan"]),
        ("runtime/noetl/tools/shell.py", ["tests/runtime/tools/test_shell.py", "tests/contracts/test_tool.py"], []),
        ("schema/noetl_ir/kinds/shell.py", ["tests/contracts/test_tool.py"], []),
        ("runtime/noetl/engine/retry.py", [], ["run"]),
        ("runtime/noetl/page/signals.js", ["tests/page/test_catalogue.py", affected.TYPES], []),
        ("schema/noetl_ir/codec.py", ["tests/schema/test_codec.py"], []),
        ("tests/test_affected.py", ["tests/test_affected.py"], []),
        ("README.md", [], []),
    ],
)
def test_what_is_chosen(name: str, tests: list[str], shown: list[str]) -> None:
    chosen, found = affected.tests_of([name])
    assert (set(tests) <= set(chosen), found) == (True, shown)


def test_what_takes_long_is_left_to_the_whole_run() -> None:
    calls = affected.calls_for(["runtime/noetl/engine/retry.py", "compiler/noetlc/codegen/net.py"])
    assert [call[0] for call in calls] == ["ruff", "ruff", "pytest"]
    assert calls[-1][calls[-1].index("-m") + 1] == "not long"


def test_a_word_that_is_no_commit_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert affected.main(["--help"]) == 2 and capsys.readouterr().err == "usage: tools/affected [COMMIT]\n"


def test_scripts_are_linted() -> None:
    assert ["oxlint", "runtime/noetl/page/dom.js"] in affected.calls_for(["runtime/noetl/page/dom.js"])


def test_what_imports_a_module_is_chosen() -> None:
    assert "tests/compiler/pipeline/test_pipeline.py" in affected.tests_of(["compiler/noetlc/codegen/net.py"])[0]


def test_goldens_of_a_room_are_chosen_and_shown_as_a_number() -> None:
    call = affected.calls_for(["compiler/noetlc/lower/lower_while.py"])[-1]
    shown = [word for word in call if word.startswith(affected.GOLDEN_TEST)]
    assert shown and all("[lower/" in word for word in shown)
    assert affected.short(call)[-1] == f"(and {len(shown)} goldens)"


def test_the_goldens_of_each_room_are_there() -> None:
    rooms = {path.name: path for path in map(affected.ROOT.joinpath, affected.PACKAGES)}
    for name, stages in affected.GOLDENS.items():
        package, _, room = name.partition(".")
        assert (rooms[package] / room).is_dir()
        assert all((goldens.GOLDEN / stage).is_dir() for stage in stages)


def test_each_file_of_the_page_is_looked_at_by_a_test_that_is_there() -> None:
    files = {path.name for path in (affected.ROOT / affected.PAGE).iterdir() if path.suffix in (".js", ".css", ".html")}
    listed = [name for names in affected.VIEWS.values() for name in names]
    assert sorted(listed) == sorted(files)
    for view in affected.VIEWS:
        assert (affected.ROOT / f"tests/page/test_{view}.py").exists()
    where, _, test = affected.TYPES.partition("::")
    assert f"def {test}(" in (affected.ROOT / where).read_text(encoding="utf-8")
