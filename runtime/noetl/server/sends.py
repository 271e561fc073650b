"""Signals that tasks of kind `signal` send: rows in the inboxes of other executions, or letters (EXTENSIONS §6).

Law: an execution gets the signal of one task run once, however often that is tried, and whoever dies between the row
and the word of it. That the receiver has not ended is looked at in the transaction of the row. One with a key goes to
the mailbox, which knows to whom.
"""

from noetl.engine.execution import Execution
from noetl.ports import MailboxFull, Over, Store, Wanted
from noetl.ports.mailbox import Letter, kept_for
from noetl.server.journal import Keep
from noetl.server.places import key_in_store
from noetl_ir.correlation import is_storable, key_of
from noetl_ir.expr import Json
from noetl_ir.orders import SendSignal
from noetl_ir.outcome import Outcome, error, ok

PARENT, CHILDREN, KEY = "parent", "children", "key"
"""The receivers that have no id in the playbook: by their relation, or whoever waits under a key."""

NO_TARGET = "signal.no_target"
"""The code of a signal to nobody."""

FULL = "signal.mailbox_full"
"""The code of a signal with a key under which as many are kept as may be."""


def send(store: Store, keep: Keep, execution: Execution, order: SendSignal, now: int | None) -> Outcome:
    """Leave the signal of an order with its receivers, where it is not there already; the outcome of the task.

    `now` is the time (microseconds) of an execution that has another clock than the store.
    """
    call = order.call
    to, body = str(call.get("to", "")), _body_of(call)
    if body is None:
        return error("fields.invalid", "field 'data' holds what JSON has not: a number that is none, or infinite")
    if call.get("key") is not None:
        return _posted(store, keep, execution, order, now)
    if to == CHILDREN:
        children = [row.execution_id for row in store.executions(Wanted(parent=execution.execution_id))]
        return ok({"delivered": sum(_is_left(store, keep, child, body, order) for child in children)})
    if to == PARENT and execution.parent is None:
        return error(NO_TARGET, "nothing has called this execution: it has no parent")
    receiver = execution.parent[0] if to == PARENT and execution.parent is not None else to
    if store.execution(receiver) is None:
        return error(NO_TARGET, f"there is no execution `{receiver}`")
    if not _is_left(store, keep, receiver, body, order):
        return error(NO_TARGET, f"execution `{receiver}` is over: it takes no signal")
    return ok({"delivered": 1})


def _posted(store: Store, keep: Keep, execution: Execution, order: SendSignal, now: int | None) -> Outcome:
    call = order.call
    key, name = key_of(call.get("key")), str(call.get("signal"))
    if not key or not is_storable(name):  # a worker says so before, of its own
        return error("fields.invalid", "field 'key' or 'signal' is no text that a mailbox can keep")
    letter = Letter(
        key_in_store(execution, key), name, call.get("data"), f"{order.action_id} {KEY}",
        kept_for(call.get("keep_for")),
    )  # fmt: skip
    try:
        is_delivered = keep(lambda: store.mailbox.post_letter(letter, now))
    except MailboxFull as problem:
        return error(FULL, str(problem), retryable=True)
    return ok({"delivered": int(is_delivered)})


def _body_of(call: dict[str, Json]) -> Json:
    """The body of the row; None where it is no JSON."""
    import json

    body: Json = {"name": call.get("signal"), "data": call.get("data")}
    try:
        json.dumps(body, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return None
    return body


def _is_left(store: Store, keep: Keep, receiver: str, body: Json, order: SendSignal) -> bool:
    try:
        keep(lambda: store.post(receiver, "signal", body, once=f"{order.action_id} {receiver}"))
    except Over:
        return False
    return True
