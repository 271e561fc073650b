"""Every scope that keys are read in has a name for messages: an unknown key is a finding and no internal error."""

import ast
from pathlib import Path

import noetlc.reading
from noetlc.reading.reader import SCOPE_NAMES

READS = {"take_all": 1, "stray_key": 1, "stray_keys": 1, "take_spec": 1, "take_policy": 1, "inside": 0, "of_today": 1}
"""The functions that read the keys of a scope, and the place of its name among their arguments."""


def scopes() -> set[str]:
    """The scopes that the code of the readers names."""
    found: set[str] = set()
    for file in Path(noetlc.reading.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in READS:
                name = node.args[READS[node.func.id]]
                if isinstance(name, ast.Constant):
                    found.add(str(name.value))
    return found


def test_every_scope_has_a_name() -> None:
    assert {"executor", "step_policy", "compensate", "concurrency"} <= scopes()
    assert scopes() - SCOPE_NAMES.keys() == set()
