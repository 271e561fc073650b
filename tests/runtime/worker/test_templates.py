"""Block templates: Jinja2's statements over our data, in a sandbox from which nothing is reachable."""

import time
from collections.abc import Callable

import jinja2
import pytest

from noetl.worker.templates import render
from noetl_ir.expr import Json
from noetl_ir.scopes.values import Fault, StepResult, Undefined


class Names:
    """A scope of plain names."""

    def __init__(self, **names: object) -> None:
        self._names = names

    def lookup(self, name: str) -> object:
        return self._names[name] if name in self._names else Undefined(name)


def rendered(text: str, /, **names: object) -> str:
    return render(text, Names(**names))


AB: Json = [{"a": 1}, {"a": "b"}]
SAME: list[tuple[str, dict[str, Json]]] = [
    ("{% for x in xs %}{{ loop.index }}:{{ x.a }}{% if not loop.last %}, {% endif %}{% endfor %}\n", {"xs": AB}),
    ("{% if a and b.c == 2 %}yes{% elif a %}mid{% else %}no{% endif %}", {"a": True, "b": {"c": 3}}),
    ("{% for x in xs if x > 1 %}{{ x }}{% else %}none{% endfor %}", {"xs": [1]}),
    ("{% for k, v in m.items() %}{{ k }}={{ v }};{% endfor %}", {"m": {"x": 1, "y": [2]}}),
    ("{% set a, b = [1, 2] %}{{ a ~ b }} {{ (a + b) * 3 }}", {}),
    ("{% macro m(n) %}{{ n }}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(3) }}", {}),
    ("{% raw %}{{ x }}{% endraw %}{# comment #} {{ 'a' | upper }}", {}),
    ("{% for x in [1, [2, 3]] recursive %}{{ loop(x) if x is sequence else x }}{% endfor %}", {}),
    ("{% filter upper %}a{{ x }}{% endfilter %}{% set y %}b{{ x }}{% endset %}{{ y }}", {"x": "c"}),
    ("{{ u is defined }}{% if u %}x{% endif %}{{ u.v.w | default('d') }}{% for x in u %}{% endfor %}", {}),
    ("{% for x in xs %}{{ loop.cycle('a', 'b') }}{{ loop.previtem is defined }}{% endfor %}", {"xs": [1, 2]}),
    ("{{ xs[1:] }} {{ xs[-1] }} {{ s[0] }} {{ xs | length }}{% if 1 %}{% endif %}", {"xs": [1, 2], "s": "ab"}),
    ("{% with a = 1 %}{{ a }}{% endwith %}{{ xs | map(attribute='a') | join(',') }}", {"xs": [{"a": 1}, {"a": 2}]}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "names"), SAME)
def test_it_means_what_jinja2_means(text: str, names: dict[str, Json]) -> None:
    peer = jinja2.Environment(undefined=jinja2.ChainableUndefined, keep_trailing_newline=True)
    assert rendered(text, **names) == peer.from_string(text).render(names)


def test_data_is_found_by_key_first() -> None:
    assert rendered("{% if 1 %}{{ m.items }} {{ m.get('items') }}{% endif %}", m={"items": 5}) == "5 5"


def test_null_prints_as_nothing_and_tojson_is_plain() -> None:
    assert rendered("{% if 1 %}[{{ n }}] {{ {'a': '<&>'} | tojson }}{% endif %}", n=None) == '[] {"a": "<&>"}'
    assert rendered("{% if 1 %}{{ 'a' | b64encode }}{% endif %}") == "YQ=="


def test_results_of_steps_have_their_aliases() -> None:
    result = StepResult({"x": 1, "rows": [{"a": 2}], "row_count": 1, "columns": ["a"]})
    text = "{% if 1 %}{{ r.data.x }}{{ r.result.x }}{{ r.rows[0].a }}{{ r | length }}{% endif %}"
    assert rendered(text, r=result) == "1124"


def test_functions_of_the_scope() -> None:
    now: Callable[[], str] = lambda: "T"  # noqa: E731
    assert rendered("{% for x in range(2) %}{{ now() }}{% endfor %}", now=now) == "TT"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("{% if 1 %}{{ u }}{% endif %}", "u"),
        ("{% if 1 %}{{ u.x.y }}{% endif %}", "u.x.y"),
        ("{% if 1 %}{{ m.no }}{% endif %}", "m.no"),
        ("{% if 1 %}{{ m['a'][3].b }}{% endif %}", "m.a[3].b"),
        ("{% if 0 %}{% set y = 1 %}{% endif %}{{ y }}", "y"),
        ("{% for x in xs %}{{ x.no }}{% endfor %}", "x.no"),
    ],
)
def test_printing_the_undefined_is_a_fault_that_names_its_path(text: str, path: str) -> None:
    with pytest.raises(Fault) as caught:
        rendered(text, m={"a": []}, xs=[{}])
    assert (caught.value.code, caught.value.path) == ("template.undefined", path)


@pytest.mark.parametrize(
    "expression",
    [
        "''.__class__",
        "m.__class__.__mro__",
        "m['__class__']",
        "m.get.__self__",
        "xs.append(1)",
        "m.update({'b': 1})",
        "self.__init__",
        "loop",
        "cycler('a')",
        "namespace(a=1)",
        "lipsum()",
        "'{0.__class__}'.format(m)",
        "(m | attr('keys'))()",
        "xs | random",
        "now.__globals__",
        "range.__self__",
        "'%s' | format(u)",
        "dict.__bases__",
    ],
)
def test_nothing_but_data_is_reachable(expression: str) -> None:
    with pytest.raises(Fault):
        rendered("{% if 1 %}{{ " + expression + " }}!{% endif %}{{ u }}", m={"a": 1}, xs=[1], now=lambda: 1)


@pytest.mark.parametrize(
    "text",
    [
        "{% if %}",
        "{% for x in 5 %}{% endfor %}",
        "{% include 'x' %}",
        "{% import 'x' as y %}",
        "{% extends 'x' %}",
        "{% if 1 // 0 %}{% endif %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% if x.nosuch() %}{% endif %}",
        "{% if f(a=1) %}{% endif %}",
        "{% nosuch %}",
        "{% if 'a' | nosuch %}{% endif %}",
        "{% if 1 is nosuch %}{% endif %}",
        "{% if 1 + 'a' %}{% endif %}",
    ],
)
def test_every_error_is_a_fault(text: str) -> None:
    with pytest.raises(Fault) as caught:
        rendered(text, x={})
    assert caught.value.code == "template.error"


@pytest.mark.parametrize(
    "text",
    [
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{% set x = 'a' * 10 ** 9 %}",
        "{% for x in range(100000) %}" + "x" * 1000 + "{% endfor %}",
        "{% if 1 %}{{ range(10 ** 9) }}{% endif %}",
        "{% macro m(x, n) %}{% if n %}{{ m(x ~ x, n - 1) }}{% endif %}{% endmacro %}{{ m('aaaaaaaa', 60) }}",
        "{% if 1 %}{{ 'a' | center(10 ** 9) }}{% endif %}",
    ],
)
def test_every_template_ends_soon(text: str) -> None:
    begun = time.monotonic()
    with pytest.raises(Fault) as caught:
        rendered(text)
    assert caught.value.code == "template.error"
    assert time.monotonic() - begun < 20, "a bound stopped it, not the test's patience"
