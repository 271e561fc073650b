"""Signals of a script that have a key: they go to the mailbox, and one that no wait got is told at the end.

Law: an entry of a script is posted once, also where the run is resumed with it: the mailbox knows it by its name.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain

from noetl.app.runtime import Runtime
from noetl.app.snapshots import events_of, snapshot_of
from noetl.engine.event_data import names_of
from noetl.engine.execution import Execution
from noetl.ports import Wanted
from noetl.ports.mailbox import Letter, WantedMail
from noetl.ports.needs import HERE
from noetl.server.letters import BEFORE_ALL
from noetl.server.places import SCRIPTED, family_prefix, key_in_store
from noetl.worker.scripted import Script, Signal
from noetl.worker.texts import has_markers
from noetl_ir.correlation import key_of
from noetl_ir.events import Event
from noetl_ir.expr import Json
from noetl_ir.nearest import nearest


def letter_of(execution: Execution, signal: Signal) -> Letter:
    """The letter that a signal of the script of an execution is."""
    return Letter(
        key_in_store(execution, signal.key), signal.name, signal.data, _once(execution.execution_id, signal),
        signal.keep_for,
    )  # fmt: skip


def _once(execution_id: str, signal: Signal) -> str:
    return f"script {execution_id} {signal.number}"


def left_of(script: Script, log: list[Event], now: int) -> Script:
    """The script without the signals that were sent before the run was stopped; `now` is where its clock stands."""
    # Those without a key are in the log without an inbox row. Those with one may be posted again, as they are posted
    # once, while their time is not over.
    sent = sum(event.event_type == "signal.received" and "row" not in event.data for event in log)
    direct = [signal for signal in script.signals if not signal.key][:sent]
    past = [signal for signal in script.signals if signal.key and signal.at + signal.keep_for <= now and log]
    over = {signal.number for signal in (*direct, *past)}
    return script._replace(signals=tuple([signal for signal in script.signals if signal.number not in over]))


def drop_left(runtime: Runtime, trace_id: str = "") -> int:
    """Drop the letters of runs with a script whose families are over, of one or of all; how many there were.

    Whoever drives the last of a family drops them itself; here it died between the end and that. Raises StoreFailure.
    """
    mailbox, left = runtime.store.mailbox, Counter[str]()
    for row in mailbox.rows(WantedMail(prefix=family_prefix(trace_id) if trace_id else SCRIPTED), BEFORE_ALL):
        left[row.key.split(" ")[1]] += row.kept
    over = [family for family, kept in left.items() if kept and _is_over(runtime, family)]
    for family in over:
        mailbox.drop_letters(family_prefix(family))
    return sum(left[family] for family in over)


def keep_up(runtime: Runtime) -> str:
    """`drop_left`, as a job of upkeep: what it removed, in words."""
    found = drop_left(runtime)
    return f"removed signals that runs by a script left in the mailbox: {found:,}" if found else ""


def _is_over(runtime: Runtime, family: str) -> bool:
    """Whether no execution of a family takes letters any more; False where it is not known here."""
    row = runtime.store.execution(family)
    if row is None or row.ended is None or not runtime.was_scripted(family):
        return False
    for log in logs_under(runtime, family):
        names = Counter(event.event_type for event in log)
        # A mistake of the engine may be tried again, with the letters that there are then.
        if log[-1:] and log[-1].event_type != "playbook.processed":
            return False
        if names["playbook.faulted"] > names["playbook.retried"]:
            return False
    return True


def untaken(runtime: Runtime, execution_id: str, script: Script) -> Iterator[tuple[Signal, str]]:
    """Each signal with a key that no wait took, and a sentence about it. Asked when the run has stopped.

    One that was with a wait and came back was not taken: what the logs say of it decides.
    """
    if not any(signal.key for signal in script.signals):
        return
    waits: list[tuple[str, list[str]]] | None = None
    found, _ = _taken(runtime, execution_id)
    read = [(key, event.data.get("name"), event.data.get("data")) for event, key in found]
    as_read = _as_read(runtime, execution_id) if has_markers([[name, data] for _, name, data in read]) else _as_it_is
    taken = Counter(_name_of(key, *_without_entries([name, data])) for key, name, data in read)
    for place, signal in enumerate(script.signals):
        name = _name_of(signal.key, *_without_entries(as_read([signal.name, signal.data])))
        # Of signals that are alike the first are those that were taken.
        if not signal.key or taken[name] > 0:
            taken[name] -= 1
            continue
        what = f"signal `{signal.name}` under the key `{signal.key}`"
        if place >= script.ledger.sent:
            yield signal, f"{what} comes too late, at {signal.at / 1e6:g} s: the run is over then"
            continue
        waits = [*_waits(runtime, execution_id)] if waits is None else waits
        yield signal, f"no wait took the {what}{_hint(signal, waits)}"


def _as_it_is(brought: Json) -> Json:
    return brought


def _as_read(runtime: Runtime, execution_id: str) -> Callable[[Json], Json]:
    """A function that gives values of signals as an execution records them: with its secrets hidden."""
    from noetl.app.recorded_secrets import secrets_here

    row = runtime.store.execution(execution_id)
    if row is None:
        return _as_it_is
    secrets = secrets_here(runtime, snapshot_of(runtime, row))
    return lambda brought: secrets.redact(brought, HERE)


def _without_entries(brought: Json) -> tuple[Json, Json]:
    """The name and data of a signal with one text for every secret: a child may know it as another entry."""
    if has_markers(brought):
        from noetl.worker.redaction import with_markers_as

        brought = with_markers_as(brought, lambda entry, field, form: "[[secret]]")
    assert isinstance(brought, list)
    return brought[0], brought[1]


def _waits(runtime: Runtime, execution_id: str) -> Iterator[tuple[str, list[str]]]:
    """The keys that waits of an execution and of those under it have listened under, each with the names of signals."""
    for event in chain.from_iterable(logs_under(runtime, execution_id)):
        call = event.data.get("call") if event.event_type == "task.started" else None
        # One with timers alone listens for nothing, and the mailbox does not know it.
        if isinstance(call, dict) and (key := key_of(call.get("correlation"))) and (names := names_of(call)):
            yield key, names


def logs_under(runtime: Runtime, execution_id: str) -> Iterator[list[Event]]:
    """The log of an execution, then those of all that were called under it. Raises UnreadableExecution."""
    yield [event for _, event in events_of(runtime, execution_id)]
    for row in runtime.store.executions(Wanted(parent=execution_id)):
        yield from logs_under(runtime, row.execution_id)


def letters_in(runtime: Runtime, execution_id: str) -> list[tuple[Event, str]]:
    """The signals under a key that were taken in an execution and those under it, without their own: each as it was
    received, with its key.
    """
    found, sent = _taken(runtime, execution_id)
    others = []
    for event, key in sorted(found, key=lambda each: each[0].ts):
        name = _name_of(key, event.data.get("name"), event.data.get("data"))
        if sent[name] > 0:
            sent[name] -= 1
        else:
            others.append((event, key))
    return others


def _taken(runtime: Runtime, execution_id: str) -> tuple[list[tuple[Event, str]], Counter[str]]:
    """All signals under a key that were taken there, and how many they sent themselves, by `_name_of`."""
    found: list[tuple[Event, str]] = []
    sent: Counter[str] = Counter()
    for log in logs_under(runtime, execution_id):
        keys: dict[str, str] = {}
        came: dict[Json, Event] = {}
        for event in log:
            call = event.data.get("call")
            if event.event_type == "signal.received" and "wait" in event.data:
                came[event.data.get("row")] = event
            elif event.event_type == "token.claimed" and event.data.get("row") in came:
                found.append((came[event.data.get("row")], keys.get(event.run, "")))
            elif event.event_type == "task.started" and isinstance(call, dict):
                keys[event.run] = key_of(call.get("correlation"))
                if key := key_of(call.get("key")):
                    sent[_name_of(key, call.get("signal"), call.get("data"))] += 1
    return found, sent


def _name_of(key: str, name: Json, data: Json) -> str:
    """A text that two signals have in common if and only if they are alike."""
    return json.dumps([key, name, data], sort_keys=True)


def _hint(signal: Signal, waits: list[tuple[str, list[str]]]) -> str:
    names = sorted({name for key, each in waits if key == signal.key for name in each})
    keys = sorted({key for key, _ in waits})
    if signal.name in names:
        return ": each that waits for it there is over, or has another one"
    known, what = (names, "under that key is waited for") if names else (keys, "is waited under")
    if not known:
        return ": nothing waits under a key"
    near = nearest(signal.name if names else signal.key, known)
    asked = f"; did you mean `{near}`?" if near else ""
    return f"{asked} ({what} {', '.join(f'`{one}`' for one in known[:_MOST])}{', …' if len(known) > _MOST else ''})"


_MOST = 10
