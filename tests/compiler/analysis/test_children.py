"""Children that a plan embeds: their verdicts stand in the caller's report, and what is proved is not assumed."""

from nets import steps
from noetl_ir.plan import Plan
from noetl_ir.plan_format import write_plan
from noetlc.analysis.report import AnalysisReport, report_of
from noetlc.analysis.verdict import Status
from noetlc.pipeline import compile_source

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: %s, path: t/%s}\n"


class Playbooks:
    """A catalogue out of texts."""

    def __init__(self, **bodies: str) -> None:
        self._texts = {f"t/{name}": HEAD % (name, name) + body for name, body in bodies.items()}

    def plan(self, path: str) -> Plan:
        return compile_source(f"{path}.yaml", self._texts[path].encode(), self).plans[0]

    def find(self, path: str) -> tuple[str, bytes] | None:
        return (f"{path}.yaml", self._texts[path].encode()) if path in self._texts else None


def calling(path: str) -> str:
    return steps(
        f"step: start, tool: {{name: call, kind: playbook, path: {path}}}, next: {{arcs: [{{step: last}}]}}",
        "step: last",
    )


def report(**bodies: str) -> AnalysisReport:
    return report_of(Playbooks(**bodies).plan("t/top"))


SOUND = steps("step: start, tool: {name: w, kind: wait, events: [go]}")
ENDLESS = steps("step: start, next: {arcs: [{step: x}]}", "step: x, next: {arcs: [{step: start}]}")
ENDS = "the child called in `start`, task `call`, ends"


def test_a_child_that_is_proved_to_end_is_not_taken_for_granted_but_what_it_waits_for_is() -> None:
    found = report(top=calling("t/child"), child=SOUND)
    assert {verdict.status for verdict in found.verdicts} == {Status.PROVED}
    assert "`t/child`: every cycle has an exit" in [verdict.question for verdict in found.verdicts]
    assert ENDS not in found.assumptions
    assert "in `t/child`: what `start` waits for in `w` comes" in found.assumptions
    assert all(verdict.assumptions == found.assumptions for verdict in found.verdicts if "`" not in verdict.question)


def test_a_child_that_never_ends_is_refuted_in_its_caller_s_report() -> None:
    found = report(top=calling("t/child"), child=ENDLESS)
    [cycle] = [each for each in found.verdicts if each.question == "`t/child`: every cycle has an exit"]
    assert (cycle.status, cycle.about) == (Status.REFUTED, ("start",))
    assert cycle.story is not None and all(line.span is None for line in cycle.story.lines)
    assert ENDS in found.assumptions


def test_a_child_of_a_child_is_judged_too() -> None:
    found = report(top=calling("t/middle"), middle=calling("t/child"), child=ENDLESS)
    refuted = [each.question for each in found.verdicts if each.status is Status.REFUTED]
    assert refuted == ["`t/child`: every cycle has an exit"]
    assert ENDS not in found.assumptions and f"in `t/middle`: {ENDS}" in found.assumptions


def test_a_child_that_is_not_there_stays_an_assumption() -> None:
    found = report(top=calling("t/elsewhere"))
    assert ENDS in found.assumptions and write_plan(Playbooks(top=calling("t/elsewhere")).plan("t/top"))
