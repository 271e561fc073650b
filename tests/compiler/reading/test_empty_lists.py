"""A list without entries is a finding, or stands here with what it means: none does nothing unsaid."""

from collections.abc import Iterator
from typing import cast

import pytest

from noetl_ir.expr import Json
from noetlc.emit.schema import VALUES
from playbooks import HEAD, linted

EMPTY = {
    ("document", "workflow"): "workflow: []",
    ("executor_spec", "compensate_on"): "executor: {spec: {compensate_on: []}}\n"
    "workflow: [{step: start, spec: {policy: {compensate: undo}}}, {step: undo}]",
    ("step_policy", "lock"): "workflow: [{step: start, spec: {policy: {lock: []}}}]",
    ("step_policy", "lock", "through"): "workflow: [{step: start, spec: {policy: {lock: {name: a, through: []}}}}]",
    ("step_policy", "cancels"): "workflow: [{step: start, spec: {policy: {cancels: []}}}]",
    ("step_policy", "interrupt", "events"): "workflow: [{step: start, spec: {policy: {interrupt: {events: []}}}}]",
    ("admit", "rules"): "workflow: [{step: start, spec: {policy: {admit: {rules: []}}}}]",
    ("loop_spec", "more", "events"): "workflow: [{step: start, loop: {iterator: i, spec: {more: {events: []}}}}]",
    ("loop_spec", "close", "events"): "workflow:\n"
    "  [{step: start, loop: {iterator: i, spec: {more: {events: [m]}, close: {events: []}}}}]",
    ("loop_spec", "complete", "events"): "workflow:\n"
    "  [{step: start, loop: {iterator: i, in: [1], spec: {complete: {events: []}}}}]",
    ("task_policy", "rules"): "workflow: [{step: start, tool: {kind: noop, spec: {policy: {rules: []}}}}]",
    ("next", "arcs"): "workflow: [{step: start, next: {arcs: []}}]",
}
"""The key, and a playbook that has nothing wrong but an empty list there."""

MEANT = {
    ("document", "keychain"): "a playbook without credentials",
    ("document", "workbook"): "a playbook without tasks to name",
    ("loop", "in"): "items, of which there may be none",
    ("executor", "requires", "*"): "nothing is required, which is what it says",
    ("executor_spec", "inputs", "*"): "JSON Schema, whose own rules hold",
}


def listing(shape: Json, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The keys under `path` whose value may be a list."""
    if not isinstance(shape, dict):
        return
    types = shape.get("type")
    if types == "array" or (isinstance(types, list) and "array" in types):
        yield path
    for option in cast("list[Json]", shape.get("anyOf", [])):
        yield from listing(option, path)
    for key, inner in cast("dict[str, Json]", shape.get("properties", {})).items():
        yield from listing(inner, (*path, key))
    yield from listing(shape.get("additionalProperties"), (*path, "*"))


def is_of(path: tuple[str, ...], row: tuple[str, ...]) -> bool:
    """Whether a row, which may end with any key, has this path."""
    return path[: len(row) - 1] == row[:-1] if row[-1] == "*" else path == row


def test_each_key_with_a_list_is_here() -> None:
    found = {path for row, shape in VALUES.items() for path in listing(shape, row)}
    assert {path for path in found if not any(is_of(path, row) for row in MEANT)} == EMPTY.keys()
    assert {row for row in MEANT if not any(is_of(path, row) for path in found)} == set()


@pytest.mark.parametrize("path", EMPTY, ids=".".join)
def test_an_empty_list_is_a_finding_with_its_place(path: tuple[str, ...]) -> None:
    text = HEAD + EMPTY[path] + "\n"
    lines = text.splitlines()
    # It is called by its key, or by what it belongs to: `interrupt` without `events` is what listens for nothing.
    found = [one for one in linted(text) if any(f"{key}`" in one.message for key in path[1:])]
    places = [lines[one.span.line - 1][one.span.column - 1 :] for one in found]
    assert any(place.startswith(("[]", *path[1:])) for place in places), linted(text)
    assert all(one.help for one in found)
