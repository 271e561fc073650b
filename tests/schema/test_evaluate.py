"""The evaluator where it is not Jinja2, and where it must not give way: LANGUAGE §2, faults, bounds, isolation."""

from typing import Any

import pytest
from hypothesis import given, settings

from expressions import DATA, EXPRESSIONS, TYPED
from noetl_ir.evaluate import Fault, Scope, compile_expr, compile_guard, compile_template, evaluate
from noetl_ir.expr import Expr, Json, ListTemplate, Literal, MapTemplate, Template
from noetl_ir.scopes import PlayScope, Reference, StepResult
from noetl_ir.scopes.vocabulary import FILTERS, TESTS
from noetlc.expr.parser import parse_expression, parse_template


def scope(**values: Any) -> PlayScope:
    return PlayScope(values)


def render(text: str, names: Scope) -> Json:
    template, errors = parse_template(text)
    assert not errors
    return compile_template(template)(names)


def fault(text: str, names: Scope) -> Fault:
    with pytest.raises(Fault) as caught:
        render(text, names)
    return caught.value


def test_scenario_52_text_stays_text() -> None:
    workload = {"zip": "02134", "day": "2012-11-12", "big": "1e5", "code": "[1]", "no": "None"}
    for key, value in workload.items():
        assert render(f"{{{{ workload.{key} }}}}", scope(workload=workload)) == value
        assert render(f"<{{{{ workload.{key} }}}}>", scope(workload=workload)) == f"<{value}>"
    assert render("{{ workload.zip }}{{ '' }}", scope(workload=workload)) == "02134"
    assert render("1{{ '2' }}", scope()) == "12"


def test_scenario_54_a_number_stays_a_number() -> None:
    names = scope(workload={"ids": [1, 2], "nested": {"a": [{"b": 1.5}]}})
    assert render("{{ workload.limit | default(10) | int }}", names) == 10
    assert render("{{ '25' | int }}", names) == 25
    assert render("{{ workload.ids }}", names) == [1, 2]
    assert render("{{ workload.nested }}", names) == {"a": [{"b": 1.5}]}
    assert render("n={{ workload.ids[0] }}", names) == "n=1"
    body = MapTemplate(
        (
            ("limit", parse_template("{{ '3' | int }}").template),
            ("list", ListTemplate((Literal("x"), parse_template("{{ workload.ids }}").template))),
        )
    )
    assert compile_template(body)(names) == {"limit": 3, "list": ["x", [1, 2]]}


def test_scenario_56_a_guard_is_the_truth_of_its_value_not_its_text() -> None:
    guard = compile_guard(parse_expression("(ctx.err is not defined) and workload.request_id"))
    assert guard(scope(ctx={}, workload={"request_id": "req-1"})) is True
    assert guard(scope(ctx={}, workload={"request_id": ""})) is False
    assert guard(scope(ctx={"err": None}, workload={"request_id": "req-1"})) is False


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        ("false", False), ("False", False), ("FALSE", False), (" false", True), ("no", True), ("0", True),
        ("", False), ("none", True), (None, False), (0, False), (0.0, False), ([], False), ([0], True),
        ({}, False), ({"a": 0}, True),
    ],
)  # fmt: skip
def test_what_a_guard_holds_for_true(value: Json, holds: object) -> None:
    assert compile_guard(parse_expression("ctx.x"))(scope(ctx={"x": value})) is holds


def test_an_undefined_guard_is_false_and_one_that_raises_is_a_fault() -> None:
    names = scope(ctx={"n": "x"})
    assert compile_guard(parse_expression("ctx.missing.deep"))(names) is False
    assert compile_guard(parse_expression("ctx.missing > 3"))(names) is False
    for text in ("ctx.n > 3", "ctx.missing + 1 > 2", "1 / 0", "ctx.n | nope"):
        try:
            expr = parse_expression(text)
        except Exception:
            continue
        with pytest.raises(Fault) as caught:
            compile_guard(expr)(names)
        assert caught.value.code == "guard.error"


def test_scenario_58_null_inside_an_object_stays_null() -> None:
    value: Json = {"cursor": None, "items": [], "deep": {"a": [None, {"b": None}]}}
    names = PlayScope({"_prev": value})
    assert render("{{ _prev }}", names) == value
    assert render("{{ _prev.cursor }}", names) is None
    assert render("{{ {'x': _prev.deep, 'y': [none]} }}", names) == {
        "x": {"a": [None, {"b": None}]},
        "y": [
            None,
        ],
    }


def test_scenario_60_default_does_not_replace_null_and_null_prints_as_nothing() -> None:
    names = scope(outcome={"result": {"page": None}})
    assert render("{{ outcome.result.page | default(1) }}", names) is None
    assert render("{{ outcome.result.page | default(1, true) }}", names) == 1
    assert render("p={{ outcome.result.page }};", names) == "p=;"
    assert render("{{ outcome.result.size | default(1) }}", names) == 1


def test_scenario_62_a_missing_parent_with_a_default() -> None:
    for names in (
        scope(ctx={}),
        scope(ctx={"paging": None}),
        scope(ctx={"paging": {}}),
        scope(
            ctx={
                "paging": [
                    1,
                ]
            }
        ),
    ):
        assert compile_guard(parse_expression("(ctx.paging.next | default('none')) == 'none'"))(names) is True
        assert fault("{{ ctx.paging.next }}", names).path == "ctx.paging.next"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("{{ ctx.a }}", "ctx.a"),
        ("x{{ ctx.a.b }}y", "ctx.a.b"),
        ("{{ [1, ctx.a['b c'][0]] }}", "ctx.a['b c'][0]"),
        ("{{ {'k': {'l': nobody}} }}", "nobody"),
        ("x{{ [nobody] }}", "nobody"),
        ("{{ ctx.a + 1 }}", "ctx.a"),
        ("{{ -ctx.a }}", "ctx.a"),
        ("{{ ctx.a() }}", ""),
        ("{{ ctx.l[5] }}", "ctx.l[5]"),
        ("{{ ctx.a | tojson }}", "ctx.a"),
        ("{{ ctx.l | map(attribute='x') | list }}", "….x"),
    ],
)
def test_the_undefined_may_not_leave(text: str, path: str) -> None:
    template, errors = parse_template(text)
    names = scope(ctx={"l": [1, 2]})
    if errors:
        assert "()" in text
        return
    with pytest.raises(Fault) as caught:
        compile_template(template)(names)
    assert (caught.value.code, caught.value.path) == ("template.undefined", path)


def test_the_fault_says_what_is_missing() -> None:
    assert fault("{{ ctx.a.b.c }}", scope(ctx={"a": {}})).message == "`ctx.a.b.c` is undefined: there is no `ctx.a.b`"
    assert fault("{{ x }}", scope()).message == "`x` is undefined"


def test_data_is_found_by_key_before_anything_else() -> None:
    names = scope(iter={"items": [1], "keys": 2, "get": 3})
    assert render("{{ iter.items }}", names) == [1]
    assert render("{{ iter['keys'] }}", names) == 2
    assert render("{{ iter.items() }}", names) == [["items", [1]], ["keys", 2], ["get", 3]]
    assert render("{{ iter.values is defined }}", names) is False


@pytest.mark.parametrize(
    "text",
    [
        "{{ ctx.__class__ }}", "{{ ctx['__class__'] }}", "{{ ''.__class__.__mro__ }}", "{{ [].append }}",
        "{{ (1).real }}", "{{ ctx.s.format }}", "{{ ctx['s'].upper }}", "{{ now.__globals__ }}",
        "{{ range.__self__ }}", "{{ ctx.keys }}", "{{ [ctx] | map(attribute='__class__') | list }}",
        "{{ ['x'] | map(attribute='upper') | list }}", "{{ [{}] | groupby('__class__') }}",
        "{{ ctx | first | attr }}", "{{ _prev.plain }}", "{{ steps.under }}",
    ],
)  # fmt: skip
def test_no_python_attribute_is_reachable(text: str) -> None:
    template, errors = parse_template(text)
    if errors:
        return
    with pytest.raises(Fault) as caught:
        compile_template(template)(PlayScope({"ctx": {"s": "x"}, "now": lambda: "t", "_prev": {"a": 1}}))
    assert caught.value.code == "template.undefined"


@pytest.mark.parametrize(
    "text",
    [
        "'x' * 10**9", "[0] * 10**9", "10**9 * 'x'", "2 ** (10**9)", "2 ** 20000", "10**4000 * 10**4000",
        "range(10**9)", "range(100001) | list", "'x' | center(10**9)", "'x' | indent(10**9)",
        "'x' | indent('y' * 10**6) | indent('z' * 10**7)", "'%1000000000d' % 1",
        "'%.999999999f' | format(1.5)", "'%*d' % (10**9, 1)", "[1] | batch(10**9, 0) | list",
        "[1] | slice(10**9) | list", "1 | round(-10**9)", "1.5 | round(10**6, 'ceil')",
        "('x' * 10**6) * 10**6", "('a' * 10**6) | replace('a', 'b' * 100)",
        "('a' * 10**6).replace('', 'b' * 100)", "range(100000) | join('x' * 1000)",
        "('x' * 1000).join(range(100000) | map('string'))", "('x' * 9**7 ~ 'y' * 9**7) ~ ('x' * 9**7)",
        "[[[0] * 10000] * 10000] * 1000", "[[[[0] * 1000] * 1000] * 1000] ~ ''",
        "[[[0] * 10000] * 10000] | tojson", "[[[0] * 10000] * 10000] | pprint",
        "[[[0] * 10000] * 10000] | string", "'[' * 100000 | fromjson", "('[' * 100000) | fromjson",
        "{'a': 1} | tojson(10**9)", "('&' * 10**7) | escape", "('é' * 10**7) | urlencode",
        "[[0] * 10**6, [0] * 10**6] | sum(start=[])", "('a ' * 10**6) | wordwrap(1, wrapstring='x' * 99)",
    ],
)  # fmt: skip
def test_an_expression_cannot_exhaust_memory(text: str) -> None:
    with pytest.raises(Fault) as caught:
        render("{{ " + text + " }}", scope())
    assert caught.value.code == "template.error"


@settings(derandomize=True, max_examples=300, deadline=None)
@given(EXPRESSIONS | TYPED)
def test_evaluation_raises_only_faults_and_changes_nothing(expr: Expr) -> None:
    names = PlayScope({"ctx": DATA, "workload": DATA, "_prev": DATA})
    before = repr(DATA)
    for run in (compile_expr(expr), compile_guard(expr)):
        try:
            first = run(names)
        except Fault:
            continue
        assert repr(run(names)) == repr(first)
    assert repr(DATA) == before


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'b': 1, 'a': [true, none], 'c': 'é<&>'} | tojson", '{"b": 1, "a": [true, null], "c": "\\u00e9<&>"}'),
        ("'{\"a\": [1, 2.5, null]}' | fromjson", {"a": [1, 2.5, None]}),
        ("'h\u00e9' | b64encode", "aMOp"),
        ("'aMOp' | b64decode", "hé"),
        ("(1, 2)", [1, 2]),
        ("range(3)", [0, 1, 2]),
        ("[1, 2] | map('string')", ["1", "2"]),
        ("{'a': 1}.items()", [["a", 1]]),
        ("ctx.sql[0].id", 1),
        ("ctx.sql[-1].id", 2),
        ("ctx.sql.rows | length", 2),
        ("now()", "2026-01-02T03:04:05Z"),
    ],
)
def test_what_is_ours(text: str, value: Json) -> None:
    sql = {"rows": [{"id": 1}, {"id": 2}], "row_count": 2, "columns": ["id"]}
    assert render("{{ " + text + " }}", scope(ctx={"sql": sql}, now=lambda: "2026-01-02T03:04:05Z")) == value


@pytest.mark.parametrize(
    "text",
    [
        "'x' | fromjson", "'[NaN]' | fromjson", "1 | fromjson", "'@' | b64decode", "'/w==' | b64decode",
        "'nan' | float", "'1e999' | fromjson", "{1: 2}", "1 + 'a'", "[] - []",
        "{'a': 1}.keys() - {'a': 1}.keys()", "(-8) ** 0.5", "ctx.f()", "now", "token('x')", "'a'.get('b')",
        "none.items()", "3[0:1]", "1 | d | nope",
    ],
)  # fmt: skip
def test_what_cannot_be_is_a_fault(text: str) -> None:
    template, errors = parse_template("{{ " + text + " }}")
    if errors:
        return
    with pytest.raises(Fault) as caught:
        compile_template(template)(scope(ctx={"f": 1}, now=lambda: "t"))
    assert caught.value.code in ("template.error", "template.undefined")


def test_ref_gets_the_reference_and_everything_else_its_value() -> None:
    fetched: list[str] = []

    def fetch() -> Json:
        fetched.append("x")
        return {"rows": [1]}

    stored = Reference({"key": "k"}, fetch)
    results = {"big": stored, "small": {"a": 1}}

    def record_of(value: object) -> object:
        return value.record if isinstance(value, Reference) else None

    names = PlayScope({"ref": record_of}, results=results)
    assert render("{{ ref(big) }}", names) == {"key": "k"}
    assert render("{{ ref(steps.big) }}", names) == {"key": "k"}
    assert render("{{ ref(small) }}", names) is None
    assert fetched == []
    assert render("{{ big.rows[0] }}", names) == 1
    assert render("{{ big.data }}", names) == {"rows": [1]}
    assert isinstance(evaluate(parse_expression("big"), names), dict)
    assert fault("{{ ref(big | first) }}", names).message == "`ref` takes one plain path"


def test_a_lost_reference_is_its_own_fault() -> None:
    def fetch() -> Json:
        raise Fault("ref.missing", "the object is gone", "big")

    names = PlayScope({}, results={"big": Reference({}, fetch)})
    assert fault("{{ big.rows }}", names).code == "ref.missing"
    with pytest.raises(Fault) as caught:
        compile_guard(parse_expression("big.rows"))(names)
    assert caught.value.code == "ref.missing"


def test_a_block_template_is_given_to_the_worker() -> None:
    template: Template = parse_template("{% for x in ctx.l %}{{ x }}{% endfor %}").template
    names = scope(ctx={"l": [1, 2]})
    assert compile_template(template, lambda text, seen: f"{text[:6]} {seen is names}")(names) == "{% for True"
    with pytest.raises(Fault, match="worker"):
        compile_template(template)(names)


def test_a_function_is_known_by_its_call_only() -> None:
    names = PlayScope({"now": lambda: "t", "ctx": {"now": 1, "range": 2}})
    assert evaluate(parse_expression("[now, now(), range, range(2) | list]"), names) == [1, "t", 2, [0, 1]]


def test_the_words_that_the_compiler_offers_are_those_that_there_are() -> None:
    from noetl_ir.evaluate.predicates import TESTS as tests
    from noetl_ir.evaluate.selecting import FILTERS as filters

    assert set(filters) == FILTERS
    assert {name for name in tests if name.isidentifier()} == TESTS


def test_jinja2s_filters_are_all_there_but_the_refused_ones() -> None:
    from jinja2.filters import FILTERS as theirs
    from jinja2.tests import TESTS as their_tests

    assert set(theirs) - FILTERS == {"attr", "random"}
    assert FILTERS - set(theirs) == {"b64encode", "b64decode", "fromjson"}
    assert {name for name in their_tests if name.isidentifier()} == TESTS


def test_results_are_views_only_while_keys_are_taken() -> None:
    names = PlayScope({}, results={"x": "text"}, tasks={"t": None})
    assert not isinstance(evaluate(parse_expression("x"), names), StepResult)
    assert evaluate(parse_expression("x | upper ~ x.data"), names) == "TEXTtext"
    assert evaluate(parse_expression("t is none and t.data is none and t.result.data is none"), names) is True
