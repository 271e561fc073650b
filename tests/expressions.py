"""Strategies for expressions and the data they are evaluated on."""

from typing import Any

from hypothesis import strategies as st

from noetl_ir.expr import (
    Attribute,
    Binary,
    Call,
    Compare,
    Concat,
    Conditional,
    Const,
    Expr,
    Filter,
    Item,
    ListOf,
    Logic,
    MapOf,
    Name,
    Not,
    Slice,
    Test,
    TupleOf,
    Unary,
)
from noetlc.expr import lalr
from noetlc.expr.known import check_known
from noetlc.expr.tokens import tokens_of


def parse_exactly(text: str) -> Expr:
    """The expression, by the grammar's tables alone: what the quick way is held to. Raises TemplateError."""
    expr = lalr.parse(tokens_of(text))
    check_known(expr)
    return expr


TEXTS = st.sampled_from(
    [
        "",
        "a",
        "b",
        "ab c",
        "False",
        "3",
        "2.5",
        "x,y",
        "<p>",
        "it's",
        "é",
        "A-b",
        "{}",
        "%s!",
    ]
)
CONSTANTS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-4, 12),
    st.sampled_from([0.0, 0.5, 2.5, 1e3]),
    TEXTS,
).map(lambda value: Unary("-", Const(-value)) if isinstance(value, (int, float)) and value < 0 else Const(value))

NAMES = ["i", "z", "f", "s", "e", "l", "m", "o", "n", "t", "u", "rows"]
DATA: dict[str, Any] = {
    "i": 7,
    "z": 0,
    "f": 2.5,
    "s": "Hello, world",
    "e": "",
    "l": [3, 1, 2],
    "m": {"a": 1, "b": {"c": [1, 2]}, "items": "key", "d e": None},
    "o": [{"k": 1, "g": "x"}, {"k": 2, "g": "Y"}, {"k": 3, "g": "y", "h": None}, {"g": "x"}],
    "n": None,
    "t": True,
    "rows": [[1, "a"], [2, "b"]],
}
KEYS = st.sampled_from(["a", "b", "c", "k", "g", "h", "items", "d e", "zz"])

_PLAIN_FILTERS = [
    "abs", "capitalize", "count", "escape", "first", "float", "int", "items", "join", "last", "length", "list",
    "lower", "max", "min", "reverse", "round", "sort", "string", "striptags", "sum", "title", "tojson", "trim",
    "unique", "upper", "urlencode", "wordcount", "dictsort", "filesizeformat", "urlize", "pprint",
    "forceescape", "wordwrap", "xmlattr", "safe",
]  # fmt: skip
_ONE_FILTERS = [
    "default", "d", "join", "batch", "slice", "center", "indent", "round", "int", "float", "truncate",
    "format", "trim", "map", "select", "reject", "selectattr", "rejectattr", "sort", "groupby", "unique",
    "sum", "min", "dictsort", "wordwrap", "tojson", "reverse", "first",
]  # fmt: skip
_TWO_FILTERS = [
    "replace",
    "default",
    "map",
    "select",
    "selectattr",
    "batch",
    "slice",
    "join",
    "truncate",
    "round",
]
_PLAIN_TESTS = [
    "defined", "undefined", "none", "boolean", "false", "true", "integer", "float", "number", "string",
    "mapping", "sequence", "iterable", "odd", "even", "lower", "upper", "callable", "escaped", "filter",
    "test",
]  # fmt: skip
_ONE_TESTS = ["divisibleby", "eq", "equalto", "ne", "lt", "le", "gt", "ge", "in", "lessthan", "greaterthan"]
_METHODS = {
    "get": 2, "keys": 0, "values": 0, "items": 0, "split": 1, "strip": 1, "lower": 0, "upper": 0,
    "startswith": 1, "endswith": 1, "replace": 2, "join": 1,
}  # fmt: skip
_WORDS = st.sampled_from(
    [
        "upper",
        "string",
        "odd",
        "k",
        "g",
        "length",
        "int",
        ">",
        "even",
        "k.x",
        "0",
        "defined",
    ]
)


def _extend(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    words = _WORDS.map(Const)
    argument = st.one_of(inner, words)
    small = st.integers(0, 5).map(Const)
    return st.one_of(
        st.builds(Attribute, inner, st.sampled_from(["a", "b", "k", "g", "zz", "in"])),
        st.builds(Item, inner, st.one_of(KEYS.map(Const), st.integers(0, 3).map(Const), inner)),
        st.builds(Slice, inner, st.none() | small, st.none() | small, st.none() | small),
        st.builds(Filter, inner, st.sampled_from(_PLAIN_FILTERS), st.just(()), st.just(())),
        st.builds(Filter, inner, st.sampled_from(_ONE_FILTERS), st.tuples(argument), st.just(())),
        st.builds(Filter, inner, st.sampled_from(_TWO_FILTERS), st.tuples(argument, argument), st.just(())),
        st.builds(
            Filter, inner, st.sampled_from(["map", "sort", "join", "sum", "min", "max", "unique", "groupby"]),
            st.just(()), st.tuples(st.tuples(st.just("attribute"), words)),
        ),
        st.builds(Test, inner, st.sampled_from(_PLAIN_TESTS), st.just(()), st.just(())),
        st.builds(Test, inner, st.sampled_from(_ONE_TESTS), st.tuples(inner), st.just(())),
        st.sampled_from(sorted(_METHODS)).flatmap(
            lambda name: st.builds(
                Call, st.builds(Attribute, inner, st.just(name)), st.tuples(*[
                    inner,
                ] * _METHODS[name]), st.just(())
            )
        ),
        st.builds(Call, st.just(Name("range")), st.tuples(small) | st.tuples(small, small), st.just(())),
        st.builds(Unary, st.sampled_from("+-"), inner),
        st.builds(Not, inner),
        st.builds(Binary, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner, inner),
        st.builds(Binary, st.just("**"), inner, small),
        st.builds(Logic, st.sampled_from(["and", "or"]), inner, inner),
        st.builds(Concat, st.tuples(inner, inner) | st.tuples(inner, inner, inner)),
        st.builds(
            Compare, inner,
            st.lists(
                st.tuples(st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "not in"]), inner),
                min_size=1, max_size=2,
            ).map(tuple),
        ),
        st.builds(Conditional, inner, inner, st.none() | inner),
        st.builds(ListOf, st.lists(inner, max_size=3).map(tuple)),
        st.builds(TupleOf, st.lists(inner, max_size=3).map(tuple)),
        st.builds(MapOf, st.lists(st.tuples(KEYS.map(Const), inner), max_size=2).map(tuple)),
    )  # fmt: skip


EXPRESSIONS: st.SearchStrategy[Expr] = st.recursive(CONSTANTS | st.sampled_from(NAMES).map(Name), _extend, max_leaves=8)


def _filter(name: str, *args: Expr) -> Any:
    return lambda of: Filter(of, name, args, ())


def _any_of(*makers: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(makers)


_SMALL = st.integers(0, 4).map(Const)
_NUMBER_LEAVES = st.sampled_from(
    [
        Name("i"),
        Name("z"),
        Name("f"),
        Const(3),
        Const(0.5),
        Item(Name("l"), Const(1)),
    ]
)
NUMBERS: st.SearchStrategy[Expr] = st.recursive(
    _NUMBER_LEAVES,
    lambda inner: st.one_of(
        st.builds(Binary, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner, inner),
        st.builds(Binary, st.just("**"), inner, _SMALL),
        st.builds(Unary, st.just("-"), inner),
        st.builds(
            lambda make, of: make(of),
            _any_of(_filter("abs"), _filter("int"), _filter("round"), _filter("round", Const(1), Const("ceil"))),
            inner,
        ),
    ),
    max_leaves=6,
)
_TEXT_LEAVES = st.sampled_from(
    [Name("s"), Name("e"), Const("It's <b>fine</b>, www.x.org"), Item(Name("s"), Const(0))]
)  # fmt: skip
WORDS: st.SearchStrategy[Expr] = st.recursive(
    _TEXT_LEAVES,
    lambda inner: st.one_of(
        st.builds(Concat, st.tuples(inner, inner | NUMBERS)),
        st.builds(Binary, st.just("+"), inner, inner),
        st.builds(Slice, inner, st.none() | _SMALL, st.none() | _SMALL, st.none()),
        st.builds(
            lambda make, of: make(of),
            _any_of(
                _filter("upper"), _filter("title"), _filter("capitalize"), _filter("trim"), _filter("escape"),
                _filter("replace", Const("l"), Const("LL")), _filter("truncate", Const(9)), _filter("urlencode"),
                _filter("indent", Const(2), Const(True)), _filter("center", Const(20)), _filter("striptags"),
                _filter("wordwrap", Const(5)), _filter("tojson"), _filter("urlize"), _filter("reverse"),
                _filter("truncate", Const(7), Const(True)), _filter("pprint"),
            ),
            inner,
        ),
    ),
    max_leaves=5,
)  # fmt: skip
LISTS: st.SearchStrategy[Expr] = st.recursive(
    st.sampled_from([Name("l"), Name("o"), Name("rows"), Name("m"), Filter(Name("m"), "items", (), ())]),
    lambda inner: st.one_of(
        st.builds(
            lambda make, of: make(of),
            _any_of(
                _filter("list"), _filter("sort"), _filter("unique"), _filter("reverse"), _filter("batch", Const(2)),
                _filter("slice", Const(2)), _filter("batch", Const(2), Const("-")), _filter("map", Const("string")),
                _filter("select"), _filter("selectattr", Const("k")), _filter("rejectattr", Const("h"), Const("none")),
                _filter("groupby", Const("g")), _filter("selectattr", Const("k"), Const(">"), Const(1)),
                _filter("select", Const("mapping")), _filter("dictsort"), _filter("first"), _filter("last"),
                lambda of: Filter(of, "map", (), (("attribute", Const("k")), ("default", Const(0)))),
                lambda of: Filter(of, "sort", (), (("attribute", Const("g,k")), ("reverse", Const(True)))),
                lambda of: Filter(of, "groupby", (Const("g"),), (("case_sensitive", Const(True)),)),
                lambda of: Slice(of, Const(1), None, None), lambda of: Binary("+", of, ListOf((Const(9),))),
            ),
            inner,
        ),
        st.builds(ListOf, st.tuples(inner, inner)),
    ),
    max_leaves=4,
)  # fmt: skip
_ANY = NUMBERS | WORDS | LISTS | st.sampled_from([Name("u"), Name("n"), Name("t"), Attribute(Name("m"), "b")])
TYPED: st.SearchStrategy[Expr] = st.one_of(
    _ANY,
    st.builds(
        Compare,
        NUMBERS,
        st.tuples(
            st.tuples(
                st.sampled_from(
                    [
                        "<",
                        "<=",
                        "==",
                        "!=",
                    ]
                ),
                NUMBERS | st.just(Name("u")),
            )
        ),
    ),
    st.builds(Compare, _ANY, st.tuples(st.tuples(st.sampled_from(["in", "not in"]), LISTS))),
    st.builds(Logic, st.sampled_from(["and", "or"]), _ANY, _ANY),
    st.builds(Conditional, _ANY, _ANY, st.none() | _ANY),
    st.builds(Test, _ANY, st.sampled_from(_PLAIN_TESTS), st.just(()), st.just(())),
    st.builds(
        Filter,
        LISTS,
        st.sampled_from(
            [
                "length",
                "join",
                "sum",
                "min",
                "max",
                "tojson",
            ]
        ),
        st.just(()),
        st.just(()),
    ),
    st.builds(Filter, LISTS, st.just("sum"), st.just(()), st.just((("attribute", Const("k")),))),
    st.builds(Filter, _ANY, st.just("default"), st.tuples(_ANY, st.booleans().map(Const)), st.just(())),
)
"""Expressions of which most have a value: each kind of value meets what is made for it."""
