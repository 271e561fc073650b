"""`lint` with children: circles of calls between files that are checked together, and what `--path` adds."""

import pytest

from command_line import Run, put

CALL = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {{name: {0}, path: t/{0}}}
workflow:
  - {{step: start, tool: {{kind: playbook, path: t/{1}}}}}
"""
LEAF = CALL.format("c", "c").replace("kind: playbook, path: t/c", "kind: noop")


def circle() -> None:
    put("jobs/a.yaml", CALL.format("a", "b"))
    put("jobs/b.yaml", CALL.format("b", "a"))


def codes(out: str) -> list[str]:
    return [f"{line.partition(':')[0]} {line.partition('[')[2][:5]}" for line in out.splitlines()]


def test_a_circle_between_files_that_are_checked_together(run: Run) -> None:
    circle()
    wanted = ["jobs/a.yaml NL692", "jobs/b.yaml NL692"]
    for _ in range(2):  # found, and remembered
        assert codes(run("lint", "--format", "text", "jobs").out) == wanted
    # Alone, nothing is known of the other one; and what was found together is not remembered of it.
    assert run("lint", "--format", "text", "jobs/a.yaml").out == ""


def test_a_playbook_that_calls_itself(run: Run) -> None:
    put("a.yaml", CALL.format("a", "a"))
    assert codes(run("lint", "--format", "text", "a.yaml").out) == ["a.yaml NL692"]


def test_what_was_found_with_children_holds_while_these_are_the_same(run: Run) -> None:
    circle()
    arguments = ("lint", "--format", "text", "jobs/a.yaml", "--path", "jobs")
    assert codes(run(*arguments).out) == ["jobs/a.yaml NL692"]
    put("jobs/b.yaml", CALL.format("b", "c"))
    assert run(*arguments).out == ""
    put("jobs/c.yaml", CALL.format("c", "a"))
    assert codes(run(*arguments).out) == ["jobs/a.yaml NL692"]
    put("jobs/c.yaml", LEAF)
    assert run(*arguments).out == ""
    put("jobs/b.yaml", CALL.format("b", "c") + "nonsense: 1\n")
    assert codes(run(*arguments).out) == ["jobs/a.yaml NL691"]


def test_a_child_that_is_nowhere_is_missing_only_from_a_catalogue(run: Run) -> None:
    put("a.yaml", CALL.format("a", "b"))
    put("jobs/c.yaml", LEAF)
    assert run("lint", "--format", "text", "a.yaml", "jobs").out == ""
    assert codes(run("lint", "--format", "text", "a.yaml", "jobs", "--path", "jobs").out) == ["a.yaml NL690"]
    assert run("lint", "a.yaml", "--path", "none").status == 2


def test_a_comment_takes_a_finding_about_a_call_back(run: Run) -> None:
    put("a.yaml", CALL.format("a", "a").rstrip("\n") + "  # noetl: ignore[NL692] it counts down\n")
    done = run("lint", "a.yaml")
    assert (done.out, done.err) == ("", "nothing found in 1 file, 1 ignored\n")


@pytest.mark.parametrize("count", [30])
def test_many_files_over_several_processes(run: Run, count: int) -> None:
    for number in range(count):
        put(f"jobs/p{number:02}.yaml", CALL.format(f"p{number:02}", f"p{(number + 1) % count:02}"))
    out = codes(run("lint", "--format", "text", "jobs").out)
    assert out == [f"jobs/p{number:02}.yaml NL692" for number in range(count)]


RELATIVE = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {{name: {0}, path: {0}}}
workflow:
  - {{step: start, tool: {{kind: {1}, path: {2}}}}}
"""


@pytest.mark.parametrize("path", ["./child.yaml", "child.yaml", "./child", "child", "../one/child.yaml"])
@pytest.mark.parametrize("folder", [".", "cat"])
def test_a_path_from_where_the_caller_lies(run: Run, path: str, folder: str) -> None:
    put("cat/one/top.yaml", RELATIVE.format("top", "playbook", path))
    put("cat/one/child.yaml", LEAF)
    assert run("lint", "--format", "text", "cat/one/top.yaml", "--path", folder).out == ""
    put("cat/one/child.yaml", LEAF + "nonsense: 1\n")  # another child, found again
    assert codes(run("lint", "--format", "text", "cat/one/top.yaml", "--path", folder).out) == [
        "cat/one/top.yaml NL691"
    ]


def test_one_path_means_another_file_in_another_folder(run: Run) -> None:
    put("cat/top.yaml", CALL.format("top", "middle"))
    put("cat/one/middle.yaml", RELATIVE.format("t/middle", "playbook", "./leaf.yaml"))
    put("cat/one/leaf.yaml", RELATIVE.format("t/leaf", "playbook", "../two/leaf.yaml"))
    put("cat/two/leaf.yaml", RELATIVE.format("t/other", "playbook", "./leaf.yaml"))  # itself
    out = codes(run("lint", "--format", "text", "cat", "--path", "cat").out)
    assert out == ["cat/two/leaf.yaml NL692"]


def test_a_dot_in_front_means_the_file_beside_the_caller_before_that_of_the_catalogue(run: Run) -> None:
    put("one/dotted.yaml", RELATIVE.format("dotted", "playbook", "./leaf.yaml"))
    put("one/plain.yaml", RELATIVE.format("plain", "playbook", "leaf.yaml"))
    put("one/leaf.yaml", LEAF)
    put("leaf.yaml", LEAF + "nonsense: 1\n")
    assert run("lint", "--format", "text", "one/dotted.yaml", "--path", ".").out == ""
    assert codes(run("lint", "--format", "text", "one/plain.yaml", "--path", ".").out) == ["one/plain.yaml NL691"]
