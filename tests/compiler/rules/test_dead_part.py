"""When the net is asked for what can never run."""

from noetlc.rules import Unit
from noetlc.rules.dead_part import RULE
from noetlc.source.yaml_reader import read_yaml
from playbooks import HEAD, read

GATE = """spec:
      policy:
        admit:
          rules:
            - {when: "{{ workload.size == 's' }}", then: {allow: true}}
            - {else: {then: {allow: false}}}"""
FIRST = f"  - step: start\n    {GATE}\n    next: {{arcs: [{{step: second}}]}}\n  - step: second\n    "


def _looked_at(workflow: str) -> tuple[list[str], bool]:
    """The findings, and whether the net was asked."""
    text = HEAD + "workload: {size: s}\nworkflow:\n" + workflow
    playbook, found = read(text)
    assert playbook is not None and not found, found
    unit = Unit(read_yaml("t.yaml", text.encode()).source, playbook)
    return [one.message for one in RULE.check(unit)], "dead" in vars(unit.proofs)


def test_gates_that_ask_the_same_exclude_nothing() -> None:
    assert _looked_at(f"{FIRST}{GATE}\n") == ([], False)


def test_what_opens_a_gate_may_shut_another_gate_or_an_arc() -> None:
    assert _looked_at(FIRST + GATE.replace("'s'", "'l'") + "\n") == (["`second` can never run"], True)
    arcs = "next: {arcs: [{step: third, when: \"{{ workload.size == 'l' }}\"}, {step: end}]}\n  - step: third\n"
    assert _looked_at(FIRST + arcs) == (["the arc from `second` to `third` can never be taken"], True)
    assert _looked_at(f"{FIRST}{GATE}\n    {arcs}") == (["the arc from `second` to `third` can never be taken"], True)
