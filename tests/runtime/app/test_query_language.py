"""The language of queries: what is read, and what is told of slips, each with its column."""

import pytest

from noetl.app.query_language import DEEPEST, LONGEST, MOST_TERMS, QueryProblem, faulty_group, read_query
from noetl.ports.queries import Junction, Negation, QueryTerm, written_query

NOW = 1_793_000_000_000_000
DAY = 86_400_000_000
MAY = 1_777_593_600_000_000  # 2026-05-01T00:00:00Z, by `date -u -d 2026-05-01 +%s`


def term(field: str, value: str | float, comparison: str = "=", kind: str = "") -> QueryTerm:
    return QueryTerm(field, comparison, value, kind)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("", None),
        ("  ", None),
        ("order", term("text", "order")),
        ("etl/*", term("text", "etl/*")),
        ("'two words'", term("text", "two words")),
        ("a,b", term("text", "a,b")),
        ("status:failed", term("status", "failed")),
        ("playbook:'etl/*'", term("playbook", "etl/*")),
        ("playbook:etl/\\*", term("playbook", "etl/\\*")),
        ('label.team:"it\'s"', term("label.team", "it's")),
        ("label.team:''", term("label.team", "")),
        ("label.a-b/c.d:x", term("label.a-b/c.d", "x")),
        ("version:3", term("version", 3, kind="number")),
        ("version:>=3", term("version", 3, ">=", "number")),
        ("search.n:>5", term("search.n", 5.0, ">", "number")),
        ("search.n:5", term("search.n", "5")),
        ("took:>10m", term("took", 600_000_000, ">", "number")),
        ("started:<7d", term("started", NOW - 7 * DAY, ">=", "time")),
        ("started:>7d", term("started", NOW - 7 * DAY, "<", "time")),
        ("started:>=2026-05-01", term("started", MAY, ">=", "time")),
        ("started:>2026-05-01", term("started", MAY + DAY, ">=", "time")),
        ("started:<=2026-05-01", term("started", MAY + DAY, "<", "time")),
        ("ended:<2026-05-01T00:01", term("ended", MAY + 60_000_000, "<", "time")),
        ("ended:<2026-05-01T02:00:00+02:00", term("ended", MAY, "<", "time")),
        ("started:2026-05-01", Junction((term("started", MAY, ">=", "time"), term("started", MAY + DAY, "<", "time")))),
        ("is:open -is:child", Junction((term("is", "open"), Negation(term("is", "child"))))),
        ("a and not b", Junction((term("text", "a"), Negation(term("text", "b"))))),
        ("a b or c", Junction((Junction((term("text", "a"), term("text", "b"))), term("text", "c")), any_of=True)),
        ("a (b OR c)", Junction((term("text", "a"), Junction((term("text", "b"), term("text", "c")), any_of=True)))),
        ("status:failed,cancelled", Junction((term("status", "failed"), term("status", "cancelled")), any_of=True)),
        ("order -", Junction((term("text", "order"), term("text", "-")))),
    ],
)
def test_queries_are_read(text: str, condition: object) -> None:
    assert read_query(text, NOW) == condition


@pytest.mark.parametrize(
    ("text", "column", "part"),
    [
        ("x stats:failed", 3, "nothing is called `stats`; did you mean `status`?"),
        ("finished:<7d", 1, "did you mean `ended`?"),
        ("http://host", 1, "A text with a colon stands in quotes"),
        ("status:fialed", 1, "did you mean `failed`?"),
        ("is:opne", 1, "did you mean `open`?"),
        ("status:", 8, "`status:` has nothing behind it"),
        ("status:>failed", 1, "write `status:` without `>`"),
        ("a 'b", 3, "the quote ' has no end"),
        ("a (b", 3, "this `(` has no `)`"),
        ("a b)", 4, "there is no `(` for this `)`"),
        ("a or", 5, "something to look for is missing here"),
        ("or a", 1, "something to look for is missing here"),
        ("()", 2, "something to look for is missing here"),
        ("started:7d", 1, "an age is compared"),
        ("started:<7", 1, "no time or age"),
        ("started:>2026-02-30", 1, "no time or age"),
        ("search.n:>abc", 1, "no number, time or age"),
        ("label.n:>5", 1, "a label is a text"),
        ("label:x", 1, "write `label.NAME:`"),
        ("label.:x", 1, "no such name"),
        ("version:new", 1, "no version"),
        ("took:5m", 1, "a duration is compared"),
        ("took:>5", 1, "no duration"),
        ("input.region:eu", 1, "declare it in `executor.spec.search`, write `search.region:`"),
        ("x" * (LONGEST + 1), LONGEST + 1, "at most 2,000 characters"),
        ("a " * (MOST_TERMS + 1), 2 * MOST_TERMS + 1, "at most 100 things"),
        ("(" * (DEEPEST + 1) + "a" + ")" * (DEEPEST + 1), DEEPEST + 1, "20 parentheses"),
        ("-" * 50 + "a", DEEPEST + 1, "20 parentheses"),
    ],
)
def test_slips_are_told_at_their_column(text: str, column: int, part: str) -> None:
    with pytest.raises(QueryProblem) as caught:
        read_query(text, NOW)
    assert caught.value.column == column and part in caught.value.why


def test_times_are_written_as_they_are() -> None:
    condition = read_query("started:<7d took:<1.5s", NOW)
    assert condition is not None
    assert written_query(condition) == "started:>=2026-10-19T07:33:20.000000Z took:<1.500000s"


def test_only_groups_are_counted() -> None:
    assert [faulty_group(group) for group in ("status", "error", "playbook", "label.a", "search.b")] == [""] * 5
    assert "did you mean `error`?" in faulty_group("eror") and "nothing is counted by `label.`" in faulty_group(
        "label."
    )
