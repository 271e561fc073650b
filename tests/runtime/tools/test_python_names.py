"""python: which names code finds bound, who wins where two have one name, and that only what is read is sent."""

import textwrap
from pathlib import Path

import pytest

from noetl.tools import python
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome
from tool_doubles import FakeEnv, call_of, failed, waited


@pytest.fixture
def env(tmp_path: Path) -> FakeEnv:
    return FakeEnv(tmp_path, {"api": {"token": "t-1"}})


def ran(
    env: FakeEnv, code: str, args: dict[str, Json] | None = None, *, scope: dict[str, Json] | None = None
) -> Outcome:
    return waited(python.run(call_of("python", {"code": textwrap.dedent(code)}, args=args, scope=scope), env))


def test_state_is_readable_and_read_only(env: FakeEnv) -> None:
    scope: dict[str, Json] = {"ctx": {"q": 1}, "iter": {"d": 2}, "workload": {"w": 3}, "execution_id": "e1"}
    code = "result = [ctx['q'], iter['d'], workload.get('w'), execution_id, list(iter([5])), context['ctx']['q']]"
    assert ran(env, code, scope=scope).result == [1, 2, 3, "e1", [5], 1]
    for write in ("ctx['q'] = 2", "iter.update(d=1)", "workload.pop('w')", "del ctx['q']", "ctx |= {}"):
        outcome = ran(env, write, scope=scope)
        assert "read-only" in str(failed(outcome)["message"])


def test_an_argument_goes_over_state_of_its_name(env: FakeEnv) -> None:
    assert ran(env, "result = ctx", {"ctx": 1}, scope={"ctx": {"q": 1}}).result == 1


STATE: dict[str, Json] = {"ctx": {"q": 1}, "iter": {"d": 2}, "workload": {"w": 3}, "execution_id": "e1"}
ALL: Json = {"a": 1}
OURS: dict[str, Json] = {
    "input_data": ALL,
    "args": ALL,
    "input": ALL,
    "data": ALL,
    **STATE,
    "context": {**STATE, "a": 1},
}
"""Names of ours with their values where there is no arg but `a`."""
FORMS = {
    "flat": "result = {name}",
    "flat, in a function": "def f():\n    return {name}\nresult = f()",
    "returned": "return {name}",
    "main()": "def main():\n    return {name}",
    "main(a, name)": "def main(a, {name}):\n    return {name}",
    "main(name=default)": "def main({name}='default'):\n    return {name}",
    "main(name, /)": "def main({name}, /):\n    return {name}",
    "async main(name)": "async def main(*, {name}):\n    return {name}",
    "async main()": "async def main():\n    return {name}",
    "main(**kwargs)": "def main(**kwargs):\n    return kwargs.get('{name}', 'absent')",
    "main(input_data)": "def main(input_data):\n"
    "    return input_data if {itself} else input_data.get('{name}', 'absent')",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", OURS)
def test_an_arg_of_any_name_goes_over_ours(env: FakeEnv, name: str, form: str) -> None:
    code = FORMS[form].format(name=name, itself=name == "input_data")
    assert ran(env, code, {"a": 1, name: "mine"}, scope=STATE).result == "mine"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", OURS)
def test_a_name_of_ours_without_such_an_arg(env: FakeEnv, name: str, form: str) -> None:
    code = FORMS[form].format(name=name, itself=name == "input_data")
    expected = OURS[name]
    if form == "main(**kwargs)" or (form == "main(input_data)" and name != "input_data"):
        expected = "absent"  # they hold args alone
    assert ran(env, code, {"a": 1}, scope=STATE).result == expected


@pytest.mark.parametrize("form", ["flat", "flat, in a function", "returned", "main()", "async main()"])
@pytest.mark.parametrize("args", [{"a": 1}, None], ids=["no arg", "arg of that name"])
@pytest.mark.parametrize("name", OURS)
def test_code_may_assign_a_name_of_ours(env: FakeEnv, name: str, args: dict[str, Json] | None, form: str) -> None:
    code = f"{name} = 'set'\n" + FORMS[form].format(name=name)
    assert ran(env, code, args or {name: "mine"}, scope=STATE).result == "set"


def test_all_args_are_the_code_s_own(env: FakeEnv) -> None:
    for name in ("input_data", "args", "input", "data"):
        assert ran(env, f"{name}['b'] = a + 1\nresult = {name}", {"a": 1}).result == {"a": 1, "b": 2}


def test_a_parameter_of_main_is_an_arg_then_of_the_context_then_its_default(env: FakeEnv) -> None:
    scope: dict[str, Json] = {"first": {"v": 42}, "limit": 9, **STATE}
    code = "def main(first, limit=5, most=7, /, *, a, b='b', **rest): return [first, limit, most, a, b, rest]"
    assert ran(env, code, {"a": 1, "c": 2}, scope=scope).result == [{"v": 42}, 9, 7, 1, "b", {"c": 2}]
    assert ran(env, code, {"a": 1, "limit": 3}, scope=scope).result == [{"v": 42}, 3, 7, 1, "b", {}]
    error = failed(ran(env, "def main(who): pass", {"whom": 1}, scope=scope))
    assert (error["type"], "the argument `who`" in str(error["message"])) == ("TypeError", True)


def test_the_context_has_what_can_be_named(env: FakeEnv) -> None:
    scope: dict[str, Json] = {"first": {"v": 42}, "gone": None, **STATE}
    code = """
        key = 'first'
        result = [sorted(context), context[key]['v'], 'first' in context, 'second' in context,
                  context.get('second', 3), context['gone']]
    """
    names: Json = ["ctx", "execution_id", "first", "gone", "iter", "workload"]
    assert ran(env, code, scope=scope).result == [names, 42, True, False, 3, None]
    literal = "result = [context['first']['v'], context.get('a'), context.get('second'), 'gone' in context]"
    assert ran(env, literal, {"a": 1}, scope=scope).result == [42, 1, None, True]
    assert failed(ran(env, "result = context['second']", scope=scope))["type"] == "KeyError"
    assert "read-only" in str(failed(ran(env, "context['x'] = 1", scope=scope))["message"])


class Watched(dict[str, Json]):
    """Names that remember which were read."""

    def __init__(self, names: dict[str, Json]) -> None:
        super().__init__(names)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Json:
        value = super().__getitem__(name)
        self.read.add(name)
        return value

    def get(self, name: str, default: Json = None) -> Json:  # type: ignore[override]
        try:
            return self[name]
        except KeyError:
            return default


@pytest.mark.parametrize(
    ("code", "read"),
    [
        ("result = a", set()),
        ("result = context['first']", {"first"}),
        ("result = context.get('first', {}).get('second')", {"first"}),
        ("result = ctx", {"ctx"}),
        ("def main(second, third=None): return second", {"second"}),
        ("def main(context): return context['first']", {"first"}),
        ("def f(c): return c['first']\nresult = f(context)", {"first", "second", *STATE}),
        ("result = list(context)", {"first", "second", *STATE}),
    ],
)
def test_only_what_is_read_is_sent(env: FakeEnv, code: str, read: set[str]) -> None:
    names = Watched({"first": {}, "second": 2, **STATE})
    assert ran(env, code, {"a": 1}, scope=names).status == "ok"
    assert names.read == read


def test_libs_may_name_a_distribution(env: FakeEnv) -> None:
    def with_libs(libs: Json, code: str) -> Outcome:
        return waited(python.run(call_of("python", {"code": code, "libs": libs}), env))

    # Of these the distribution has another name than its module.
    assert with_libs(["PyYAML", "jinja2"], "result = yaml.safe_load('[1]') + [jinja2.__name__]").result == [1, "jinja2"]
    assert with_libs(["pyyaml>=5,<99"], "result = yaml.__name__").result == "yaml"
    assert with_libs({"y": "PyYAML[all]"}, "result = [y.__name__, 'yaml' in globals()]").result == ["yaml", False]
    assert with_libs([{"import": "PyYAML", "as": "y"}], "result = y.__name__").result == "yaml"
    assert with_libs(["import-linter"], "result = importlinter.__name__").result == "importlinter"
    for name in ("no-such-distribution", "no-such-distribution==1.0"):
        error = failed(with_libs([name], "result = 1"))
        assert (error["code"], error["type"]) == ("python.import", "ModuleNotFoundError")
        assert name in str(error["message"]) and "not installed" in str(error["message"])
    assert failed(with_libs(["no_such_module"], "result = 1"))["code"] == "python.import"
    for wrong in (["a b"], ["os; import sys"], [3], [{"from": "os"}], {"a b": "os"}, [""]):
        assert "names no module" in str(failed(with_libs(wrong, "result = 1"))["message"])


def test_some_modules_are_there_without_an_import(env: FakeEnv) -> None:
    code = "result = [json.dumps([1]), os.sep, datetime.date(2026, 1, 2), len(str(uuid.UUID(int=0)))]"
    assert ran(env, code).result == ["[1]", "/", "2026-01-02", 36]
    assert ran(env, "result = json", {"json": 1}).result == 1
    assert ran(env, "from datetime import datetime\nresult = datetime(2026, 1, 2)").result == "2026-01-02T00:00:00"
    assert failed(ran(env, "result = math.pi"))["type"] == "NameError"
