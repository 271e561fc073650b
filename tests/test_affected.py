"""tools/affected chooses the tests of what was changed."""

import pytest

import affected
import goldens


@pytest.mark.parametrize(
    ("name", "tests", "shown"),
    [
        ("compiler/noetlc/rules/secret_operation.py", [], ["rules"]),
        ("compiler/noetlc/codegen/net.py", ["tests/compiler/codegen/test_net.py"], ["plan or net"]),
        ("runtime/noetl/tools/shell.py", ["tests/runtime/tools/test_shell.py", "tests/contracts/test_tool.py"], []),
        ("schema/noetl_ir/kinds/shell.py", ["tests/contracts/test_tool.py"], []),
        ("runtime/noetl/engine/retry.py", ["tests/runtime/engine"], []),
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
    assert [call[0] for call in calls] == ["ruff", "ruff", "pytest", "pytest", "pytest"]
    assert all(call[call.index("-m") + 1] == "not long" for call in calls if call[0] == "pytest")


def test_what_imports_a_module_is_chosen() -> None:
    assert "tests/compiler/pipeline/test_pipeline.py" in affected.tests_of(["compiler/noetlc/codegen/net.py"])[0]


def test_the_goldens_of_each_room_are_there() -> None:
    for room, shown in affected.GOLDENS.items():
        assert (affected.ROOT / "compiler" / "noetlc" / room).is_dir()
        assert all((goldens.GOLDEN / stage).is_dir() for stage in shown.split(" or "))
