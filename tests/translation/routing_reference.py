"""Where a step of v1 leads, said as plainly as LANGUAGE §6: an if/elif/else ladder; several targets are a fork.

It is asked when the step has succeeded. Of a failure only conditions that read `error` are asked (LANGUAGE §3: what
reads `event.error` takes part); what a branch gives that is not there then is a fault, and nothing of it starts.
"""

from translation.playing import Answering, Observed
from translation.routing_steps import Body, Target
from translation.world import OF_RESULT, Seen


def expected(body: Body) -> Observed:
    """What can be seen of a run of the step's playbook."""
    answering = Answering(body.answers)
    outcome = answering({"tag": "tool"})
    ctx = {"c": 1}
    seen = Seen(outcome, ctx, body.workload)
    failed = outcome["status"] == "error"
    taken = _taken(body, seen, failed)
    if failed and (not taken or any(target.sends in OF_RESULT for target in taken)):
        return Observed(answering.calls, "failed", ctx)
    for target in taken:
        answering({"tag": target.step, "got": "none" if target.sends is None else target.sends.of(seen)})
    return Observed(answering.calls, "completed", ctx)


def _taken(body: Body, seen: Seen, failed: bool) -> tuple[Target, ...]:
    for branch in body.branches:
        if failed and (branch.asks is None or "error" not in branch.asks.text):
            continue
        if branch.asks is None or branch.asks.of(seen):
            return branch.then
        if branch.other:
            return branch.other
    return () if failed else body.plain
