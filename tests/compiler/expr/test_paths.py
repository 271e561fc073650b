"""Which paths an expression reads."""

import pytest

from noetlc.expr.parser import parse_expression
from noetlc.expr.paths import paths_read


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("1 + 2", ()),
        ("a", (("a",),)),
        ("a.b.c == ctx.d", (("a", "b", "c"), ("ctx", "d"))),
        ("a['b'][0].c", (("a", "b", 0, "c"),)),
        ("a[i].c", (("a",), ("i",))),
        ("a.b[ctx.k].c + a.b.d", (("a", "b"), ("ctx", "k"))),
        ("a.b.items()", (("a", "b"),)),
        ("a.b.get(c.d)", (("a", "b"), ("c", "d"))),
        ("rows | map(attribute='x') | list", (("rows",),)),
        ("a.b[1:n.m]", (("a", "b"), ("n", "m"))),
        ("(a if b else c).d", (("a",), ("b",), ("c",))),
        ("range(n) | list", (("n",),)),
        ("f.x if now() > d else {g: [h, i.j]}", (("d",), ("f", "x"), ("g",), ("h",), ("i", "j"))),
        ("steps['a/b'].rows[0]", (("steps", "a/b", "rows", 0),)),
    ],
)
def test_paths(text: str, paths: object) -> None:
    assert paths_read(parse_expression(text)) == paths
