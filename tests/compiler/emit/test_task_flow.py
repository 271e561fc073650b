"""The ways between the tasks of a step, drawn without what lowering put between them."""

from hypothesis import given
from hypothesis import strategies as st

from nets import compiled, plan_of
from noetlc.emit.pictures.picture import ArrowKind, Box, Edge, Picture, Shape
from noetlc.emit.pictures.plan_steps import tasks_of_plan
from noetlc.emit.pictures.steps import tasks_of
from noetlc.emit.pictures.task_flow import Drawn, TaskWay, fires_in, fires_of, flow_of


def _step(*tasks: str) -> str:
    return "workflow:\n  - step: start\n    tool:\n" + "".join(f"      - {task}\n" for task in tasks)


def _noop(name: str, rules: str = "") -> str:
    return f"{{name: {name}, kind: noop{f', spec: {{policy: {{rules: [{rules}]}}}}' if rules else ''}}}"


def _arrows(picture: Picture) -> set[tuple[str, str, str]]:
    return {(picture.nodes[edge.source].title, edge.text, picture.nodes[edge.target].title) for edge in picture.edges}


def _drawn(body: str) -> Picture:
    """The tasks of the only step; a plan draws the same as its playbook where no guard is written otherwise."""
    playbook = compiled(body).documents[0].playbook
    assert playbook is not None
    inner, of_plan = tasks_of(playbook).nodes[0].inner, tasks_of_plan(plan_of(body)).nodes[0].inner
    assert inner is not None and of_plan is not None
    assert _arrows(inner) == _arrows(of_plan)
    return inner


CHOOSE = "{name: pick, choose: [{when: '{{ ctx.n < 10 }}', then: [%s]}, {else: {then: [%s]}}]}"


def test_branches_of_choose_meet_behind_it() -> None:
    found = _drawn(_step(_noop("begin"), CHOOSE % (_noop("cheap"), _noop("dear")), _noop("after")))
    assert _arrows(found) == {
        ("begin", "ctx.n < 10", "cheap"),
        ("begin", "unless ctx.n < 10", "dear"),
        ("cheap", "", "after"),
        ("dear", "", "after"),
    }
    assert {edge.kind for edge in found.edges} == {ArrowKind.OK}


def test_a_step_that_begins_with_choose_shows_the_decision() -> None:
    found = _drawn(_step(CHOOSE % (_noop("cheap"), _noop("dear"))))
    assert _arrows(found) == {("pick", "ctx.n < 10", "cheap"), ("pick", "unless ctx.n < 10", "dear")}
    assert found.nodes[0].lines == ("decides",)


def test_until_leads_back() -> None:
    body = _step(
        "{name: ready, until: {when: \"{{ iter.s == 'DONE' }}\", delay: 2s, max_iterations: 6, then: ["
        f"{_noop('ask')}]}}}}",
        _noop("after"),
    )
    assert _arrows(_drawn(body)) == {("ask", "unless iter.s == 'DONE'", "ask"), ("ask", "iter.s == 'DONE'", "after")}


def test_while_asks_before_each_pass() -> None:
    body = _step(
        _noop("begin"),
        f'{{name: poll, while: {{when: "{{{{ iter.n < 3 }}}}", max_iterations: 6, then: [{_noop("ask")}]}}}}',
        _noop("after"),
    )
    assert _arrows(_drawn(body)) == {
        ("begin", "", "poll"),
        ("poll", "iter.n < 3", "ask"),
        ("ask", "", "poll"),
        ("poll", "unless iter.n < 3", "after"),
    }


def test_a_jump_that_the_author_wrote_is_one() -> None:
    body = _step(
        _noop("first"),
        _noop("last", '{when: "{{ ctx.n < 3 }}", then: {do: jump, to: first}}, {else: {then: {do: break}}}'),
    )
    found = _drawn(body)
    assert [(edge.kind, edge.text) for edge in found.edges] == [(ArrowKind.OK, ""), (ArrowKind.JUMP, "ctx.n < 3")]


def test_arrows_name_what_fires() -> None:
    """By the names that transitions have in the net: what a log says was fired must be found again."""
    body = _step(_noop("begin"), CHOOSE % (_noop("cheap"), _noop("dear")), _noop("after"))
    fired = {fires_of(each.id) for each in plan_of(body).net.transitions if each.outcome}
    named = [fires for edge in _drawn(body).edges for fires in fires_in(edge.id)]
    assert named and set(named) <= fired
    assert fires_in("arc start 0") == []


@st.composite
def _flows(draw: st.DrawFn) -> list[Drawn]:
    count = draw(st.integers(1, 8))
    rows = []
    for number in range(count):
        targets = draw(st.lists(st.integers(-1, count - 1), max_size=3, unique=True))
        ways = tuple(TaskWay(to, f"s t{number} jump {to}", f"g{number}_{to}") for to in targets)
        rows.append(Drawn(Box(f"task s t{number}", Shape.TASK, f"t{number}"), draw(st.booleans()), ways))
    return rows


@given(_flows())
def test_who_can_follow_whom_is_as_in_the_pipeline(tasks: list[Drawn]) -> None:
    """A box leads to another one just where a path does that passes nothing but what is not drawn."""
    picture = flow_of("s", tasks)
    shown = {int(node.title[1:]) for node in picture.nodes}
    assert {number for number, task in enumerate(tasks) if not task.is_generated} <= shown

    def reached(number: int) -> set[int]:
        found: set[int] = set()
        seen: set[int] = set()
        todo = [number]
        while todo:
            for way in tasks[todo.pop()].ways:
                if way.to in shown:
                    found.add(way.to)
                elif way.to >= 0 and way.to not in seen:
                    seen.add(way.to)
                    todo.append(way.to)
        return found

    def ends(edge: Edge) -> tuple[int, int]:
        return int(picture.nodes[edge.source].title[1:]), int(picture.nodes[edge.target].title[1:])

    assert sorted(map(ends, picture.edges)) == sorted((one, other) for one in shown for other in reached(one))


def test_a_guard_of_a_loop_is_shown_as_it_is_written() -> None:
    loop = "{name: rnd, while: {when: '{{ _iteration < 2 }}', max_iterations: 5, then: [%s]}}"
    found = _drawn(_step(_noop("begin"), loop % _noop("ask"), _noop("after")))
    texts = {text for _, text, _ in _arrows(found)}
    assert any("_iteration < 2" in text for text in texts)
    assert not any("__rnd" in text for text in texts)
    until = "{name: rnd, until: {when: '{{ _iteration > 2 }}', max_iterations: 5, then: [%s]}}"
    texts = {text for _, text, _ in _arrows(_drawn(_step(_noop("begin"), until % _noop("ask"), _noop("after"))))}
    assert any("_iteration > 2" in text for text in texts) and not any("__rnd" in text for text in texts)
