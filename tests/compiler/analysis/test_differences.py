"""Differences between two plans, and that writing something otherwise changes nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nets import HEAD, plan_of, steps
from noetlc.analysis import traces, transfer
from noetlc.analysis.differences import differences_of
from noetlc.analysis.facts import Class
from noetlc.analysis.traces import Compared, compared_runs
from noetlc.ast.printing import printed
from noetlc.pipeline import compile_source

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

DIAMOND = (
    "step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}",
    "step: a, tool: {kind: noop}, next: {arcs: [{step: both}]}",
    "step: b, tool: {kind: noop}, next: {arcs: [{step: both}]}",
    "step: both, spec: {policy: {join: all}}, tool: {kind: noop}",
)
LOOP = 'step: start, loop: {in: "{{ workload.rows }}", iterator: row}, tool: {kind: noop}'
GUARDED = 'step: start, next: {arcs: [{step: a, when: "{{ workload.x > 1 }}"}, {step: b}]}'
CYCLE = 'step: start, next: {arcs: [{step: start, when: "{{ ctx.again }}"}, {step: end_it}]}'
TASK = 'step: start, tool: {kind: python, args: {n: 1}, code: "result = 1"}'
RULES = "step: start, tool: {kind: noop, spec: {policy: {rules: [{else: {then: {do: retry, attempts: 3}}}]}}}"


def told(old: str, new: str) -> list[tuple[str, str, str]]:
    """Class, sign and message of each difference between two workflows."""
    found = differences_of(plan_of(old), plan_of(new))
    return [(each.klass.value, each.sign, each.message) for each in found]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # A step more, an arc to it, and with it a run and how far a run in flight gets.
        (
            steps("step: start"),
            steps("step: start, next: {arcs: [{step: more}]}", "step: more"),
            [
                ("run", "+", "step `start`, router: exclusive"),
                ("run", "+", "step `start`, arc to `more`"),
                ("run", "+", "step `more`"),
                ("run", "+", "a run, as `start` → `more`"),
                ("run", "-", "a run, as `start`"),
            ],
        ),
        (
            steps("step: start, next: {arcs: [{step: more}]}", "step: more"),
            steps("step: start"),
            [
                ("run", "-", "step `start`, router: exclusive"),
                ("run", "-", "step `start`, arc to `more`"),
                ("run", "-", "step `more`"),
                ("run", "+", "a run, as `start`"),
                ("run", "-", "a run, as `start` → `more`"),
                ("resume", "-", "a run that is in step `more` cannot go on"),
            ],
        ),
        # A guard: the same runs by free choice.
        (
            steps(GUARDED, "step: a", "step: b"),
            steps(GUARDED.replace("x > 1", "x > 2"), "step: a", "step: b"),
            [("run", "~", "step `start`, arc to `a`, guard: {{ workload.x > 1 }} → {{ workload.x > 2 }}")],
        ),
        # A join that waits for less: the run in which `both` starts before `b` has, and how often it starts.
        (
            steps(*DIAMOND),
            steps(*DIAMOND).replace("join: all", "join: any"),
            [
                ("run", "~", "step `both`, join: all of a, b → any of a, b"),
                ("run", "~", "`both` runs once → at most 2 times, 2 at once"),
                ("run", "+", "a run, as `start` → `a` → `b` → `both` → `both`"),
                ("run", "-", "a run, as `start` → `a` → `b` → `both`"),
            ],
        ),
        # The bounds of a loop, and what it goes over.
        (
            steps(LOOP),
            steps(LOOP.replace("iterator: row", "iterator: row, spec: {mode: parallel, max_in_flight: 4}")),
            [("run", "~", "step `start`, loop, iterations: one after the other → at once, at most 4")],
        ),
        (
            steps(LOOP),
            steps(LOOP.replace("workload.rows", "workload.lines")),
            [("data", "~", "step `start`, loop, items: {{ workload.rows }} → {{ workload.lines }}")],
        ),
        (
            steps(RULES),
            steps(RULES.replace("attempts: 3", "attempts: 5")),
            [
                (
                    "run", "~",
                    "step `start`, task `start_task`, rules: else retry 3 attempts; else an error fails"
                    " → else retry 5 attempts; else an error fails",
                )
            ],
        ),
        (
            steps(RULES.replace("attempts: 3", "attempts: 3, delay: 2s")),
            steps(RULES.replace("attempts: 3", "attempts: 3, delay: 2s, backoff: exponential")),
            [
                (
                    "run", "~",
                    "step `start`, task `start_task`, rules: else retry 3 attempts after 2 s; else an error fails"
                    " → else retry 3 attempts exponential backoff x 2 after 2 s; else an error fails",
                )
            ],
        ),
        # What is computed.
        (
            steps(TASK),
            steps(TASK.replace("n: 1", "n: 2").replace("result = 1", "result = n")),
            [
                ("data", "~", 'step `start`, task `start_task`, code: "result = 1" → "result = n"'),
                ("data", "~", "step `start`, task `start_task`, argument `n`: 1 → 2"),
            ],
        ),
        ("workload: {a: 1, b: 2}\n" + steps(TASK), "workload: {a: 1, c: 2}\n" + steps(TASK), [
            ("data", "-", "workload `b`"), ("data", "+", "workload `c`"),
        ]),
        (
            steps(TASK), steps(TASK.replace("kind: python, args: {n: 1}, code: \"result = 1\"", "kind: noop")),
            [
                ("run", "~", "step `start`, task `start_task`, kind: python → noop"),
                ("data", "-", 'step `start`, task `start_task`, code: "result = 1"'),
                ("data", "-", "step `start`, task `start_task`, argument `n`: 1"),
            ],
        ),
    ],
)  # fmt: skip
def test_a_change_is_told_with_its_class(old: str, new: str, expected: list[tuple[str, str, str]]) -> None:
    assert told(old, new) == expected


def test_a_dead_end_is_gained_and_lost() -> None:
    choice = (
        steps(*DIAMOND)
        .replace("mode: inclusive", "mode: exclusive")
        .replace("[{step: a}, {step: b}]", '[{step: a, when: "{{ workload.x }}"}, {step: b}]')
    )
    ends = {
        "`both` has a token from `b`, and nothing more comes from `a`",
        "`both` has a token from `a`, and nothing more comes from `b`",
        "`both` can never run",
    }
    gained = [row for row in told(steps(*DIAMOND), choice) if row[2].startswith("now: ")]
    assert set(gained) == {("run", "+", f"now: {end}") for end in ends}
    lost = [row for row in told(choice, steps(*DIAMOND)) if row[2].startswith("no more: ")]
    assert set(lost) == {("run", "-", f"no more: {end}") for end in ends}


LOOPED = ("step: a, tool", 'step: a, loop: {in: "{{ [1] }}", iterator: i}, tool')
A, B, BOTH = (f"in task `{step}_task` of step `{step}`" for step in ("a", "b", "both"))
WAITING = "before the join of step `both`"


@pytest.mark.parametrize(
    ("change", "back", "cannot", "endless"),
    [
        (("step: b, tool: {kind: noop}", "step: b, tool: {name: other, kind: noop}"), False, [B], []),
        (("step: both", "step: all_of_them"), False, ["in step `both`"], []),
        # A join that lets every token through, and then waits for all: what went through does not come again.
        (("join: all", "join: any"), False, [], []),
        (("join: all", "join: any"), True, [], [f"{B} and {BOTH}", f"{A} and {BOTH}", B]),
        # Tokens inside of a loop have no loop to come back to where there was none, and the reverse.
        (LOOPED, False, [], [f"{A} and {B}", f"{WAITING} and {A}"]),
        (LOOPED, True, ["in the loop of step `a`"], []),
    ],
)
def test_where_a_run_in_flight_cannot_go_on(
    change: tuple[str, str], back: bool, cannot: list[str], endless: list[str]
) -> None:
    texts = [steps(*DIAMOND), steps(*DIAMOND).replace(*change)]
    found = [message for klass, _, message in told(*(reversed(texts) if back else texts)) if klass == "resume"]
    expected = [f"a run that is {where} cannot go on" for where in cannot]
    assert sorted(found) == sorted([*expected, *(f"a run that is {where} never comes to an end" for where in endless)])


def test_a_further_source_of_a_join_holds_up_runs_that_are_past_it() -> None:
    more = steps(*DIAMOND, "step: c, next: {arcs: [{step: both}]}").replace("{step: b}]", "{step: b}, {step: c}]")
    assert ("resume", "-", f"a run that is {A} and {B} never comes to an end") in told(steps(*DIAMOND), more)


def test_what_is_too_large_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "STATES", 3)
    monkeypatch.setattr(transfer, "STATES", 3)
    found = told(steps(*DIAMOND), steps(*DIAMOND).replace("step: b,", "step: c,").replace("{step: b}", "{step: c}"))
    assert ("run", "~", "which runs came and went is not known: too many markings") in found
    assert ("resume", "~", "whether a run in flight can go on is not known: too many markings") in found


def test_a_run_that_could_not_end_before_is_not_told() -> None:
    stuck = steps(*DIAMOND).replace("mode: inclusive", "mode: exclusive")
    assert [
        row for row in told(stuck, stuck.replace("{kind: noop}", "{kind: noop, result: 1}")) if row[0] == "resume"
    ] == []


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "# a comment\n" + text.replace("workflow:", "\n\nworkflow:  # here"),
        lambda text: text.replace("{{ workload.x > 1 }}", "{{workload.x>1}}"),
        lambda text: "workflow:\n" + "".join(reversed(text.splitlines(keepends=True)[1:])),
    ],
)
def test_writing_it_otherwise_changes_nothing(change: Callable[[str], str]) -> None:
    text = steps(GUARDED, "step: a", "step: b", "step: lonely, tool: {kind: noop}")
    assert told(text, change(text)) == []


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("[a-z]*.yaml")), ids=lambda path: path.name)
def test_an_example_and_its_canonical_form_behave_the_same(path: Path) -> None:
    if path.name.endswith((".script.yaml", ".test.yaml")):
        return
    compiled = compile_source(path.name, path.read_bytes())
    books = tuple(one.playbook for one in compiled.documents if one.playbook is not None)
    (again,) = compile_source(path.name, "---\n".join(map(printed, books)).encode()).plans
    assert differences_of(compiled.plans[0], again) == ()


def test_a_new_name_is_cosmetic() -> None:
    old, new = (compile_source("t", (HEAD + steps(TASK)).replace("name: t,", f"name: {n},").encode()) for n in "ab")
    assert [each.klass for each in differences_of(old.plans[0], new.plans[0])] == [Class.COSMETIC]


def test_what_it_is_found_by_changes_nothing_that_it_does() -> None:
    search = 'executor: {spec: {search: {n: {value: "{{ workload.n }}", type: TYPE}}}}\nworkload: {n: 1}\n'
    texts = [HEAD + search.replace("TYPE", kind) + steps(TASK) for kind in ("number", "string")]
    old = compile_source("t", texts[0].encode()).plans[0]
    new = compile_source("t", texts[1].replace("name: t,", "name: t, labels: {team: data},").encode()).plans[0]
    found = {each.message: each.klass for each in differences_of(old, new)}
    assert len(found) == 2 and {*found.values()} == {Class.COSMETIC}


def test_runs_of_cycles_are_compared() -> None:
    once = steps(CYCLE.replace('{step: start, when: "{{ ctx.again }}"}, ', ""), "step: end_it")
    found = compared_runs(plan_of(once), plan_of(steps(CYCLE, "step: end_it")))
    assert found == Compared(("start", "start", "end_it"), None, True)
    assert compared_runs(plan_of(steps(CYCLE, "step: end_it")), plan_of(once)).removed == ("start", "start", "end_it")


def blocks(count: int, branches: int = 5) -> list[str]:
    """Forks that meet again, one after the other: of five branches 6^5 markings each at the least, if nothing helps."""
    found = []
    for block in range(count):
        head, join = f"h{block}" if block else "start", f"j{block}"
        arcs = ", ".join(f"{{step: b{block}_{branch}}}" for branch in range(branches))
        found.append(f"step: {head}, tool: {{kind: noop}}, next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}")
        found += [
            f"step: b{block}_{branch}, tool: {{kind: noop}}, next: {{arcs: [{{step: {join}}}]}}"
            for branch in range(branches)
        ]
        target = f"h{block + 1}" if block + 1 < count else "last"
        found.append(f"step: {join}, spec: {{policy: {{join: all}}}}, next: {{arcs: [{{step: {target}}}]}}")
    return [*found, "step: last"]


def test_a_change_in_a_large_net_is_answered() -> None:
    old = blocks(12)
    new = [row.replace("{step: j5}", "{step: more}") if row.startswith("step: b5_2") else row for row in old]
    new.append("step: more, tool: {kind: noop}, next: {arcs: [{step: j5}]}")
    found = [each for each in told(steps(*old), steps(*new)) if "run, as" in each[2] or each[0] == "resume"]
    # A run in flight can go on: what came is a longer way to where the old one led, and its join has another source.
    added, removed, *resume = found
    assert added[2].endswith("`b5_4` → `more` → `j5` → `h6` → … → `last`")
    assert removed[2].endswith("`b5_4` → `j5` → `h6` → … → `last`")
    # A token of the old branch may wait before the join, which asks for one of the new branch now.
    assert ("resume", "-", "a run that is before the join of step `j5` cannot go on") in resume


def test_a_run_in_flight_goes_on_where_the_old_ways_are_still_there() -> None:
    old = blocks(12)
    new = [row.replace("{step: b5_2}", "{step: more}") for row in old]
    new.append("step: more, tool: {kind: noop}, next: {arcs: [{step: b5_2}]}")
    found = told(steps(*old), steps(*new))
    assert [each for each in found if each[0] == "resume"] == [] and ("run", "+", "step `more`") in found


def test_a_step_that_goes_from_a_large_net_strands_whoever_is_in_it() -> None:
    old = blocks(12)
    new = [row.replace("{step: b5_2}", "{step: other}").replace("step: b5_2,", "step: other,") for row in old]
    found = told(steps(*old), steps(*new))
    assert ("resume", "-", "a run that is in step `b5_2` cannot go on") in found


def test_what_many_steps_do_is_said_once() -> None:
    old = blocks(3, 3)
    found = told(steps(*old), steps(*old).replace("step: j0, spec: {policy: {join: all}}", "step: j0"))
    said = [each[2] for each in found if " run once → " in each[2]]
    assert said == ["`j0`, `h1`, `b1_0`, `b1_1` and 8 more run once → at most 3 times, 3 at once"]


@pytest.mark.parametrize("same", ["10s", "10", "10.0", "10000ms"])
def test_a_duration_in_another_unit_is_the_same(same: str) -> None:
    row = 'step: start, tool: {kind: http, url: "http://x", timeout: %s, spec: {timeout: %s}}, spec: {timeout: %s}'
    assert told(steps(row % ("10", "10", "10")), steps(row % (same, same, same))) == []
    assert len(told(steps(row % ("10", "10", "10")), steps(row % ("10", "11", "10")))) == 1


def test_a_loop_that_is_ended_from_outside_gets_nothing_that_says_how_many_are_enough() -> None:
    ended = LOOP.replace("iterator: row", "iterator: row, spec: {complete: {events: [stop]}}")
    assert told(steps(LOOP), steps(ended)) == [
        ("run", "+", "step `start`, loop, complete: stop"),
        ("run", "+", "step `start`, loop, rest: cancel"),
    ]
