"""Scenarios of layer L: what lint and the analysis find, and what they leave alone."""

from pathlib import Path

import pytest

from nets import plan_of
from noetlc.analysis.effort import Budget
from noetlc.analysis.soundness import soundness_of
from noetlc.analysis.verdict import Status
from noetlc.pipeline import check_source, compile_source
from playbooks import HEAD, linted

ROOT = Path(__file__).resolve().parents[2]


def found(body: str) -> list[tuple[str, str]]:
    """The codes and messages of all findings of a playbook without its head."""
    return [(one.code, one.message) for one in linted(HEAD + body)]


def codes_of(body: str) -> list[str]:
    """The codes of all findings, in the order of the file."""
    return [code for code, _ in found(body)]


def test_scenario_14_a_constant_key_set_in_a_parallel_loop_is_told() -> None:
    (code, message), *_ = found("""
workflow:
  - step: start
    loop: {in: "{{ [1,2,3] }}", iterator: n, spec: {mode: parallel}}
    tool:
      - name: t
        kind: noop
        spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {last: "{{ iter.n }}"}}}}]}}
    next: {arcs: [{step: b}]}
  - {step: b, tool: {kind: noop, args: {last: "{{ ctx.last | default(0) }}"}}}
""")
    assert code == "NL401" and "ctx.last" in message


def test_scenario_24_a_router_of_guards_alone_is_told() -> None:
    body = """
workload: {answer: maybe}
workflow:
  - step: start
    next:
      spec: {mode: exclusive}
      arcs:
        - {step: yes_path, when: "{{ workload.answer == 'APPROVED' }}"}
        - {step: no_path, when: "{{ workload.answer == 'REJECTED' }}"}
  - {step: yes_path}
  - {step: no_path}
"""
    assert codes_of(body) == ["NL605"]
    assert codes_of(body.replace("== 'REJECTED'", "!= 'APPROVED'")) == []


def test_scenario_36_no_arcs_are_a_note_and_no_rules_an_error() -> None:
    assert codes_of("""
workflow:
  - step: start
    tool: {kind: noop}
    next: {spec: {mode: inclusive}, arcs: []}
""") == ["NL607"]
    assert codes_of("""
workflow:
  - {step: start, spec: {policy: {admit: {rules: []}}}, tool: {kind: noop}}
""") == ["NL608"]


def test_scenario_48_a_jump_without_a_way_out_is_an_error_and_a_counted_one_is_none() -> None:
    page = 'set_iter: {p: "{{ (iter.p | default(0)) + 1 }}"}'
    more = '[{when: "{{ iter.p < 5000 }}", then: {do: jump, to: page}}, {else: {then: {do: break}}}]'
    body = f"""
workflow:
  - step: start
    tool:
      - {{name: page, kind: noop, spec: {{policy: {{rules: [{{else: {{then: {{do: continue, {page}}}}}}}]}}}}}}
      - {{name: more, kind: noop, spec: {{policy: {{rules: {more}}}}}}}
"""
    assert codes_of(body) == []
    assert codes_of(
        body.replace('when: "{{ iter.p < 5000 }}", then', "else: {then").replace(
            "to: page}}, {else: {then: {do: break}}}", "to: page}}}"
        )
    ) == ["NL508"]


def test_scenario_60_default_on_a_null_is_told() -> None:
    assert codes_of("""
workload: {page: null}
workflow:
  - step: start
    tool: {kind: http, url: "https://example.com", params: {page: "{{ workload.page | default(1) }}"}}
""") == ["NL402"]


def test_scenario_70_a_dash_in_a_name_is_read_as_minus() -> None:
    first, *_ = linted(
        HEAD
        + """
workflow:
  - step: start
    tool:
      - {name: fetch-page, kind: noop}
      - {name: use, kind: noop, args: {note: "{{ fetch-page.data }}"}}
"""
    )
    assert first.code == "NL303" and "fetch-page" in first.message and "fetch_page" in first.help


def test_scenario_100_each_scalar_that_is_read_in_two_ways_is_told_with_its_value() -> None:
    rows = found("""
workload: {mode: 0644, at: 22:30, ratio: 1:30, code: 007, v: 1.10, us: 1_000}
workflow: [{step: start}]
""")
    told = [message for code, message in rows if code in ("NL016", "NL017")]
    for value in ("420", "1350", "90", "7", "1.1", "1000"):
        assert any(value in message for message in told), (value, told)


def test_scenario_104_three_misspelt_keys_are_three_errors_with_what_was_meant() -> None:
    rows = linted(
        HEAD
        + """
workflow:
  - step: start
    spec: {polcy: {admit: {rules: [{else: {then: {allow: false}}}]}}}
    loop: {in: "{{ [1] }}", iterater: x}
    tool: {kind: noop}
    nexts: {arcs: [{step: b}]}
  - {step: b}
"""
    )
    told = [(one.message, one.help) for one in rows if one.code == "NL101"]
    assert len(told) == 3
    for (_, help), meant in zip(told, ("policy", "iterator", "next"), strict=True):
        assert meant in help


def test_scenario_106_unreachable_and_endless_are_two_codes() -> None:
    assert sorted(
        codes_of("""
workflow:
  - {step: start, tool: {kind: noop}, next: {arcs: [{step: x}]}}
  - {step: x, tool: {kind: noop}, next: {arcs: [{step: y}]}}
  - {step: y, tool: {kind: noop}, next: {arcs: [{step: x}]}}
  - {step: lost, tool: {kind: noop}, next: {arcs: [{step: lost}]}}
""")
    ) == ["NL601", "NL602"]
    assert "NL202" in codes_of("executor: {spec: {entry_step: began}}\nworkflow: [{step: start}]\n")


def test_scenario_108_names_that_look_alike_are_told_in_escaped_form() -> None:
    rows = found("""
workflow:
  - {step: start, next: {arcs: [{step: "caf\\u00e9"}]}}
  - {step: "caf\\u00e9", next: {arcs: [{step: "cafe\\u0301", when: "{{ workload.again }}"}, {step: pay}]}}
  - {step: pay, next: {arcs: [{step: "p\\u0430y"}]}}
  - {step: "p\\u0430y", tool: {kind: noop}}
""")
    assert [code for code, _ in rows] == ["NL214"]
    assert "\\u0430" in rows[0][1]


def test_scenario_110_a_chain_of_5000_steps_is_checked_without_recursion() -> None:
    rows = "".join(
        f"  - {{step: s{i}, tool: {{kind: noop}}, next: {{arcs: [{{step: s{i + 1}}}]}}}}\n" for i in range(4999)
    )
    head = "executor: {spec: {entry_step: s0}}\nworkflow:\n"
    assert codes_of(head + rows + "  - {step: s4999}\n") == []


DIAMOND = """
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
  - {step: a, next: {arcs: [{step: c}]}}
  - {step: b, next: {arcs: [{step: c}]}}
  - {step: c, spec: {policy: {join: all}}}
"""
CYCLE = """
workload: {more: true}
workflow:
  - {step: start, tool: {kind: noop}, next: {arcs: [{step: start, when: "{{ workload.more }}"}, {step: end}]}}
  - {step: end, tool: {kind: noop}}
"""


@pytest.mark.parametrize(
    "body",
    [
        "workflow: [{step: start}]\n",
        "workflow: [{step: start, next: {arcs: [{step: end}]}}, {step: end}]\n",
        DIAMOND,
        CYCLE,
    ],
    ids=["one", "two", "diamond", "cycle"],
)
def test_scenario_112_the_simplest_right_playbooks_have_no_finding(body: str) -> None:
    assert found(body) == []


def test_scenario_112_the_pagination_example_has_none_and_that_of_the_text_one() -> None:
    file = ROOT / "examples" / "streaming_pagination.yaml"
    assert check_source(file.name, file.read_bytes()).diagnostics == ()
    for text in sorted((ROOT / "golden" / "spec").glob("v10-*.yaml")):
        data = text.read_bytes()
        if b"pagination" in data.lower() and b"do: jump" in data:
            rows = check_source(text.name, data).diagnostics
            assert "NL507" in {one.code for one in rows}
            assert not any(one.code.startswith("NL7") for one in rows)


def chains(count: int, length: int) -> str:
    """A fork into chains of steps that all end."""
    arcs = ", ".join(f"{{step: c{i}_0}}" for i in range(count))
    rows = [f"step: start, next: {{spec: {{mode: inclusive}}, arcs: [{arcs}]}}"]
    for i in range(count):
        rows += [f"step: c{i}_{j}, next: {{arcs: [{{step: c{i}_{j + 1}}}]}}" for j in range(length - 1)]
        rows.append(f"step: c{i}_{length - 1}")
    return "workflow:\n" + "".join(f"  - {{{row}}}\n" for row in rows)


def test_scenario_114_five_to_the_twentieth_markings_are_proved_sound_within_the_budget() -> None:
    body = chains(20, 4)
    assert found(body) == []
    verdicts = soundness_of(plan_of(body), Budget(states=5_000, nodes=400))
    assert {verdict.status for verdict in verdicts} == {Status.PROVED}


def test_scenario_114_a_search_that_was_cut_refutes_by_a_run_alone() -> None:
    out = '[{step: j, when: "{{ workload.x }}"}, {step: end}]'
    body = chains(4, 3).replace("{step: c0_2}\n", "{step: c0_2, next: {arcs: [{step: j}]}}\n")
    body = body.replace("{step: c1_2}\n", f"{{step: c1_2, next: {{arcs: {out}}}}}\n")
    body += "  - {step: j, spec: {policy: {join: all}}}\n"
    stuck, *_ = soundness_of(plan_of(body), Budget(states=2, nodes=2))
    assert stuck.status is Status.REFUTED and stuck.script is not None  # one run is enough to refute
    assert "NL701" in codes_of(body)


def test_scenario_116_the_head_of_a_loop_does_not_wait_for_its_body() -> None:
    body = """
workload: {more: true}
workflow:
  - {step: start, tool: {kind: noop}, next: {arcs: [{step: head}]}}
  - {step: head, tool: {kind: noop}, next: {arcs: [{step: body}]}}
  - {step: body, tool: {kind: noop}, next: {arcs: [{step: head, when: "{{ workload.more }}"}, {step: done}]}}
  - {step: done, tool: {kind: noop}}
"""
    assert found(body) == []
    waits = found(body.replace("step: head, tool", "step: head, spec: {policy: {join: all}}, tool"))
    assert [code for code, _ in waits] == ["NL701"]
    assert waits[0][1] == "`head` waits for a token from `body`, which runs only after `head`"


class _Folder:
    """Two playbooks that call each other."""

    def find(self, path: str) -> tuple[str, bytes] | None:
        other = {"t/a": "t/b", "t/b": "t/a"}[path]
        return f"{path[-1]}.yaml", _caller(path, other)


def _caller(path: str, other: str) -> bytes:
    head = HEAD.replace("path: t/t", f"path: {path}")
    return f"{head}workflow: [{{step: start, tool: {{kind: playbook, path: {other}}}}}]\n".encode()


def test_scenario_118_a_circle_of_calls_is_told_when_both_files_are_known() -> None:
    compiled = compile_source("a.yaml", _caller("t/a", "t/b"), _Folder())
    assert [one.code for one in compiled.diagnostics] == ["NL692"]


def test_scenario_120_a_template_in_sql_is_told_and_worse_inside_quotes() -> None:
    rows = found("""
workflow:
  - step: start
    tool:
      - {name: p, kind: python, code: "result = {'name': 'x'}"}
      - {name: q, kind: postgres, command: "SELECT * FROM u WHERE name = '{{ _prev.name }}'"}
      - {name: s, kind: postgres, command: "SELECT * FROM u WHERE id = {{ _prev.id }}"}
      - {name: r, kind: postgres, command: "SELECT * FROM u WHERE name = %(n)s", params: {n: "{{ _prev.name }}"}}
""")
    assert [code for code, _ in rows] == ["NL801", "NL801"]
    assert "ends the literal" in rows[0][1] and "ends the literal" not in rows[1][1]
