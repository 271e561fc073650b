"""`noetlc graph` on plans and PNML as on playbooks, and the runs of findings."""

import json

import pytest

from command_line import Run, put
from nets import HEAD, steps

BOOK = HEAD + steps(
    "step: start, next: {spec: {mode: inclusive}, arcs: [{step: work}, {step: other, when: '{{ workload.x }}'}]}",
    "step: work, loop: {in: '{{ [1, 2] }}', iterator: n}, next: {arcs: [{step: j}]}, "
    "tool: [{name: t, kind: noop, spec: {policy: {rules: [{when: '{{ _attempt < 2 }}', then: {do: jump, to: t}}, "
    "{else: {then: {do: continue, set_ctx: {k: 1}}}}]}}}, {name: u, kind: noop}]",
    "step: other, next: {arcs: [{step: mend, when: \"{{ event.name == 'step.failed' }}\"}, {step: j}]}",
    "step: mend, next: {arcs: [{step: end}]}",
    "step: j, spec: {policy: {join: taken}}",
)
STARVES = HEAD + steps(
    "step: start, next: {arcs: [{step: a, when: '{{ workload.x }}'}, {step: b}]}",
    "step: a, next: {arcs: [{step: j}]}",
    "step: b, next: {arcs: [{step: j}]}",
    "step: j, spec: {policy: {join: all}}",
).replace("workflow:", "workload: {x: 1}\nworkflow:")
NET = '<pnml><net id="n" type="ptnet"><place id="p"><initialMarking><text>2</text></initialMarking></place>' + (
    '<place id="q"/><transition id="t"/><arc id="a" source="p" target="t"/><arc id="b" source="t" target="q">'
    "<inscription><text>3</text></inscription></arc></net></pnml>"
)


def picture(run: Run, *argv: str) -> dict[str, list[dict[str, object]]]:
    done = run("graph", *argv, "--format", "json")
    assert (done.status, done.err) == (0, "")
    found = json.loads(done.out)
    assert isinstance(found, dict)
    return found


def shape(found: dict[str, list[dict[str, object]]]) -> list[object]:
    nodes = [
        [each["id"], each["shape"], each["lines"], each["inner"] and shape(each["inner"])]  # type: ignore[arg-type]
        for each in found["nodes"]
    ]
    return [
        nodes,
        [[each["id"], each["source"], each["target"], each["kind"], each["text"]] for each in found["edges"]],
    ]


@pytest.mark.parametrize("level", ["steps", "tasks", "net", "states"])
@pytest.mark.parametrize("form", ["plan", "json"])
def test_a_plan_looks_like_its_playbook(run: Run, level: str, form: str) -> None:
    put("a.yaml", BOOK)
    assert run("compile", "a.yaml", "--format", form, "-o", "a.ir").status == 0
    assert shape(picture(run, "a.ir", "--level", level)) == shape(picture(run, "a.yaml", "--level", level))


@pytest.mark.parametrize("form", ["mermaid", "dot", "svg", "html", "pnml"])
def test_a_plan_has_every_form(run: Run, form: str) -> None:
    put("a.yaml", BOOK)
    run("compile", "a.yaml", "-o", "a.ir")
    done = run("graph", "a.ir", "--format", form, "--analysis", "--finding", "stuck")
    assert (done.status, done.err) == (0, "") and "start" in done.out
    if form == "html":
        assert '"source":[]' in done.out  # nothing to show on click


def test_findings_are_about_playbooks(run: Run) -> None:
    put("a.yaml", BOOK)
    run("compile", "a.yaml", "-o", "a.ir")
    assert run("graph", "a.ir", "--finding", "NL701").status == 2
    assert run("graph", "a.ir", "--finding", "reachable(j)").status == 0


@pytest.mark.parametrize("form", ["mermaid", "dot", "svg", "html", "pnml", "json"])
@pytest.mark.parametrize("level", ["net", "states"])
def test_a_net_in_pnml_is_drawn(run: Run, form: str, level: str) -> None:
    put("n.pnml", NET)
    if form == "pnml" and level == "states":
        return
    done = run("graph", "n.pnml", "--format", form, "--level", level, "--analysis")
    assert (done.status, done.err) == (0, "")


def test_a_net_has_its_tokens_weights_and_states(run: Run) -> None:
    put("n.pnml", NET)
    found = picture(run, "n.pnml")
    assert [each["facts"] for each in found["nodes"]] == [["●●"], [], []]
    assert [each["text"] for each in found["edges"]] == ["", "3"]
    states = picture(run, "n.pnml", "--level", "states")
    assert [each["lines"] for each in states["nodes"]] == [["2 × p"], ["p", "3 × q"], ["6 × q"]]
    dead = picture(run, "n.pnml", "--finding", "stuck")
    assert [each["mark"] for each in dead["nodes"]] == ["", "", "told"]
    assert dead["captions"][0] == "no marking is dead: refuted"


@pytest.mark.parametrize("argv", [("--level", "steps"), ("--finding", "NL701"), ("--finding", "reachable(p)")])
def test_what_a_net_does_not_have_is_refused(run: Run, argv: tuple[str, str]) -> None:
    put("n.pnml", NET)
    assert run("graph", "n.pnml", *argv).status == 2


def test_the_run_of_a_finding_is_painted(run: Run) -> None:
    put("a.yaml", STARVES)
    found = picture(run, "a.yaml", "--finding", "starving-join")
    code = next(line for line in run("lint", "a.yaml", "--format", "text").out.splitlines() if "NL70" in line)
    found = picture(run, "a.yaml", "--finding", code[code.index("NL70") :][:5])
    marks = {str(each["id"]): each["mark"] for each in (*found["nodes"], *found["edges"]) if each["mark"]}
    assert marks["step j"] == "warned" and marks["step start"] == "told"
    assert [each["facts"] for each in found["edges"] if each["facts"]] == [["(1)"], ["(2)"]]


@pytest.mark.parametrize("form", ["plan", "json"])
def test_a_plan_is_analysed_and_compared_in_both_forms(run: Run, form: str) -> None:
    put("a.yaml", BOOK)
    run("compile", "a.yaml", "--format", form, "-o", "a.ir")
    told = run("analyze", "a.ir").out.splitlines()[1:]
    assert told == run("analyze", "a.yaml").out.replace("a.yaml", "a.ir").splitlines()[1:]
    assert run("diff", "a.yaml", "a.ir") == (0, "", "")
    put("b.ir", '{"format": "noetl-plan", "x": 1}')
    assert {run("analyze", "b.ir").status, run("graph", "b.ir").status, run("diff", "b.ir", "a.ir").status} == {2}


def test_a_picture_says_what_its_playbook_declares(run: Run) -> None:
    declared = (
        "executor: {spec: {inputs: {day: {required: true}, n: {}}, concurrency: {key: k}, result: '{{ start }}'}}\n"
    )
    put(
        "p.yaml", HEAD + declared + steps("step: start, tool: {kind: noop, result: '{{ [workload.day, workload.n] }}'}")
    )
    assert run("compile", "p.yaml", "-o", "p.plan").status == 0
    wanted = ["inputs: day (must be given), n", "at most 1 at once under k, else queue", "result: {{ start }}"]
    for name in ("p.yaml", "p.plan"):
        assert picture(run, name)["captions"] == wanted
