"""Regular expressions that every supported Python matches alike."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for part in ("schema", "compiler", "runtime", "tools") for path in (ROOT / part).rglob("*.py"))
ODD = re.compile(r"[*+?}]\+|\(\?>")


def texts(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and ODD.search(node.value):
            yield node.value


def gives_nothing_back(pattern: str) -> bool:
    """Whether a text is a pattern with a possessive quantifier or an atomic group."""
    from re import _parser  # type: ignore[attr-defined]

    try:
        return any(word in repr(_parser.parse(pattern)) for word in ("POSSESSIVE_REPEAT", "ATOMIC_GROUP"))
    except (re.error, OverflowError, RecursionError):
        return False


def test_no_pattern_needs_what_python_3_11_0_to_3_11_4_match_wrongly() -> None:
    assert gives_nothing_back(r"\s*+x")
    assert gives_nothing_back(r"(?>a)b")
    assert not gives_nothing_back(r"[*+?}]\+|a+")
    found = [f"{path}: {text[:60]}" for path in SOURCES for text in texts(path) if gives_nothing_back(text)]
    assert found == []
