"""A suite of tests of one playbook, as the compiler read it and the runtime runs it (`noetl test`).

The compiler reads the document, since it alone reads YAML and knows where in a file everything stands; it checks every
name against the playbook and embeds the plan. What it writes is only read by the runtime of the same installation:
there is one version of the form.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from noetl_ir import codec
from noetl_ir.expr import Json
from noetl_ir.plan_sources import BadSources, read_sources, write_sources
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span

REAL_KINDS = ("python", "sqlite", "duckdb")
"""The kinds whose tasks run for real unless a suite says something else: what they do stays in the folder of a case."""

PURE_KINDS = ("noop", "fail")
"""The kinds that always run: they do nothing outside."""

# `waiting` is no status of a store: on a virtual clock it is known that nothing will come, which a real one never
# knows.
STATUSES = ("completed", "failed", "blocked", "cancelled", "waiting")
"""How a run of a case may end; `waiting` where nothing will ever happen again and it is not over."""

MOST_CASES = 10_000
"""Cases of a suite, rows of tables counted one by one."""


class CaseLimits(NamedTuple):
    """The most that a case may take before it is stopped: events of all its executions, seconds of real time, and
    events in a row in which no task begins that did not before, in its iteration.
    """

    events: int = 100_000
    seconds: float = 60.0
    repeated: int = 3_000


class Expectation(NamedTuple):
    """An expectation of a case: a key of `expect`, its value, and where it stands. Of `calls` and `events` there is one
    for each entry.
    """

    what: str
    value: Json
    span: Span


class SuiteCase(NamedTuple):
    """One run of the playbook. `script` is a document as `--script` takes it, `places` where its outcomes stand, and
    `sent` where its signals do.

    `real` are the kinds that run for real, `files` what is copied into its folder, from beside the suite's file.
    `keychain` has the fields of each secret: there are no others.
    """

    name: str
    span: Span
    payload: dict[str, Json]
    script: dict[str, Json]
    places: tuple[Span, ...]
    expected: tuple[Expectation, ...]
    real: tuple[str, ...]
    files: tuple[str, ...]
    limits: CaseLimits
    sent: tuple[Span, ...] = ()
    keychain: dict[str, dict[str, Json]] = {}  # noqa: RUF012  (nobody writes to it)


# Transitions and no places in the file: what fired is in the log, and one part may be several transitions.
class PlaybookPart(NamedTuple):
    """A part of the playbook that a run can reach: `kind` is one of `PARTS`, `name` what people read.

    It was reached when one of the `transitions` of the plan's net fired, or of a rule, when rule `rule` of task `task`
    decided. `open` says that nothing proved that it can be reached, nor that it cannot; what cannot be is no part.
    """

    kind: str
    name: str
    span: Span
    transitions: tuple[str, ...]
    task: int = -1
    rule: int = -1
    open: bool = False


PARTS = ("step", "arc", "branch", "outcome", "rule")


class Suite(NamedTuple):
    """A file of tests: the names of that file and of its playbook as they are to be shown, the plan's bytes, the cases,
    and the parts of the playbook where coverage was asked for. `never` is how many parts were proved unreachable.
    `secrets` are the texts of the file that no excerpt of it may show, `sources` what the plans in the plan were
    compiled from, by their digests.
    """

    file: str
    playbook: str
    plan: bytes
    cases: tuple[SuiteCase, ...]
    parts: tuple[PlaybookPart, ...] = ()
    never: int = 0
    secrets: tuple[str, ...] = ()
    sources: Mapping[str, bytes] = MappingProxyType({})


class BadSuite(Exception):
    """Bytes that are no suite."""


SUFFIXES = (".test.yaml", ".test.yml")
"""How the names of files of tests end."""

# One number for both programs: a suite lives for one command, so nothing older is ever read.
_HEAD = "noetl-suite-5"


def write_suite(suite: Suite) -> bytes:
    """The bytes of a suite: the length of the rest in 8 bytes, the rest, then the plan behind the sources in it."""
    rows: list[Json] = [_HEAD, suite.file, suite.playbook, suite.never, [*suite.secrets]]
    rows.append([_case_row(case) for case in suite.cases])
    rows.append([[part.kind, part.name, [*part.span], [*part.transitions], part.task, part.rule, part.open]
                 for part in suite.parts])  # fmt: skip
    body = codec.pack_unsorted(rows)
    return len(body).to_bytes(8, "big") + body + write_sources(suite.sources, suite.plan)


def read_suite(data: bytes) -> Suite:
    """The suite of its bytes. Raises BadSuite."""
    end = 8 + int.from_bytes(data[:8], "big")
    if len(data) < end:
        raise BadSuite("it is cut off")
    try:
        rows: Any = codec.unpack(data[8:end])
        head, file, playbook, never, secrets, cases, parts = rows
        if head != _HEAD:
            raise BadSuite("another version wrote it")
        sources, plan = read_sources(data[end:])
        return Suite(
            file, playbook, plan, tuple([_case_of(row) for row in cases]),
            tuple([PlaybookPart(kind, name, Span(*span), tuple(ids), *rest) for kind, name, span, ids, *rest in parts]),
            never,
            tuple(secrets),
            sources,
        )  # fmt: skip
    except (codec.CodecError, BadSources, TypeError, ValueError) as problem:
        raise BadSuite(str(problem)) from None


def _case_row(case: SuiteCase) -> Json:
    return [
        case.name, [*case.span], case.payload, case.script, [[*span] for span in case.places],
        [[each.what, each.value, [*each.span]] for each in case.expected], [*case.real], [*case.files], [*case.limits],
        [[*span] for span in case.sent], {**case.keychain},
    ]  # fmt: skip


def _case_of(row: Any) -> SuiteCase:
    name, span, payload, script, places, expected, real, files, limits, sent, keychain = row
    return SuiteCase(
        name, Span(*span), payload, script, tuple([Span(*each) for each in places]),
        tuple([Expectation(what, value, Span(*at)) for what, value, at in expected]), tuple(real), tuple(files),
        CaseLimits(*limits), tuple([Span(*span) for span in sent]), keychain,
    )  # fmt: skip
