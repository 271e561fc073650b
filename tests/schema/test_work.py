"""An expression has a budget of work: whatever it is asked of values at the limits of sizes, it ends in about a second.

Every operator, comparison, filter, test, method and function of the tables is asked, with values that are hard for it,
in sizes down to the first that it takes: either the value comes or `template.error`, in bounded processor time. The
short run has a text, a list and a mapping for each of them.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any
from unittest.mock import patch

import pytest

from harness.samples import first
from noetl_ir.evaluate import Fault, Undefined, compile_guard, compile_template, work
from noetl_ir.evaluate.access import METHOD_TABLE
from noetl_ir.evaluate.data_filters import range_
from noetl_ir.evaluate.operators import BINARY, COMPARE, UNARY
from noetl_ir.evaluate.predicates import TESTS
from noetl_ir.evaluate.selecting import FILTERS, PRICES
from noetl_ir.evaluate.settle import settled_value
from noetl_ir.scopes import PlayScope
from noetlc.expr.parser import parse_expression, parse_template

SECONDS = 6.0
"""The bound is about one second of processor time on the machine whose prices the table holds (`selecting.py`).

A machine of tests shares its cores and caches and took 2.6 of its own seconds for the same work; without a budget the
calls that it stops take minutes, so the wider bound loses nothing.
"""

PART = 8
"""The many operations are asked with this part of the budget: their prices are the same, and they end sooner."""

PREFIX = "P" * 1_000
TEXTS: dict[str, Callable[[int], object]] = {
    "letters": lambda n: "a" * n,
    "lines": lambda n: "\n" * n,
    "marks": lambda n: "<&" * (n // 2),
    "brackets": lambda n: "(" * (n // 2) + "." * (n // 4) + "x" + ")" * (n // 4),
    "wide": lambda n: "\U0001f600 " * (n // 2),
}
LISTS: dict[str, Callable[[int], object]] = {
    "one hash": lambda n: [(k * 7919 % 100_003 + 1) * ((1 << 61) - 1) for k in range(n)],
    "prefixes": lambda n: [f"{PREFIX}{k * 7919 % 100_003}" for k in range(n // 4)],
    "rows": lambda n: [{"a": k, "b": [k]} for k in range(n)],
    "undefined": lambda n: [Undefined("x") if k % 3 else k for k in range(n)],
    "shared": lambda n: [[[0] * 1_000] * 1_000] * n,
    "mapping": lambda n: {f"k{k * 7919 % 1_000_003}": k for k in range(n)},
}
TEXT_SIZES = (10_000_000, 400_000, 10_000)
LIST_SIZES = (100_000, 10_000, 300)


@cache
def value_of(kind: str, size: int) -> object:
    """A value of a kind, made once."""
    return (TEXTS.get(kind) or LISTS[kind])(size)


@pytest.fixture(scope="module", autouse=True)
def _forgotten() -> Iterator[None]:
    """The values are given back: millions of objects in a process make every collection of garbage after that slow."""
    yield
    value_of.cache_clear()


ARGUMENTS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "batch": ((1,),), "format": (("x", "y"),), "groupby": (("a",), (0,)), "int": ((), (0, 16)),
    "join": ((",", "a"),), "map": (("string",), ("urlize",), ("default", 1)), "reject": (("in", list(range(1_000))),),
    "rejectattr": (("a.b.c", "defined"),), "replace": (("b" + "a" * 90, "c"), ("", "x")), "round": ((4_000,),),
    "select": (("divisibleby", (1 << 7_000) + 1), ("eq", PREFIX)), "selectattr": (("a", "eq", 1),),
    "slice": ((100_000,),),
    "trim": (("b" * 3_000 + "a",),), "truncate": ((9_999_000,),), "wordwrap": ((), (1,)), "indent": ((100,),),
    "tojson": ((), (2,)),
    "strip": (("b" * 3_000 + "a",),), "split": ((), ("b" + "a" * 90,)), "startswith": (("x",),), "endswith": (("x",),),
    "get": (("x",),), "divisibleby": ((3,),), "sort": ((), (False, False, ",".join("a" * 1_000))),
    "in": (([1],),), "sameas": ((PREFIX,),),
}  # fmt: skip


def seconds_of(call: Callable[[], object]) -> tuple[str, float]:
    """The end of a call (`value`, `budget`, a fault's code, or an error's name), and its processor time in seconds."""
    work.begin_evaluation()
    began = time.process_time()
    try:
        found = call()
        if not isinstance(found, int | float):
            settled_value(found)
        how = "value"
    except Fault as fault:
        how = "budget" if "more work" in fault.message else fault.code
    except Exception as error:
        how = type(error).__name__
    return how, time.process_time() - began


def hardest(call: Callable[[Any], object], kinds: Iterable[str], sizes: tuple[int, ...]) -> None:
    for kind in kinds:
        for size in sizes:
            value = value_of(kind, size)
            with patch.object(work, "MAX_WORK", work.MAX_WORK // PART):
                how, taken = seconds_of(lambda value=value: call(value))  # type: ignore[misc]
            # Not an eighth of the bound: to make and collect large values takes its time whatever the budget is.
            assert taken < SECONDS / 2, f"{kind} of {size:,}: {how} after {taken:.1f} s"
            if how not in ("budget", "template.error"):
                break


SHORT = ("letters", "rows", "mapping")
KINDS = pytest.mark.parametrize(
    "kinds", first(1, [SHORT, tuple(kind for kind in (*TEXTS, *LISTS) if kind not in SHORT)]), ids=["some", "others"]
)
Kinds = tuple[str, ...]


def asked(call: Callable[[Any], object], kinds: Kinds) -> None:
    hardest(call, [kind for kind in kinds if kind in TEXTS], TEXT_SIZES)
    hardest(call, [kind for kind in kinds if kind in LISTS], LIST_SIZES)


def called(name: str, apply: Callable[..., object]) -> Iterator[Callable[[Any], object]]:
    for args in ARGUMENTS.get(name, ((),)):
        yield lambda value, args=args: apply(value, *args)  # type: ignore[misc]


def twin(value: Any) -> object:
    """An equal value that is not the same object."""
    if isinstance(value, str):
        return "".join([value[:-1], value[-1:]])
    return dict(value) if isinstance(value, dict) else [*value]


@pytest.mark.parametrize("name", sorted(FILTERS))
@KINDS
def test_a_filter_ends(name: str, kinds: Kinds) -> None:
    for call in called(name, FILTERS[name]):
        asked(call, kinds)


@pytest.mark.parametrize("name", sorted(TESTS))
@KINDS
def test_a_test_ends(name: str, kinds: Kinds) -> None:
    for call in called(name, TESTS[name]) if name in ARGUMENTS else (lambda value: TESTS[name](value),):
        asked(call, kinds)
    asked(lambda value: TESTS[name](value, twin(value)), kinds)


@pytest.mark.parametrize("word", sorted(COMPARE))
@KINDS
def test_a_comparison_ends(word: str, kinds: Kinds) -> None:
    asked(lambda value: COMPARE[word](value, twin(value)), kinds)
    asked(lambda value: COMPARE[word](PREFIX, value), kinds)


@pytest.mark.parametrize("word", sorted(BINARY))
@KINDS
def test_an_operator_ends(word: str, kinds: Kinds) -> None:
    asked(lambda value: BINARY[word](value, value), kinds)
    asked(lambda value: BINARY[word](value, 1_000), kinds)
    for bits in (40_000_000, 400_000, 13_000):
        long = (1 << bits) + 1
        how, taken = seconds_of(lambda long=long, half=bits // 2: BINARY[word](long, long >> half))  # type: ignore[misc]
        assert taken < SECONDS, (bits, how)


@pytest.mark.parametrize("word", sorted(UNARY))
def test_a_sign_ends(word: str) -> None:
    assert seconds_of(lambda: UNARY[word](1 << 40_000_000))[1] < SECONDS


@pytest.mark.parametrize(("of", "name"), sorted(METHOD_TABLE, key=str))
@KINDS
def test_a_method_ends(of: type, name: str, kinds: Kinds) -> None:
    for call in called(name, METHOD_TABLE[of, name]):
        if name == "join":
            asked(lambda value: METHOD_TABLE[str, "join"]("x" * 10, value), kinds)
        else:
            asked(call, tuple(kind for kind in kinds if (kind in TEXTS if of is str else kind == "mapping")))


@pytest.mark.parametrize("values", ["(value,)", "{'a': value}"])
@KINDS
def test_a_format_ends(values: str, kinds: Kinds) -> None:
    text = "%(a)s" if "a" in values else "%r"
    asked(lambda value: BINARY["%"](text, eval(values, {"value": value})), kinds)
    asked(lambda value: BINARY["%"](text * 1_000, {"a": value}), kinds)


def test_every_filter_has_a_price() -> None:
    assert set(PRICES) == set(FILTERS)


@pytest.mark.parametrize(
    "text",
    [
        "('a.b ' * 300000) | urlize | length == 0",
        "((range(100000) | list) * 10) | sort | length == 0",
        "range(100000) | map('string') | map('replace', '', 'abc' * 1000) | list | length == 0",
        "([[range(100000) | list] * 1000] * 1000) == ([[range(100000) | list] * 1000] * 1000)",
        "('a' * 9999999 ~ 'b') in 'a' * 10000000 or " + " or ".join(["('a' * 9999999 ~ 'b') in 'a' * 10000000"] * 50),
        "1.5 in range(100000) or " + " or ".join(["1.5 in range(100000)"] * 80),
    ],
)
def test_a_guard_that_is_too_much_work_is_an_error(text: str) -> None:
    guard = compile_guard(parse_expression(text))
    how, taken = seconds_of(lambda: guard(PlayScope({})))
    assert (how, taken < SECONDS) == ("budget", True)
    with pytest.raises(Fault) as caught:
        guard(PlayScope({}))
    assert caught.value.code == "guard.error"


def test_the_budget_is_that_of_a_whole_template_and_new_for_the_next() -> None:
    heavy = "{{ ('a b ' * 500000) | title | length }}"
    alone = compile_template(parse_template(heavy).template)
    assert [alone(PlayScope({})) for _ in range(3)] == [2_000_000] * 3
    together = compile_template(parse_template(heavy * 3).template)
    with pytest.raises(Fault, match="more work than") as caught:
        together(PlayScope({}))
    assert caught.value.code == "template.error"


def test_what_is_spent_is_the_same_each_time() -> None:
    run = compile_template(parse_template("{{ range(5000) | map('string') | sort | join(',') | upper }}").template)
    spent = []
    for _ in range(3):
        before = work.spent()
        run(PlayScope({}))
        spent.append(work.spent() - before)
    assert spent[0] > 0
    assert len(set(spent)) == 1


def test_refused_counts_give_nothing_back() -> None:
    before = work.spent()
    for call in (lambda: FILTERS["slice"]([1], -1_000_000), lambda: FILTERS["batch"]([1], -1_000_000, 0)):
        seconds_of(call)
    assert work.spent() >= before


def test_a_range_is_bounded() -> None:
    with pytest.raises(ValueError, match="numbers"):
        range_(10**9)
