"""The documents hold: their commands run and print what stands there, and their tables are the product's.

A block ```` ```yaml NAME ```` is a file. A block ```` ```console ```` holds commands (`$ …`) and what they print,
errors included; all of them run in one folder, in order. Ids, times and digests are made equal on both sides, and an
id in a command stands for the one that was printed last.
"""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from noetl.api.routes import ROUTES
from noetl.cli import COMMANDS as NOETL
from noetl_cli.lazy_click import real_command
from noetl_ir.registry import load
from noetl_ir.verify.net import SHAPES
from noetlc.cli import COMMANDS as NOETLC
from noetlc.emit.event import EVENTS

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = Path(sys.executable).parent
README = (ROOT / "README.md").read_text("utf-8")
REFERENCE = (ROOT / "schema" / "README.md").read_text("utf-8")
RUNTIME = (ROOT / "runtime" / "README.md").read_text("utf-8")
NAMES = {
    "number": "NUMBER",
    "name": "NAME",
    "execution_id": "ID",
    "digest": "DIGEST",
    "worker": "NAME",
    "user_id": "USER",
    "path": "PATH",
    "code": "CODE",
    "group": "GROUP",
}
"""The words that stand in the reference for the parts of a path."""
DOCUMENTS = sorted(
    path
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("*/README.md"), *ROOT.glob("*/*/README.md")]
    if not path.relative_to(ROOT).parts[0].startswith(".")
)

_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ID = re.compile(r"\b[1-9][0-9]{18}\b")
_VARYING = (
    (_ID, "ID"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "DIGEST"),
    (re.compile(r"\d{4}-\d\d-\d\d[ T][\d:.]+Z"), "TIME"),
    (re.compile(r"\b\d+(\.\d+)? s\b"), "N s"),
)

SPECIFIED = {
    "canonical-v2 §9.2, v10 §8": (
        "token.created token.enqueued token.claimed step.scheduled step.started task.started task.done step.done "
        "step.failed loop.done next.selected next.enqueued loop.started loop.iteration.started loop.iteration.done "
        "loop.iteration.failed"
    ),
    "case-dialect §1.2, §2.3, §5, formal §12": (
        "playbook.execution.requested playbook.request.evaluated playbook.started workflow.started workflow.finished "
        "playbook.processed step.paused step.resumed step.finished tool.started tool.processed case.started "
        "case.evaluated next.evaluated loop.finished loop.iteration.finished retry.started retry.processed "
        "sink.started sink.processed next.requested case.branch.suppressed timer.fired"
    ),
    "formal-extended §9.2": (
        "PlaybookExecutionRequested PlaybookRequestEvaluated WorkflowStarted StepStarted NextEvaluated "
        "WorkflowFinished PlaybookPaused PlaybookProcessed ToolStarted ToolCompleted ToolErrored LoopStarted "
        "LoopIterationStarted LoopIterationCompleted RetryStarted RetryProcessed SinkStarted SinkProcessed "
        "CaseStarted CaseEvaluated call.done call.error step.exit step.enter"
    ),
}
"""Every event name of every specification."""


def settled(text: str) -> str:
    """A text without what differs from run to run, and without spaces at the ends of lines."""
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


def commands(block: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with what it prints."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


def shell(command: str, folder: Path) -> str:
    """The output of a command, with our programs on the path and the examples at hand."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("NOETL_")}
    env["PATH"] = f"{PROGRAMS}{os.pathsep}{env['PATH']}"
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize(("name_of_document", "least"), [("README.md", 6), ("docs/recipes.md", 6)])
def test_the_blocks_of_a_document_do_what_they_say(name_of_document: str, least: int, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    latest, ran = "", 0
    for kind, name, body in _BLOCK.findall((ROOT / name_of_document).read_text("utf-8")):
        if kind == "yaml" and name:
            (tmp_path / name).write_text(body, "utf-8")
        elif kind == "console":
            for command, printed in commands(body):
                real = shell(_ID.sub(latest, command), tmp_path)
                latest = next(iter(_ID.findall(real)), latest)
                assert settled(real) == settled(printed), command
                ran += 1
    assert ran >= least


def test_the_readme_has_a_row_for_every_command() -> None:
    rows = set(re.findall(r"^\| `(noetlc? \S+?)[` ]", README, re.MULTILINE))
    assert rows == {f"noetlc {name}" for name in NOETLC} | {f"noetl {name}" for name in NOETL}


def test_every_extra_has_its_row() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(extras)


def test_the_readme_has_its_parts_in_order() -> None:
    heads = re.findall(r"^## (.+)$", README, re.MULTILINE)
    assert heads == [
        "Two commands",
        "An example",
        "Playbooks of older dialects",
        "Commands",
        "How it compares",
        "The map of the house",
    ]


def test_every_specified_event_name_is_mapped_to_one_that_is_written() -> None:
    part = REFERENCE.partition("### Event names in the specifications")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.+?) \| [^|]+ \| (.+) \|$", part, re.MULTILINE)
    named = [name for left, _ in rows for name in re.findall(r"`([\w.]+)`", left)]
    assert set(named) >= {name for names in SPECIFIED.values() for name in names.split()}
    assert len(set(named)) == len(named)
    ours = {name for _, right in rows for name in re.findall(r"`(\w+\.[\w.]+)`", right)}
    assert ours <= set(EVENTS)


def test_the_reference_has_a_row_for_every_role_of_a_transition() -> None:
    part = REFERENCE.partition("### Transitions")[2].partition("\n### ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE)) == set(SHAPES)


def test_the_reference_has_every_role_of_a_place() -> None:
    part = REFERENCE.partition("### Places")[2].partition("\n### ")[0]
    rows = re.findall(r"^\| ((?:`\w+` ?)+)\|", part, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == {role for pairs in SHAPES.values() for pair in pairs for side in pair for role in side.split()}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_a_document_names_is_there(document: Path) -> None:
    text = document.read_text("utf-8")
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (document.parent / target).exists(), target
    heads = {
        re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    }
    for anchor in re.findall(r"\]\(#([^)]+)\)", text):
        assert anchor in heads, anchor


def test_every_package_has_a_readme() -> None:
    for package in ("schema/noetl_ir", "compiler/noetlc", "runtime/noetl"):
        assert "## Invariants" in (ROOT / package / "README.md").read_text("utf-8")


def test_the_reference_has_the_role_of_every_operation() -> None:
    table = re.search(r"^\| role \| asks for \|\n\|---\|---\|\n((?:\|.*\n)+)", RUNTIME, re.MULTILINE)
    assert table is not None
    told = {}
    for role, row in re.findall(r"^\| `?(\w+)`? \| (.*) \|$", table[1], re.MULTILINE):
        told |= dict.fromkeys(re.findall(r"`([A-Z]+ /[^`]*)`", row), "" if role == "none" else role)
    assert told == {f"{row.method} {_shown(row.path)}": row.role for row in ROUTES}


def test_the_reference_has_what_is_closed_to_tokens_with_scopes() -> None:
    told = re.search(r"^Closed to tokens with scopes: (.*)\.$", RUNTIME, re.MULTILINE)
    assert told is not None
    closed = [f"{row.method} {_shown(row.path)}" for row in ROUTES if row.role and not row.scope]
    assert sorted(re.findall(r"`([^`]+)`", told[1])) == sorted(closed)


def _shown(path: str) -> str:
    """The path of an operation as people write it."""
    return re.sub(r"\{(\w+)(?::path)?\}", lambda part: NAMES[part[1]], path)


COMMON = {
    "noetl": {"--help", "--store", "--json", "--server"},
    "noetlc": {"--help", "--path"},
}
"""Options that the text around the table says of all."""
OTHER_SPELLINGS = {"-o": "--output"}


def test_the_readme_has_every_option_of_every_command() -> None:
    for program, commands in (("noetl", NOETL), ("noetlc", NOETLC)):
        for name in commands:
            rows = [row for row in README.splitlines() if re.match(rf"\| `{program} {name}[` ]", row)]
            words = set(re.findall(r"(?<![\w-])--?[a-z-]+", " ".join(rows)))
            words |= {OTHER_SPELLINGS[word] for word in words & OTHER_SPELLINGS.keys()}
            command = real_command(load(f"{program}.cli", name.replace("-", "_"), "COMMAND", object))
            missing = options(command) - words
            assert not missing - COMMON[program], f"{program} {name}: {sorted(missing - COMMON[program])}"


def options(command: click.Command) -> set[str]:
    """The long options of a command and of those in it."""
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    own = {word for param in command.params for word in param.opts if word.startswith("--")}
    return own.union(*map(options, inner))


def test_what_contributing_names_is_there() -> None:
    """Paths in backquotes without a part to fill in, scripts, and commands of both programs."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = re.findall(r"`([\w./]+/[\w./]*)`", page)
    rooms = [ROOT, ROOT / "compiler" / "noetlc"]
    assert len(named) > 15
    assert [path for path in named if path != "compiler/noetlc/x/y.py" and "/x/" not in path
            and not any((room / path).exists() for room in rooms)] == []  # fmt: skip
    commands = re.findall(r"`(noetlc?) (\w+)", page)
    assert len(commands) > 6
    assert [each for each in commands if each[1] not in (NOETLC if each[0] == "noetlc" else NOETL)] == []


def test_ci_runs_the_command_that_the_readme_names() -> None:
    assert "\n    tools/check " in README and "`tools/check` is what CI runs" in README
    last = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()[-1]
    assert last.startswith("exec ") and last.endswith('/../tools/check"')


def test_the_check_takes_no_other_words() -> None:
    done = subprocess.run([ROOT / "tools" / "check", "--al"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (2, "usage: tools/check [--all]\n")
