"""A run says what is wrong with its playbook and only counts the notes on older forms."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Home

OLD = """apiVersion: noetl.io/v1
kind: Playbook
metadata: {name: old, path: t/old}
workflow:
  - {step: start, type: python, code: "result = 1", next: [{step: last}]}
  - {step: last, type: python, with: {x: "{{ nowhere }}"}, code: "result = 2"}
"""


def test_warnings_are_told_and_notes_are_counted(home: "Home") -> None:
    (home.folder / "old.yaml").write_text(OLD)
    ended = home.run("run", "old.yaml")
    assert "warning[NL303]" in ended.stderr
    assert "note[" not in ended.stderr
    assert "and 4 notes, which `noetlc lint old.yaml` shows" in ended.stderr
