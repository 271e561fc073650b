"""The scripts of the page have types, in their comments, and these fit."""

import json
import os
from pathlib import Path

import pytest

import node_packages
import page_types
from noetl.api.static_page import FILES

FOLDER = page_types.ROOT / "runtime" / "noetl" / "page"

pytestmark = pytest.mark.skipif(
    not node_packages.has_tools() and not os.environ.get("CI"), reason="Node and npm are not here"
)


def test_the_types_of_all_scripts_fit() -> None:
    assert page_types.problems() == []


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("times.js", "if (ms < 0) ms = 0;", "if (ms < 0) return ms;"),
        ("execution.js", "frames.total", "frames.totals"),
        ("dom.js", "export function say(node, text)", "export function say(node, texts)"),
    ],
)
def test_a_type_that_does_not_fit_is_found(name: str, before: str, after: str, tmp_path: Path) -> None:
    for one in FILES:
        text = (FOLDER / one).read_text("utf-8")
        (tmp_path / one).write_text(text.replace(before, after) if one == name else text, "utf-8")
    project = json.loads((page_types.SOURCE / "tsconfig.json").read_text("utf-8"))
    (tmp_path / "tsconfig.json").write_text(json.dumps({**project, "files": ["app.js"]}))
    assert any(name in line for line in page_types.problems(tmp_path / "tsconfig.json"))


def test_every_script_is_reached_from_the_first_one() -> None:
    """The compiler reads what `app.js` imports, and what that imports: a script that nobody imports has no types."""
    imported = {"app.js"}
    for path in FOLDER.glob("*.js"):
        imported |= {name for name in FILES if f"from './{name}'" in path.read_text("utf-8")}
    assert imported == {name for name in FILES if name.endswith(".js")}
