"""A developer's script, never shipped: the manual, a site of the pages that stand in this repository beside the code.

    tools/manual FOLDER

Pages keep their places, so that their links hold on the site as they do in the repository. Two kinds of pages are made
from the product itself: the help of each command, and what `noetlc explain` says about each code. MkDocs builds them
strictly: a link or an anchor that leads nowhere is an error.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from os.path import normpath, relpath
from pathlib import Path
from subprocess import run

import click
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import MkDocsException
from pymdownx.slugs import slugify

import noetl.cli
import noetlc.cli
from noetlc.diag.codes import Code
from noetlc.rules import every_code

ROOT = Path(__file__).resolve().parent.parent

NAV: list[dict[str, object]] = [
    {"NoETL": "README.md"},
    {"Installing": "docs/install.md"},
    {"Recipes": "docs/recipes.md"},
    {
        "The language": [
            {"Playbooks": "schema/playbook.md"},
            {"Control-flow patterns": "schema/patterns.md"},
            {"Examples": "examples/README.md"},
            {"Tests of playbooks": "schema/tests.md"},
        ]
    },
    {"Commands": [{"noetlc": "commands/noetlc.md"}, {"noetl": "commands/noetl.md"}]},
    {"Findings": "findings.md"},
    {"Running": "runtime/README.md"},
    {"Editors": "editors/README.md"},
    {"Beside a deployment": "deploy/README.md"},
    {
        "Inside": [
            {"Contributing": "CONTRIBUTING.md"},
            {"The compiler": "compiler/README.md"},
            {"Its rooms": "compiler/noetlc/README.md"},
            {"Analysis": "compiler/noetlc/analysis/README.md"},
            {"Plans and events": "schema/README.md"},
            {"The representation": "schema/noetl_ir/README.md"},
            {"Rooms of the runtime": "runtime/noetl/README.md"},
            {"The simulator": "tests/simulator/README.md"},
        ]
    },
    {"Changes": "CHANGELOG.md"},
]
"""The pages by title, in their order."""

ELSEWHERE = frozenset({"editors/vscode/README.md"})
"""Pages that are shown by something else."""

SHOWN = frozenset({".svg", ".png", ".yaml", ".json"})
"""Endings of files that a browser shows; other files that are linked to are sources, and only named."""

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
_IMAGE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.DOTALL | re.MULTILINE)


def pages_of(nav: object) -> Iterator[str]:
    """The pages of a part of the table of contents."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, Mapping):
        yield from (page for part in nav.values() for page in pages_of(part))
    elif isinstance(nav, list):
        yield from (page for part in nav for page in pages_of(part))


def written() -> list[str]:
    """The pages that people wrote, by their paths from the root, without those that are shown elsewhere."""
    listed = run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return sorted(set(listed) - ELSEWHERE)


def staged(folder: Path) -> None:
    """Put every page into a folder, and every file that one of them shows."""
    pages = set(written())
    for page in sorted(pages):
        text, files = linked(page, (ROOT / page).read_text("utf-8"), pages)
        _put(folder / page, text)
        for file in files:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes((ROOT / file).read_bytes())
    for program, line in (("noetlc", noetlc.cli.LINE), ("noetl", noetl.cli.LINE)):
        _put(folder / "commands" / f"{program}.md", commands_page(program, line.group()))
    _put(folder / "findings.md", findings_page(every_code()))


def linked(page: str, text: str, pages: set[str]) -> tuple[str, list[str]]:
    """A page for the site, and the files that it shows. Links to sources and folders become their text."""
    files: list[str] = []

    def target(link: str) -> str | None:
        """The path from the root of what a link leads to; None where that is no file that the site has."""
        path = normpath(f"{Path(page).parent}/{link.partition('#')[0]}")
        if path in pages:
            return path
        if (ROOT / path).suffix in SHOWN and (ROOT / path).is_file():
            files.append(path)
            return path
        return None

    def led(found: re.Match[str]) -> str:
        if re.match(r"[a-z]+:|#", found[2]) or target(found[2]) is not None:
            return found[0]
        return found[1]

    for image in _IMAGE.finditer(text):
        target(image[1])
    parts = _CODE.split(text)
    # What stands in code is shown as it is: every second part of the split.
    return "".join(part if at % 2 else _LINK.sub(led, part) for at, part in enumerate(parts)), files


def commands_page(program: str, group: click.Group) -> str:
    """The help of a program and of each of its commands, as a terminal shows it."""
    context = click.Context(group, info_name=program, terminal_width=100, max_content_width=100)
    parts = [f"# {program}\n", _shown(group.get_help(context))]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context, terminal_width=100, max_content_width=100)
        parts += [f"## {program} {name}\n", _shown(command.get_help(inner))]
    return "\n".join(parts)


def findings_page(codes: Mapping[str, Code]) -> str:
    """The page of each code, as `noetlc explain` prints it."""
    parts = [
        "# Findings\n",
        "`noetlc explain CODE` prints each of these. Severity and code stand before each message.\n",
    ]
    for code, entry in codes.items():
        parts.append(f"## {code} {entry.slug}\n\n*{entry.severity}*: {_plain(entry.title)}.\n")
        for heading, body in entry.sections:
            is_code = heading.startswith(("Example", "Instead"))
            parts.append(f"**{_plain(heading)}**\n\n{_shown(body) if is_code else _plain(body) + chr(10)}")
    return "\n".join(parts)


def _shown(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```\n"


def _plain(text: str) -> str:
    """Text that is no Markdown but for its code."""
    return "".join(
        part if at % 2 else re.sub(r"([\\*_<>\[\]|{}])", r"\\\1", part) for at, part in enumerate(_CODE.split(text))
    )


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def built(site: Path) -> None:
    """Build the site. Raises MkDocsException where a link leads nowhere."""
    with tempfile.TemporaryDirectory() as folder:
        staged(Path(folder) / "pages")
        _put(Path(folder) / "mkdocs.yml", "site_name: NoETL\n")
        config = load_config(
            str(Path(folder) / "mkdocs.yml"),
            docs_dir=str(Path(folder) / "pages"),
            site_dir=str(site),
            nav=NAV,
            strict=True,
            use_directory_urls=False,  # so that it can be read from a folder; only its search wants a server
            # Nothing is loaded from elsewhere.
            theme={"name": "material", "font": False, "palette": _PALETTE, "features": ["navigation.footer"]},
            plugins=["search"],  # `offline` would load a shim from elsewhere
            markdown_extensions=[
                {"toc": {"slugify": slugify(case="lower"), "permalink": True}},
                "tables",
                "pymdownx.superfences",
                "pymdownx.highlight",
            ],
            validation={"links": {"anchors": "warn", "unrecognized_links": "warn"}, "omitted_files": "warn"},
        )  # fmt: skip
        build(config)


_PALETTE = [
    {
        "media": f"(prefers-color-scheme: {name})",
        "scheme": scheme,
        "primary": "indigo",
        "toggle": {"icon": f"material/{icon}", "name": f"Switch to {other}"},
    }
    for name, scheme, icon, other in (
        ("light", "default", "weather-night", "dark"),
        ("dark", "slate", "weather-sunny", "light"),
    )
]


def main() -> int:
    """Build the site into the folder that the command line names."""
    parser = argparse.ArgumentParser(description="Build the manual.")
    parser.add_argument("folder", type=Path, help="where the site is written; what is there is replaced")
    folder = parser.parse_args().folder.resolve()
    try:
        built(folder)
    except MkDocsException as problem:
        print(f"tools/manual: {problem}", file=sys.stderr)
        return 1
    print(f"{relpath(folder)}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
