"""Signals and the waits that listen for them (LANGUAGE §7, `wait`).

Law: signals are kept in the order they came; each is taken by the oldest wait that listens for its name, and one
that comes before its wait is not lost.
"""

from noetl.engine.evolve_tasks import WAIT
from noetl.engine.program import Program
from noetl.engine.turn import Turn
from noetl_ir.expr import Json, Literal, MapTemplate, Template
from noetl_ir.nearest import nearest
from noetl_ir.outcome import ok


def unheard(program: Program, name: str) -> str:
    """The message about a signal that nothing in the plan waits for; empty where something does, or may."""
    plan = program.plan
    known: dict[str, None] = {}
    for row in plan.tasks:
        template = plan.templates[row.fields] if row.kind == WAIT and row.fields >= 0 else None
        events = _literal_events(template)
        # A name that is computed could be any: nothing is said rather than something wrong.
        if events is None:
            return ""
        known.update(dict.fromkeys(events))
    if name in known:
        return ""
    near = nearest(name, known)
    asked = f"; did you mean `{near}`?" if near else ""
    waited = f" (waited for: {', '.join(f'`{one}`' for one in known)})" if known else ""
    return f"nothing in the playbook waits for a signal `{name}`{asked}{waited}"


def _literal_events(template: Template | None) -> tuple[str, ...] | None:
    """The names that a wait's fields give; None where they are computed."""
    if isinstance(template, MapTemplate):
        part = dict(template.items).get("events", Literal(None))
        if not isinstance(part, Literal):
            return None
        value = part.value
    elif isinstance(template, Literal) and isinstance(template.value, dict):
        value = template.value.get("events")
    else:
        return () if template is None else None
    return tuple(map(str, value if isinstance(value, list) else [] if value is None else [value]))


def deliver_signals(turn: Turn) -> None:
    """Hand every kept signal to the oldest wait for it, as far as there is one."""
    execution = turn.execution
    position = 0
    while position < len(execution.signals):
        name, sent = execution.signals[position]
        key = next((key for key, names in execution.waits.items() if name in names), None)
        # Kept for a wait that may come later.
        if key is None:
            position += 1
            continue
        outcome = ok({"name": name, "data": sent}).as_json()
        data: dict[str, Json] = {"signal": name, "outcome": outcome}
        turn.emit("token.claimed", step=execution.regions[key].step, run=key, data=data)
