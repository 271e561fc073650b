"""Canonical source text reads back as the same tree, and printing twice is printing once."""

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from noetl_ir.expr import ListTemplate, Literal, Template
from noetlc.ast.printing import printed
from noetlc.ast.yaml_text import yaml_text
from noetlc.expr.parser import parse_template
from playbooks import read, without_places

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/t}\nworkflow:\n"
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


@pytest.mark.parametrize("text", ["\ta\n", "\t\na\n", "\n\ta", " \t\n\tb\n\n"])
def test_a_block_may_begin_with_a_tab(text: str) -> None:
    """Its indentation is written out: YAML takes none from a line that begins with a tab."""
    written = json.dumps(text)
    playbook, _ = read(f"{HEAD}  - {{step: start, tool: {{kind: noop, result: {{a: [{written}], b: {written}}}}}}}\n")
    assert playbook is not None
    again, found = read(printed(playbook))
    assert again is not None and not found and without_places(again) == without_places(playbook)


def test_a_float_in_exponent_form_has_the_point_that_yaml_1_1_asks_for() -> None:
    assert yaml_text({"k": 1e20}) == "k: 1.0e+20\n"


PIECES = [
    "{{ x }}",
    "{%",
    "%}",
    "{#",
    "#}",
    "a",
    " ",
    "{% raw %}",
    "{% endraw %}",
    "{# c #}",
    "{{ '{{' }}",
    "{%- raw -%}",
    "\n",
    "'",
    '"',
]


@example("{% raw %}{{ x }}{% endraw %}")
@example("a{# c #}")
@example("{% raw %}{% raw %}{{ x }}{# c #}{% endraw %}{# d #}")
@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join))
def test_a_text_without_templates_means_the_same_wherever_it_stands(text: str) -> None:
    """Alone, in a mapping and in a list, with comments and raw text in it; it is printed so that it is read back."""
    template, errors = parse_template(text)
    if errors or not isinstance(template, Literal):
        return
    written = json.dumps(text)
    playbook, _ = read(f"{HEAD}  - {{step: start, tool: {{kind: noop, result: {{a: [{written}], b: {written}}}}}}}\n")
    assert playbook is not None
    ((_, value),) = playbook.steps[0].tasks[0].fields
    assert value.template == Literal({"a": [template.value], "b": template.value})
    again, _ = read(printed(playbook))
    assert again is not None and without_places(again) == without_places(playbook)


def test_program_text_is_printed_as_it_is() -> None:
    """No template, whatever braces it has."""
    text = (
        HEAD
        + """  - step: start
    tool: {kind: python, args: {a: "{% raw %}{{ x }}{% endraw %}", b: "{{ workload }}"}, code: "result = '{{ x }}' + a"}
"""
    )
    playbook, _ = read(text)
    assert playbook is not None
    shown = printed(playbook)
    assert """code: "result = '{{ x }}' + a\"""" in shown or "code: result = '{{ x }}' + a" in shown
    assert "{% raw %}{{ x }}{% endraw %}" in shown
    again, _ = read(shown)
    assert again is not None and without_places(again) == without_places(playbook)


@pytest.mark.parametrize("texts", [
    # A length in a shell is no comment, beside what is between raw tags and beside an expression.
    ["echo ${#x}", "{% raw %}echo {{ x }}{% endraw %}"],
    ["echo ${#x}", "{% raw %}echo {{ x }}{% endraw %}", "{{ workload }}"],
])  # fmt: skip
def test_a_text_of_a_list_of_commands_means_the_same_as_alone(texts: list[str]) -> None:
    def template_of(cmds: object) -> tuple[str, Template]:
        playbook, _ = read(f"{HEAD}  - {{step: start, tool: {{kind: shell, cmds: {json.dumps(cmds)}}}}}\n")
        assert playbook is not None
        ((_, value),) = playbook.steps[0].tasks[0].fields
        return printed(playbook), value.template

    shown, template = template_of(texts)
    alone = tuple(template_of(text)[1] for text in texts)
    assert alone[:2] == (Literal("echo ${#x}"), Literal("echo {{ x }}"))
    listed = ListTemplate(alone) if len(texts) > 2 else Literal([each.value for each in alone if type(each) is Literal])
    assert template == listed
    assert all(text in shown for text in texts)
