"""The table of places and names, and the scope of a running playbook."""

from typing import Any

import pytest

from noetl_ir.evaluate import Fault, Undefined, evaluate
from noetl_ir.scopes import PLACES, RESERVED, Evaluator, LoopResult, PlayScope, Site, table_markdown
from noetl_ir.scopes.places import EVENT_ATTRIBUTES
from noetlc.expr.parser import parse_expression


def value(text: str, names: PlayScope) -> Any:
    return evaluate(parse_expression(text), names)


def names_of(place: Site) -> set[str]:
    return set(PLACES[place].names) - {"steps", "loop_index"}


def test_the_table_is_that_of_the_language() -> None:
    # LANGUAGE §2, row by row.
    assert names_of(Site.WORKLOAD) == {"workload", "execution_id", "env"}
    assert names_of(Site.ADMIT) == {"ctx", "workload", "args", "event", "execution_id"}
    assert names_of(Site.LOOP) == names_of(Site.ADMIT) | {"iter"}
    task = {"args", "workload", "ctx", "iter", "keychain", "execution_id", "action_id"}
    task |= {"_prev", "_task", "_attempt", "_iteration"}
    assert names_of(Site.TASK) == task
    assert names_of(Site.RULE) == task - {"keychain"} | {"outcome", "_elapsed"}
    assert names_of(Site.ARC) == {"event", "ctx", "workload", "args", "execution_id", "iter"}
    worker = {place for place, row in PLACES.items() if row.evaluator is Evaluator.WORKER}
    assert worker == {
        Site.KEYCHAIN,
        Site.TASK,
        Site.RULE,
    }  # secrets are resolved where they are used
    assert {place for place, row in PLACES.items() if row.tasks} == worker - {Site.KEYCHAIN}
    assert names_of(Site.KEYCHAIN) == {
        "workload",
        "execution_id",
        "keychain",
    }  # REAL.md: entries use each other
    # EXTENSIONS §5: counts, and what stays as it is while the loop runs.
    assert names_of(Site.ENOUGH) == {"event", "args", "workload", "iter", "execution_id"}
    assert {place for place, row in PLACES.items() if not row.results} == {
        Site.WORKLOAD,
        Site.KEYCHAIN,
        Site.ENOUGH,
        Site.SEARCH,
    }
    assert names_of(Site.SEARCH) == {"workload", "ctx", "execution_id"}
    events = "name status step step_run_id ts result error outcome total ok failed skipped errors data"
    assert set(EVENT_ATTRIBUTES) == set(events.split())
    assert all(row.names - {"env"} <= RESERVED for row in PLACES.values())  # a key or step may be called `env`


def test_the_table_is_printed_for_the_documentation() -> None:
    text = table_markdown()
    assert text.count("\n| ") == len(PLACES)
    for row in PLACES.values():
        (line,) = [line for line in text.splitlines() if line.startswith(f"| {row.place.value} |")]
        assert all(f"`{name}`" in line for name in row.names)


def test_bare_names_resolve_in_order() -> None:
    layers: dict[str, dict[str, Any]] = {
        "args": {"a": "args"},
        "ctx": {"a": "ctx", "b": "ctx"},
        "iter": {"a": "iter", "b": "iter", "c": "iter", "it": "item", "index": 4},
        "workload": {"a": "workload", "b": "workload", "c": "workload", "d": "workload", "event": 1},
    }
    results = dict.fromkeys("abcdexy", "step")
    names = PlayScope({**layers, "event": {"name": "e"}}, results=results, tasks={"x": "task"}, iterators=("it",))
    for name, meaning in zip(
        "abcdexy",
        [
            "args",
            "ctx",
            "iter",
            "workload",
            "step",
            "task",
            "step",
        ],
        strict=True,
    ):
        assert value(name, names) == meaning
    assert value("event.name", names) == "e"
    assert value("it ~ loop_index", names) == "item4"
    assert isinstance(value("nobody", names), Undefined)


def test_a_reserved_name_is_never_looked_for_elsewhere() -> None:
    names = PlayScope({"workload": {"outcome": 1, "event": 2}}, results={"_prev": 3})
    for name in ("outcome", "event", "_prev", "keychain", "loop_index"):
        assert isinstance(value(name, names), Undefined)


def test_iterators_of_nested_loops() -> None:
    iter_: dict[str, Any] = {"room": "r", "index": 2, "parent": {"hotel": "h", "index": 1, "parent": {"city": None}}}
    names = PlayScope({"iter": iter_}, iterators=("room", "hotel", "city"))
    assert value("[room, hotel, city, loop_index, iter.parent.index]", names) == ["r", "h", None, 2, 1]
    assert isinstance(value("room", PlayScope({"iter": {}}, iterators=("room",))), Undefined)
    assert isinstance(value("loop_index", PlayScope({"iter": {}})), Undefined)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", {"a": 1}),
        ("plain.a", 1),
        ("plain.data", {"a": 1}),
        ("plain.result.a", 1),
        ("plain.data.a", 1),
        ("plain['data'].a", 1),
        ("keyed.data", 2),
        ("keyed.result", {"data": 2}),
        ("text.data | upper", "T"),
        ("null.data is none", True),
        ("listed.data[0]", 7),
        ("plain.results is defined", False),
        ("sql[0].id", 1),
        ("sql.data[0].id", 1),
        ("sql.rows[0].id", 1),
        ("loop", [1, None, {"x": 2}]),
        ("loop | length", 3),
        ("loop[2].x", 2),
        ("loop[-1].x", 2),
        ("loop.data[2].x", 2),
        ("loop.results[2].x", 2),
        ("loop.result | first", 1),
        ("loop.stats", {"total": 3, "ok": 2, "failed": 1, "skipped": 0}),
        ("loop.stats.failed", 1),
        ("loop[9] is defined", False),
        ("loop == steps.loop", True),
        ("steps['a/b'].x", 5),
        ("steps['plain'].data.a", 1),
        ("steps.plain.a", 1),
        ("steps.nobody is defined", False),
        ("'plain' in steps", True),
        ("prev.data", 9),
    ],
)
def test_results_by_their_names(text: str, expected: object) -> None:
    stats: dict[str, Any] = {"total": 3, "ok": 2, "failed": 1, "skipped": 0}
    results = {
        "plain": {"a": 1},
        "keyed": {"data": 2},
        "text": "t",
        "null": None,
        "listed": [7],
        "sql": {"rows": [{"id": 1}], "row_count": 1, "columns": ["id"]},
        "loop": LoopResult([1, None, {"x": 2}], stats),
        "a/b": {"x": 5},
    }
    names = PlayScope({"_prev": 9}, results=results)
    assert value(text.replace("prev", "_prev") if text.startswith("prev") else text, names) == expected


def test_an_sql_result_answers_only_to_row_numbers() -> None:
    names = PlayScope({"ctx": {"sql": {"rows": [], "row_count": 0, "columns": []}, "other": {"rows": [1]}}})
    assert isinstance(value("ctx.sql[0]", names), Undefined)
    assert isinstance(value("ctx.other[0]", names), Undefined)


def test_a_step_that_has_not_run_is_undefined_and_says_so() -> None:
    from noetl_ir.evaluate import compile_template
    from noetlc.expr.parser import parse_template

    with pytest.raises(Fault) as caught:
        compile_template(parse_template("{{ steps['x'].y }}").template)(PlayScope({}))
    assert (caught.value.code, caught.value.path) == ("template.undefined", "steps.x.y")
    assert "the step has not run" in caught.value.message
