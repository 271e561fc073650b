"""Expressions to text and back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from expressions import EXPRESSIONS, TYPED, parse_exactly
from noetl_ir.expr import Binary, Concat, Const, Expr, Name, Unary
from noetlc.expr.parser import parse_expression
from noetlc.expr.unparse import unparse


@settings(derandomize=True, max_examples=500, deadline=None)
@given(EXPRESSIONS | TYPED)
def test_what_is_written_is_read_back(expr: Expr) -> None:
    assert parse_exactly(unparse(expr)) == expr


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.text())
def test_any_text_constant_is_read_back(text: str) -> None:
    assert parse_expression(unparse(Const(text))) == Const(text)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.integers(min_value=0) | st.floats(min_value=0, allow_nan=False, allow_infinity=False))
def test_any_number_is_read_back(number: int | float) -> None:
    assert parse_expression(unparse(Const(number))) == Const(number)


@pytest.mark.parametrize(
    "text",
    [
        "a.b['c d'][0] | default('x')", "not (a and b) or c", "a - (b - c)", "(a + b) * c", "-x ** 2",
        "(a, b)[0]", "x if a is defined else y", "(x is defined) if a", "a['in'].b", "dict(a, k=1, *b, **c)",
        "a ~ b ~ (c ~ d)", "{'k': [1, 2.5, none, true]}", "(a if b else c).d", "'it\\'s\\n'", "x[1:2:3]",
    ],
)  # fmt: skip
def test_no_more_brackets_than_needed(text: str) -> None:
    assert unparse(parse_expression(text)) == text


def test_a_negative_constant_made_by_a_pass_is_written_as_a_sign() -> None:
    assert unparse(Binary("**", Const(-1), Name("x"))) == "-1 ** x"
    assert parse_expression("-1 ** x") == Binary("**", Unary("-", Const(1)), Name("x"))
    assert unparse(Concat((Const(-1), Name("x")))) == "-1 ~ x"
