"""noetlc.pipeline: the tables, the checks between passes, children, and what happens to a file as a whole."""

import gc
from typing import Any

import pytest

import noetlc.older.passes
import noetlc.pipeline
from nets import HEAD, compiled, steps
from noetl_ir.plan import Plan
from noetl_ir.plan_format import read_plan
from noetl_ir.span import NOWHERE, Span
from noetlc.ast.playbook import Playbook
from noetlc.ast.sugar import Sugar
from noetlc.codegen import net
from noetlc.codegen.net import build_plan
from noetlc.diag.change import RecordChange
from noetlc.diag.diagnostic import Severity
from noetlc.older import LOWERING, BrokenPass, Lowering
from noetlc.pipeline import (
    base_name,
    check_source,
    compile_source,
    order_problems,
)


class Shelf:
    """A catalogue in memory: path → text."""

    def __init__(self, **playbooks: str) -> None:
        self.playbooks = playbooks

    def find(self, path: str) -> tuple[str, bytes] | None:
        found = self.playbooks.get(path)
        return None if found is None else (f"{path}.yaml", found.encode())


def calling(path: str, *called: str) -> str:
    tasks = ", ".join(f"{{name: t{number}, kind: playbook, path: {name}}}" for number, name in enumerate(called))
    head = HEAD.replace("t/t", path)
    return head + steps(f"step: start, tool: [{tasks}]" if called else "step: start")


def codes(found: noetlc.pipeline.Compiled) -> list[str]:
    return [each.code for each in found.diagnostics]


def test_the_tables_are_in_the_order_that_their_rows_ask_for() -> None:
    assert list(order_problems(LOWERING)) == []


def one(playbook: Playbook, record: RecordChange) -> Playbook:
    return playbook


def two(playbook: Playbook, record: RecordChange) -> Playbook:
    return playbook


def test_a_pass_before_the_one_it_needs_is_a_problem() -> None:
    assert list(order_problems((Lowering(one, after=("two",)), Lowering(two)))) == ["one must come after two"]
    assert list(order_problems((Lowering(two), Lowering(one, after=("two",))))) == []


class Sweet(Sugar):
    """A sugar node of these tests."""

    span: Span


def test_sugar_that_a_pass_removes_never_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def sour(playbook: Playbook, record: RecordChange) -> Playbook:
        return playbook._replace(extras=())

    def sweeten(playbook: Playbook, record: RecordChange) -> Playbook:
        return playbook._replace(extras=(Sweet(NOWHERE),))

    always = Lowering(sweeten, where=lambda playbook: True)
    rows = (always, Lowering(sour, removes=("Sweet",)), always)
    monkeypatch.setattr(noetlc.older.passes, "LOWERING", rows)
    with pytest.raises(BrokenPass, match="after sweeten there is a Sweet again"):
        compiled(steps("step: start"))


def test_a_plan_that_is_not_sound_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def beheaded(*args: Any) -> Plan:
        plan = build_plan(*args)
        return plan._replace(net=plan.net._replace(initial=()))

    monkeypatch.setattr(net, "build_plan", beheaded)
    with pytest.raises(BrokenPass, match="not sound: "):
        compiled(steps("step: start"))


class Log:
    """An observer that writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def stage_begun(self, stage: str) -> None:
        self.told.append(f"begun {stage}")

    def stage_ended(self, stage: str, result: Playbook | Plan | None) -> None:
        self.told.append(f"ended {stage} {type(result).__name__}")


def test_the_observer_is_told_of_every_stage() -> None:
    log = Log()
    compile_source("t.yaml", (HEAD + steps("step: start")).encode(), observer=log)
    stages = ["read", *(row.name for row in LOWERING), "build"]
    told = [f"ended {stage} {'Plan' if stage == 'build' else 'Playbook'}" for stage in stages]
    assert [line for line in log.told if line.startswith("ended")] == told
    assert [line for line in log.told if line.startswith("begun")] == [f"begun {stage}" for stage in stages]


def test_the_collector_is_given_back() -> None:
    for was_on in (True, False):
        (gc.enable if was_on else gc.disable)()
        compile_source("t.yaml", b"\xff")
        assert gc.isenabled() is was_on
    gc.enable()


def test_every_document_of_a_file_compiles_and_an_error_in_one_stops_none_of_the_others() -> None:
    good, bad = HEAD + steps("step: start"), HEAD + steps("step: start, tool: {kind: gone}")
    both = compile_source("t.yaml", f"{good}---\n{good}".encode())
    assert len(both.plans) == 2
    mixed = compile_source("t.yaml", f"{bad}---\n{good}".encode())
    assert mixed.plans == ()
    assert [document.plan is None for document in mixed.documents] == [True, False]


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xff\xfe", b"a: [", b"[]", b"- 1\n", b"{}", b"&a [*a]", b"a: *b"])
def test_no_bytes_raise(data: bytes) -> None:
    found = compile_source("t.yaml", data)
    assert found.plans == ()
    assert found.count_of(Severity.ERROR)
    assert codes(check_source("t.yaml", data)) == codes(found)


@pytest.mark.parametrize(("name", "base"), [("a/b/c.yaml", "c.yaml"), ("a\\c.yaml", "c.yaml"), ("c", "c")])
def test_a_plan_names_its_file_without_its_folders(name: str, base: str) -> None:
    assert base_name(name) == base


def test_a_child_is_embedded_with_its_own_children() -> None:
    shelf = Shelf(b=calling("b", "c", "c"), c=calling("c"))
    (plan,) = compile_source("a.yaml", calling("a", "b").encode(), shelf).plans
    (child,) = plan.children
    inner = read_plan(child.data)
    assert (child.path, inner.path, [each.path for each in inner.children]) == ("b", "b", ["c"])


def test_a_child_is_the_same_for_every_caller() -> None:
    shelf = Shelf(b=calling("b", "c"), c=calling("c"))
    (first,) = compile_source("a.yaml", calling("a", "b", "c").encode(), shelf).plans
    (second,) = compile_source("z.yaml", calling("z", "c").encode(), shelf).plans
    assert first.children[1].digest == second.children[0].digest
    assert read_plan(first.children[0].data).children[0].digest == second.children[0].digest


@pytest.mark.parametrize(
    ("called", "code"),
    [("missing", "NL690"), ("broken", "NL691"), ("a", "NL692"), ("back", "NL692"), ("'{{ workload.x }}'", "NL693")],
)
def test_a_child_that_cannot_be_embedded_stays_a_path_with_a_warning(called: str, code: str) -> None:
    shelf = Shelf(a=calling("a", called), broken=HEAD, back=calling("back", "a"))
    found = compile_source("a.yaml", calling("a", called).encode(), shelf)
    assert codes(found) == [code]
    assert found.diagnostics[0].severity is Severity.WARNING
    assert found.plans[0].children == ()


def test_a_long_chain_of_calls_compiles() -> None:
    shelf = Shelf(**{f"p{number}": calling(f"p{number}", f"p{number + 1}") for number in range(150)})
    found = compile_source("a.yaml", calling("a", "p0").encode(), shelf)
    assert len(found.plans[0].children) == 1
