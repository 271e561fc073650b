"""`noetl audit`: what was done beside a store, by the user of the machine."""

import getpass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Home

WAITS = """
workflow:
  - step: start
    tool: {name: w, kind: wait, events: [go]}
"""


def test_what_is_done_beside_a_store_is_listed(home: "Home") -> None:
    child = home.start("run", home.plan(WAITS), until="start: started")
    execution = home.only()
    assert home.run("pause", execution).returncode == 0
    child.communicate(timeout=60)
    home.run("signal", execution, "--name", "go")
    home.run("cancel", execution)
    home.run("token", "add", "ci", "--role", "operator")
    home.run("credential", "add", "bank", "--secret", "token", stdin="hidden-12345678\n")
    home.run("purge", execution)
    rows = home.json("audit")
    assert isinstance(rows, list)
    found = [(row["deed"], row["subject"]) for row in reversed(rows) if isinstance(row, dict)]
    # What no transaction of the store has with it is recorded before it is done.
    before = {row["deed"] for row in rows if isinstance(row, dict) and row["outcome"] == "asked"}
    assert {"token-add", "credential-add"} <= before and not before & {"start", "purge"}
    assert found == [
        ("start", execution),
        ("pause", execution),
        ("signal", execution),
        ("cancel", execution),
        ("token-add", "ci"),
        ("credential-add", "bank"),
        ("purge", execution),
    ]
    assert {(row["who"], row["via"]) for row in rows if isinstance(row, dict)} == {(getpass.getuser(), "cli")}
    shown = home.run("audit", "--deed", "cancel", "--since", "1h").stdout
    assert execution in shown and "pause" not in shown
    assert home.run("audit", "--since", "1").returncode == 2
    shown = home.run("audit", "--deed", "cancel,purge").stdout
    assert len(shown.splitlines()) == 3
    wrong = home.run("audit", "--deed", "nonsense")
    assert wrong.returncode == 2 and "there is no deed `nonsense`" in wrong.stderr
