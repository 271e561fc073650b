"""A folder of its own for each test, with `noetl` run in it as a user would, and playbooks compiled in this process."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.here import done_here
from noetl_ir.plan_format import write_plan
from noetlc.pipeline import compile_source

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: tried, path: tests/tried}\n"


class Home:
    """Runs commands in a folder; what was started and still runs is killed at the end of the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[str]] = []
        self.env = {key: value for key, value in os.environ.items() if not key.startswith("NOETL_")}
        self._usual = {**self.env}

    def run(self, *words: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        """`noetl …` to its end: in this process, or where a run has another `env` in one of its own."""
        if words[0] not in ("run", "resume") or self.env == self._usual:
            return done_here(self.folder, words, stdin)
        return subprocess.run(
            [sys.executable, "-m", "noetl.cli", *words], cwd=self.folder, env=self.env, input=stdin, text=True,
            capture_output=True, timeout=60,
        )  # fmt: skip

    def json(self, *words: str) -> object:
        """The JSON that a command prints with `--json`; fails where it prints none."""
        done = self.run(*words, "--json")
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def begin(self, *words: str) -> "subprocess.Popen[str]":
        """`noetl …` in the background."""
        child = subprocess.Popen(
            [sys.executable, "-m", "noetl.cli", *words], cwd=self.folder, env=self.env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.started.append(child)
        return child

    def start(self, *words: str, until: str) -> "subprocess.Popen[str]":
        """`noetl …` in the background, once it has said a line that ends with `until`."""
        child = self.begin(*words)
        assert child.stderr is not None
        for line in child.stderr:
            if line.rstrip().endswith(until):
                return child
        raise AssertionError(f"it ended with {child.wait()} and never said {until!r}")

    @contextmanager
    def serving(self, *words: str, command: str = "server") -> Iterator[tuple["subprocess.Popen[str]", str]]:
        """A server in the folder, or a gateway, and its URL; killed in the end unless it ended by itself."""
        child = subprocess.Popen(
            [sys.executable, "-m", "noetl.cli", command, "--port", "0", *words],
            cwd=self.folder, env=self.env, text=True, stderr=subprocess.PIPE,
        )  # fmt: skip
        try:
            assert child.stderr is not None
            ready = re.fullmatch(r"listening on (https?://127\.0\.0\.1:\d+)\n", child.stderr.readline())
            assert ready, child.stderr.read()
            yield child, ready[1]
        finally:
            child.kill()
            child.wait(60)
            child.stderr.close()

    def plan(self, body: str, name: str = "plan.ir") -> str:
        """Compile the body of a playbook, its header aside; the name of the plan."""
        compiled = compile_source(f"{name}.yaml", (HEAD + body).encode())
        assert compiled.plans, compiled.diagnostics
        (self.folder / name).write_bytes(write_plan(compiled.plans[0]))
        return name

    def only(self) -> str:
        """The id of the one execution in the store."""
        [row] = self.json("list")  # type: ignore[misc]
        return str(row["execution_id"])


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    yield made
    for child in made.started:
        child.kill()
        child.communicate()
