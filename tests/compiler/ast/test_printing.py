"""Canonical source text reads back as the same tree, and printing twice is printing once."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from noetlc.ast.printing import printed
from noetlc.ast.yaml_text import yaml_text
from playbooks import read, without_places

ROOT = Path(__file__).resolve().parents[3]
FILES = [
    *(
        path
        for path in sorted((ROOT / "examples").glob("*.yaml"))
        if not path.name.endswith((".script.yaml", ".test.yaml"))
    ),
    *sorted((ROOT / "golden" / "read").glob("*.yaml")),
    *sorted((ROOT / "golden" / "rules").glob("*.yaml")),
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_reading_the_printed_text_gives_the_tree_again(path: Path) -> None:
    playbook, _ = read(path.read_bytes())
    assert playbook is not None
    text = printed(playbook)
    again, _ = read(text)
    assert again is not None
    assert without_places(again) == without_places(playbook._replace(legacy=again.legacy))  # of the text alone
    assert printed(again) == text


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), values, min_size=1, max_size=5))
def test_yaml_text_is_what_pyyaml_reads_it_as(value: dict[str, object]) -> None:
    assert yaml.safe_load(yaml_text(value)) == value  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["\n", " \n x", "a\n\n\n", "\ta\n", "- a", "a: b", "a #b", "2026-01-02", "010", "1:30", "~"]
)
def test_awkward_texts_survive(text: str) -> None:
    assert yaml.safe_load(yaml_text({"k": text, "l": [text]})) == {"k": text, "l": [text]}


def test_a_float_in_exponent_form_has_the_point_that_yaml_1_1_asks_for() -> None:
    assert yaml_text({"k": 1e20}) == "k: 1.0e+20\n"
