"""The names of ours that python code reads: never too few are found."""

import pytest

from noetl_ir.python_names import python_reads, required_parameters


@pytest.mark.parametrize(
    ("code", "parameters"),
    [
        ("def main(a, /, b, *, c=1, **rest): pass", {"a", "b", "c", "rest"}),
        ("async def main(a): pass", {"a"}),
        ("if True:\n    def main(a): pass\nelse:\n    def main(b): pass", {"a", "b"}),
        ("main = lambda a: a", {"a"}),
        ("class main:\n    def __init__(self, a): pass", {"self", "a"}),
        ("def f(a): pass\nmain = f", {"a"}),
        ("def f(a): pass\ndef main(b): pass", {"b"}),
        ("def f(a): pass", set()),
        ("def main(a", set()),
        ("# main(a)", set()),
    ],
)
def test_the_parameters_of_main(code: str, parameters: set[str]) -> None:
    assert python_reads(code).parameters == parameters


@pytest.mark.parametrize(
    ("code", "keys"),
    [
        ("x = 1", set()),
        ("context['a']['b']; context.get('c', {}).get('d'); 'e' not in context", {"a", "c", "e"}),
        ("return context['a']", {"a"}),
        ("def main(context): return context['a']", {"a"}),
        ("f'{context[\"a\"]}'", {"a"}),
        ("context[key]", None),
        ("context.get(key)", None),
        ("context.get(*['a'])", None),
        ("context.items()", None),
        ("key in context", None),
        ("'a' < context", None),
        ("'a' in context in other", None),
        ("other = context; context['a']", None),
        ("f(context)", None),
        ("f(**context)", None),
        ("context['a']; [context for _ in '']", None),
        ("context[0]", None),
        ("context['a'] = 1", None),
        ("context.a", None),
        ("context[", None),
        ("# context", set()),
    ],
)
def test_the_keys_of_context(code: str, keys: set[str] | None) -> None:
    assert python_reads(code).keys == keys


def test_a_context_of_the_code_s_own_is_told() -> None:
    for code in (
        "context = {}\ncontext['a']",
        "def f(context): return context['a']",
        "from x import context\ncontext['a']",
        "import y as context\ncontext['a']",
        "for context in []: context['a']",
    ):
        assert python_reads(code).rebound, code
    assert not python_reads("def main(context): return context['a']").rebound


def test_required_parameters_have_their_places() -> None:
    code = "def f(z): pass\ndef main(a, b=1, *c, d, e=2, **f): pass"
    assert [tuple(each) for each in required_parameters(code)] == [("a", 2, 9), ("d", 2, 21)]
    assert required_parameters("def main(") == ()
