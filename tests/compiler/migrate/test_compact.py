"""New lines are joined where they fit and hold no comment; what the author wrote is not."""

import yaml

from noetlc.migrate.compact import WIDTH, compacted, is_simple
from noetlc.migrate.lines import NewLine


def joined(text: str, *kept: int, comments: dict[int, str] | None = None) -> list[str]:
    """Lines joined; those with the numbers `kept` were copied, and `comments` stand above some."""
    lines = [NewLine(part, is_new=number not in kept) for number, part in enumerate(text.strip("\n").split("\n"))]
    for number, comment in (comments or {}).items():
        lines[number].comments.append(comment)
    found = [part for line in compacted(lines) for part in line.all()]
    assert yaml.safe_load("\n".join(found)) == yaml.safe_load(text)
    return found


RULES = """
k:
  rules:
    - when: "{{ outcome.status == 'ok' }}"
      then:
        do: jump
        to: a
        set_iter:
          "odd: key": "a, b}"
    - else:
        then:
          do: fail
"""


def test_blocks_are_joined_from_the_inside_out() -> None:
    assert joined(RULES) == [
        "k:",
        "  rules:",
        """    - {when: "{{ outcome.status == 'ok' }}", then: {do: jump, to: a, set_iter: {"odd: key": "a, b}"}}}""",
        "    - else: {then: {do: fail}}",
    ]


def test_what_was_copied_or_has_a_comment_stays() -> None:
    assert joined(RULES, 5)[2:6] == [
        "    - when: \"{{ outcome.status == 'ok' }}\"",
        "      then:",
        "        do: jump",
        "        to: a",
    ]
    assert "      # why" in joined(RULES, comments={9: "# why"}) or "        # why" in joined(
        RULES, comments={9: "# why"}
    )


def test_what_does_not_fit_on_a_line_stays() -> None:
    long = "x" * (WIDTH - 9)
    assert len(joined(f"k:\n  a:\n    b: {long}")) == 3
    assert joined(f"k:\n  a:\n    b: {long[1:]}") == ["k:", f"  a: {{b: {long[1:]}}}"]
    text = "k:\n  code: |\n    a: 1\n    b: 2\n  list:\n    - a: 1\n    - b: 2\n  texts:\n    - a\n    - b"
    assert joined(text) == [*text.split("\n")[:-3], "  texts: [a, b]"]


def test_values_that_are_others_inside_of_brackets_are_not_simple() -> None:
    fine = ["k: a", 'k: "x, y"', "k: 'x, y'", "k: 17", "my_key: a/b.c-d"]
    wrong = [
        "k: a, b",
        "k: [a",
        "k: a # b",
        "k: a: b",
        "k: |",
        "k: &x a",
        "k: *x",
        "k: {a: b}",
        "k:",
        "k: 'it''s'",
        "- k: a",
    ]
    assert [text for text in (*fine, *wrong) if is_simple(f"    {text}")] == fine
