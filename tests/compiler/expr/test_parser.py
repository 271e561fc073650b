"""The grammar, held to Jinja2's own parser; and the errors."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from expressions import EXPRESSIONS, parse_exactly
from jinja_nodes import parsed
from noetl_ir.expr import Attribute, Const, Expr, Name, walk
from noetlc.expr import lalr
from noetlc.expr.errors import TemplateError
from noetlc.expr.lalr import MAX_DEPTH
from noetlc.expr.parser import parse_expression
from noetlc.expr.quick import quick
from noetlc.expr.tokens import KEYWORDS, tokens_of
from noetlc.expr.unparse import unparse

PIECES = st.sampled_from([
    "a", "b.c", "x", "true", "None", "1", "2.5", "'q'", '"r"', "(", ")", "[", "]", "{", "}", ",", ":", ".", "|", "~",
    "+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", "and", "or", "not", "in", "is", "if", "else",
    "default", "upper", "is not", "defined", "(x)", "[0]", "=1", "k=", "*", "**",
])  # fmt: skip


@settings(derandomize=True, max_examples=800, deadline=None)
@given(st.lists(PIECES, max_size=9))
def test_any_tokens_are_read_as_jinja2_reads_them(pieces: list[str]) -> None:
    text = " ".join(pieces)
    try:
        theirs: Expr | None = parsed(text)
    except Exception:
        theirs = None
    try:
        ours: Expr | None = lalr.parse(tokens_of(text))
    except TemplateError as error:
        assert 0 <= error.start <= error.end <= len(text)
        ours = None
    if ours is None and theirs is not None:
        # To Jinja2 a keyword in the place of a value is a name. Nobody can mean that.
        words = [node.name for node in walk(theirs) if isinstance(node, Name)]
        doubled = any(getattr(node, "named", ()) for node in walk(theirs))
        assert doubled or any(word in KEYWORDS for word in words), text
        return
    if ours is not None and theirs is not None:
        assert ours == theirs


@settings(derandomize=True, max_examples=400, deadline=None)
@given(EXPRESSIONS)
def test_expressions_are_read_as_jinja2_reads_them(expr: Expr) -> None:
    text = unparse(expr)
    assert parse_expression(text) == parsed(text) == expr


@pytest.mark.parametrize(
    "text",
    [
        "-x|abs", "-x**2", "- -x", "2**-x|f", "not x in y", "not a == b and c", "a if b", "a if b if c else d",
        "a if b else c if d else e", "(a if b) if c", "a or b and not c", "a < b < c not in d",
        "x is not none|int", "x is divisibleby 3 and y", "x is in [1]", "x is sameas(3)|int",
        "x is eq 'a' 'b'", "x is foo.bar y[1].z(2)", "x|a.b(1)(2)", "f(1)(2)[3].g", "x.0.1", "x[1:]", "x[:]",
        "x[::2]", "x[a:b:c]", "x[1, 2]", "x[()]", "()", "(1,)", "1,", "1, 2, 3", "{'a': 1, 'b': [2,],}",
        "'a' \"b\" 'c'", r"'\x41\u00e9\n\'\\\d\N{BULLET}'", "0x_FF + 0b1_0 - 0o17 * 1_000",
        "1e5 + 1.5e-3 + 1_0.2_5", "a.in.is.not", "f(if=1, not=2)", "f(*a, **b)", "f(a, k=1, c=2, *b, **d)",
        "a ~ b + c ~ d * e", "a - b - c", "a / b // c % d", "x is not in y", "[x is defined, y]",
        "{'k': x is defined}", "é + ünïcode_1", "true.x", "none is none", "'{{' ~ '}}'", "x[y[1:2]]", "f(a,)",
        "a|d(b|d(c))", "a.b.c == 'x' and d in [1, 'two', none]", "a|default(-1) >= -3",
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:invalid escape sequence")
def test_the_corners_of_the_grammar(text: str) -> None:
    assert lalr.parse(tokens_of(text)) == parsed(text)


@settings(derandomize=True, max_examples=400, deadline=None)
@given(EXPRESSIONS)
def test_every_node_knows_the_text_that_it_is(expr: Expr) -> None:
    text = unparse(expr)
    for node in walk(parse_expression(text)):
        assert lalr.parse(tokens_of(text[node.start : node.end])) == node


SIMPLE = st.lists(st.sampled_from([
    "a", "a.b.c", "event.name", "is", "x", "true", "none.x", "'q'", '"r s"', "12", "0", "-3", "[1,'x']", "[]", "[[a]]",
    "==", "!=", "<=", "in", "not in", "not", "and", "or", "|upper", "|default(1)", "|default('')", "|d(x.y)", "|foo",
    "is defined", "is not none", "is odd 1", "(", ")", ".", ",", "1.5", "é",
]), max_size=7).map(" ".join)  # fmt: skip


@settings(derandomize=True, max_examples=1200, deadline=None)
@given(SIMPLE)
def test_the_quick_way_reads_what_the_grammar_reads(text: str) -> None:
    found = quick(text, 0, len(text))
    if found is None:
        return
    exact = parse_exactly(text)
    assert found == exact
    assert [(n.start, n.end) for n in walk(found)] == [(n.start, n.end) for n in walk(exact)]


@pytest.mark.parametrize(
    "text",
    [
        "workload.api_url", "event.name == 'step.done'",
        "outcome.status == 'error' and outcome.http.status in [429, 500]",
        "workload.limit > 10 and ctx.enabled | default(true)", "iter.page | default(iter.next)",
        "ctx.err is not defined", "not workload.again and ctx.n == -1 or x", "ctx.queue | default([1,2])",
    ],
)  # fmt: skip
def test_usual_expressions_take_the_quick_way(text: str) -> None:
    assert quick(text, 0, len(text)) == parse_exactly(text)


@pytest.mark.parametrize("text", ["(" * 3000, "(" * 3000 + ")" * 3000, "[" * 3000, "{1:" * 3000])
def test_deep_brackets_are_an_error(text: str) -> None:
    with pytest.raises(TemplateError, match="deeper than 100"):
        parse_expression(text)


@pytest.mark.parametrize(
    "text",
    [
        "-" * 3000 + "x",
        "not " * 3000 + "x",
        "a" + " and a" * 2000,
        "a" + " + a" * 3000,
        "a" + ".b" * 3000,
        "a" + "|d" * 3000,
    ],
)
def test_long_chains_are_an_error_that_says_so(text: str) -> None:
    with pytest.raises(TemplateError, match="more than 100 levels"):
        parse_expression(text)


def test_a_chain_at_the_bound_works() -> None:
    assert hash(parse_expression("a" + " and a" * (MAX_DEPTH - 1))) == hash(parse_expression("a" + " and a" * 99))
    assert len(list(walk(parse_expression("~".join("a" * 5000))))) == 5001


@pytest.mark.parametrize(
    ("text", "start", "message", "help"),
    [
        ("", 0, "the braces are empty: expected an expression", ""),
        ("a b", 2, "expected an operator, `,` or the end of the expression, found `b`", ""),
        ("a =  b", 2, "expected an operator, `,` or the end of the expression, found `=`", "write `==` to compare"),
        ("a || b", 3, "expected a name, found `|`", "write `or`; a single `|` is followed by a filter"),
        ("a && b", 2, "unexpected `&`", "write `and`"),
        ("a ? b : c", 2, "unexpected `?`", "write `a if condition else b`"),
        ("a.", 2, "expected a name or a number, found the end of the expression", ""),
        ("(a", 0, "`(` is never closed", "add the `)`"), ("a)", 1, "`)` closes nothing", ""),
        ("[a}", 2, "expected `]`, found `}`", "the `[` at column 1 of the text is still open"),
        ("'abc", 0, "the text is never closed", "the quote is not closed"),
        ("a + ", 4, "expected a value, found the end of the expression", ""),
        ("a | defalt(1)", 0, "there is no filter `defalt`", "did you mean `default`?"),
        ("a is deifned", 0, "there is no test `deifned`", "did you mean `defined`?"),
        ("a.splt(',')", 0, "there is no method `splt`", "did you mean `split`?"),
        ("a.title()", 0, "there is no method `title`", "write `… | title`"),
        ("a|d.b", 0, "there is no filter `d.b`", "a dot belongs to the filter's name: write `(… | d).b`"),
        ("rnage(3)", 0, "there is no function `rnage`", "did you mean `range`?"),
        ("a[0](1)", 0, "a value cannot be called", ""),
        ("f(k=1, k=2)", 9, "`k` is given twice", "plain arguments come first, `**` last"),
        ("x is defined if y", 13, "`if` cannot follow a test directly", "put the test in parentheses"),
        ("1e999", 0, "the number is too large", ""),
        ("9" * 5000, 0, "the number has more digits than can be read", ""),
        (r"'\xq'", 0, r"bad escape in the text: truncated \xXX escape", ""),
        ("a²b", 0, "`a²b` is not a name", "names have letters, digits and `_`"),
    ],
)  # fmt: skip
def test_errors_say_where_and_what_was_expected(text: str, start: int, message: str, help: str) -> None:
    with pytest.raises(TemplateError) as caught:
        parse_expression(text)
    assert (caught.value.start, caught.value.message, caught.value.help) == (start, message, help)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("range(1000) | random", "the filter `random` is refused: a run must be repeatable"),
        ("a | shuffle", "the filter `shuffle` is refused"),
        ("a | attr('x')", "the filter `attr` is refused: data is reached by key"),
        ("lipsum()", "the function `lipsum` is refused: a run must be repeatable"),
        ("cycler('a')", "the function `cycler` is refused"),
        ("ctx.l.append(1)", "the method `append` is refused: data cannot be changed"),
    ],
)
def test_scenario_76_what_chance_decides_is_refused_by_name(text: str, word: str) -> None:
    with pytest.raises(TemplateError, match=word.replace("(", r"\(")):
        parse_expression(text)


def test_an_offset_moves_everything() -> None:
    expr = parse_expression("a.b", 10)
    assert expr == Attribute(Name("a"), "b")
    assert (expr.start, expr.end) == (10, 13)
    with pytest.raises(TemplateError) as caught:
        parse_expression("a b", 10)
    assert caught.value.start == 12


def test_equal_looking_constants_are_told_apart() -> None:
    assert Const(1) != Const(True)
    assert Const(1) != Const(1.0)
    assert len({Const(1), Const(True), Const(1.0), Const("1")}) == 4
