"""How a run ended, read from its store and told so that two runs can be compared: what differs every time is masked."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from noetl.app.snapshots import snapshot_of
from noetl.cli.stores import existing_runtime
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.engine.views import plain_result
from noetl_ir.events import Event
from noetl_ir.expr import Json


class Outcome(NamedTuple):
    """How a run ended: `completed failed blocked cancelled`, `unfinished` when the time was up, `refused` before it
    began, `offline` when it wanted what is not here; its error; how often each step ended well or failed; the last
    result of each step.
    """

    status: str
    code: str = ""
    step: str = ""
    message: str = ""
    done: Mapping[str, int] = {}
    failed: Mapping[str, int] = {}
    results: Mapping[str, Json] = {}
    tables: Mapping[str, Json] = {}
    """The rows of each table that it left in the database here."""
    seconds: float = 0.0


_MADE = "__"
"""Steps that lowering made begin so, and none of an author's."""
_MOST = 20_000
"""A longer result, in characters of its text, is not kept."""


def outcome_in(url: str) -> Outcome | None:
    """The outcome of the first execution in a store, None where there is none. Raises what reading raises."""
    with existing_runtime(url) as runtime:
        rows = [row for row in runtime.store.executions() if row.parent_execution_id is None]
        if not rows:
            return None
        row = rows[-1]
        done: Counter[str] = Counter()
        failed: Counter[str] = Counter()
        results: dict[str, Json] = {}
        errors: list[Json] = []

        def attend(execution: Execution, program: Program, event: Event) -> None:
            name = program.plan.steps[event.step].name if event.step >= 0 else ""
            if name.startswith(_MADE):
                return
            match event.event_type:
                case "step.done" | "loop.done" if not event.data.get("level"):
                    done[name] += 1
                    # That of this step: the last one of the execution may be another branch's.
                    results[name] = _kept(plain_result(execution.runs[event.run].result))
                case "step.failed":
                    failed[name] += 1
                case "workflow.finished":
                    errors.append(event.data.get("error"))

        snapshot_of(runtime, row, attend)
    error = errors[-1] if errors else None
    told = error if isinstance(error, dict) else {}
    status = row.status if row.ended is not None else "unfinished"
    return Outcome(
        status, str(told.get("code") or ""), str(told.get("step") or ""), str(told.get("message") or "")[:400],
        dict(done), dict(failed), results,
    )  # fmt: skip


def _kept(value: Json) -> Json:
    # Outcomes are kept from run to run and compared; a page of data would fill that and tell nothing more.
    return value if len(repr(value)) <= _MOST else "<long>"


_VOLATILE_KEY = re.compile(
    r"(?i)(_at|at|time|timestamp|date|duration|elapsed|seconds|_ms|ms|_id|id|uuid|token|url|headers|host|port|path|origin"
    r"|started|ended|created|updated|random|_ref|key|now|pid)$"
)
_VOLATILE_TEXT = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?|\b\d{15,}\b|\b[0-9a-f]{8}-[0-9a-f-]{20,}\b"
    r"|127\.0\.0\.1:\d+(/r\d+)?|\b\d\d:\d\d:\d\d(\.\d+)?\b|/var/tmp/[^\s/]+/r\d+"
)


def masked(value: Json) -> Json:
    """A value without what differs from run to run."""
    match value:
        case dict():
            return {key: "~" if _is_volatile(key, inner) else masked(inner) for key, inner in value.items()}
        case list():
            return [masked(inner) for inner in value]
        case str():
            return _VOLATILE_TEXT.sub("~", value)
        # Sums of floats differ in their last digits with the order of their parts.
        case float():
            return round(value, 4)
    return value


def _is_volatile(key: str, value: Json) -> bool:
    # Whole numbers stay: a count under a key such as `id` or `key` is worth comparing.
    return isinstance(value, str | float | dict | None) and bool(_VOLATILE_KEY.search(key)) and not _is_plain(value)


def _is_plain(value: Json) -> bool:
    """Whether a text is a word, which no clock or counter gives."""
    return isinstance(value, str) and value.isalpha()


_VERDICT = re.compile(
    r"(?i)^(all_|test_|tests_|is_|overall_|validation_)*(pass|passed|valid|ok|success|succeeded|match|matches|matched|"
    r"correct|verified|complete|validation|result|status|test_result|validation_status|test_status)$"
)
_BAD = re.compile(r"(?i)^(fail|failed|failure|invalid|mismatch|incorrect|error|false|not ok)\b")


def verdicts(results: Mapping[str, Json]) -> Iterator[str]:
    """Reasons of steps against a run that completed: `step.key = value` where a playbook's own check did not pass."""
    for step, value in results.items():
        yield from _against(step, value, 3)


def _against(where: str, value: Json, depth: int) -> Iterator[str]:
    if not isinstance(value, dict) or not depth:
        return
    for key, inner in value.items():
        if isinstance(inner, dict):
            yield from _against(f"{where}.{key}", inner, depth - 1)
        elif _VERDICT.match(key) and (inner is False or (isinstance(inner, str) and _BAD.match(inner))):
            yield f"{where}.{key} = {str(inner)[:80]!r}"


def differences(old: Outcome, new: Outcome, *, by_chance: bool = False) -> Iterator[str]:
    """Differences between the outcomes of two versions, as sentences; `by_chance`: values and ways may.

    A step without a result, such as a router in one version, differs in nothing from one with.
    """
    if (old.status, old.code) != (new.status, new.code):
        yield f"ends {old.status} {old.code} {old.step} → {new.status} {new.code} {new.step}".replace("  ", " ")
    # Where the playbook draws lots, only how it ends can be compared.
    if by_chance:
        return
    gone, more = sorted(old.done.keys() - new.done.keys()), sorted(new.done.keys() - old.done.keys())
    if gone or more:
        yield f"steps {', '.join(gone) or '-'} → {', '.join(more) or '-'}"
    for step in sorted(old.done.keys() & new.done.keys()):
        if old.done[step] != new.done[step]:
            yield f"{step} ran {old.done[step]} → {new.done[step]} times"
        one, other = masked(old.results.get(step)), masked(new.results.get(step))
        # A result that one version does not give is no difference: a router may be a step in one dialect and not in
        # another.
        if one != other and one is not None and other is not None:
            yield f"{step}: {next(_apart('', one, other), '')}"

    for table in sorted(old.tables.keys() | new.tables.keys()):
        one, other = masked(old.tables.get(table, [])), masked(new.tables.get(table, []))
        if one != other:
            yield f"table {table}: {next(_apart('', one, other), '')}"


def _apart(where: str, one: Json, other: Json) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            if key not in one or key not in other:
                yield f"{where}.{key} is only in the {'newer' if key not in one else 'older'}"
            elif one[key] != other[key]:
                yield from _apart(f"{where}.{key}", one[key], other[key])
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            if left != right:
                yield from _apart(f"{where}[{number}]", left, right)
    elif isinstance(one, list) and isinstance(other, list):
        yield f"{where or 'result'} has {len(one)} → {len(other)} entries"
    else:
        yield f"{where or 'result'} {_short(one)} → {_short(other)}"


def _short(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
