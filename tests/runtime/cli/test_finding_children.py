"""Which playbook a path means that is known at run time only: the same as where it is written out."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Home

HEAD = "apiVersion: noetl.io/v10\nkind: Playbook\nmetadata: {{name: {0}, path: {1}}}\n"
SAYS = HEAD + "workflow:\n  - step: start\n    tool: {{kind: python, code: 'result = \"{0}\"'}}\n"
CALLS = (
    "apiVersion: noetl.io/v10\nkind: Playbook\nmetadata: {{name: top}}\nworkload: {{which: jobs/child}}\n"
    "workflow:\n  - {{step: start, tool: {{kind: playbook, path: {0}}}}}\n"
)


@pytest.mark.parametrize("path", ["jobs/child", '"{{ workload.which }}"'], ids=["written", "computed"])
def test_the_path_that_a_playbook_gives_itself_comes_before_that_of_a_file(home: "Home", path: str) -> None:
    (home.folder / "jobs").mkdir()
    (home.folder / "jobs" / "child.yaml").write_text(SAYS.format("file", "elsewhere"))
    (home.folder / "other.yaml").write_text(SAYS.format("itself", "jobs/child"))
    (home.folder / "top.yaml").write_text(CALLS.format(path))
    execution = home.json("run", "top.yaml", "--path", ".")["execution_id"]  # type: ignore[index]
    assert home.json("result", execution) == "itself"
    (home.folder / "other.yaml").write_text(SAYS.format("itself", "another"))
    execution = home.json("run", "top.yaml", "--path", ".")["execution_id"]  # type: ignore[index]
    assert home.json("result", execution) == "file"


def test_a_playbook_that_does_not_compile_says_so(home: "Home") -> None:
    (home.folder / "other.yaml").write_text(SAYS.format("itself", "jobs/child") + "nonsense: 1\n")
    (home.folder / "top.yaml").write_text(CALLS.format('"{{ workload.which }}"'))
    done = home.run("run", "top.yaml", "--path", ".")
    assert done.returncode == 1
    assert "other.yaml does not compile" in done.stdout
