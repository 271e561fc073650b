"""Queries find the same in every store: random ones over random rows, held against predicates that are written here."""

import random
import re
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from harness.pace import allowed
from noetl.app.query_language import read_query
from noetl.clients.purge_rows import SqlPurges
from noetl.ports import Append, ExecutionRow, Store, Wanted
from noetl.ports.queries import ExecutionAttribute, pattern_for, written_query
from noetl.ports.scopes import condition_within

Open = Callable[..., Store]
Predicate = Callable[["Found"], bool]
NOW = 1_793_000_000_000_000  # 2026-10-26T07:33:20Z
DAY = 86_400_000_000
PATHS = ("etl/nightly", "etl/a_b", "etl/aXb", "shop/Order", "we're [x]*", "100%!", "a\\b", "Ägypten")
TEXTS = ("data", "Data", "a b", "12", "true", "x%y", "o'k", "[a]", "back\\slash", "Zoë", "")
CODES = ("http.status_500", "http.status_404", "python.died", "worker.lost")


class Found:
    """A row as this test knows it."""

    def __init__(self, row: ExecutionRow, attributes: tuple[ExecutionAttribute, ...], versions: list[int]) -> None:
        self.row = row
        self.attributes = {each.name: each for each in attributes}
        self.versions = versions


def number_attribute(name: str, value: float) -> ExecutionAttribute:
    return ExecutionAttribute(name, "number", str(value), float(value))


def random_attributes(rng: random.Random) -> tuple[ExecutionAttribute, ...]:
    found = []
    if rng.random() < 0.7:
        found.append(ExecutionAttribute("label.team", "string", rng.choice(TEXTS)))
    if rng.random() < 0.6:
        kind = rng.choice(("string", "number", "bool", "time"))
        if kind == "string":
            found.append(ExecutionAttribute("search.x", "string", rng.choice(TEXTS)))
        elif kind == "number":
            found.append(number_attribute("search.x", rng.choice((12, -1.5, 0, 10**9))))
        elif kind == "bool":
            is_true = rng.random() < 0.5
            found.append(ExecutionAttribute("search.x", "bool", "true" if is_true else "false", float(is_true)))
        else:
            day = rng.choice((0, 1, 40))
            found.append(ExecutionAttribute("search.x", "time", f"2026-10-{26 - day:02}" if day < 26 else "long ago",
                                   float(NOW - day * DAY)))  # fmt: skip
    return tuple(found)


def fill(store: Store, rng: random.Random, count: int) -> list[Found]:
    """Executions in a store, newest first, as it lists them."""
    digests = [f"{number:064}" for number in range(4)]
    for path in PATHS:
        for digest in digests[:3]:
            store.put_plan(digest, path, b"plan" + digest.encode())
        store.put_plan(digests[0], path, b"plan" + digests[0].encode())  # an old one is the newest again
    versions = {digests[0]: [1, 4], digests[1]: [2], digests[2]: [3], digests[3]: []}
    rows: list[Found] = []
    for number in range(count):
        started = NOW - rng.randrange(10 * DAY)
        status = rng.choice(("running", "failed", "completed", "cancelled"))
        ended = None if status == "running" else started + rng.choice((5, 3_600)) * 1_000_000
        error = rng.choice(CODES) if status == "failed" and rng.random() < 0.9 else None
        parent = rng.choice(rows).row.execution_id if rows and rng.random() < 0.3 else None
        old = rng.choice(rows).row.execution_id if rows and rng.random() < 0.2 else None
        row = ExecutionRow(
            f"{rng.choice('aA')}{number:03}", rng.choice(PATHS), rng.choice(digests), status, parent, started, ended,
            old, error,
        )  # fmt: skip
        attributes = random_attributes(rng)
        store.create(row, attributes=attributes)
        rows.append(Found(row, attributes, versions[row.plan_digest]))
    order = sorted(enumerate(rows), key=lambda each: (each[1].row.started, each[0]), reverse=True)
    return [found for _, found in order]


def quoted(text: str) -> str:
    """A text in a query, by hand."""
    return '"' + re.sub(r'(["\\*?])', r"\\\1", text) + '"'


def text_atom(rng: random.Random, field: str, texts: tuple[str, ...], get: Callable[[Found], str | None]) -> Any:
    """A word that asks for a text: one, several, or a pattern."""
    one, other = rng.choice(texts), rng.choice(texts)
    match rng.randrange(4):
        case 0:
            return f"{field}:{quoted(one)}", lambda found: get(found) == one
        case 1:
            return f"{field}:{quoted(one)},{quoted(other)}", lambda found: get(found) in (one, other)
        case 2:
            head = quoted(one[:3])[:-1]
            return (
                f'{field}:{head}*"',
                lambda found: (get(found) or "\0").startswith(one[:3]) and get(found) is not None,
            )
        case _:
            tail = quoted(one[1:])[1:]
            return (
                f'{field}:"?{tail}',
                lambda found: (get(found) or "")[1:] == one[1:] and bool(get(found)),
            )


def compared(rng: random.Random) -> tuple[str, Callable[[float, float], bool]]:
    return rng.choice((
        ("<", lambda one, other: one < other), ("<=", lambda one, other: one <= other),
        (">", lambda one, other: one > other), (">=", lambda one, other: one >= other),
    ))  # fmt: skip


def attribute_text(name: str) -> Callable[[Found], str | None]:
    return lambda found: found.attributes[name].text if name in found.attributes else None


def atom(rng: random.Random) -> tuple[str, Predicate]:
    """A word of the language, and what it means."""
    sign, fits = compared(rng)
    day = rng.randrange(10)
    match rng.randrange(10):
        case 0:
            return text_atom(rng, "playbook", PATHS, lambda found: found.row.playbook)
        case 1:
            return text_atom(rng, "error", CODES, lambda found: found.row.error)
        case 2:
            return text_atom(rng, "label.team", TEXTS, attribute_text("label.team"))
        case 3:
            status = rng.choice(("failed", "running"))
            return f"status:{status},cancelled", lambda found: found.row.status in (status, "cancelled")
        case 4:
            version = rng.randrange(1, 5)
            return f"version:{sign}{version}", lambda found: any(fits(each, version) for each in found.versions)
        case 5:
            old, flipped = NOW - day * DAY, sign[0] == "<"
            return f"started:{sign}{day}d", lambda found: (found.row.started >= old) == flipped
        case 6:
            first = NOW // DAY * DAY - day * DAY
            text = f"2026-10-{26 - day:02}"
            edges = {"<": first, ">=": first, "<=": first + DAY, ">": first + DAY}
            is_before = sign[0] == "<"
            return (
                f"ended:{sign}{text}",
                lambda found: found.row.ended is not None and ((found.row.ended < edges[sign]) == is_before),
            )
        case 7:
            return (
                f"took:{sign}5s",
                lambda found: found.row.ended is not None and fits(found.row.ended - found.row.started, 5_000_000),
            )
        case 8:
            flags: dict[str, Predicate] = {
                "open": lambda found: found.row.ended is None,
                "over": lambda found: found.row.ended is not None,
                "top": lambda found: found.row.parent_execution_id is None,
                "child": lambda found: found.row.parent_execution_id is not None,
                "rerun": lambda found: found.row.rerun_of is not None,
            }
            flag = rng.choice([*flags])
            return f"is:{flag}", flags[flag]
        case _:
            text = rng.choice(("ETL", "a_b", "%", "A00", "order", "\\"))

            def has(found: Found) -> bool:
                return text.lower() in found.row.playbook.lower() or found.row.execution_id.lower().startswith(
                    text.lower()
                )

            return quoted(text), has


def attribute_atom(rng: random.Random) -> tuple[str, Predicate]:
    """A word that asks for a search attribute."""
    sign, fits = compared(rng)
    day = rng.randrange(10)
    match rng.randrange(4):
        case 0:
            number = rng.choice((12, -1.5, 7))
            return (
                f"search.x:{sign}{number}",
                lambda found: (
                    "search.x" in found.attributes
                    and (
                        found.attributes["search.x"].kind == "number"
                        and fits(found.attributes["search.x"].number or 0, number)
                    )
                ),
            )
        case 1:
            number = rng.choice(("12", "12.0", "-1.5"))
            return (
                f"search.x:{number}",
                lambda found: (
                    "search.x" in found.attributes
                    and (
                        found.attributes["search.x"].text == number
                        or (
                            found.attributes["search.x"].kind == "number"
                            and found.attributes["search.x"].number == float(number)
                        )
                    )
                ),
            )
        case 2:
            return text_atom(rng, "search.x", TEXTS, attribute_text("search.x"))
        case _:
            return (
                f"search.x:{sign}{day}d",
                lambda found: (
                    "search.x" in found.attributes
                    and (
                        found.attributes["search.x"].kind == "time"
                        and ((found.attributes["search.x"].number or 0) >= NOW - day * DAY) == (sign[0] == "<")
                    )
                ),
            )


def tree(rng: random.Random, depth: int) -> tuple[str, Predicate]:
    kind = rng.randrange(6) if depth else 9
    if kind == 0:
        text, inner = tree(rng, depth - 1)
        return f"{rng.choice(('-', 'not '))}({text})", lambda found: not inner(found)
    if kind > 3:
        return attribute_atom(rng) if rng.random() < 0.3 else atom(rng)
    parts = [tree(rng, depth - 1) for _ in range(rng.randrange(2, 4))]
    if kind == 1:
        return "(" + " or ".join(text for text, _ in parts) + ")", lambda found: any(one(found) for _, one in parts)
    joined = rng.choice((" ", " and "))
    return "(" + joined.join(text for text, _ in parts) + ")", lambda found: all(one(found) for _, one in parts)


@pytest.mark.parametrize("seed", range(4))
def test_random_queries_find_what_they_say(open_store: Open, seed: int) -> None:
    rng, store = random.Random(seed), open_store()
    rows, sizes = fill(store, rng, 120), Counter[bool]()
    for _ in range(150):
        text, fits = tree(rng, 3)
        condition = read_query(text, NOW)
        assert condition is not None
        expected = [found.row.execution_id for found in rows if fits(found)]
        listed = [row.execution_id for row in store.executions(Wanted(query=condition))]
        assert listed == expected, text
        again = read_query(written_query(condition), NOW + DAY)
        assert [row.execution_id for row in store.executions(Wanted(query=again))] == expected, written_query(condition)
        if len(expected) > 3:
            page = Wanted(query=condition, before=expected[1], limit=2)
            assert [row.execution_id for row in store.executions(page)] == expected[2:4], text
        sizes[0 < len(expected) < len(rows)] += 1
    assert sizes[True] > 75  # they tell rows apart


def test_counts_are_those_of_the_rows(open_store: Open) -> None:
    rng, store = random.Random(11), open_store()
    rows = fill(store, rng, 80)
    groups: dict[str, Callable[[Found], str | None]] = {
        "status": lambda found: found.row.status,
        "error": lambda found: found.row.error,
        "playbook": lambda found: found.row.playbook,
        "label.team": attribute_text("label.team"),
        "search.x": attribute_text("search.x"),
    }
    for text in ("", "status:failed", "-label.team:data is:over"):
        condition = read_query(text, NOW)
        kept = [found for found in rows if not text or found.row.ended is not None]
        if text == "status:failed":
            kept = [found for found in rows if found.row.status == "failed"]
        elif text:
            kept = [found for found in kept if attribute_text("label.team")(found) != "data"]
        for group, value in groups.items():
            counted = Counter(map(value, kept))
            tally = store.tally(Wanted(query=condition), group)
            assert dict(tally) == counted, (text, group)
            assert [count for _, count in tally] == sorted(counted.values(), reverse=True)


def test_a_scope_shows_its_own_rows_in_lists_and_counts(open_store: Open) -> None:
    store = open_store()
    rows = fill(store, random.Random(17), 80)
    cases: dict[tuple[str, ...], set[str]] = {
        ("etl/",): {"etl/nightly", "etl/a_b", "etl/aXb"}, ("etl/a_b",): {"etl/a_b"}, ("etl",): set(),
        ("shop/", "100%!"): {"shop/Order", "100%!"}, ("Shop/",): set(), ("a\\b", "Ägypten"): {"a\\b", "Ägypten"},
        ("et/", "we're [x]*"): {"we're [x]*"}, ("etl/a",): set(),
    }  # fmt: skip
    for paths, fitting in cases.items():
        expected = [found.row.execution_id for found in rows if found.row.playbook in fitting]
        wanted = Wanted(query=condition_within(paths))
        assert [row.execution_id for row in store.executions(wanted)] == expected, paths
        assert sum(count for _, count in store.tally(wanted, "status")) == len(expected)
        open_ones = [found.row.execution_id for found in rows if found.row.playbook in fitting and not found.row.ended]
        assert [row.execution_id for row in store.executions(wanted._replace(open=True))] == open_ones


def test_what_an_execution_is_found_by_is_kept_with_it_changes_with_it_and_goes_with_it(open_store: Open) -> None:
    store = open_store()
    row = ExecutionRow("e1", "demo/one", "d" * 64, "running", None, 1_000, None)
    team, one, two = (
        ExecutionAttribute("label.team", "string", "data"),
        number_attribute("search.n", 1),
        number_attribute("search.n", 2),
    )
    store.create(row, [("s1", b"x")], attributes=(team, one))
    store.create(row._replace(execution_id="e2"))
    store.create(row._replace(execution_id="e3"), attributes=(team,))

    def found(text: str) -> list[str]:
        return sorted(each.execution_id for each in store.executions(Wanted(query=read_query(text, NOW))))

    assert found("label.team:data") == ["e1", "e3"] and found("search.n:1") == ["e1"]
    assert store.attributes(["e1", "e2", "nobody"]) == {"e1": (team, one)}
    store.append_all([Append("e1", 1, [("s2", b"y")], "running", None)])
    assert found("search.n:1") == ["e1"]  # they stay
    changed = [
        Append("e1", 2, [("s3", b"z")], "failed", 2_000, 0, "http.status_500", (team, two)),
        Append("e2", 0, [("s1", b"z")], "failed", 2_000, 0, "python.died"),
        Append("e3", 0, [("s1", b"z")], "failed", 2_000, 0, "python.died", ()),
    ]
    store.append_all(changed)
    assert found("search.n:1") == [] and found("search.n:>1") == ["e1"] and found("label.team:data") == ["e1"]
    assert found("error:http.*") == ["e1"] and found("error:python.died") == ["e2", "e3"]
    # What goes on after a mistake of the engine has not failed any more.
    store.append_all([Append("e2", 1, [("s2", b"z")], "running", None)])
    assert found("error:*") == ["e1", "e3"]
    store.purges.purge(["e1"])
    assert found("label.team:data") == [] and store.attributes(["e1"]) == {}
    if isinstance(store.purges, SqlPurges):
        assert store.purges.look("SELECT count(*) FROM attributes", {}) == [(0,)]
    store.create(row._replace(execution_id="e4"))
    assert found("label.team:*") == []  # nobody gets what another one had


def test_what_is_restored_is_found_as_before(open_store: Open) -> None:
    store = open_store()
    store.create(ExecutionRow("e1", "demo/one", "d" * 64, "failed", None, 1_000, 2_000, None, "a.b"))
    store.append("e1", 0, [("s1", b"x")], status="failed", ended=2_000)
    row = store.execution("e1")
    assert row is not None and row.error == "a.b"


@pytest.mark.long
def test_a_page_of_ten_thousand_is_there_at_once(open_store: Open) -> None:
    store = open_store()
    row = ExecutionRow("", "etl/nightly", "d" * 64, "completed", None, 0, 1)
    for number in range(10_000):
        attributes = (
            ExecutionAttribute("label.team", "string", f"t{number % 7}"),
            number_attribute("search.n", number),
        )
        store.create(row._replace(execution_id=f"e{number}", started=number, ended=number + 5), attributes=attributes)
    for text in ("label.team:t3 search.n:>9000", "-label.team:t3 or search.n:17", "night label.team:'t*'", "error:x"):
        condition = read_query(text, NOW)
        began = time.perf_counter()
        store.executions(Wanted(query=condition, limit=100))
        store.tally(Wanted(query=condition), "label.team")
        assert time.perf_counter() - began < allowed(0.5), text  # 0.2 s where nothing else runs


def test_a_pattern_for_a_text_fits_that_alone() -> None:
    assert pattern_for("a*b?c\\") == "a\\*b\\?c\\\\"
