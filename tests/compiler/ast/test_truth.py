"""Guards of which the outcome is certain, held to the evaluator's meaning on hand-made cases."""

import pytest

from noetlc.ast.truth import truth
from noetlc.expr.parser import parse_expression

DONE = {("event", "name"): "step.done", ("event", "status"): "ok"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", True),
        ("false", False),
        ("'False'", False),  # the text `false` in any case is false (LANGUAGE §2)
        ("'x'", True),
        ("0", False),
        ("ctx.a", None),
        ("event.name == 'step.done'", True),
        ("event.name != 'step.done'", False),
        ("event.name == 'step.failed'", False),
        ("event.name in ['loop.done', 'step.done']", True),
        ("event.name in ['loop.done', ctx.a]", None),
        ("event.name not in ['loop.done']", True),
        ("event.name == 'step.done' and ctx.a", None),
        ("event.name == 'step.failed' and ctx.a", False),
        ("event.name == 'step.done' or ctx.a", True),
        ("not (event.name == 'step.done')", False),
        ("true if ctx.a else true", True),
        ("1 if event.name == 'step.done' else 0", True),
        ("event.ts == 'x'", None),
        ("1 < 2", True),
        ("2 >= 2.5", False),
        ("'a' < 'b'", True),
        ("1 < 'b'", None),
        ("true < 2", None),
        ("1 + 1 == 2", True),
        ("-1 > 2 * 3 - 7", False),
        ("1 - 'a' == 2", None),
    ],
)
def test_truth(text: str, expected: bool | None) -> None:
    assert truth(parse_expression(text), DONE) is expected
