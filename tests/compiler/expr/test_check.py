"""Names in their places."""

import pytest

from noetl_ir.scopes import Site
from noetlc.expr.check import NameProblemKind, Names, check_names
from noetlc.expr.parser import parse_expression

AROUND = Names(
    tasks=frozenset({"fetch", "fetch-page"}),
    steps=frozenset({"start", "load", "a/b", "two-words"}),
    args=frozenset({"page"}),
    ctx=frozenset({"total"}),
    workload=frozenset({"api_url", "items", "limit"}),
)
LOOP = AROUND._replace(iterators=("room", "hotel"), iter=frozenset({"seen"}))


def problems(text: str, place: Site, names: Names = AROUND) -> list[tuple[NameProblemKind, str]]:
    return [(found.kind, text[found.start : found.end]) for found in check_names(parse_expression(text), place, names)]


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (Site.WORKLOAD, "workload.api_url ~ execution_id"),
        (
            Site.ADMIT,
            "ctx.x and workload.y and args.z and event.step and execution_id and load.rows and total",
        ),
        (Site.LOOP, "workload.items + args.page + load.rows + [event.name]"),
        (
            Site.TASK,
            "keychain.k ~ _prev.x ~ _task ~ _attempt ~ _iteration ~ fetch.data ~ load ~ iter.y ~ ctx.z ~ page",
        ),
        (Site.RULE, "outcome.status == 'error' and _elapsed > 3 and _attempt < 2 and fetch.data and iter.y"),
        (
            Site.ARC,
            "event.name == 'loop.done' and event.failed == 0 and iter.__route and load.x and api_url and now()",
        ),
    ],
)
def test_every_row_of_the_table_knows_its_names(place: Site, text: str) -> None:
    assert problems(text, place) == []


@pytest.mark.parametrize(
    ("place", "text", "word"),
    [
        (Site.WORKLOAD, "ctx.x", "ctx"),
        (Site.WORKLOAD, "load.rows", "load"),
        (Site.ADMIT, "iter.x", "iter"),
        (Site.ADMIT, "outcome.status", "outcome"),
        (Site.LOOP, "keychain.token", "keychain"),
        (Site.LOOP, "iter.x", "iter"),
        (Site.TASK, "event.name", "event"),
        (Site.TASK, "outcome.status", "outcome"),
        (Site.RULE, "keychain.token", "keychain"),
        (Site.ARC, "outcome.status", "outcome"),
        (Site.ARC, "fetch.data", "fetch"),
        (Site.ARC, "_prev", "_prev"),
    ],
)
def test_a_name_out_of_its_place(place: Site, text: str, word: str) -> None:
    assert problems(text, place) == [(NameProblemKind.OUT_OF_PLACE, word)]


def test_a_name_out_of_its_place_says_where_it_is_known() -> None:
    (found,) = check_names(parse_expression("outcome.status == 'ok'"), Site.TASK, AROUND)
    assert found.message == "`outcome` is not known in task fields"
    assert found.help == "it is known in `policy.rules[].when`, `delay`, `set_iter`, `set_ctx`"


def test_an_outcome_in_an_arc_says_what_stands_for_it_there() -> None:
    (found,) = check_names(parse_expression("outcome.status == 'ok'"), Site.ARC, AROUND)
    assert found.message == "`outcome` is not known in `next.arcs[].when`, `args`"
    assert found.help == "write `event.outcome`; of a failure, `event.status == 'error'` and `event.error`"


def test_an_unknown_name_has_the_nearest_one() -> None:
    (found,) = check_names(parse_expression("api_ulr ~ 'x'"), Site.TASK, AROUND)
    assert (found.kind, found.message, found.help) == (
        NameProblemKind.UNKNOWN,
        "there is no `api_ulr`",
        "did you mean `api_url`?",
    )
    (found,) = check_names(parse_expression("qqq"), Site.TASK, AROUND)
    assert found.help == "a key of the payload is `workload.qqq`"


def test_event_attributes_are_closed() -> None:
    (found,) = check_names(parse_expression("event.nmae == 'x'"), Site.ARC, AROUND)
    assert (found.message, found.start, found.end) == ("`event` has no `nmae`", 6, 10)
    assert found.help == "did you mean `name`?"
    assert problems("event.data.x and event.errors and event.outcome.error.code", Site.ADMIT) == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("iter.index", "iter.index"),
        ("iter.parent.x", "iter.parent"),
        ("loop_index + 1", "loop_index"),
    ],
)
def test_what_needs_a_loop(text: str, word: str) -> None:
    assert problems(text, Site.TASK) == [(NameProblemKind.NO_LOOP, word)]
    assert problems(text, Site.TASK, LOOP) == []


def test_iter_parent_goes_no_deeper_than_the_loops() -> None:
    assert problems("room ~ hotel ~ iter.parent.hotel ~ seen", Site.TASK, LOOP) == []
    # The last one may be the caller's, when this playbook is called in a loop.
    assert problems("iter.parent.parent.x", Site.TASK, LOOP) == []
    assert problems("iter.parent.parent.parent.x", Site.TASK, LOOP) == [
        (NameProblemKind.NO_LOOP, "iter.parent.parent.parent"),
    ]
    assert problems("iter.hotel", Site.LOOP, LOOP) == []


def test_steps_take_a_literal_name() -> None:
    assert problems("steps['a/b'].rows", Site.TASK) == []
    assert problems("steps['a/c'].rows", Site.TASK) == [(NameProblemKind.UNKNOWN, "steps['a/c']")]
    assert problems("steps[ctx.x]", Site.TASK) == [(NameProblemKind.DYNAMIC_STEP, "steps[ctx.x]")]


def test_scenario_70_a_dash_in_a_name_is_a_minus() -> None:
    (found,) = check_names(parse_expression("fetch-page.data"), Site.TASK, AROUND)
    assert found.message == "`fetch-page` is read as a subtraction"
    assert found.help == "rename it, as `fetch_page`"
    (found,) = check_names(parse_expression("1 + two-words.rows"), Site.TASK, AROUND)
    assert found.help == "write `steps['two-words']`"
    assert (found.start, found.end) == (4, 7)
    assert problems("limit - total", Site.TASK) == []


@pytest.mark.parametrize("layer", ["workload", "args"])
def test_what_came_before_a_run_hides_its_result_in_its_arcs(layer: str) -> None:
    own = AROUND._replace(step="load", **{layer: frozenset({"load"})})
    assert problems("load", Site.ARC, own) == [(NameProblemKind.AMBIGUOUS, "load")]
    # Before that there is no result that it could hide, and what the run itself wrote is most likely the same.
    assert problems("load", Site.TASK, own) == problems("load", Site.RULE, own) == []
    assert problems("load", Site.ARC, AROUND._replace(step="load", ctx=frozenset({"load"}))) == []


def test_a_name_in_two_scopes_is_ambiguous() -> None:
    names = AROUND._replace(args=frozenset({"limit"}), steps=frozenset({"limit"}))
    (found,) = check_names(parse_expression("limit > 3"), Site.ADMIT, names)
    assert found.kind is NameProblemKind.AMBIGUOUS
    assert found.message == "`limit` is a key of `args`, a key of `workload` and a step's result"


def test_functions_of_old_playbooks_are_named() -> None:
    assert problems("token('x')", Site.TASK) == [(NameProblemKind.LEGACY_FUNCTION, "token")]
    assert problems("ref(workload.x)", Site.WORKLOAD) == [(NameProblemKind.OUT_OF_PLACE, "ref")]
