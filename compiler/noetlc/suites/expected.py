"""The expectations of a case (`expect`): each key is read by the function that its table names."""

from collections.abc import Callable, Iterator
from types import MappingProxyType

from noetl_ir.expr import Json
from noetl_ir.kinds import seconds_of
from noetl_ir.suite import STATUSES, Expectation
from noetlc.reading.reader import Reader, stray_key, stray_keys, unknown
from noetlc.reading.shapes import boolean_of, choice_of, mapping_of, missing, sequence_of, whole_of, wrong_shape
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, value_of
from noetlc.suites.known import KnownSteps, step_of, task_of

_Take = Callable[[Reader, KnownSteps, Node], Iterator[Json]]
"""Gives the value of a key, once it is known to be right; of `calls` and `events` one for each entry."""


def read_expected(r: Reader, known: KnownSteps, node: Node) -> Iterator[Expectation]:
    """The expectations under `expect`."""
    mapping = mapping_of(r, node, "`expect`")
    for key, value in mapping.entries if mapping is not None else ():
        take = TABLE.get(key.text)
        if take is None:
            stray_key(r, "suite_expect", key, tuple(TABLE))
        elif key.text in _EXPECTS_BY_ENTRY and isinstance(value, Mapping | Sequence) and not _entries(value):
            # Whoever writes `calls: []` means that there are none, and the case would pass however many there are.
            missing(r, f"an entry of `{key.text}`", value.span, help=_EXPECTS_BY_ENTRY[key.text])
        elif key.text in ("calls", "events"):
            rows = sequence_of(r, value, f"`{key.text}`", f"entries: {_FORMS[key.text]}")
            for item in rows.items if rows is not None else ():
                yield from (Expectation(key.text, each, item.span) for each in take(r, known, item))
        else:
            yield from (Expectation(key.text, each, value.span) for each in take(r, known, value))


def _entries(node: Mapping | Sequence) -> int:
    return len(node.entries if isinstance(node, Mapping) else node.items)


_NOTHING = "it expects nothing: leave it out"
_EXPECTS_BY_ENTRY = {
    "calls": "it expects nothing: write `calls: [{step: name, times: 0}]` for a step without calls, or leave it out",
    "events": "it expects nothing: write `events: [{event: task.done, never: true}]`, or leave it out",
    "not_run": "it expects nothing: name the steps, or leave it out",
    "results": _NOTHING,
    "ctx": _NOTHING,
    "duration": _NOTHING,
}
"""Keys that expect something by their entries alone, with what to write instead of none."""

_FORMS = {"calls": "`{step: name, fields: {…}}`", "events": "`{event: name, at_most: 1}`"}


def _status(r: Reader, known: KnownSteps, node: Node) -> Iterator[Json]:
    status = choice_of(r, node, "`status`", STATUSES)
    if status is not None:
        yield status


def _value(r: Reader, known: KnownSteps, node: Node) -> Iterator[Json]:
    yield value_of(node)


def _mapping(r: Reader, known: KnownSteps, node: Node) -> Iterator[Json]:
    if isinstance(node, Mapping):
        yield value_of(node)
    else:
        wrong_shape(r, node, "this expectation", "a mapping")


def _steps(r: Reader, known: KnownSteps, node: Node) -> Iterator[Json]:
    rows = sequence_of(r, node, "a list of steps", "steps")
    if rows is not None:
        yield [name for item in rows.items if (name := step_of(r, item, known.own)) is not None]


def _results(r: Reader, known: KnownSteps, node: Node) -> Iterator[Json]:
    if not isinstance(node, Mapping):
        wrong_shape(r, node, "`results`", "a mapping of steps")
        return
    # Only the names are looked at: a result may be of any shape.
    for key, _ in node.entries:
        step_of(r, key, known.own)
    yield value_of(node)


_ERROR = ("code", "message", "step", "task", "kind", "retryable")


def _error(r: Reader, known: KnownSteps, node: Node) -> Iterator[Json]:
    if not isinstance(node, Mapping):
        wrong_shape(r, node, "`error`", "a mapping: `{code: …}`")
        return
    stray_keys(r, "suite_error", node, _ERROR)
    yield value_of(node)


_CALL = ("step", "task", "run", "index", "visit", "attempt", "times", "fields", "args")


def _call(r: Reader, known: KnownSteps, node: Node) -> Iterator[Json]:
    mapping = mapping_of(r, node, "an entry of `calls`")
    if mapping is None:
        return
    row: dict[str, Json] = {}
    for key, value in mapping.entries:
        if key.text not in _CALL:
            stray_key(r, "suite_call", key, _CALL)
        elif key.text in ("fields", "args") and mapping_of(r, value, f"`{key.text}`") is not None:
            row[key.text] = value_of(value)
    row |= read_place(r, mapping, known.own)
    if (times := mapping.get("times")) is not None and (count := whole_of(r, times, "`times`", 0)) is not None:
        row["times"] = count
    if "step" not in mapping.index and "task" not in mapping.index:
        missing(r, "`step` of the call", mapping.span, help="write `{step: name, fields: {…}}`")
    yield row


def read_place(r: Reader, mapping: Mapping, steps: dict[str, dict[str, str]]) -> dict[str, Json]:
    """The place of an attempt: `step task run index visit attempt`, as far as they are given and right."""
    row: dict[str, Json] = {}
    step = None
    if (node := mapping.get("step")) is not None and (step := step_of(r, node, steps)) is not None:
        row["step"] = step
    if (node := mapping.get("task")) is not None and (task := task_of(r, node, steps, step)) is not None:
        row["task"] = task
    for name in ("run", "visit", "attempt"):
        if (node := mapping.get(name)) is not None and (count := whole_of(r, node, f"`{name}`", 1)) is not None:
            row[name] = count
    if (node := mapping.get("index")) is not None:
        # One number for a loop that is not nested, as people write it.
        items = node.items if isinstance(node, Sequence) else [node]
        row["index"] = [whole_of(r, item, "`index`", 0) for item in items]
    return row


_HOW_OFTEN = ("never", "times", "at_most", "at_least")
_EVENT = ("event", "step", "task", *_HOW_OFTEN)


def _event(r: Reader, known: KnownSteps, node: Node) -> Iterator[Json]:
    mapping = mapping_of(r, node, "an entry of `events`")
    if mapping is None:
        return
    stray_keys(r, "suite_event", mapping, _EVENT)
    row = read_place(r, mapping, known.own)
    name = mapping.get("event")
    if not isinstance(name, Scalar):
        missing(r, "`event`", mapping.span, help="write `{event: task.done, at_most: 1}`")
        return
    if name.text not in known.events:
        what = f"there is no event `{name.text}`"
        unknown(r, "NL104", what, name.span, name=name.text, known=known.events)
        return
    bounds = [word for word in _HOW_OFTEN if word in mapping.index]
    if not bounds:
        help = "write `never: true`, `times: 2`, `at_most: 2` or `at_least: 1`"
        missing(r, "how often the event is expected", mapping.span, help=help)
    for word in bounds:
        value = mapping.index[word][1]
        if word == "never":
            if boolean_of(r, value, "`never`") is False:
                r.report("NL104", "`never: false` expects nothing", value.span, help="write `at_least: 1`")
            row["at_most"] = 0
        # Several words may stand together (`at_least: 1, at_most: 3`), and each has to hold.
        elif (count := whole_of(r, value, f"`{word}`", 0)) is not None:
            row[word] = count
    yield {"event": name.text, **row}


def _duration(r: Reader, known: KnownSteps, node: Node) -> Iterator[Json]:
    entries = node.entries if isinstance(node, Mapping) else [(None, node)]
    found: dict[str, Json] = {}
    for key, value in entries:
        if key is not None and key.text not in ("at_most", "at_least"):
            stray_key(r, "suite_duration", key, ("at_most", "at_least"))
            continue
        seconds = seconds_of(value_of(value))
        if seconds is None:
            r.report("NL119", "`duration` is no duration", value.span, help="write seconds, or text like `1.5s`, `5m`")
            continue
        found["exactly" if key is None else key.text] = seconds
    yield found


TABLE: MappingProxyType[str, _Take] = MappingProxyType({
    "status": _status,
    "error": _error,
    "steps": _steps,
    "steps_in_any_order": _steps,
    "not_run": _steps,
    "result": _value,
    "result_includes": _mapping,
    "results": _results,
    "ctx": _mapping,
    "calls": _call,
    "events": _event,
    "duration": _duration,
})  # fmt: skip
"""Key of `expect` → who reads it."""
