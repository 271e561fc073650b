"""Results that are read before they are there, in files so long that not every way can be walked."""

from playbooks import HEAD, linted


def test_steps_that_read_nothing_cost_no_walk_and_leave_the_budget_to_those_that_do() -> None:
    count = 1_200
    steps = [
        f"  - {{step: s{at}, tool: {{kind: noop, args: {{a: {at}}}}}, next: {{arcs: [{{step: s{at + 1}}}]}}}}\n"
        for at in range(count)
    ]
    text = (
        f"{HEAD}workflow:\n  - {{step: start, next: {{arcs: [{{step: s0}}]}}}}\n{''.join(steps)}"
        f"  - {{step: s{count}, tool: {{kind: noop, args: {{a: '{{{{ late }}}}'}}}},"
        " next: {arcs: [{step: late}]}}\n"
        "  - {step: late, tool: [{name: own, kind: noop, args: {a: '{{ own }}'}}]}\n"
    )
    found = [one.message for one in linted(text) if one.code == "NL405"]
    assert found == [
        f"no way leads from `late` to `s{count}`: its result is not there yet",
        "task `own` reads its own result, which is there when it is done",
    ]
