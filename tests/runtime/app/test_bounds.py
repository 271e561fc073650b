"""Memory does not grow with the length of a run (issue §3): measured after N and after 2N, in processes of their own.

The store lies in memory where the machine has such a folder, so that the disk does not decide how long this takes.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from harness.running import compiled
from noetl.app.composition import driver_of
from noetl.app.runtime import Settings, open_runtime
from noetl.engine.starting import Request

JUMPS = """
workflow:
  - step: start
    tool:
      name: t
      kind: noop
      spec:
        policy:
          rules:
            - when: "{{ iter.n | default(0) < %d }}"
              then: {do: jump, to: t, set_iter: {n: "{{ iter.n | default(0) + 1 }}"}}
"""
STEPS = """
workflow:
  - step: start
    tool:
      kind: noop
      args: {n: "{{ ctx.n | default(0) }}"}
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {n: "{{ ctx.n | default(0) + 1 }}"}}}}]}}
    next: {arcs: [{step: start, when: "{{ ctx.n < %d and start.n >= 0 }}", args: {k: "{{ ctx.n }}"}}]}
"""
CHILDREN = """
workflow:
  - step: start
    tool: {kind: playbook, path: t/c}
    next: {arcs: [{step: count}]}
  - step: count
    tool:
      kind: noop
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {n: "{{ ctx.n | default(0) + 1 }}"}}}}]}}
    next: {arcs: [{step: start, when: "{{ ctx.n < %d }}"}]}
---
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: c, path: t/c}
workflow:
  - {step: start, tool: {kind: noop, args: {x: 1}}}
"""
WIDE = """
workflow:
  - step: start
    loop: {in: "{{ range(%d) | list }}", iterator: i, spec: {mode: parallel}}
    tool: {kind: noop, args: {i: "{{ i }}", pad: "{{ 'p' * 1000 }}"}}
    next: {arcs: [{step: last, args: {ok: "{{ event.ok }}"}}]}
  - {step: last, tool: {kind: noop, args: {ok: "{{ args.ok }}"}}}
"""
FAST = Path("/dev/shm")
MEGABYTE = 1 << 20


def peak_of(text: str, folder: Path) -> tuple[float, object]:
    """The most memory, in megabytes, that a process had which ran this, and the result of the run."""
    plan = folder / "plan.ir"
    plan.write_bytes(compiled(text))
    tests = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, __file__, str(plan)], cwd=tests, capture_output=True, text=True, check=False, timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), *filter(None, [os.environ.get("PYTHONPATH")])])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    peak, _, result = done.stdout.partition(" ")
    return int(peak) / MEGABYTE, result.strip()


pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where the store lies."""
    with TemporaryDirectory(dir=FAST if os.access(FAST, os.W_OK) else None) as name:
        yield Path(name)


@pytest.mark.parametrize(
    ("text", "count"), [(JUMPS, 15_000), (STEPS, 700), (CHILDREN, 150)], ids=["jumps", "steps", "children"]
)
def test_a_longer_run_needs_no_more_memory(text: str, count: int, folder: Path) -> None:
    once, _ = peak_of(text % count, folder)
    twice, _ = peak_of(text % (2 * count), folder)
    assert twice - once < 2.5, f"{once:.1f} MB after {count}, {twice:.1f} MB after twice that"


def test_ten_thousand_iterations_of_a_kilobyte_need_less_than_200_mb(folder: Path) -> None:
    peak, result = peak_of(WIDE % 10_000, folder)
    assert result == "{'ok': 10000}" and 20 < peak < 200


def _main(plan: Path) -> None:
    url = f"sqlite:///{plan.parent / os.urandom(4).hex()}.db"
    with open_runtime(url, Settings(), lambda path: (b"", {})) as runtime:
        program = runtime.programs.add_plan(plan.read_bytes())
        with driver_of(runtime, "e1", lambda *_: None) as driver:
            assert driver.embedded.start(program, "e1", Request({})) == "completed"
            # Not `getrusage`: its peak may be that of the process that started this one.
            peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text("ascii"))
            print(int(peak[1]) * 1024 if peak else 0, driver.execution.last_result)


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
