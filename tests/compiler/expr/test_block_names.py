"""The names that a block template reads, held to Jinja2: its own account of them, and renderings under other names."""

import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st
from jinja2 import Environment, meta

from harness.samples import shares
from noetl_ir.expr import Block
from noetlc.expr.binding import bound, renamed_words, words_in
from noetlc.expr.block_names import expressions_inside, free_names
from noetlc.expr.shorthand import path

NAMES = ("a", "b", "c", "xs")
VALUES = {"a": 1, "b": 0, "c": "c", "xs": [3, 4]}
EXPRESSIONS = (
    "a", "b.k", "a + b", "xs | join(c)", "c if a else b", "[a, c]", "xs[b]", "'a' ~ c", "a is defined", "b is not none",
    "dict(a=c).a", "xs | length", "(a, b) | list", "{'a': a}.a", "not b", "a, c",
)  # fmt: skip
JINJA = Environment()


def _blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    names, exprs = st.sampled_from(("a", "b", "c")), st.sampled_from(EXPRESSIONS)
    body = st.lists(inner, max_size=3).map("".join)
    return st.one_of(
        st.builds("{{% for {} in xs %}}{}{{% else %}}{}{{% endfor %}}".format, names, body, body),
        st.builds("{{%- for {} in xs if {} -%}}{}{{{{ loop.index }}}}{{% endfor %}}".format, names, exprs, body),
        st.builds("{{% for {}, q in [(a, b)] %}}{}{{% endfor %}}".format, names, body),
        st.builds("{{% if {} %}}{}{{% elif {} %}}{}{{% else %}}{}{{% endif %}}".format, exprs, body, exprs, body, body),
        st.builds("{{% with {} = {}, q = a %}}{}{{{{ q }}}}{{% endwith %}}".format, names, exprs, body),
        st.builds("{{% set v %}}{}{{% endset %}}{{{{ v }}}}".format, body),
        st.builds("{{% set v | upper %}}{}{{% endset %}}{{{{ v }}}}".format, body),
        st.builds("{{% filter replace('3', xs | join) %}}{}{{% endfilter %}}".format, body),
        st.builds("{{% macro m({}, q=xs) %}}{}{{% endmacro %}}{{{{ m(1) }}}}".format, names, body),
    )


_LEAVES = st.one_of(
    st.sampled_from(EXPRESSIONS).map("{{{{ {} }}}}".format),
    st.builds("{{% set v = {} %}}{{{{ v }}}}".format, st.sampled_from(EXPRESSIONS)),
    st.sampled_from(
        ("{% set v, q = [1, 2] %}", "{% raw %}{{ a }}{% if b %}{% endraw %}", "{# {{ a }} {% if %} #}", "a {")
    ),
)
TEMPLATES = st.lists(st.recursive(_LEAVES, _blocks, max_leaves=6), max_size=4).map("".join)


def _rendered(text: str, values: dict[str, object]) -> str:
    try:
        return JINJA.from_string(text).render(values)
    except Exception as problem:
        return type(problem).__name__


@shares(600)
@given(TEMPLATES)
def test_a_free_name_is_one_that_jinja2_looks_for_outside(share: int, text: str) -> None:
    note(text)
    assume(_rendered(text, VALUES) != "TemplateSyntaxError")
    assert words_in(Block(text)) & set(NAMES) == meta.find_undeclared_variables(JINJA.parse(text)) & set(NAMES)


@shares(600)
@given(TEMPLATES)
def test_free_names_can_be_renamed(share: int, text: str) -> None:
    note(text)
    renamed = renamed_words(Block(text), {name: f"new_{name}" for name in NAMES})
    note(renamed.text)
    both = {**VALUES, **{f"new_{name}": value for name, value in VALUES.items()}}
    assert _rendered(renamed.text, both) == _rendered(text, VALUES)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{% for row in result.rows %}{{ row.id }} of {{ total }}{% endfor %}", ["result", "total"]),
        ("{% set ns.x = a %}", ["a", "ns"]),
        ("{% call(u) dump(xs) %}{{ u }}{{ v }}{% endcall %}", ["dump", "xs", "v"]),
        ("{% for é in ö recursive %}{{ loop(é.x) }}{% endfor %}", ["ö"]),
        ("{% if a %}{% set x = 1 %}{% else %}{{ x }}{% endif %}{{ x }}", ["a", "x"]),
        ("{% for a in b %}{{ a + }}{% endfor %}{{ c + }}", ["b", "c"]),  # no expressions, but names all the same
        ("{% if 'open %}{{ a }}", ["a"]),
        ("{% endif %}{% if a %}", ["a"]),
        ("{% set a = a + b %}{{ a }}", ["a", "b"]),
        ("{% filter default(a) %}{{ b }}{% set b = 1 %}{{ b }}{% endfilter %}{{ b }}", ["a", "b", "b"]),
    ],
)
def test_the_names_that_it_does_not_bind_are_free(text: str, names: list[str]) -> None:
    assert sorted(name.name for name in free_names(text)) == sorted(names)
    assert all(text[name.start : name.end] == name.name for name in free_names(text))
    assert words_in(Block(text)) == frozenset(names)


def test_expressions_know_what_is_bound_around_them() -> None:
    found = {one.expr.name: one.bound for one in expressions_inside("{{ a }}{% for b in a %}{{ b }}{% endfor %}")}  # type: ignore[union-attr]
    assert found == {"a": frozenset(), "b": frozenset({"b", "loop"})}


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("{% if vars.x %}vars {{ vars['y'] }}{% endif %}", "{% if ctx.x %}vars {{ ctx['y'] }}{% endif %}"),
        ("{% set vars = vars.x %}{{ vars }}", "{% set vars = ctx %}{% set vars = vars.x %}{{ vars }}"),
        ("{% raw %}{{ vars.x }}{% endraw %}{% if a %}{% endif %}", None),
        (
            "{% for ctx in vars.x %}{{ vars.y }}{% endfor %}",
            "{% set vars = ctx %}{% for ctx in vars.x %}{{ vars.y }}{% endfor %}",
        ),
    ],
)
def test_a_word_is_replaced_where_it_is_read(text: str, made: str | None) -> None:
    assert bound(Block(text), {"vars": path("ctx")}) == Block(made or text)
