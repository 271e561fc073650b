"""Reports that no server can read: nobody answers them, so the worker itself replaces what cannot be read by a failure.

Everything from outside is checked before it gets into a report, so this happens only by a mistake of ours. Without it
the run would hang, with its report sent again for ever.
"""

from noetl.engine.reports import REFUSED
from noetl.messages.encoding import UnreadableMessage, read_report, write_report
from noetl_ir.codec import CodecError
from noetl_ir.events import Event, event_of
from noetl_ir.expr import Json
from noetl_ir.orders import Report
from noetl_ir.plan import Plan


def flaw_of(report: Report) -> str:
    """Why a server cannot read a report; empty where it can."""
    try:
        read_report(write_report(report))
    except (UnreadableMessage, CodecError) as problem:
        return str(problem)
    return ""


def readable(report: Report, problem: str, plan: Plan) -> Report:
    """The report as far as it can be read; then, instead of what cannot, that its task failed with this problem."""
    events: list[Event] = []
    for event in report.events:
        if not flaw_of(report._replace(events=(event,))):
            # What came before is recorded as it is: those tasks did happen, and must not run again.
            events.append(event)
            continue
        name, _, letter = event.event_id.rpartition(":")
        # The start itself may be what cannot be read (its call, say). An empty one has to stand before the end.
        if letter == "s":
            events.append(event._replace(data={}))
        error: dict[str, Json] = {
            "code": REFUSED,
            "message": f"what came of this attempt cannot be reported: {problem}",
        }
        outcome: dict[str, Json] = {"status": "error", "error": error}
        data: dict[str, Json] = {
            "status": "error", "outcome": outcome, "directive": "fault", "rule": -1,
            "error": {**error, "step": plan.steps[event.step].name, "task": plan.tasks[event.task].name},
        }  # fmt: skip
        events.append(event_of((f"{name}:d", "task.done", *event[2:10], data)))
        break
    return report._replace(events=tuple(events))
