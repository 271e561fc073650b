"""`schema/playbook.md`, the reference for authors: each of its playbooks compiles, and no key is left out."""

import re
from pathlib import Path

import pytest

from noetl_ir.kinds import Kind
from noetl_ir.registry import load, names
from noetlc.dialects.v10 import DIALECT
from noetlc.pipeline import compile_source
from noetlc.reading.executor import LIMITS
from noetlc.reading.keychain import KEYCHAIN_KINDS

PAGE = (Path(__file__).resolve().parents[1] / "schema" / "playbook.md").read_text("utf-8")
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: page, path: tests/page}\n"
WORKFLOW = "workflow:\n  - step: start\n    tool: {kind: noop}\n"
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
APART = {"task_forms", "task_fallback"}


def whole(block: str) -> str:
    """The document that a block is a part of: sections that it leaves out are the shortest ones there are."""
    head = "" if "apiVersion:" in block else HEAD
    return head + block + ("" if "workflow:" in block else WORKFLOW)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.partition("\n")[0][:40])
def test_every_playbook_of_the_reference_compiles_without_a_finding(block: str) -> None:
    done = compile_source("page.yaml", whole(block).encode())
    told = [f"{found.span}: {found.code}: {found.message}" for found in done.diagnostics]
    assert done.plans
    assert told == []


def sections() -> dict[str, str]:
    """Scope → the text that has its keys: from its mark to the next mark or heading."""
    found: dict[str, str] = {}
    for scopes, text in re.findall(r"<!-- keys: ([\w ]+) -->\n(.*?)(?=^<!-- keys|^#)", PAGE, re.MULTILINE | re.DOTALL):
        for scope in scopes.split():
            found[scope] = text
    return found


@pytest.mark.parametrize("scope", [scope for scope in DIALECT.tables._fields if scope not in APART])
def test_the_reference_has_every_key(scope: str) -> None:
    table = getattr(DIALECT.tables, scope)
    if not table:
        return
    words = {part for name in re.findall(r"`([\w. ]+)`", sections()[scope]) for part in re.split(r"[. ]", name)}
    assert set(table) - words == set()


def test_the_reference_has_every_limit_keychain_kind_and_tool_kind() -> None:
    assert [name for name in LIMITS if f"`{name}`" not in PAGE] == []
    assert [name for name in KEYCHAIN_KINDS if f"`{name}`" not in PAGE.partition("## Credentials")[2]] == []
    kinds = [load("noetl_ir.kinds", name, "KIND", Kind) for name in names("noetl_ir.kinds")]
    assert re.findall(r"^### (\S+)$", PAGE.partition("## Tool kinds")[2], re.MULTILINE) == [
        kind.name for kind in kinds if kind.available
    ]


def test_every_anchor_of_the_reference_is_a_heading() -> None:
    heads = re.findall(r"^#+ (.+)$", PAGE, re.MULTILINE)
    known = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}
    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE)) - known == set()
