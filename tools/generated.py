"""A developer's script, never shipped: the table of generated files, and the loop that rewrites them.

Run it as `tools/gen`. `tests/test_tidy.py` fails when a file in the table is not what its generator gives.
"""

from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

GENERATED: dict[str, str] = {
    "schema/json/plan.schema.json": "noetlc.emit.json:schema_text",
    "schema/json/playbook.schema.json": "noetlc.emit.schema:schema_text",
    "schema/json/playbook-dialects.schema.json": "noetlc.emit.schema:dialects_text",
    "schema/json/test.schema.json": "noetlc.emit.suite:schema_text",
    "schema/json/event.schema.json": "noetlc.emit.event:schema_text",
    "schema/README.md": "documents:reference",
    "schema/playbook.md": "documents:authors",
    "compiler/README.md": "documents:compiler_readme",
    "schema/patterns.md": "documents:patterns",
    "compiler/noetlc/expr/tables.py": "grammar_tables:tables",
    "compiler/noetlc/emit/key_sentences.py": "key_sentences:table",
    "compiler/noetlc/diag/rule_table.py": "rule_table:table",
}
"""File, from the repository's root → `module:function`; the function takes nothing and gives the text."""


def text_of(generator: str) -> str:
    """The text that `module:function` gives."""
    module, _, function = generator.partition(":")
    return str(getattr(import_module(module), function)())


def stale(root: Path, generated: dict[str, str]) -> list[str]:
    """The files whose content is not what their generator gives, missing ones included."""
    found = []
    for name, generator in generated.items():
        path = root / name
        # Texts are compared, not times: a checkout gives all files new times.
        if not path.exists() or path.read_text(encoding="utf-8") != text_of(generator):
            found.append(name)
    return found


def rewrite(root: Path, generated: dict[str, str]) -> list[str]:
    """Write every stale file; returns their names."""
    names = stale(root, generated)
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text_of(generated[name]), encoding="utf-8")
    return names


if __name__ == "__main__":
    for written in rewrite(ROOT, GENERATED):
        print(written)
