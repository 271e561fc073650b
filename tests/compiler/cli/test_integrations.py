"""Integrations for other programs: the hooks for pre-commit and the workflow for GitHub. Their commands are run."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from command_line import Run, put
from nets import HEAD, steps

ROOT = Path(__file__).resolve().parents[3]
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
WORKFLOW = yaml.safe_load((ROOT / "examples" / "github" / "playbooks.yml").read_text("utf-8"))
PROGRAMS = Path(sys.executable).parent

GOOD = HEAD + steps("step: start")
BAD = HEAD + steps("step: start, tool: {kind: gone}", "step: lonely")
FIXABLE = f"{HEAD}workflow:\n  - step: start  # noetl: ignore[NL601] it is reached\n"

# https://pre-commit.com/#creating-new-hooks: what is required, and what else there is of it that we use.
REQUIRED, OPTIONAL = {"id", "name", "entry", "language"}, {"description", "types", "require_serial"}


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_is_well_formed_and_runs(run: Run, hook: dict[str, Any]) -> None:
    assert hook.keys() >= REQUIRED and hook.keys() <= REQUIRED | OPTIONAL
    assert (hook["language"], hook["types"], hook["require_serial"]) == ("python", ["yaml"], True)
    program, *argv = hook["entry"].split()
    assert program == "noetlc"
    put("good.yaml", GOOD)
    put("other.yaml", "key: value\n")
    assert run(*argv, "good.yaml", "other.yaml").status == 0
    assert run(*argv, "other.yaml") == (0, "", "")
    put("bad.yaml", BAD)
    assert run(*argv, "good.yaml", "bad.yaml").status == 1


def test_the_fixing_hook_fixes(run: Run) -> None:
    (hook,) = [hook for hook in HOOKS if hook["id"] == "noetlc-fix"]
    put("a.yaml", FIXABLE)
    assert run(*hook["entry"].split()[1:], "a.yaml").status == 0
    assert "ignore" not in Path("a.yaml").read_text()


def test_others_are_only_passed_by_when_asked(run: Run) -> None:
    put("other.yaml", "key: value\n")
    assert run("lint", "other.yaml").status == 1
    assert run("lint", "--skip-others", "gone.yaml").status == 2


def test_the_workflow_is_well_formed() -> None:
    # https://docs.github.com/actions/reference/workflows-and-actions/workflow-syntax; YAML 1.1 reads `on` as true.
    assert WORKFLOW.keys() == {"name", True, "permissions", "jobs"}
    assert WORKFLOW[True].keys() == {"push", "pull_request"}
    assert WORKFLOW["permissions"] == {"contents": "read"}
    for job in WORKFLOW["jobs"].values():
        assert job.keys() <= {"if", "runs-on", "timeout-minutes", "permissions", "steps"} and "runs-on" in job
        for step in job["steps"]:
            assert len(step.keys() & {"uses", "run"}) == 1
            assert step.keys() <= {"name", "if", "uses", "run", "with", "env"}
            assert "uses" not in step or "@" in step["uses"]


def scripts(job: str) -> list[dict[str, Any]]:
    """The steps of a job that call us."""
    return [step for step in WORKFLOW["jobs"][job]["steps"] if "noetlc " in step.get("run", "")]


def shell(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script as GitHub does: with `bash -e`."""
    env = {**os.environ, "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}", **variables}
    return subprocess.run(["bash", "-e", "-c", script], cwd=folder, env=env, capture_output=True, text=True, timeout=60)


def test_the_workflow_checks_and_reports(tmp_path: Path) -> None:
    (tmp_path / "playbooks").mkdir()
    check, report = (step["run"] for step in scripts("lint"))
    for text, status, level in ((GOOD, 0, ""), (BAD, 1, "::error file=playbooks/a.yaml,line=5")):
        (tmp_path / "playbooks" / "a.yaml").write_text(text)
        done = shell(check, tmp_path)
        assert (done.returncode, done.stdout.startswith(level)) == (status, True)
        assert shell(report, tmp_path).returncode == 0
        results = json.loads((tmp_path / "noetlc.sarif").read_text())["runs"][0]["results"]
        assert bool(results) == bool(status)
    (upload,) = [step for step in WORKFLOW["jobs"]["lint"]["steps"] if "upload-sarif" in step.get("uses", "")]
    assert upload["with"] == {"sarif_file": "noetlc.sarif"}


def test_the_workflow_says_what_a_pull_request_changes(tmp_path: Path) -> None:
    (tmp_path / "playbooks" / "deep").mkdir(parents=True)
    git = "git -c user.name=t -c user.email=t@example.org -c commit.gpgsign=false"
    for name in ("same", "deep/other"):
        (tmp_path / "playbooks" / f"{name}.yaml").write_text(GOOD)
    (tmp_path / "values.yaml").write_text("key: 1\n")
    assert shell(f"git init -q . && git add . && {git} commit -qm one", tmp_path).returncode == 0
    (tmp_path / "playbooks" / "same.yaml").write_text(f"# a comment\n{GOOD}")
    (tmp_path / "playbooks" / "deep" / "other.yaml").write_text(GOOD + "  - step: more\n")
    (tmp_path / "values.yaml").write_text("key: 2\n")
    (step,) = scripts("behaviour")
    done = shell(step["run"], tmp_path, BASE="HEAD", GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"))
    assert (done.returncode, done.stderr) == (0, "")
    summary = (tmp_path / "summary.md").read_text()
    assert "**playbooks/deep/other.yaml** does something else" in summary and "same.yaml" not in summary
    assert "- run + step `more`" in summary
