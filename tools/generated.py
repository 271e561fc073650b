"""A developer's script, never shipped: the table of generated files, and the loop that rewrites them.

Run it as `tools/gen`. `tests/test_tidy.py` fails when a file in the table is not what its generator gives.
"""

from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

GENERATED: dict[str, str] = {
    "compiler/noetlc/generated/grammar_tables.py": "grammar_tables:tables",
    "compiler/noetlc/generated/rule_table.py": "rule_table:table",
    "compiler/noetlc/generated/error_codes.py": "error_codes:table",
    "schema/playbook.md": "documents:authors",
    "compiler/noetlc/generated/key_sentences.py": "key_sentences:table",
    "schema/json/plan.schema.json": "noetlc.emit.json:schema_text",
    "schema/json/playbook.schema.json": "noetlc.emit.schema:schema_text",
    "schema/json/playbook-dialects.schema.json": "noetlc.emit.schema:dialects_text",
    "schema/json/test.schema.json": "noetlc.emit.suite:schema_text",
    "schema/json/test-report.schema.json": "noetlc.emit.test_report:schema_text",
    "schema/json/event.schema.json": "noetlc.emit.event:schema_text",
    "docs/man/noetl.1": "man_pages:noetl_page",
    "docs/man/noetlc.1": "man_pages:noetlc_page",
    "schema/README.md": "documents:reference",
    "compiler/README.md": "documents:compiler_readme",
    "schema/patterns.md": "documents:patterns",
}
"""File, from the repository's root → `module:function`; the function takes nothing and gives the text. What others are
made from stands before them.
"""


def text_of(generator: str) -> str:
    """The text that `module:function` gives."""
    module, _, function = generator.partition(":")
    return str(getattr(import_module(module), function)())


def stale(root: Path, generated: dict[str, str]) -> list[str]:
    """The files whose content is not what their generator gives, missing ones included."""
    return [name for name, generator in generated.items() if _differs(root / name, text_of(generator))]


def rewrite(root: Path, generated: dict[str, str]) -> list[str]:
    """Write every stale file, in the order of the table; returns their names."""
    names = []
    for name, generator in generated.items():
        # Made once those before it are written, and loaded only now: a table of the compiler is imported as it is then.
        path, text = root / name, text_of(generator)
        if _differs(path, text):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            names.append(name)
    return names


def _differs(path: Path, text: str) -> bool:
    # Texts are compared, not times: a checkout gives all files new times.
    return not path.exists() or path.read_text(encoding="utf-8") != text


if __name__ == "__main__":
    for written in rewrite(ROOT, GENERATED):
        print(written)
