"""The scripts of the page have types, in their comments, and these fit."""

import json
import os
import subprocess
import sys
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


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("if (SIZE == 500) go();", "eslint(eqeqeq)"),
        ("var old = 1; go(old);", "eslint(no-var)"),
        ("eval('1');", "eslint(no-eval)"),
        ("{ const SIZE = 1; go(SIZE); }", "eslint(no-shadow)"),
        ("const unused = 1;", "eslint(no-unused-vars)"),
    ],
)
def test_a_slip_in_a_script_is_found(line: str, rule: str, tmp_path: Path) -> None:
    """The rules of `.oxlintrc.json` are in force; types say nothing of any of these."""
    text = f"const SIZE = 500;\nfunction go(size) {{ return size ?? SIZE; }}\n{line}\ngo();\n"
    (tmp_path / "one.js").write_text(text)
    words = [Path(sys.executable).with_name("oxlint"), "-c", page_types.ROOT / ".oxlintrc.json", tmp_path]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and rule in done.stdout, done.stdout


def test_every_script_is_reached_from_the_first_one() -> None:
    """The compiler reads what `app.js` imports, and what that imports: a script that nobody imports has no types."""
    imported = {"app.js"}
    for path in FOLDER.glob("*.js"):
        imported |= {name for name in FILES if f"from './{name}'" in path.read_text("utf-8")}
    assert imported == {name for name in FILES if name.endswith(".js")}
