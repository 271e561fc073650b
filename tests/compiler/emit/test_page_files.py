"""The page's script and style stand in files of their own: they parse, they fit the page, and they are installed."""

import re
import shutil
import subprocess

import pytest

from goldens import ROOT
from noetlc.emit.pictures import html
from noetlc.emit.pictures.picture import Box, Picture, Shape
from noetlc.source.text import Source

FOLDER = ROOT / "compiler" / "noetlc" / "emit" / "pictures"
SCRIPT = (FOLDER / "page.js").read_text(encoding="utf-8")
STYLE = (FOLDER / "page.css").read_text(encoding="utf-8")
CODE = re.sub(r"//.*|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`", "", SCRIPT)
"""The script without its comments and texts."""


def page() -> str:
    picture = Picture("t", "steps", (Box("a", Shape.STEP, "a"),), ())
    return html.emitted([picture, picture], Source("a.yaml", "x"))


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_script_parses() -> None:
    done = subprocess.run(["node", "--check", FOLDER / "page.js"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_brackets_of_both_are_closed() -> None:
    for text in (CODE, STYLE):
        left: list[str] = []
        for sign in re.findall(r"[(\[{}\])]", text):
            if sign in "([{":
                left.append(sign)
            else:
                assert left.pop() + sign in ("()", "[]", "{}")
        assert left == []


def test_the_script_is_strict_and_only_ever_sets_text() -> None:
    words = set(re.findall(r"[A-Za-z_$][\w$]*", CODE))
    assert re.search(r"^'use strict';$", SCRIPT, re.MULTILINE)
    assert words.isdisjoint({"innerHTML", "outerHTML", "insertAdjacentHTML", "write", "eval", "Function", "var"})
    assert words.isdisjoint({"fetch", "XMLHttpRequest", "WebSocket", "localStorage", "cookie", "import"})
    assert not re.search(r"(?<![=!])==(?!=)|!=(?!=)", CODE)
    assert "</" not in SCRIPT and "</" not in STYLE


def test_the_script_and_the_page_name_the_same_parts() -> None:
    asked = set(re.findall(r"\$\('([\w-]+)'\)", SCRIPT)) | set(re.findall(r"getElementById\('([\w-]+)'\)", SCRIPT))
    asked -= {"legend"}
    shown = set(re.findall(r'<(?!g\b)\w+[^>]* id="([\w-]+)"', page()))
    numbered = {name for name in shown if re.fullmatch(r"legend\d+", name)}
    assert numbered == {"legend0", "legend1"} and "'legend' + now" in SCRIPT
    assert asked == shown - numbered


def test_what_the_script_marks_has_a_style() -> None:
    marked = set(re.findall(r"classList\.(?:add|toggle)\('([\w-]+)'", SCRIPT)) | set(
        re.findall(r"className = '([\w-]+)'", SCRIPT)
    )
    assert {name for name in marked if not re.search(rf"[.#\w]*\.{name}\b", STYLE)} == set()


def test_the_page_has_both_as_they_are_written() -> None:
    assert f"<script>\n{SCRIPT}</script>" in page() and f"\n{STYLE}</style>" in page()
