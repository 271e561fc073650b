"""Words of playbooks, and of what stands beside them, that plan, net and programs know by name. Whoever only reads
playbooks needs no plan for them.
"""

STANDING = {
    "Schedule": "noetl schedules put",
    "Notification": "noetl notifications put",
    "Trigger": "noetl triggers put",
    "Namespace": "noetl namespaces put",
}
"""Kinds of documents that stand beside playbooks in a store, each with the command that keeps it there."""

FAILING = "fail"
"""The kind whose tasks never succeed: their net has no way to."""

DIRECTIVES = ("continue", "retry", "jump", "break", "fail")
"""What a rule can make of an outcome."""

MAIN = "main"
"""The phase that every execution begins with."""

ON_FAILURE, FINALLY = "on_failure", "finally"
PHASES = (ON_FAILURE, FINALLY)
"""The phases behind main that begin at a step which the executor names, in the order in which they come."""

COMPENSATION = "compensation"
"""The phase in which what main has done is undone, the first behind it."""

CAUSES = ("failed", "blocked", "cancelled")
"""The statuses of main after which there may be compensation."""
