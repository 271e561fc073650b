"""The tool that takes the pictures of the page, and the pictures that the README has."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import screenshots
from goldens import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_the_readme_has_each_picture_and_they_are_small() -> None:
    named = set(re.findall(r"!\[[^\]]+\]\((docs/[^)]+\.png)\)", (ROOT / "README.md").read_text("utf-8")))
    there = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.png")}
    assert named == there and len(there) == 3
    assert all((ROOT / name).stat().st_size <= screenshots.LARGEST for name in there)


def test_the_tool_takes_them(browser: "Browser", tmp_path: Path) -> None:
    screenshots.take_all(browser, tmp_path)
    there = {path.name for path in (ROOT / "docs").glob("*.png")}
    assert {path.name for path in tmp_path.iterdir()} == there
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in tmp_path.iterdir())
