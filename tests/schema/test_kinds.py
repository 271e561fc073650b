"""Every kind's contract is whole, and the checks and schemas made from one mean the same."""

import ast
from pathlib import Path

import pytest

import noetl.tools
from noetl_ir import registry
from noetl_ir.expr import Json
from noetl_ir.kinds import Field, Kind, limit_of, misfits, seconds_of
from noetl_ir.outcome import error

NAMES = registry.names("noetl_ir.kinds")
TOOLS = Path(noetl.tools.__path__[0])
SAMPLE = Kind(
    name="sample",
    summary="A sample.",
    fields={
        "path": Field(("text",), required=True),
        "mode": Field(("text",), values=("a", "b")),
        "url": Field(("text",)),
        "endpoint": Field(("text",)),
        "env": Field(("map of text",)),
        "wait": Field(("duration", "map")),
        "flag": Field(("boolean",)),
        "count": Field(("integer",)),
        "code": Field(("text",), text="literal"),
    },
    one_of=(("url", "endpoint"),),
)


def kind_of(name: str) -> Kind:
    return registry.load("noetl_ir.kinds", name, "KIND", Kind)


@pytest.mark.parametrize("name", NAMES)
def test_a_contract_is_whole(name: str) -> None:
    kind = kind_of(name)
    assert kind.name == name
    assert kind.summary.endswith(".") and kind.result
    for field, known in {**kind.fields, **kind.knobs}.items():
        assert known.doc.endswith("."), field
        assert known.shapes, field
    assert all(field in kind.fields for names in kind.one_of for field in names)
    assert not kind.fields.keys() & {"name", "kind", "desc", "spec", "args"}, "all tasks have these"
    assert not kind.knobs.keys() & {"policy", "timeout", "pool", "mode", "max_in_flight"}, "never inherited"


@pytest.mark.parametrize("name", NAMES)
def test_what_waits_outside_has_no_tool_and_what_has_no_effect_imports_nothing_that_has_one(name: str) -> None:
    kind = kind_of(name)
    tool = TOOLS / f"{name}.py"
    is_there = tool.exists() or (TOOLS / name).is_dir()
    assert kind.parks == (kind.available and not is_there)
    assert kind.pure or not kind.reaching
    if kind.pure and not kind.reaching:
        code = ast.parse(tool.read_text(encoding="utf-8"))
        modules = {node.module or "" for node in ast.walk(code) if isinstance(node, ast.ImportFrom)}
        allowed = {"noetl.ports", "noetl.clients.stored_results"}  # the latter imports no more than these do
        assert all(module.split(".")[0] == "noetl_ir" or module in allowed for module in modules)
        assert not any(isinstance(node, ast.Import | ast.Await) for node in ast.walk(code))
    elif is_there:
        assert waits(name), f"the tool {name} awaits nothing: is the kind not pure?"


def test_a_field_by_which_a_pure_kind_reaches_outside_gives_it_an_effect_also_as_an_arg() -> None:
    artifact, noop, shell = kind_of("artifact"), kind_of("noop"), kind_of("shell")
    assert [artifact.has_effect({"uri": "a"}, {}), artifact.has_effect({}, {"uri": "a"})] == [True, True]
    assert not artifact.has_effect({"result_ref": {}, "uri": None}, {"x": 1})
    assert (noop.has_effect({}, {"uri": "a"}), shell.has_effect({}, {})) == (False, True)


def waits(name: str) -> bool:
    """Whether any module of a tool awaits: what has an effect takes time."""
    files = [TOOLS / f"{name}.py"] if (TOOLS / f"{name}.py").exists() else (TOOLS / name).glob("*.py")
    return any(isinstance(node, ast.Await) for file in files for node in ast.walk(ast.parse(file.read_text("utf-8"))))


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"path": "p"}, "one of the fields url or endpoint must be given"),
        ({"path": "p", "url": "u", "endpoint": "e"}, "only one of the fields url or endpoint must be given"),
        ({"url": "u"}, "field 'path' is missing"),
        ({"path": None, "url": "u"}, "field 'path' is missing"),
        ({"path": ["p"], "url": "u"}, "field 'path' must be text, not a list"),
        ({"path": "p", "url": "u", "mode": "c"}, "field 'mode' must be a or b, not 'c'"),
        ({"path": "p", "url": "u", "env": {"A": 1}}, "field 'env' must be map of text, not a map"),
        ({"path": "p", "url": "u", "wait": "soon"}, "field 'wait' must be duration or map, not text"),
        ({"path": "p", "url": "u", "flag": 1}, "field 'flag' must be boolean, not a number"),
        ({"path": "p", "url": "u", "count": True}, "field 'count' must be integer, not a boolean"),
        ({"path": "p", "url": "u", "pth": 1}, "there is no field 'pth'"),
    ],
)
def test_a_misfit_is_told(fields: dict[str, Json], problem: str) -> None:
    assert misfits(SAMPLE, fields) == (problem,)


def test_what_fits_is_not_told() -> None:
    fits: dict[str, Json] = {"path": 80, "url": "u", "mode": "a", "env": {}, "wait": "1.5s", "count": 2**70}
    assert misfits(SAMPLE, fits) == ()


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (3, 3.0),
        (0.5, 0.5),
        ("1.5s", 1.5),
        ("250ms", 0.25),
        ("5m", 300.0),
        ("2h", 7200.0),
        (" 7 ", 7.0),
        (True, None),
        (-1, None),
        ("1 week", None),
        ("", None),
        (None, None),
        ([], None),
        (float("nan"), None),
    ],
)
def test_durations(value: Json, seconds: float | None) -> None:
    assert seconds_of(value) == seconds


def test_the_limit_of_an_attempt() -> None:
    assert limit_of({"connect": 5, "read": "15s"}) == 20.0
    assert limit_of("2m") == 120.0
    assert limit_of(None) is None


def test_a_failure_can_say_more() -> None:
    outcome = error("python.exception", "x").with_detail(line=3)
    assert outcome.error == {"code": "python.exception", "message": "x", "retryable": False, "line": 3}
