"""Runs of an older playbook with real tools, as it is written and as it is migrated."""

from typing import TYPE_CHECKING

from noetlc.migrate.migration import migrated

if TYPE_CHECKING:
    from conftest import Home

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: tried, path: tests/tried}\n"
FIN = """
  - step: fin
    tool: {kind: python, args: {got: "{{ args }}", ctx: "{{ ctx }}"}, code: "result = [got, ctx]"}
"""
"""Where playbooks end: the result is what the last step was given, and `ctx`."""


def results_of(home: "Home", text: str) -> list[object]:
    """The results of both; asserts that they complete."""
    written = (HEAD + text + FIN).encode()
    again = migrated("written.yaml", written)
    assert again.after is not None, again.problems
    found = []
    for name, data in (("written.yaml", written), ("migrated.yaml", again.after)):
        (home.folder / name).write_bytes(data)
        document = home.json("run", name)
        assert isinstance(document, dict) and document["status"] == "completed", document.get("error")
        found.append(document["result"])
    return found
