"""Soundness of playbooks: sound ones by construction and their mutations, small cases by hand, and the examples."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from block_playbooks import BLOCKS, Block, Steps, mutations, playbook_text, steps_of
from nets import plan_of, steps
from noetl_ir.plan import Plan
from noetlc.analysis import packing
from noetlc.analysis.effort import Budget, Effort
from noetlc.analysis.endings import Endings
from noetlc.analysis.extents import extents_of
from noetlc.analysis.proofs import Proofs
from noetlc.analysis.reductions import reduced
from noetlc.analysis.report import report_of
from noetlc.analysis.resets import played
from noetlc.analysis.skeleton import success_skeleton
from noetlc.analysis.soundness import soundness_of
from noetlc.analysis.stubborn import terminals_of
from noetlc.analysis.verdict import Status, Verdict
from noetlc.analysis.whole_markings import depths_of
from noetlc.pipeline import compile_source

ROOT = Path(__file__).parents[3]
TIGHT = Budget(nodes=100)
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\nworkload: {a: 1}\nworkflow:\n"
STUCK, CYCLES, PARTS, BOUNDED = (
    "nothing can get stuck",
    "every cycle has an exit",
    "every part can run",
    "tokens are bounded",
)


def compiled(text: str) -> Plan:
    return compile_source("t.yaml", text.encode()).plans[0]


def refuted(plan: Plan) -> set[str]:
    """The questions that are not proved."""
    return {verdict.question for verdict in soundness_of(plan) if verdict.status is not Status.PROVED}


def only(plan: Plan, question: str) -> Verdict:
    [found] = [verdict for verdict in report_of(plan).verdicts if verdict.question == question]
    return found


@settings(max_examples=60, deadline=None)
@given(BLOCKS)
def test_blocks_inside_each_other_are_sound_and_each_step_runs_once_at_a_time(block: Block) -> None:
    plan = compiled(playbook_text(steps_of(block)))
    assert refuted(plan) == set()
    assert {extent.at_once for extent in extents_of(plan, Effort(Budget(10_000)))} == {1}


@settings(max_examples=60, deadline=None)
@given(BLOCKS, st.data())
def test_a_defect_turns_its_verdict(block: Block, data: st.DataObject) -> None:
    question, mutated = data.draw(st.sampled_from(list(mutations(steps_of(block)))))
    assert question in refuted(compiled(playbook_text(mutated)))


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.name)
def test_every_example_is_sound(path: Path) -> None:
    for plan in compile_source(path.name, path.read_bytes()).plans:
        assert refuted(plan) == set()


def test_a_choice_in_front_of_a_join_starves_it() -> None:
    plan = plan_of(
        steps(
            'step: start, next: {arcs: [{step: a, when: "{{ workload.x }}"}, {step: b}]}',
            "step: a, next: {arcs: [{step: j}]}",
            "step: b, next: {arcs: [{step: j}]}",
            "step: j, spec: {policy: {join: all}}",
        )
    )
    assert refuted(plan) == {STUCK, PARTS}
    stuck = [verdict for verdict in report_of(plan).verdicts if verdict.question == STUCK]
    assert {verdict.detail for verdict in stuck} == {
        "`j` has a token from `a`, and nothing more comes from `b`",
        "`j` has a token from `b`, and nothing more comes from `a`",
    }
    assert [verdict.status for verdict in stuck] == [Status.REFUTED] * 2
    assert all(verdict.script is not None for verdict in stuck)


@pytest.mark.parametrize("guard", ["workload.x", "workload.x and not workload.y"])
def test_the_fork_whose_branches_do_not_meet_again_is_told_with_the_join(guard: str) -> None:
    plan = plan_of(
        steps(
            "step: start, next: {spec: {mode: inclusive}, arcs: [{step: l}, {step: r}]}",
            "step: l, next: {spec: {mode: inclusive}, arcs: [{step: l1}, {step: l2}]}",
            "step: l1, next: {arcs: [{step: inner}]}",
            "step: l2, next: {arcs: [{step: inner}]}",
            f'step: inner, spec: {{policy: {{join: all}}}}, next: {{arcs: [{{step: j, when: "{{{{ {guard} }}}}"}}]}}',
            "step: r, next: {arcs: [{step: j}]}",
            "step: j, spec: {policy: {join: all}}",
        )
    )
    found = only(plan, STUCK)
    assert found.story is not None
    assert [line.text for line in found.story.related] == [found.detail, "`start` forks"]


def test_half_a_wave_of_a_counting_join_is_stuck_and_the_rest_of_a_started_one_is_not() -> None:
    first = (
        'step: start, next: {{spec: {{mode: inclusive}}, arcs: [{{step: a}}, {{step: b, when: "{guard}"}}]}}',
        "step: a, next: {{arcs: [{{step: j}}]}}",
        "step: b, next: {{arcs: [{{step: j}}]}}",
        "step: j, spec: {{policy: {{join: {join}}}}}",
    )
    text = [line.format(guard="{{ workload.x }}", join=2) for line in first]
    assert refuted(plan_of(steps(*text))) == {STUCK}
    text = [line.format(guard="{{ workload.x }}", join="first") for line in first]
    assert refuted(plan_of(steps(*text))) == set()


def test_a_cycle_without_a_way_out_and_one_whose_only_way_out_is_a_failure() -> None:
    plan = plan_of(
        steps(
            "step: start, next: {arcs: [{step: x}]}",
            "step: x, next: {arcs: [{step: y}]}",
            "step: y, next: {arcs: [{step: x}]}",
        )
    )
    assert refuted(plan) == {CYCLES}
    assert only(plan, CYCLES).about == ("x", "y")


def test_a_step_that_always_fails_is_left_out() -> None:
    fails = "tool: {name: t, kind: noop, spec: {policy: {rules: [{else: {then: {do: fail}}}]}}}"
    assert refuted(plan_of(steps(f"step: start, {fails}"))) == set()


def test_a_fork_in_a_cycle_makes_tokens_without_end() -> None:
    plan = plan_of(
        steps(
            "step: start, next: {arcs: [{step: a}]}",
            'step: a, next: {spec: {mode: inclusive}, arcs: [{step: a, when: "{{ workload.go }}"}, {step: b}]}',
            "step: b",
        )
    )
    assert refuted(plan) == {BOUNDED}
    found = only(plan, BOUNDED)
    assert found.status is Status.REFUTED and found.about == ("b",)


def test_a_cycle_through_an_inclusive_router_is_bounded() -> None:
    plan = plan_of(
        steps(
            "step: start, next: {spec: {mode: inclusive}, arcs: [{step: l}, {step: r}]}",
            "step: l, next: {arcs: [{step: j}]}",
            "step: r, next: {arcs: [{step: j}]}",
            'step: j, spec: {policy: {join: all}}, next: {arcs: [{step: start, when: "{{ workload.x }}"}]}',
        )
    )
    assert refuted(plan) == set()


def test_unreachable_steps_tasks_and_arcs_are_told_once() -> None:
    breaks = "{name: one, kind: noop, spec: {policy: {rules: [{else: {then: {do: break}}}]}}}"
    plan = plan_of(
        steps(
            f"step: start, tool: [{breaks}, {{name: two, kind: noop}}]",
            "step: lost, next: {arcs: [{step: more}]}",
            "step: more",
        )
    )
    assert [verdict.detail for verdict in soundness_of(plan) if verdict.question == PARTS] == [
        "`lost` can never run",
        "`more` can never run",
        "task `two` of `start` can never run",
    ]


@settings(max_examples=30, deadline=None)
@given(BLOCKS, st.data())
def test_what_is_left_in_a_state_is_known_without_a_replay(block: Block, data: st.DataObject) -> None:
    steps_ = steps_of(block)
    skeleton = success_skeleton(compiled(playbook_text(data.draw(st.sampled_from([steps_, *_mutated(steps_)])))))
    small = reduced(skeleton.net)
    ends = terminals_of(small.net, 1_000)
    endings = Endings(skeleton, small, ends.graph)
    for state in range(len(ends.graph.markings)):
        marking = played(skeleton.net, [(each,) for each in small.run(ends.graph.path_to(state))])
        assert endings.marking(state) == marking
        assert endings.gives_up(state) == skeleton.gives_up(marking)
        assert endings.is_end(state) == (skeleton.is_final(marking) or skeleton.gives_up(marking))
        assert depths_of(ends.graph)[state] == len(ends.graph.path_to(state))


def _mutated(written: Steps) -> list[Steps]:
    return [each for _, each in mutations(written)]


@pytest.mark.parametrize("guards", [16, 40])
def test_many_guarded_arcs_into_a_join_are_refuted_by_short_runs(guards: int) -> None:
    arcs = ", ".join(f'{{step: b{n}, when: "{{{{ workload.n > {n} }}}}"}}' for n in range(guards))
    rows = [f"step: b{n}, next: {{arcs: [{{step: j}}]}}" for n in range(guards)]
    fork = f"step: start, next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}"
    report = report_of(plan_of(steps(fork, *rows, "step: j, spec: {policy: {join: all}}")))
    stuck = [each for each in report.verdicts if each.question == STUCK]
    assert stuck and all(each.status is Status.REFUTED and each.script is not None for each in stuck)


def test_a_cycle_with_two_tokens_of_one_source_is_told_by_its_shortest_runs() -> None:
    plan = plan_of(
        "workload: {n: 1}\n"
        + steps(
            "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}, {step: a}]}",
            "step: a, next: {arcs: [{step: d}]}",
            "step: b, next: {arcs: [{step: d}]}",
            "step: d, spec: {policy: {join: all}}, "
            'next: {arcs: [{step: start, when: "{{ workload.n < 3 }}"}, {step: end}]}',
        )
    )
    found = [verdict for verdict in report_of(plan).verdicts if verdict.question == STUCK]
    assert found[0].status is Status.REFUTED and found[0].story is not None
    assert [line.text for line in found[0].story.lines].count("`start` starts") == 1
    [bounded] = [verdict for verdict in report_of(plan).verdicts if verdict.question == BOUNDED]
    assert bounded.status is Status.REFUTED and bounded.about == ("d",)


def forks_without_joins(count: int, last: str = "") -> str:
    """Forks in a row, each of two branches that are not joined: 2 ** count tokens come to the last step."""
    text = ""
    for at in range(count):
        end = f"f{at + 1}" if at + 1 < count else "last"
        text += f"- {{step: f{at}, next: {{spec: {{mode: inclusive}}, arcs: [{{step: x{at}}}, {{step: y{at}}}]}}}}\n"
        text += f"- {{step: x{at}, next: [{{step: {end}}}]}}\n- {{step: y{at}, next: [{{step: {end}}}]}}\n"
    return text + f"- {{step: last{last}}}\n"


def test_forks_that_double_the_tokens_a_hundred_times_are_told_as_fast_as_one() -> None:
    plan = compiled(f"{HEAD}{forks_without_joins(100)}")
    assert {verdict.status for verdict in report_of(plan).verdicts} == {Status.PROVED}
    [extent] = [each for each in report_of(plan).extents if each.step == "last"]
    assert extent.runs == 2**100


def test_a_marking_of_more_tokens_than_a_field_holds_is_exact() -> None:
    lonely = "- {step: start, next: [{step: f0}]}\n- {step: never, next: [{step: last}]}\n"
    plan = compiled(f"{HEAD}{lonely}{forks_without_joins(40, ', spec: {policy: {join: all}}')}")
    skeleton = success_skeleton(plan)
    small = reduced(skeleton.net)
    found = terminals_of(small.net, 1_000)
    endings = Endings(skeleton, small, found.graph)
    [dead] = found.dead
    assert small.marking_after(skeleton.net, found.graph.path_to(dead)) == endings.marking(dead)
    # Each run of a branch of the last fork, of which there are as many as runs of the fork, leaves one at the join.
    assert max(endings.marking(dead)) == 2**39 and not endings.is_end(dead)


def test_a_fault_whose_run_nobody_can_write_down_is_unknown_and_beside_another_one_that_one_is_told() -> None:
    starving = ", spec: {policy: {join: all}}"
    long = f"{HEAD}- {{step: start, next: [{{step: f0}}]}}\n- {{step: never, next: [{{step: last}}]}}\n"
    found = only(compiled(long + forks_without_joins(40, starving)), STUCK)
    assert found.status is Status.UNKNOWN and "too many to be told" in found.detail and found.bug is None
    short = long.replace("next: [{step: f0}]", "next: [{step: never, when: '{{ workload.a }}'}, {step: f0}]")
    found = only(compiled(short + forks_without_joins(40, starving)), STUCK)
    assert found.status is Status.REFUTED and "`last` has a token from `never`" in found.detail


@pytest.mark.parametrize("branches", [256])
def test_a_fork_of_many_branches_is_proved(branches: int) -> None:
    arcs = ", ".join(f"{{step: b{n}}}" for n in range(branches))
    rows = [f"step: b{n}, next: {{arcs: [{{step: j}}]}}" for n in range(branches)]
    fork = f"step: start, next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}"
    plan = plan_of(steps(fork, *rows, "step: j, spec: {policy: {join: all}}"))
    assert refuted(plan) == set()


def test_how_often_steps_run_and_beside_which() -> None:
    plan = plan_of(
        steps(
            "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}",
            "step: a, next: {arcs: [{step: both}]}",
            "step: b, next: {arcs: [{step: both}]}",
            'step: both, next: {arcs: [{step: again, when: "{{ workload.x }}"}]}',
            'step: again, next: {arcs: [{step: again, when: "{{ workload.x }}"}]}',
            "step: lost",
        )
    )
    found = {extent.step: extent for extent in extents_of(plan, Effort(Budget(10_000)))}
    assert [found[name].runs for name in ("start", "a", "both", "again", "lost")] == [1, 1, 2, None, 0]
    assert [found[name].at_once for name in ("start", "a", "both", "again", "lost")] == [1, 1, 2, 2, 0]
    assert found["a"].beside == ("b", "both", "again")
    assert found["start"].beside == ()


@pytest.mark.parametrize("arcs", [2, 3, 5])
def test_tokens_that_come_together_are_as_many_runs(arcs: int) -> None:
    fork = f"step: start, next: {{spec: {{mode: inclusive}}, arcs: [{', '.join(['{step: a}'] * arcs)}]}}"
    found = extents_of(plan_of(steps(fork, "step: a")), Effort(Budget(10_000)))
    assert (found[1].runs, found[1].at_once) == (arcs, arcs)


def test_waiting_gates_waits_and_children_are_assumed_to_end() -> None:
    admits = '{admit: {on_deny: wait, rules: [{when: "{{ ctx.go }}", then: {allow: true}}]}}'
    plan = plan_of(
        steps(
            "step: start, tool: {name: w, kind: wait, events: [go]}, next: {arcs: [{step: gated}]}",
            f"step: gated, spec: {{policy: {admits}}}",
        )
    )
    found = only(plan, STUCK)
    assert found.status is Status.PROVED
    assert "the gate of `gated` opens in the end" in found.assumptions
    assert "what `start` waits for in `w` comes" in found.assumptions


def test_a_failure_that_a_rule_makes_of_an_error_alone_starves_a_join_by_an_error() -> None:
    fails = "policy: {rules: [{when: \"{{ outcome.status == 'error' }}\", then: {do: fail}}]}"
    plan = plan_of(
        steps(
            "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}",
            f"step: a, tool: {{name: t, kind: shell, command: 'exit 3', spec: {{{fails}}}}}, next: {{arcs: ["
            "{step: load}, {step: cleanup, when: \"{{ event.name == 'step.failed' }}\"}]}",
            "step: b, next: {arcs: [{step: load}]}",
            "step: load, spec: {policy: {join: all}}",
            "step: cleanup",
        )
    )
    found = only(plan, STUCK)
    assert found.status is Status.REFUTED and found.script is not None
    outcomes = found.script.document["outcomes"]
    assert isinstance(outcomes, list)
    assert "'step': 'a', 'task': 't', 'run': 1, 'visit': 1, 'attempt': 1" in str(outcomes)
    assert "'status': 'error'" in str(outcomes)


FORK = "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}"
FAILS = "tool: {kind: fail, code: x}"
TO_J = "step: a, next: {arcs: [{step: j}]}"
MAYBE = "step: b, next: {arcs: [{step: j, when: '{{ workload.k }}'}]}"


@pytest.mark.parametrize(
    "rows",
    [
        (FORK, TO_J, MAYBE, f"step: j, spec: {{policy: {{join: all}}}}, {FAILS}"),
        (FORK, TO_J, MAYBE, f"step: j, spec: {{policy: {{join: 2}}}}, {FAILS}"),
        (FORK, TO_J, MAYBE, f"step: j, spec: {{policy: {{join: {{tokens: 2}}}}}}, {FAILS}"),
        # What leads to the join may wait there, however long the way behind it is.
        (FORK, TO_J, MAYBE, "step: j, spec: {policy: {join: all}}, next: {arcs: [{step: z}]}", f"step: z, {FAILS}"),
        # Its own failure would be what it waits for.
        (f"step: start, spec: {{policy: {{join: all}}}}, {FAILS}, next: {{arcs: [{{step: a}}]}}",
         "step: a, next: {arcs: [{step: start}]}"),
        # Two sections, and in each the lock of the other is waited for.
        (FORK, "step: a, spec: {policy: {lock: {name: x, through: [c]}}}, next: {arcs: [{step: c}]}",
         "step: b, spec: {policy: {lock: {name: y, through: [d]}}}, next: {arcs: [{step: d}]}",
         f"step: c, spec: {{policy: {{lock: y}}}}, {FAILS}", f"step: d, spec: {{policy: {{lock: x}}}}, {FAILS}"),
    ],
    ids=["all", "a number", "tokens", "a step behind it", "itself", "locks"],
)  # fmt: skip
def test_what_would_fail_behind_a_join_or_a_lock_may_wait_there_for_ever(rows: tuple[str, ...]) -> None:
    """A run that gets stuck before a failure that no arc takes is no run that fails."""
    found = only(plan_of("workload: {k: false}\n" + steps(*rows)), STUCK)
    assert found.status is Status.REFUTED or (found.status is Status.UNKNOWN and found.sought), found


def test_what_all_meets_before_it_fails_gets_stuck_nowhere() -> None:
    rows = (FORK, TO_J, "step: b, next: {arcs: [{step: j}]}", f"step: j, spec: {{policy: {{join: all}}}}, {FAILS}")
    assert refuted(plan_of(steps(*rows))) == set()


def all_to_all(count: int, *, back: bool) -> str:
    """Steps of which each leads by guards to each later one, or to each other one."""
    text = ""
    for at in range(count):
        targets = [to for to in range(0 if back else at + 1, count) if to != at]
        arcs = ", ".join(f"{{step: s{to}, when: '{{{{ workload.a > {to} }}}}'}}" for to in targets)
        text += f"- {{step: s{at}{f', next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}' if arcs else ''}}}\n"
    return f"{HEAD}{text}"


def test_what_leads_everywhere_is_proved_without_a_way_back_and_unknown_with_many() -> None:
    assert {each.status for each in soundness_of(compiled(all_to_all(30, back=False)))} == {Status.PROVED}
    plan = compiled(all_to_all(73, back=True))
    report = report_of(plan)
    assert {each.status for each in report.verdicts} == {Status.UNKNOWN} and report.extents == ()
    assert "more than the 25,000 that are looked at" in report.verdicts[0].detail
    assert not any(each.bug for each in report.verdicts)
    proofs = Proofs(lambda: plan, single=False)
    assert (proofs.crowded, proofs.starved, proofs.beside) == ((), (), {})


def test_a_net_that_is_too_large_for_its_markings_is_unknown_and_what_the_arcs_prove_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packing, "MOST_FIELDS", 0)
    found = {each.question: each for each in soundness_of(compiled(all_to_all(5, back=True)))}
    assert {each.status for each in found.values()} == {Status.UNKNOWN}
    assert "too many to look at its markings" in found[STUCK].detail and found[STUCK].bug is None
    found = {each.question: each for each in soundness_of(compiled(all_to_all(5, back=False)), TIGHT)}
    assert found[BOUNDED].status is Status.PROVED
