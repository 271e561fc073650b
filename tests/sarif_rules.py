"""Demands of SARIF 2.1.0 on the objects that we write: from the clauses of the standard, not from our code."""

from collections.abc import Iterator
from typing import Any, NamedTuple


class Shape(NamedTuple):
    """An object: the properties it must have, and all that it may have, each with the object or the type it holds."""

    required: tuple[str, ...]
    properties: dict[str, Any]


SHAPES: dict[str, Shape] = {
    "log": Shape(("version", "runs"), {"$schema": str, "version": str, "runs": ["run"]}),  # §3.13
    "run": Shape(  # §3.14
        ("tool",),
        {"tool": "tool", "results": ["result"], "artifacts": ["artifact"], "columnKind": str},
    ),
    "tool": Shape(("driver",), {"driver": "component"}),  # §3.18
    "component": Shape(("name",), {"name": str, "rules": ["rule"]}),  # §3.19
    "rule": Shape(  # §3.49
        ("id",),
        {
            "id": str, "name": str, "shortDescription": "text", "fullDescription": "text", "help": "text",
            "defaultConfiguration": "configuration",
        },
    ),
    "configuration": Shape((), {"level": str}),  # §3.50
    "text": Shape(("text",), {"text": str}),  # §3.11 and §3.12
    "artifact": Shape((), {"location": "artifactLocation"}),  # §3.24
    "result": Shape(  # §3.27
        ("message",),
        {
            "ruleId": str, "ruleIndex": int, "level": str, "message": "text", "locations": ["location"],
            "relatedLocations": ["location"], "codeFlows": ["codeFlow"], "fixes": ["fix"],
            "partialFingerprints": "fingerprints",
        },
    ),
    "fingerprints": Shape((), {"noetlcAddress/v1": str}),  # §3.27.17: text to text
    "location": Shape(  # §3.28
        (),
        {"id": int, "physicalLocation": "physical", "logicalLocations": ["logical"], "message": "text"},
    ),
    "logical": Shape((), {"fullyQualifiedName": str}),  # §3.33
    "physical": Shape(("artifactLocation",), {"artifactLocation": "artifactLocation", "region": "region"}),  # §3.29.2
    "artifactLocation": Shape((), {"uri": str}),  # §3.4
    "region": Shape(  # §3.30
        ("startLine",),
        {"startLine": int, "startColumn": int, "endLine": int, "endColumn": int},
    ),
    "codeFlow": Shape(("threadFlows",), {"threadFlows": ["threadFlow"]}),  # §3.36.3
    "threadFlow": Shape(("locations",), {"locations": ["step"]}),  # §3.37.6
    "step": Shape((), {"location": "location"}),  # §3.38
    "fix": Shape(("artifactChanges",), {"description": "text", "artifactChanges": ["change"]}),  # §3.55
    "change": Shape(  # §3.56
        ("artifactLocation", "replacements"),
        {"artifactLocation": "artifactLocation", "replacements": ["replacement"]},
    ),
    "replacement": Shape(("deletedRegion",), {"deletedRegion": "region", "insertedContent": "text"}),  # §3.57
}  # fmt: skip


def problems(value: Any, shape: Any = "log", where: str = "") -> Iterator[str]:
    """The faults of a log, each with its place."""
    if isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{where}: no list"
            return
        for number, item in enumerate(value):
            yield from problems(item, shape[0], f"{where}/{number}")
        return
    if isinstance(shape, type):
        if type(value) is not shape:
            yield f"{where}: {value!r} is no {shape.__name__}"
        return
    if not isinstance(value, dict):
        yield f"{where}: no object"
        return
    required, properties = SHAPES[shape]
    yield from (f"{where}: lacks {name}" for name in required if name not in value)
    for name, part in value.items():
        if name not in properties:
            yield f"{where}: has {name}"
        else:
            yield from problems(part, properties[name], f"{where}/{name}")
    yield from _values(value, shape, where)


def _values(value: dict[str, Any], shape: str, where: str) -> Iterator[str]:
    if value.get("level") not in (None, "none", "note", "warning", "error"):  # §3.27.10
        yield f"{where}: level {value['level']!r}"
    if shape == "log" and value.get("version") != "2.1.0":  # §3.13.2
        yield f"{where}: version {value.get('version')!r}"
    if shape == "run":
        rules = [rule["id"] for rule in value["tool"]["driver"].get("rules", [])]
        for result in value.get("results", []):  # §3.27.6: the index is that of the rule with the id
            if rules[result["ruleIndex"]] != result["ruleId"]:
                yield f"{where}: {result['ruleId']} has the index {result['ruleIndex']}"
        if value.get("columnKind") not in ("utf16CodeUnits", "unicodeCodePoints"):  # §3.14.17
            yield f"{where}: columnKind"
    if shape == "region":  # §3.30.5 to §3.30.8: counted from 1, the end not before the start
        start, end = (value["startLine"], value["startColumn"]), (value["endLine"], value["endColumn"])
        if min(*start, *end) < 1 or end < start:
            yield f"{where}: {start} to {end}"
    if shape in ("codeFlow", "threadFlow") and not next(iter(value.values())):  # §3.36.3, §3.37.6: at least one
        yield f"{where}: is empty"
    if shape == "artifactLocation" and any(char in value["uri"] for char in " \\"):  # §3.4.3, RFC 3986
        yield f"{where}: {value['uri']!r}"
