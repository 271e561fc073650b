"""A file of tests, read and held against its playbook: every name in it is one of the playbook's.

real: [python]                       what runs for real; the rest is answered by outcomes
outcomes: [{step: fetch, outcome: …}]    those of all cases, behind a case's own
cases:
  - case: gives up
    payload: {limit: 3}
    outcomes: [{step: fetch, outcome: {status: error}}]
    expect: {status: failed}
"""

from collections.abc import Iterator

from noetl_ir.expr import Json
from noetl_ir.span import Span
from noetl_ir.suite import MOST_CASES, REAL_KINDS, CaseLimits, Expectation, SuiteCase
from noetlc.reading.reader import Reader, stray_key, stray_keys
from noetlc.reading.shapes import choice_of, mapping_of, missing, number_of, sequence_of, text_of, whole_of
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, value_of
from noetlc.suites.expected import read_expected, read_place
from noetlc.suites.keychain import read_keychain
from noetlc.suites.known import KnownSteps, extras_of, kinds_of
from noetlc.suites.signals import duration_of, read_signals
from noetlc.suites.table import has_rows, with_row

SHARED = ("payload", "outcomes", "signals", "real", "keychain", "files", "limits")
"""Keys of a case that may stand beside `cases`, for all of them."""

DOCUMENT = ("playbook", *SHARED, "cases")
CASE = ("case", "table", *SHARED, "expect")
OUTCOME = ("step", "task", "run", "index", "visit", "attempt", "times", "takes", "outcome")


def playbook_in(r: Reader, node: Node | None) -> str | None:
    """The playbook that a file of tests names; None where it names none, or with a finding what is no name."""
    named = node.get("playbook") if isinstance(node, Mapping) else None
    return text_of(r, named, "`playbook`") if named is not None else None


def read_cases(r: Reader, known: KnownSteps, node: Node | None) -> tuple[SuiteCase, ...]:
    """The cases of a document. What is wrong is reported, and such cases are no good."""
    if not isinstance(node, Mapping):
        at = Span(1, 1, 1, 1) if node is None else node.span
        r.report("NL102", "this is no file of tests: expected a mapping with `cases`", at)
        return ()
    stray_keys(r, "suite", node, DOCUMENT)
    rows = node.get("cases")
    if rows is None:
        missing(r, "`cases`", node.span, help="write `cases: [{case: name, expect: {status: completed}}]`")
        return ()
    listed = sequence_of(r, rows, "`cases`", "cases")
    # What has no case cannot fail, and looks as if it did.
    if listed is not None and not listed.items:
        missing(r, "a case", rows.span, help="write `cases: [{case: name, expect: {status: completed}}]`")
    found = [case for item in (listed.items if listed else ()) for case in _cases(r, known, node, item)]
    if len(found) > MOST_CASES:
        r.report("NL104", f"there are {len(found)} cases, and at most {MOST_CASES} may be", rows.span)
        return ()
    return tuple(_named_apart(r, found))


def _named_apart(r: Reader, cases: list[SuiteCase]) -> Iterator[SuiteCase]:
    # Behind the tables: rows may give two cases one name, which the cases as written do not have.
    seen: dict[str, Span] = {}
    for case in cases:
        if case.name in seen:
            help = f"the other one is in line {seen[case.name].line}; a case is chosen by its name"
            r.report("NL104", f"two cases are called `{case.name}`", case.span, help=help)
        seen[case.name] = case.span
        yield case


def _cases(r: Reader, known: KnownSteps, shared: Mapping, node: Node) -> Iterator[SuiteCase]:
    mapping = mapping_of(r, node, "a case")
    if mapping is None:
        return
    stray_keys(r, "suite_case", mapping, CASE)
    table = mapping.get("table")
    if table is None:
        yield _case(r, known, shared, mapping, None, "")
        return
    rows = sequence_of(r, table, "`table`", "rows: `{name: value}`")
    if rows is not None and not rows.items:
        missing(r, "a row of `table`", table.span, help="write `table: [{name: value}]`: each row is a case")
    name = mapping.get("case")
    # A name that a row's values are put into tells the rows apart by itself.
    numbered = not (isinstance(name, Scalar) and has_rows(name.text))
    for number, item in enumerate(rows.items if rows is not None else ()):
        if (row := mapping_of(r, item, "a row of `table`")) is not None:
            yield _case(r, known, shared, mapping, row, f" [{number + 1}]" if numbered else "")


def _case(r: Reader, known: KnownSteps, shared: Mapping, mapping: Mapping, row: Mapping | None, more: str) -> SuiteCase:
    # First of all: every reader below sees values, and none knows of rows. `row` in what is shared by all cases stays
    # as written, as it has no row.
    own = {key.text: with_row(r, value, row) for key, value in mapping.entries if key.text != "table"}
    both = [own, {key.text: value for key, value in shared.entries}]
    name = text_of(r, own["case"], "`case`") if "case" in own else None
    if "case" not in own:
        missing(r, "the name of the case", mapping.span, help="write `case: what it shows`")
    places, outcomes = _outcomes(r, known, both)
    sent, signals = read_signals(r, both)
    real = [kinds_of(r, each["real"]) for each in both if "real" in each]
    return SuiteCase(
        f"{name or ''}{more}",
        own["case"].span if "case" in own else mapping.span,
        _payload(r, both),
        {"outcomes": outcomes, "signals": signals},
        places,
        _expected(r, known, own, mapping),
        real[0] if real else REAL_KINDS,
        tuple(dict.fromkeys(name for each in both for name in _files(r, each))),
        _limits(r, both),
        sent,
        read_keychain(r, known, both),
    )


def _expected(r: Reader, known: KnownSteps, own: dict[str, Node], mapping: Mapping) -> tuple[Expectation, ...]:
    found = tuple(read_expected(r, known, own["expect"])) if "expect" in own else ()
    # A test that cannot fail says nothing, and looks as if it did.
    if not found and not ("expect" in own and isinstance(own["expect"], Mapping) and own["expect"].entries):
        at = own["expect"].span if "expect" in own else mapping.span
        missing(r, "what the case expects", at, help="write `expect: {status: completed}`")
    return found


def _payload(r: Reader, both: list[dict[str, Node]]) -> dict[str, Json]:
    """The payload of all cases with a case's own over it, key by key."""
    found: dict[str, Json] = {}
    for each in reversed(both):
        mapping = mapping_of(r, each["payload"], "`payload`") if "payload" in each else None
        value = value_of(mapping) if mapping is not None else {}
        assert isinstance(value, dict)
        found |= value
    return found


def _files(r: Reader, each: dict[str, Node]) -> Iterator[str]:
    rows = sequence_of(r, each["files"], "`files`", "paths") if "files" in each else None
    for item in rows.items if rows is not None else ():
        name = text_of(r, item, "a path of `files`")
        # A file of tests may come from anyone, and what it copies is readable to the tasks that run for real.
        if name is not None and (name.startswith("/") or ".." in name.split("/")):
            r.report("NL104", f"`{name}` is not beside the file of tests", item.span, help="write `data/orders.csv`")
        elif name is not None:
            yield name


def _limits(r: Reader, both: list[dict[str, Node]]) -> CaseLimits:
    found = CaseLimits()
    for each in reversed(both):
        mapping = mapping_of(r, each["limits"], "`limits`") if "limits" in each else None
        for key, value in mapping.entries if mapping is not None else ():
            if key.text in ("events", "repeated") and (count := whole_of(r, value, f"`{key.text}`", 1)) is not None:
                found = found._replace(**{key.text: count})
            elif key.text == "seconds" and (seconds := number_of(r, value, "`seconds`")) is not None:
                found = found._replace(seconds=seconds)
            elif key.text not in CaseLimits._fields:
                stray_key(r, "suite_limits", key, CaseLimits._fields)
    return found


def _outcomes(r: Reader, known: KnownSteps, both: list[dict[str, Node]]) -> tuple[tuple[Span, ...], list[Json]]:
    """The outcomes with their places: a case's own come first, so that they win."""
    places, found = [], []
    for each in both:
        rows = sequence_of(r, each["outcomes"], "`outcomes`", "outcomes") if "outcomes" in each else None
        for item in rows.items if rows is not None else ():
            if (row := mapping_of(r, item, "an outcome")) is not None:
                found.append(_outcome(r, known, row))
                places.append(item.span)
    return tuple(places), found


def _outcome(r: Reader, known: KnownSteps, mapping: Mapping) -> Json:
    stray_keys(r, "suite_outcome", mapping, OUTCOME)
    row = read_place(r, mapping, known.all)
    if (times := mapping.get("times")) is not None and (count := whole_of(r, times, "`times`", 1)) is not None:
        row["times"] = count
    if (takes := mapping.get("takes")) is not None:
        row["takes"] = duration_of(r, takes, "`takes`")
    written = mapping.get("outcome")
    outcome = mapping_of(r, written, "`outcome`") if written is not None else None
    if outcome is None:
        return row
    status = outcome.get("status")
    if status is not None:
        choice_of(r, status, "`status`", ("ok", "error"))
    allowed = ("status", "result", "error", *sorted(extras_of(_kinds_at(known, row))))
    for key, value in outcome.entries:
        if key.text not in allowed:
            stray_key(r, "suite_result", key, allowed)
        elif key.text == "error" and isinstance(value, Sequence):
            r.report("NL102", "`error`: expected a mapping or text, found a list", value.span, help="write `{code: …}`")
    # Without a status it is one of an error, as in a script.
    if "error" in outcome.index and status is not None and value_of(status) == "ok":
        help = "write `status: error`, or leave it out"
        r.report("NL104", "an outcome with an `error` is no success", outcome.index["error"][0].span, help=help)
    return {**row, "outcome": value_of(outcome)}


def _kinds_at(known: KnownSteps, row: dict[str, Json]) -> set[str]:
    """The kinds of the tasks that an outcome may be for."""
    # Without a step the entry stands in for any task of that name, whatever its kind.
    steps = [known.all[str(row["step"])]] if "step" in row else [*known.all.values()]
    return {kind for tasks in steps for task, kind in tasks.items() if row.get("task", task) == task}
