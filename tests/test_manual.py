"""`tools/manual`: the site has every page, every command and every code, and no link on it leads nowhere."""

import re
from pathlib import Path

import pytest
from mkdocs.exceptions import MkDocsException

import manual
import noetl.cli
import noetlc.cli
from noetlc.rules import every_code


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once."""
    folder = tmp_path_factory.mktemp("manual") / "site"
    manual.built(folder)
    return folder


def test_every_page_of_the_repository_is_in_the_table_of_contents(site: Path) -> None:
    named = [*manual.pages_of(manual.NAV)]
    assert sorted(named) == sorted({*manual.written(), "commands/noetlc.md", "commands/noetl.md", "findings.md"})
    for page in named:
        html = page.removesuffix(".md") if not page.endswith("README.md") else page.removesuffix("README.md") + "index"
        assert (site / f"{html}.html").is_file(), page


def test_commands_and_codes_have_their_places(site: Path) -> None:
    for program, commands in (("noetlc", noetlc.cli.COMMANDS), ("noetl", noetl.cli.COMMANDS)):
        page = (site / "commands" / f"{program}.html").read_text("utf-8")
        assert [name for name in commands if f'id="{program}-{name}"' not in page] == []
    findings = (site / "findings.html").read_text("utf-8")
    assert [code for code, entry in every_code().items() if f'id="{code.lower()}-{entry.slug}"' not in findings] == []


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = [*site.rglob("*.html")]
    assert len(pages) > 20
    loaded = re.compile(
        r"<(?:script|img|iframe)[^>]+src=[\"']?(?:https?:)?//|<link[^>]+stylesheet[^>]+href=[\"']?(?:https?:)?//"
    )
    assert [page for page in pages if loaded.search(page.read_text("utf-8"))] == []


@pytest.mark.parametrize("link", ["[gone](schema/gone.md)", "[gone](schema/playbook.md#gone)", "[gone](#gone)"])
def test_a_link_that_leads_nowhere_is_an_error(link: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    staged = manual.staged

    def broken(folder: Path) -> None:
        staged(folder)
        with (folder / "README.md").open("a", encoding="utf-8") as page:
            page.write(f"\n{link}\n")

    monkeypatch.setattr(manual, "staged", broken)
    with pytest.raises(MkDocsException):
        manual.built(tmp_path / "site")


def test_links_to_sources_become_their_text() -> None:
    text = "[plan](a.py), [tools](../tools), [loops](playbook.md#loops), `[a](b.py)`, [c](json/plan.schema.json)"
    assert manual.linked("schema/README.md", text, {"schema/playbook.md"}) == (
        "plan, tools, [loops](playbook.md#loops), `[a](b.py)`, [c](json/plan.schema.json)",
        ["schema/json/plan.schema.json"],
    )
