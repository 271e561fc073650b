"""A run that stands still, as after Ctrl-Z, and what others may do with it meanwhile."""

import re
import signal
from typing import TYPE_CHECKING

from services import waited_for

if TYPE_CHECKING:
    from conftest import Home

WAITS = """
workflow:
  - {step: start, tool: {kind: shell, command: "echo begun >> calls"}, next: {arcs: [{step: waits}]}}
  - {step: waits, tool: {kind: wait, events: [go]}, next: {arcs: [{step: last}]}}
  - {step: last, tool: {kind: noop, result: "{{ waits.name }}"}}
"""


def test_a_run_that_stands_still_says_so_and_another_command_goes_on_with_it(home: "Home") -> None:
    child = home.start("run", home.plan(WAITS), until="waits: started")
    name = home.only()
    child.send_signal(signal.SIGSTOP)
    waited_for(lambda: "why it stands still" in home.run("status", name).stdout, "nobody sees it")
    said = home.run("status", name).stdout
    assert re.search(rf"^running \(no owner\).*process {child.pid} has it and has stood still for \d+ s", said, re.S)
    home.run("signal", name, "--name", "go")
    done = home.run("resume", name)
    assert done.returncode == 0, done.stderr
    child.send_signal(signal.SIGCONT)
    _, last = child.communicate(timeout=60)
    assert child.returncode == 5 and "was taken up while this process stood still" in last
    assert home.json("result", name) == "go"
    assert "why it" not in home.run("status", name).stdout
    assert (home.folder / "calls").read_text() == "begun\n"
