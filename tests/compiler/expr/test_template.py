"""Texts to templates: what is an expression, a comment, raw text, a block."""

from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import Environment

from noetl_ir.evaluate import Undefined, compile_template
from noetl_ir.expr import Attribute, Block, Const, Literal, Name, Native, Text
from noetlc.expr.parser import parse_template

PIECES = st.sampled_from(
    [
        "{{ x }}", "{{- x }}", "{{ x -}}", "{{- x -}}", "{{x}}", "{{-1}}", "{# c #}", "{#- c -#}", "a", " ",
        "\n", "\t b", "{% raw %}{{ y }}{% endraw %}", "{%- raw -%} {{ y }} {%- endraw -%}", "{{ '}}' }}",
        "{{ {'a': {'b': 1}}.a.b }}", "{", "}", "{ {", "}}", "%}", "#}", "{{ \"{{\" }}", "{{+ x }}",
        "{#+ c +#}",
    ]
)  # fmt: skip


class Scope:
    def lookup(self, name: str) -> object:
        return "X" if name == "x" else Undefined(name)


@settings(derandomize=True, max_examples=500, deadline=None)
@given(st.lists(PIECES, max_size=7))
def test_a_text_renders_as_in_jinja2(pieces: list[str]) -> None:
    text = "".join(pieces)
    try:
        theirs = Environment(keep_trailing_newline=True).from_string(text).render(x="X")
    except Exception:
        return
    template, errors = parse_template(text)
    assert not errors
    value = compile_template(template)(Scope())
    if isinstance(template, Native):
        # A lone expression gives its value: white space around it is no text.
        assert str(value) == theirs.strip()
    else:
        assert value == theirs


@pytest.mark.parametrize(
    ("text", "template"),
    [
        ("plain", Literal("plain")),
        ("{ not } a template", Literal("{ not } a template")),
        ("{{ a.b }}", Native(Attribute(Name("a"), "b"), "")),
        (" \n{{ a }}\n", Native(Name("a"), "")),
        ("{# note #}{{ a }}", Native(Name("a"), "")),
        ("{{ 'x' }}", Native(Const("x"), "")),
        ("a {{ b }}\n", Text(("a ", Name("b"), "\n"), "")),
        ("{{ a }}{{ b }}", Text((Name("a"), Name("b")), "")),
        ("{% raw %}{{ a }}{% endraw %}", Literal("{{ a }}")),
        ("{# only a note #}", Literal("")),
        ("x{% if a %}y{% endif %}", Block("x{% if a %}y{% endif %}")),
    ],
)
def test_what_a_text_is(text: str, template: object) -> None:
    assert parse_template(text) == (template, ())


def test_a_block_is_found_behind_raw_text_and_comments() -> None:
    text = "{# {% #}{% raw %}{% if %}{% endraw %}{{ '{%' }}{% for a in b %}{{ a }}{% endfor %}"
    assert parse_template(text) == (Block(text), ())


@pytest.mark.parametrize(
    ("text", "start", "message"),
    [
        ("{% if a %}x", 0, "`{% if %}` is never ended"),
        ("x{% fro a in b %}{% endfor %}", 1, "there is no block tag `fro`"),
        ("{% endif %}", 0, "`endif` ends nothing"),
        ("{% include 'x' %}", 0, "`include` is refused: a template stands alone in its field"),
        ("{% if a b %}{% endif %}", 8, "expected an operator, `,` or the end of the expression, found `b`"),
        ("{% if a %}{{ b c }}{% endif %}", 15, "expected an operator, `,` or the end of the expression, found `c`"),
    ],
)
def test_a_block_that_is_wrong_is_an_error_now(text: str, start: int, message: str) -> None:
    errors = parse_template(text).errors
    assert (errors[0].start, errors[0].message) == (start, message)


def test_scenario_66_shell_text_that_looks_like_a_comment() -> None:
    text = "n=${#list[@]}; echo $n {{ workload.x }}"
    template, errors = parse_template(text)
    assert template == Text(("n=${#list[@]}; echo $n ", Attribute(Name("workload"), "x")), text)
    (error,) = errors
    assert text[error.start : error.end] == "{#"
    assert "comment that is never closed" in error.message
    assert "{% raw %}" in error.help


def test_scenario_66_python_text_that_looks_like_a_block() -> None:
    text = "result = '{%d}' % 3"
    template, errors = parse_template(text)
    assert template == Literal(text)
    (error,) = errors
    assert text[error.start : error.end] == "{%"
    assert "{% raw %}" in error.help


def test_wrong_pieces_stay_as_written_beside_right_ones() -> None:
    text = "docker ps --format '{{.ID}} {{json .}}' {{ ctx.name }} {{ open"
    template, errors = parse_template(text)
    expected = ("docker ps --format '{{.ID}} {{json .}}' ", Attribute(Name("ctx"), "name"), " {{ open")
    assert template == Text(expected, text)
    assert [error.start for error in errors] == [22, 36, text.index("{{ open")]


@pytest.mark.parametrize(
    "piece",
    ["{{ ", "{", "{#", "{%", "{% raw %}", "{% if ", "{% '", "{{ ) }} ", "{{ {a: {}} 1 2 ", "{{ '", "a {%-\n"],
)
@pytest.mark.parametrize("around", [("", ""), ("{% if", "x"), ("{%", "%}"), ("{% a", "")])
def test_time_does_not_grow_with_the_square_of_what_is_wrong(piece: str, around: tuple[str, str]) -> None:
    begun = process_time()
    for filler in (piece, " ", "a"):
        parse_template(around[0] + filler * 20_000 + around[1])
    assert process_time() - begun < 20  # the square would take hours


def test_what_follows_a_piece_that_is_never_closed_stays_text() -> None:
    text = "a {{ b {{ c {# d"
    template, errors = parse_template(text)
    assert template == Literal(text)
    assert len(errors) == 1


@pytest.mark.parametrize("sign", ["", "-", "+", " -", " +"])
def test_the_sign_of_a_tag_is_no_part_of_its_condition(sign: str) -> None:
    errors = parse_template("{% if a" + sign + "%}x{% endif %}").errors
    assert errors == ()


def test_offsets_count_from_the_start_of_the_text() -> None:
    text = "é {{  a.b  }} {{ (c) + 1 }}"
    template = parse_template(text).template
    assert isinstance(template, Text)
    found = [part for part in template.parts if not isinstance(part, str)]
    assert [text[part.start : part.end] for part in found] == ["a.b", "(c) + 1"]


@settings(derandomize=True, max_examples=500, deadline=None)
@given(st.text(st.sampled_from("{}%#-+ ar'\"\\w|.(),\n\x00\ud800é"), max_size=40))
def test_no_text_at_all_raises(text: str) -> None:
    for error in parse_template(text).errors:
        assert 0 <= error.start <= error.end <= len(text)
