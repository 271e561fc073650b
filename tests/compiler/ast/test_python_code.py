"""Python text: is it Python, and which names nothing binds."""

import pytest

from noetlc.ast.python_code import offset_of, python_code


@pytest.mark.parametrize(
    ("code", "free"),
    [
        ("result = 1", []),
        ("result = total", ["total"]),
        ("import os, json as j\nresult = os.name + j.dumps(x)", ["x"]),
        ("def main(a, *b, c=1, **d):\n    return a, b, c, d, e", ["e"]),
        ("return 1 + y", ["y"]),  # a return at the top is legal (LANGUAGE §7)
        ("result = await fetch()", ["fetch"]),
        ("try:\n    pass\nexcept ValueError as error:\n    print(error)", []),
        ("result = [i for i in items]", ["items"]),
        ("match x:\n    case {'a': a, **rest}: result = a, rest\n    case [*b]: result = b", ["x"]),
        ("from os import *\nresult = anything", []),
        ("result = globals()['x'] + y", []),
        ("class A:\n    b = 1\nresult = A.b", []),
        ("result = (n := 3) + n", []),
        ("result = '\\d'", []),
    ],
)
def test_free_names(code: str, free: list[str]) -> None:
    found = python_code(code)
    assert found.error is None
    assert [name.name for name in found.free] == free


@pytest.mark.parametrize("code", ["result = = 1", "x\0y", "(" * 1000])
def test_what_is_no_python_is_an_error_and_never_raises(code: str) -> None:
    assert python_code(code).error is not None


def test_offsets_count_code_points() -> None:
    code = "a = 1\nresult = 'ü', missing"
    (name,) = python_code(code).free
    assert code[offset_of(code, name) :] == "missing"
