"""The extension for VS Code: what is in its package and what it asks of the server; and the page of editors."""

import json
import os
import re
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest

from node_packages import has_tools
from noetl.cli import COMMANDS
from noetlc.lsp.features import PICTURE
from noetlc.lsp.lenses import COMMANDS as LENSES
from vsix import ROOT, SOURCE, build

ABOUT = json.loads((SOURCE / "package.json").read_text("utf-8"))
CODE = (SOURCE / "extension.js").read_text("utf-8")


def test_the_package_has_what_vs_code_looks_for(tmp_path: Path) -> None:
    if not has_tools():
        assert not os.environ.get("CI"), "Node and npm are needed to build the extension"
        pytest.skip("Node and npm are not here")
    package = build(tmp_path / "dist")
    with ZipFile(package) as archive:
        names = set(archive.namelist())
        manifest = ElementTree.fromstring(archive.read("extension.vsixmanifest"))
        about = json.loads(archive.read("extension/package.json"))
        assert b"noetlc/picture" in archive.read("extension/dist/extension.js")
    space = "{http://schemas.microsoft.com/developer/vsx-schema/2011}"
    identity = manifest.find(f"{space}Metadata/{space}Identity")
    assert identity is not None
    assert (identity.get("Id"), identity.get("Publisher")) == (about["name"], about["publisher"])
    assert {asset.get("Path") for asset in manifest.iter(f"{space}Asset")} <= names
    assert f"extension/{about['main'].removeprefix('./')}" in names
    assert all(f"extension/{one['path'].removeprefix('./')}" in names for one in about["contributes"]["grammars"])
    assert package.stat().st_size < 500_000
    # The same sources give the same bytes.
    assert build(tmp_path / "again").read_bytes() == package.read_bytes()


def test_every_command_is_there_and_every_lens_has_one() -> None:
    told = {one["command"] for one in ABOUT["contributes"]["commands"]}
    assert set(re.findall(r'register\("([\w.]+)"', CODE)) == told
    assert {name for _, name in LENSES} <= told


def test_the_extension_asks_for_what_the_server_has() -> None:
    assert f'"{PICTURE}"' in CODE
    assert {"run", "test"} <= set(COMMANDS)


def test_the_page_of_editors_has_each_of_them_and_its_command() -> None:
    page = (ROOT / "editors" / "README.md").read_text("utf-8")
    assert {"Neovim", "Helix", "JetBrains", "VS Code"} <= set(re.findall(r"^## (.+)$", page, re.MULTILINE))
    assert 'cmd = { "noetlc", "lsp" }' in page and 'args = ["lsp"]' in page
    assert "noetlc schema playbook" in page
