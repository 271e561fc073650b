"""No key is read and dropped in silence: without it the canonical source is another, or something is said at its place.

Asked of every key of every input in the goldens of the dialects, of every construct of a step, and of pairs of them.
"""

import os
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import pytest
import yaml

import goldens
from harness.samples import some
from noetl_ir.span import Span
from noetlc.ast.printing import printed
from noetlc.diag.diagnostic import Severity
from noetlc.migrate.migration import migrated
from noetlc.pipeline import understood
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, mapping_at, scalar_at, sequence_at, value_of
from noetlc.source.text import Source
from noetlc.source.yaml_reader import read_yaml

HEAD = {"apiVersion": "noetl.io/v2", "kind": "Playbook", "metadata": {"name": "t", "path": "t/t"}}
INPUTS = [case for case in goldens.cases() if case.stage in ("dialects", "lower", "spec", "migrate")]

AS_WITHOUT = {
    "case_mode": ("exclusive",),
    "eval_mode": ("on_entry",),
    "branch_order": ("source",),
    "next_policy": ("end_step",),
    "policy": ("end_step",),
    "mode": ("exclusive", "sequential", "append", "inclusive", "cursor"),
    "strategy": ("append",),
    "merge_strategy": ("append",),
    "on": ("error",),
    "scope": ("tool", "step"),
    "max_attempts": (3,),
    "attempts": (3,),
    "priority": (0,),
    "jitter": (False,),
    "on_error": ("fail",),
    "exec": ("distributed",),
    "backoff": ("none", "fixed"),
    "type": ("none", "fixed", "noop"),
    "process": ("row",),
    "pass": (False,),
}
"""Key → the values that say what holds anyway."""
_ROUTE = {"next": [{"step": "end"}]}
_TO_END = ([{"when": "{{ event.name == 'step.exit' }}", "then": _ROUTE}], _ROUTE, _ROUTE["next"])
"""A `case` that leads a step which is done to `end`, and its actions: a step of which no way leads goes there too."""
NAMES = frozenset({"into", "desc", "priority", "entry_step", "output_select", "select", "expects", "returns"})
"""Keys that only name something, which nothing need read, say an order or a beginning, which may be that of the
file, or which keys of a result stay readable, which all of them do, or what lint alone asks."""


class Place(NamedTuple):
    """A key: where it stands, as the way to it from the root, its node and its value."""

    way: tuple[str | int, ...]
    key: Scalar
    value: Node


def keys_of(node: Node, way: tuple[str | int, ...] = ()) -> Iterator[Place]:
    """Every key of a document."""
    if isinstance(node, Mapping):
        for key, value in node.entries:
            yield Place((*way, key.text), key, value)
            yield from keys_of(value, (*way, key.text))
    elif isinstance(node, Sequence):
        for number, item in enumerate(node.items):
            yield from keys_of(item, (*way, number))


def _without(node: Node, place: Place) -> Node:
    """The document without one entry."""
    return _replaced(node, place.key, None)


def _changed(node: Node, place: Place) -> Node:
    """The document with another template under a key: without it, a pass may put the same there."""
    value = place.value
    if not isinstance(value, Scalar) or not (value.text.startswith("{{") or place.key.text == "next"):
        return _without(node, place)
    return _replaced(node, place.key, scalar_at("changed", "changed", style='"', span=value.span, source=value.source))


def _replaced(node: Node, key: Scalar, by: Node | None) -> Node:
    if isinstance(node, Mapping):
        entries = [(name, by if name is key else _replaced(value, key, by)) for name, value in node.entries]
        return mapping_at([(name, value) for name, value in entries if value is not None], node.span)
    if isinstance(node, Sequence):
        items = [_replaced(item, key, by) for item in node.items]
        return sequence_at([item for item in items if item is not None], node.span)
    return node


def silent(text: str) -> list[str]:
    """The keys of a playbook that say nothing and about which nothing is said."""
    reading = read_yaml("t.yaml", text.encode())
    return [found for node in reading.documents if node is not None for found in _silent(reading.source, node)]


def _silent(source: Source, node: Node) -> Iterator[str]:
    made = understood(source, node)
    before = None if made.playbook is None else printed(made.playbook)
    spoken = [found.span for found in made.diagnostics if found.code not in ("NL910", "NL911")]
    nothing = [found.span for found in made.diagnostics if found.code == "NL110"]
    nothing += [
        change.span for change in made.changes if change.message.startswith(("nothing", "no filter", "no rule"))
    ]
    told: set[tuple[str | int, ...]] = set()
    for place in keys_of(node):
        if any(_begins(span, place.key) or _begins(span, place.value) for span in nothing):
            told.add(place.way)
        above = any(place.way[:length] in told for length in range(1, len(place.way) + 1))
        if above or _is_free(place.key.text, place.value) or any(_within(span, place) for span in (*spoken, *nothing)):
            continue
        if all(_means(source, other, before) for other in (_without(node, place), _changed(node, place))):
            yield f"{place.key.span} {'.'.join(map(str, place.way))}"


def _begins(span: Span, node: Node) -> bool:
    return (span.line, span.column) == (node.span.line, node.span.column)


def _means(source: Source, node: Node, canonical: str | None) -> bool:
    """Whether a document is sound and has that canonical source."""
    made = understood(source, node)
    sound = all(found.severity < Severity.ERROR for found in made.diagnostics)
    return sound and made.playbook is not None and printed(made.playbook) == canonical


def _is_free(name: str, node: Node) -> bool:
    """Whether a key says no more than what holds without it."""
    if name in NAMES or value_of(node) in (None, [], {}) or value_of(node) in _TO_END:
        return True
    if isinstance(node, Mapping):
        return all(_is_free(key.text, value) for key, value in node.entries)
    return value_of(node) in AS_WITHOUT.get(name, ())


def _within(span: Span, place: Place) -> bool:
    start, end = place.key.span, place.value.span
    return (start.line, start.column) <= (span.line, span.column) <= (end.end_line, end.end_column)


@pytest.mark.parametrize("case", some(INPUTS, 3), ids=lambda case: f"{case.stage}-{case.name}")
def test_every_key_of_a_golden_counts(case: goldens.Case) -> None:
    assert silent(case.path.read_text("utf-8")) == []


@pytest.mark.parametrize("case", INPUTS, ids=lambda case: f"{case.stage}-{case.name}")
def test_a_key_that_is_dropped_is_never_called_exact(case: goldens.Case) -> None:
    made = migrated(case.path.name, case.path.read_bytes())
    assert [change for change in made.changes if change.klass == "exact" and change.message.startswith("nothing")] == []


STORE = {"tool": {"kind": "postgres", "auth": "pg"}, "table": "t", "args": {"id": "{{ result.id }}"}}
WORK = {"work": {"tool": {"kind": "python", "args": {"n": "{{ result.n }}"}, "code": "result = n"}}}
ROUTE = {"next": {"to": [{"step": "b", "args": {"x": "{{ vars.x }}"}}]}}
MESSAGE = "event.name == 'message.received'"


def ruled(when: str, *actions: Any, **more: Any) -> dict[str, Any]:
    """A rule of a `case`."""
    return {"when": "{{ " + when + " }}", "then": list(actions), **more}


CASES: dict[str, dict[str, Any]] = {
    "routes": {"case": [ruled("event.name == 'call.done' and ctx.a", ROUTE)]},
    "branch": {"case": [ruled("event.name == 'call.done' and result.a", WORK, {"sink": STORE}, ROUTE)]},
    "sets": {"case": [ruled("event.name == 'call.done'", {"set": {"y": "{{ result.y }}"}}, ROUTE)]},
    "failing": {"case": [ruled("event.name == 'call.error'", {"set": {"e": "{{ error.code }}"}}, ROUTE)]},
    "again": {"case": [ruled("event.name == 'call.error'", {"retry": {"max_attempts": 4, "initial_delay": 2}})]},
    "again, then": {"case": [ruled("event.name == 'call.error'", {"retry": {"max_attempts": 4}}, WORK, ROUTE)]},
    "entered": {"case": [ruled("event.name == 'step.enter'", {"set": {"z": "{{ workload.n }}"}})]},
    "at the end": {"case": [ruled("event.name == 'loop.done'", ROUTE)]},
    "work at the end": {"case": [ruled("event.name == 'loop.done'", {"sink": STORE}, {"set": {"n": 1}}, ROUTE)]},
    "chain": {"case": [ruled("result.a", WORK, {"sink": STORE}, ROUTE, retry={"scope": "chain", "max_attempts": 4})]},
    "else": {"case": [ruled("result.a", ROUTE), {"else": [WORK, ROUTE]}]},
    "pages": {
        "case": [
            ruled(
                "event.name == 'call.done' and result.more",
                {"collect": {"strategy": "append", "path": "items"}},
                {"retry": {"params": {"p": "{{ result.next }}"}, "max_attempts": 4}},
            )
        ]
    },
}
MODES: dict[str, dict[str, Any]] = {
    "": {},
    "inclusive": {"case_mode": "inclusive"},
    "deferred": {"case_mode": "inclusive", "next_policy": "defer"},
    "by priority": {"branch_order": "priority"},
}
WAITING: dict[str, dict[str, Any]] = {
    "waits": {"spec": {"eval_mode": "on_event"}, "case": [ruled(MESSAGE, WORK, ROUTE)]},
    "waits for time": {
        "spec": {"eval_mode": "on_event", "timeout": "9s"},
        "case": [ruled(MESSAGE, ROUTE), ruled("event.name == 'timer.fired'", {"set": {"late": True}})],
    },
    "waits for all": {
        "spec": {"eval_mode": "on_event", "case_mode": "inclusive"},
        "case": [ruled(MESSAGE, ROUTE), ruled(f"{MESSAGE} and event.data.a", {"sink": STORE})],
    },
}
CONSTRUCTS: dict[str, dict[str, Any]] = {
    "args": {"args": {"a": 1}},
    "input": {"input": {"c": 2}},
    "vars": {"vars": {"n": "{{ result.n }}"}},
    "set_ctx": {"set_ctx": {"m": "{{ result.m }}"}},
    "set": {"set": {"ctx.k": "{{ output.data }}"}},
    "result": {"result": {"from": "{{ result.r }}"}},
    "sink": {"sink": STORE},
    "save": {"save": {"storage": "postgres", "table": "s", "auth": "pg", "data": {"id": "{{ result.id }}"}}},
    "retry": {"retry": {"max_attempts": 7, "initial_delay": 2}},
    "retry when": {"retry": {"max_attempts": 7, "retry_when": "{{ error.code == 'x' }}"}},
    "retry list": {"retry": [{"when": "{{ error.status == 503 }}", "then": {"max_attempts": 7}}]},
    "pages": {
        "retry": [
            {
                "when": "{{ response.more }}",
                "then": {
                    "max_attempts": 7,
                    "next_call": {"params": {"p": "{{ response.next }}"}},
                    "collect": {"strategy": "append", "path": "items"},
                    "sink": STORE,
                },
            }
        ]
    },
    "poll": {"poll": {"until": "{{ result.ready }}", "interval": "2s", "max_attempts": 7}},
    "on_error": {"on_error": "ignore"},
    "when": {"when": "{{ workload.n }}"},
    "next": {"next": ["b", "c"]},
    "ladder": {"next": [{"when": "{{ result.a }}", "then": ["b"]}, {"else": ["c"]}]},
    "timeout": {"spec": {"timeout": "9s"}},
    "loop": {"loop": {"collection": "{{ workload.all }}", "element": "item", "mode": "async"}},
    "batches": {"loop": {"in": "{{ workload.all }}", "iterator": "item", "spec": {"batch_size": 2}}},
    "no tool": {"tool": None},
    "list": {
        "tool": [
            {"name": "one", "kind": "http", "url": "https://example.com"},
            {"name": "two", "kind": "python", "args": {"n": "{{ one.n }}"}, "code": "result = n"},
        ]
    },
    **{f"case {name}": part for name, part in CASES.items()},
    **{
        f"case {name}, {mode}": {**part, "spec": spec}
        for mode, spec in MODES.items()
        for name, part in CASES.items()
        if spec
    },
    **WAITING,
}


def step_of(*names: str) -> dict[str, Any] | None:
    """A step with some constructs; None where they have a key in common."""
    step: dict[str, Any] = {"step": "start"}
    for name in names:
        for key, value in CONSTRUCTS[name].items():
            if key == "spec" and key in step and not step[key].keys() & value.keys():
                value = {**step[key], **value}
            elif key in step:
                return None
            step[key] = value
    step.setdefault("tool", {"kind": "http", "url": "https://example.com"})
    return {key: value for key, value in step.items() if value is not None}


PAIRS = [pair for pair in combinations(CONSTRUCTS, 2) if step_of(*pair)]
STRIDE = 1 if "TRANSLATION_CASES" in os.environ else 61
"""Of all pairs, which take more than a minute, the usual run asks one in so many."""


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_every_key_of_a_construct_of_a_step_counts(name: str) -> None:
    assert silent(text_of((name,))) == []


@pytest.mark.parametrize("pair", PAIRS[::STRIDE], ids=", ".join)
def test_every_key_of_two_constructs_of_a_step_counts(pair: tuple[str, str]) -> None:
    assert silent(text_of(pair)) == []


def text_of(pair: tuple[str, ...]) -> str:
    """A playbook whose first step has the constructs."""
    workload = {"n": 1, "all": [1, 2, 3], "pg": "x"}
    steps = [step_of(*pair), {"step": "b"}, {"step": "c"}]
    return yaml.safe_dump({**HEAD, "workload": workload, "workflow": steps}, sort_keys=False)


@pytest.mark.parametrize("pair", [("retry", "case chain"), ("retry", "case chain, inclusive"), ("sink", "waits")])
def test_two_constructs_of_a_step_migrate(pair: tuple[str, str]) -> None:
    made = migrated("t.yaml", text_of(pair).encode())
    assert made.after is not None, made.problems
