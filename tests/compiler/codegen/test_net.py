"""noetlc.codegen: small nets and tables, their expected values worked out by hand from NET.md."""

import pytest

from nets import compiled, plan_of, steps
from noetl_ir.net import Trigger
from noetl_ir.plan import Plan
from noetlc.diag.diagnostic import Severity


def moves(plan: Plan, step: str) -> dict[str, tuple[str, ...]]:
    """Transition of a step → the ids before it, an arrow, the ids after it; and its trigger when it has
    one.
    """
    index = [each.name for each in plan.steps].index(step)
    ids = [place.id for place in plan.net.places]
    found = {}
    for t in plan.net.transitions:
        if t.step == index:
            sides = (*[ids[arc.place] for arc in t.inputs], "→", *[ids[arc.place] for arc in t.outputs])
            found[t.id] = sides if t.trigger is Trigger.NOW else (*sides, t.trigger.value)
    return found


def test_the_net_of_one_step() -> None:
    assert moves(plan_of(steps("step: start, tool: [{name: t, kind: noop}]")), "start") == {
        "enter start @entry": ("in start @entry", "→", "gate start"),
        "admit start": ("gate start", "→", "ready start"),
        "begin start": ("ready start", "→", "at start t"),
        "out start": ("out start", "→", "done start"),
        "bad start": ("bad start", "→", "failed start"),
        "start start t": ("at start t", "→", "run start t", "report"),
        "lost start t": ("run start t", "→", "at start t", "time"),
        "ok start t continue": ("run start t", "→", "out start", "report"),
        "error start t fail": ("run start t", "→", "bad start", "report"),
        "fault start t": ("run start t", "→", "bad start", "report"),
        "none start ok": ("done start", "→"),
        "none start ko": ("failed start", "→"),
    }


def test_a_wait_is_woken_by_a_signal_and_a_child_by_a_report() -> None:
    plan = plan_of(steps("step: start, tool: [{name: w, kind: wait}, {name: p, kind: playbook, path: '{{ ctx.p }}'}]"))
    found = moves(plan, "start")
    assert found["ok start w continue"] == ("parked start w", "→", "at start p", "signal")
    assert found["ok start p continue"] == ("parked start p", "→", "out start", "report")
    assert found["park start w"] == ("run start w", "→", "parked start w", "report")
    assert found["fault run start w"] == ("run start w", "→", "bad start", "report")
    assert found["fault start w"] == ("parked start w", "→", "bad start", "signal") or found["fault start w"] == (
        "parked start w",
        "→",
        "bad start",
        "report",
    )


def test_sources_are_distinct_and_in_file_order_with_the_entry_first() -> None:
    plan = plan_of(
        steps(
            "step: b, next: {arcs: [{step: start, when: '{{ ctx.x }}'}, {step: start}]}",
            "step: start, next: {arcs: [{step: a}]}",
            "step: a, next: {arcs: [{step: b}]}",
        )
    )
    assert {step.name: step.join.sources for step in plan.steps} == {
        "b": ("a",),
        "start": ("@entry", "b"),
        "a": ("start",),
    }


def test_the_entry_may_be_any_step() -> None:
    plan = plan_of("executor: {spec: {entry_step: b}}\n" + steps("step: a", "step: b, next: {arcs: [{step: a}]}"))
    assert plan.steps[plan.entry].name == "b"
    (token,) = plan.net.initial
    assert plan.net.places[token[0]].id == "in b @entry"


def test_a_step_that_nothing_leads_to_has_no_join() -> None:
    plan = plan_of(steps("step: start", "step: lonely, spec: {policy: {join: all}}"))
    assert [id for id in moves(plan, "lonely") if id.split(" ")[0] in ("meet", "enter", "arrive")] == []


def test_an_undeclared_end_takes_the_token_and_a_declared_one_is_a_step() -> None:
    ended = plan_of(steps("step: start, next: {arcs: [{step: end, args: {a: 1}}]}"))
    assert ended.arcs[0].target == -1
    assert moves(ended, "start")["take start ok 0"] == ("done start", "→")
    declared = plan_of(steps("step: start, next: {arcs: [{step: end}]}", "step: end"))
    assert moves(declared, "start")["take start ok 0"] == ("done start", "→", "in end start")


def test_an_expression_on_an_arc_that_is_never_asked_makes_no_fault() -> None:
    plan = plan_of(steps("step: start, next: {arcs: [{step: end}, {step: end, when: '{{ ctx.x }}'}]}"))
    assert "err start ok" not in moves(plan, "start")


def test_equal_templates_stand_in_the_pool_once() -> None:
    plan = plan_of(
        steps(
            "step: start, next: {arcs: [{step: end, when: '{{ ctx.x == 1 }}'}, {step: b, when: '{{ ctx.x == 1 }}'}]}",
            "step: b, next: {arcs: [{step: end, args: {a: '{{ ctx.y }}'}}, {step: end, args: {a: '{{ ctx.y }}'}}]}",
        )
    )
    guards = {t.guard for t in plan.net.transitions if t.guard >= 0}
    assert len(guards) == 1
    assert len({arc.args for arc in plan.arcs if arc.args >= 0}) == 1


def test_a_literal_true_is_not_a_literal_one() -> None:
    plan = plan_of(steps("step: start, next: {arcs: [{step: end, args: {a: 1}}, {step: end, args: {a: true}}]}"))
    assert plan.arcs[0].args != plan.arcs[1].args


def test_policy_rows_refer_to_the_tables() -> None:
    jumping = "{when: '{{ ctx.x }}', then: {do: jump, to: a, delay: 2, set_ctx: {k: 1}}}"
    rules = f"[{jumping}, {{else: {{then: {{do: fail, code: C}}}}}}]"
    second = f"{{name: b, kind: noop, spec: {{policy: {{rules: {rules}}}}}}}"
    plan = plan_of(steps(f"step: start, tool: [{{name: a, kind: noop}}, {second}]"))
    first, last = plan.tasks
    assert (first.following, last.following) == (1, -1)
    jump, fail = last.rules
    assert (jump.directive, jump.to, fail.directive, fail.to, fail.when) == ("jump", 0, "fail", -1, -1)
    assert repr(plan.templates[jump.delay]) == "Literal(value=2)"
    assert [key for key, _ in jump.set_ctx] == ["k"]
    assert (first.passes_errors, last.passes_errors) == (False, False)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            steps(
                "step: start, next: {arcs: [{step: a, when: '{{ ctx.x }}'}, {step: b}]}",
                "step: a, next: {arcs: [{step: j}]}",
                "step: b, next: {arcs: [{step: j}]}",
                "step: j, spec: {policy: {join: taken}}",
            ),
            "no inclusive router",
        ),
        (
            steps(
                "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}, {step: c}]}",
                "step: a, next: {arcs: [{step: j}]}",
                "step: b, next: {arcs: [{step: j}]}",
                "step: c",
                "step: j, spec: {policy: {join: taken}}",
            ),
            "it ends in none",
        ),
        (
            steps(
                "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}",
                "step: a, next: {arcs: [{step: c}]}",
                "step: b, next: {arcs: [{step: c}]}",
                "step: c, next: {arcs: [{step: j, when: '{{ ctx.x }}'}, {step: d}]}",
                "step: d, next: {arcs: [{step: j}]}",
                "step: j, spec: {policy: {join: taken}}",
            ),
            "no inclusive router dominates it",
        ),
        (
            steps(
                "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}",
                "step: a, next: {spec: {mode: inclusive}, arcs: [{step: j}, {step: b}]}",
                "step: b, next: {arcs: [{step: j}]}",
                "step: j, spec: {policy: {join: taken}}",
            ),
            "it ends in 'a' and 'b'",
        ),
        (
            steps(
                "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}",
                "step: a, next: {arcs: [{step: j, when: '{{ ctx.x }}'}, {step: start}]}",
                "step: b, next: {arcs: [{step: j}]}",
                "step: j, spec: {policy: {join: taken}}",
            ),
            "a cycle leads from the branch",
        ),
        (
            steps(
                "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}",
                "step: a, next: {arcs: [{step: j}]}",
                "step: b, next: {arcs: [{step: j}]}",
                "step: j, spec: {policy: {join: taken}}, next: {arcs: [{step: a, when: '{{ ctx.x }}'}]}",
            ),
            "leads into the branch",
        ),
        (steps("step: start, spec: {policy: {join: taken}}"), "the entry token"),
        (steps("step: start", "step: j, spec: {policy: {join: taken}}"), "nothing leads to it"),
    ],
)
def test_a_taken_join_without_its_fork_is_refused_and_all_is_suggested(body: str, reason: str) -> None:
    (finding,) = [each for each in compiled(body).diagnostics if each.severity is Severity.ERROR]
    assert finding.code == "NL650"
    assert reason in finding.message
    assert "join: all" in finding.help


def test_a_branch_of_a_taken_join_may_be_long_and_may_be_no_step_at_all() -> None:
    plan = plan_of(
        steps(
            "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a, when: '{{ ctx.x }}'}, "
            "{step: j, when: '{{ ctx.y }}'}]}",
            "step: a, next: {arcs: [{step: b, when: '{{ ctx.z }}'}, {step: c}]}",
            "step: b, next: {arcs: [{step: c}]}",
            "step: c, next: {arcs: [{step: j}]}",
            "step: j, spec: {policy: {join: taken}}",
        )
    )
    assert moves(plan, "start")["pass start ok 0"] == ("done start", "→", "n start ok 1", "dead j c")
    assert moves(plan, "start")["pass start ok 1"] == ("n start ok 1", "→", "n start ok 2", "dead j start")


def test_too_many_admission_rules_are_refused() -> None:
    rules = ", ".join("{when: '{{ ctx.x }}', then: {allow: true}}" for _ in range(65))
    found = compiled(steps(f"step: start, spec: {{policy: {{admit: {{rules: [{rules}]}}}}}}"))
    assert [each.code for each in found.diagnostics if each.severity is Severity.ERROR] == ["NL651"]


def test_a_chain_of_five_thousand_steps_compiles() -> None:  # scenario 110
    lines = [f"step: s{number}, next: {{arcs: [{{step: s{number + 1}}}]}}" for number in range(5000)]
    plan = plan_of("executor: {spec: {entry_step: s0}}\n" + steps(*lines, "step: s5000"))
    assert len(plan.steps) == 5001


def test_an_expression_of_many_terms_and_a_deep_value_compile() -> None:
    terms = " ~ ".join(["ctx.a"] * 2000)
    deep = "[" * 60 + "'{{ ctx.a }}'" + "]" * 60
    plan_of(steps(f"step: start, next: {{arcs: [{{step: end, args: {{a: '{{{{ {terms} }}}}', b: {deep}}}}}]}}"))


def test_a_target_beside_another_directive_than_jump_leads_nowhere() -> None:
    policy = "policy: {rules: [{when: '{{ iter.a }}', then: {do: fail, to: t}}, {else: {then: {do: fail}}}]}"
    plan = plan_of(steps(f"step: start, tool: [{{name: t, kind: noop, spec: {{{policy}}}}}]"))
    assert [rule.to for rule in plan.tasks[0].rules] == [-1, -1]
    assert moves(plan, "start")["error start t fail"] == ("run start t", "→", "bad start", "report")
