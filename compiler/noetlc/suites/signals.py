"""The signals of a file of tests: to the run itself, or with a `key` to whoever waits under that.

signals: [{at: 10s, name: approved}, {key: order 7, name: paid, data: {amount: 120}, keep_for: 1d}]

With `before` one under a key is kept when the run begins.
"""

from noetl_ir.correlation import faulty_key, is_storable, key_of
from noetl_ir.expr import Json
from noetl_ir.kinds import seconds_of
from noetl_ir.span import Span
from noetlc.reading.reader import Reader, stray_keys
from noetlc.reading.shapes import mapping_of, missing, sequence_of, text_of
from noetlc.source.nodes import Mapping, Node, value_of

SIGNAL = ("at", "before", "name", "data", "key", "keep_for")


def read_signals(r: Reader, both: list[dict[str, Node]]) -> tuple[tuple[Span, ...], list[Json]]:
    """The signals with their places: a case's own come first."""
    places, found = [], list[Json]()
    for each in both:
        rows = sequence_of(r, each["signals"], "`signals`", "signals") if "signals" in each else None
        for item in rows.items if rows is not None else ():
            if (mapping := mapping_of(r, item, "a signal")) is not None:
                found.append(_signal(r, mapping))
                places.append(item.span)
    return tuple(places), found


def _signal(r: Reader, mapping: Mapping) -> Json:
    stray_keys(r, "suite_signal", mapping, SIGNAL)
    name = text_of(r, named, "`name`") if (named := mapping.get("name")) is not None else None
    if named is None:
        missing(r, "the `name` of the signal", mapping.span, help="write `{at: 10s, name: approved}`")
    data = value_of(brought) if (brought := mapping.get("data")) is not None else None
    return {**_time(r, mapping), "name": name or "", "data": data, **_under_key(r, mapping, name or "")}


def _time(r: Reader, mapping: Mapping) -> dict[str, Json]:
    """When a signal comes: `at` a time of the run, or `before` it."""
    when, before = mapping.get("at"), mapping.get("before")
    at = duration_of(r, when, "`at`") if when is not None else 0
    if before is None or (said := value_of(before)) is False:
        return {"at": at}
    if said is not True:
        r.report("NL104", "`before` is `true` or `false`", before.span, help="write `before: true`")
    elif mapping.get("key") is None:
        help = "write `key`, too: a run that has not begun hears no signal"
        r.report("NL104", "`before` goes with `key`", before.span, help=help)
    elif when is not None:
        help = "leave out one of the two: a signal from before the run comes at no time of it"
        r.report("NL104", "`before` does not go with `at`", before.span, help=help)
    else:
        return {"before": True}
    return {"at": at}


def _under_key(r: Reader, mapping: Mapping, name: str) -> dict[str, Json]:
    """The key of a signal, and how long it is kept; nothing for one to the run."""
    node, kept = mapping.get("key"), mapping.get("keep_for")
    if node is None:
        if kept is not None:
            help = "write `key`, too: a signal to the run itself is kept as long as that runs"
            r.report("NL104", "`keep_for` goes with `key`", kept.span, help=help)
        return {}
    written = value_of(node)
    key = key_of(written)
    if not key or not is_storable(name):
        why = faulty_key(written) or "is no text" if not key else "of a signal whose name is no text"
        r.report("NL104", f"the `key` {why}", node.span, help='write what `correlation` comes to: `key: "order 7"`')
        return {}
    return {"key": key, **({"keep_for": duration_of(r, kept, "`keep_for`")} if kept is not None else {})}


def duration_of(r: Reader, node: Node, what: str) -> Json:
    value = value_of(node)
    if seconds_of(value) is None:
        r.report("NL119", f"{what} is no duration", node.span, help="write seconds, or text like `1.5s`, `5m`")
        return 0
    return value
