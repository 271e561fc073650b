"""Braces in strings of python code of older playbooks, with real python: what is known there is given as text."""

from typing import TYPE_CHECKING

import pytest

from noetlc.pipeline import check_source

if TYPE_CHECKING:
    from conftest import Home

PLAYBOOK = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: t}
workload: {who: Ada}
workflow:
- step: start
  tool: {kind: noop}
  vars: {n: 5}
  next: [{step: show, args: {brought: 7}}]
- step: show
  tool:
    kind: python
    args: {own: "{{ vars.n + 1 }}", who: Bob}
    code: |
      result = 'GIVEN'
"""


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("{{ own }}", "6"),
        ("{{ args.own }} of {{ own }}", "6 of 6"),
        ("{{ brought }}, {{ args.brought }}", "7, 7"),
        ("{{ vars.n }}, {{ ctx.n }}, {{ n }}", "5, 5, 5"),
        ("{{ who }} and {{ workload.who }}", "Bob and Ada"),
        ("{{ unknown }}", "{{ unknown }}"),
        ("{{ own }} {{ unknown }}", "{{ own }} {{ unknown }}"),
    ],
)
def test_braces_are_what_their_names_mean_at_the_code(home: "Home", word: str, text: str) -> None:
    (home.folder / "a.yaml").write_text(PLAYBOOK.replace("GIVEN", word))
    execution = home.json("run", "a.yaml")["execution_id"]  # type: ignore[index]
    assert home.json("result", execution) == text
    found = check_source("a.yaml", (home.folder / "a.yaml").read_bytes()).diagnostics
    assert ("NL804" in [each.code for each in found]) is ("{{" in text)


def test_the_run_has_its_id_in_strings(home: "Home") -> None:
    (home.folder / "a.yaml").write_text(PLAYBOOK.replace("GIVEN", "run {{ job.uuid }}"))
    execution = home.json("run", "a.yaml")["execution_id"]  # type: ignore[index]
    assert home.json("result", execution) == f"run {execution}"
