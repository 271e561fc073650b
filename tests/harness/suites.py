"""Files of tests in a folder, and `noetl test` on them: all in this process, the compiler's part, too."""

import json
import subprocess
from collections.abc import Sequence
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from unittest import mock

from harness.here import done_here
from harness.running import HEAD
from noetl.clients.compiler import CompileError
from noetlc.cli.suite import main

FETCH = """
workload: {limit: 10}
workflow:
  - step: start
    tool:
      - name: fetch
        kind: http
        url: "https://example.org/orders?limit={{ workload.limit }}"
        spec:
          policy:
            rules:
              - when: "{{ outcome.status == 'error' and outcome.http.status == 404 }}"
                then: {do: fail, code: orders.none, message: There are no orders}
              - when: "{{ outcome.status == 'error' }}"
                then: {do: retry, attempts: 3, delay: 2}
              - else: {then: {do: continue, set_ctx: {count: "{{ outcome.result.data | length }}"}}}
    next:
      arcs:
        - {step: store, when: "{{ ctx.count > 0 }}"}
        - {step: quiet}
  - step: store
    tool: {kind: python, args: {rows: "{{ start.data }}"}, code: "result = {'sum': sum(rows)}"}
  - step: quiet
    tool: {kind: noop, result: nothing}
"""
"""A playbook: a request that is tried up to three times, and a choice by what it brings."""


def put(folder: Path, cases: str, playbook: str = FETCH, name: str = "orders") -> None:
    """Write a playbook and its file of tests."""
    (folder / f"{name}.yaml").write_text(HEAD + playbook, "utf-8")
    (folder / f"{name}.test.yaml").write_text(cases, "utf-8")


def suite_here(source: Path, folders: Sequence[Path], wish: str = "") -> tuple[bytes, str]:
    """`noetl.clients.compiler.suite_bytes` without a process of its own, which takes as long as fifty cases."""
    said, target = StringIO(), Path(source.parent, ".suite")
    words = ["-o", str(target), *([f"--{wish}"] if wish else [])]
    with redirect_stderr(said):
        code = main([*words, *(word for each in folders for word in ("--path", str(each))), str(source)])
    if code:
        raise CompileError(said.getvalue().strip(), code)
    data = target.read_bytes()
    target.unlink()
    return data, said.getvalue().strip()


def run_tests(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """`noetl test` with these words."""
    with mock.patch("noetl.clients.compiler.suite_bytes", suite_here):
        return done_here(folder, ["test", *words])


def told(folder: Path, cases: str, *words: str, playbook: str = FETCH) -> "subprocess.CompletedProcess[str]":
    """Run the tests of a playbook, in one process."""
    put(folder, cases, playbook)
    return run_tests(folder, "orders.test.yaml", "--jobs", "1", *words)


def failing(done: "subprocess.CompletedProcess[str]") -> list[str]:
    """The messages of what failed, without their places."""
    assert done.returncode == 1, done.stdout + done.stderr
    heads = [line.partition(": ")[2] for line in done.stdout.splitlines() if line.startswith("orders.test.yaml:")]
    assert heads, done.stdout + done.stderr
    return heads


def case(expect: object, **keys: object) -> str:
    """A file with one case."""
    return "cases:\n  - " + json.dumps({"case": "one", "expect": expect, **keys})


def brought(*outcomes: object) -> list[object]:
    """Outcomes of the request, one after the other."""
    return [{"step": "start", "task": "fetch", "attempt": n + 1, "outcome": each} for n, each in enumerate(outcomes)]
