"""Guards of older dialects that are texts: the sides of a comparison are rendered, and compared as texts."""

from typing import Any

import pytest

from noetl_ir.evaluate import compile_guard
from noetl_ir.scopes import PlayScope
from noetlc.expr.unparse import unparse
from noetlc.reading.guard_texts import NoGuard, bare_guard, text_guard


def holds(text: str, **values: Any) -> bool:
    """The truth of a guard over some values, which the workload and `ctx` both have."""
    scope = PlayScope({"ctx": values, "workload": values})
    return bool(compile_guard(text_guard(text))(scope))


def rendered(value: Any) -> str:
    """How the older engines printed a value."""
    return str(value).lower().strip() if isinstance(value, bool) else str(value).strip()


VALUES = ["web", " web\n", "tear-down", "a.b", True, False, "true", "False", 200, "200", 200.5, "", "none", 0]
WORDS = ["web", "tear-down", "a.b", "true", "false", "200", "200.5", "0", "two words"]


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_comparison_is_one_of_the_rendered_texts(value: Any, word: str) -> None:
    equal = rendered(value) == word or (word in ("true", "false") and rendered(value).lower() == word)
    for side in (word, f"'{word}'", f'"{word}"'):
        assert holds(f"{{{{ ctx.x }}}} == {side}", x=value) is equal
        assert holds(f"{{{{ x }}}} != {side}", x=value) is not equal
        assert holds(f"{side} == {{{{ ctx.x }}}}", x=value) is equal


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("{{ workload.a }} == tear-down", "workload.a == 'tear-down'"),
        ("{{ workload.a }} != deploy.all", "workload.a != 'deploy.all'"),
        ("{{ workload.a }} == true", "workload.a | lower == 'true'"),
        ("{{ workload.a }} == 200", "workload.a | trim == '200'"),
        ("{{ ctx.a }} == yes", "ctx.a | trim == 'yes'"),
        ("{{ a }} == x or {{ b }} and not {{ c }}", "a | trim == 'x' or b and not c"),
        ("{{ a }} && {{ b }} || {{ c }}", "a and b or c"),
        ("{{ a }}-{{ b }} == x-y", "(a ~ '-' ~ b) | trim == 'x-y'"),
        ("{{ a }} == {{ b }}", "a | trim == b | trim"),
        ("{{ a }} == 'x and y'", "a | trim == 'x and y'"),
        ("{{ a }} > 5", "a > 5"),
        ("({{ a }} or {{ b }}) and {{ c }}", "(a or b) and c"),
        ("true and {{ a }}", "true and a"),
    ],
)
def test_the_meaning_of_a_text(text: str, meaning: str) -> None:
    assert unparse(text_guard(text)) == meaning


@pytest.mark.parametrize(
    "text",
    [
        "{{ a }} tear-down", "{{ a }} == black and white", "{{ a }} == b == c", "is {{ a }}", "{{ a }} in words",
        "{{ a }} > other", "({{ a }} == 1", "{{ a", "{{ a }} and", "{{ a }} == 1 {{ b }} or",
    ],
)  # fmt: skip
def test_what_can_be_read_in_no_way_is_refused(text: str) -> None:
    with pytest.raises(NoGuard):
        text_guard(text)


def test_nothing_absent_is_a_word_but_what_is_compared_with_none_or_nothing() -> None:
    assert not holds("{{ ctx.x }} == word")
    assert holds("{{ ctx.x }} != word")
    assert holds("{{ ctx.x }} == none") and holds("{{ ctx.x }} == null", x=None) and not holds("{{ x }} == none", x=1)
    assert holds("{{ ctx.x }} == ''") and holds("{{ ctx.x }} ==", x="") and not holds("{{ x }} == ''", x="a")


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("true", "true"),
        ("False", "false"),
        ("result.n > 1", "result.n > 1"),
        ("stdout == 'x'", "result.stdout == 'x'"),
        ("exit_code == 100", "event.name in ['step.done', 'step.failed'] and event.outcome.shell.exit_code == 100"),
    ],
)
def test_a_guard_without_any_template_asks_the_result(text: str, meaning: str) -> None:
    assert unparse(bare_guard(text, in_arc=True)) == meaning


@pytest.mark.parametrize("text", ["'$(uname -s)' == Darwin", "`id` == root", "two words"])
def test_a_guard_is_no_shell(text: str) -> None:
    with pytest.raises(NoGuard):
        bare_guard(text, in_arc=False)
