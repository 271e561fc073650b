"""The data of an event, read: what has not the shape of its type is refused."""

from noetl.engine.execution import JsonObject
from noetl.engine.marking import IllegalFiring
from noetl_ir.expr import Json


def mapping_of(value: Json) -> JsonObject:
    if not isinstance(value, dict):
        raise IllegalFiring("an event's payload has not the shape of its type")
    return value


def texts_of(value: Json) -> list[str]:
    if not isinstance(value, list):
        raise IllegalFiring("an event's payload has not the shape of its type")
    return [str(item) for item in value]


def names_of(call: JsonObject) -> list[str]:
    """The signals that a `wait` listens for, by its rendered fields; none where it has only timers."""
    names = call.get("events") or []
    return [names] if isinstance(names, str) else texts_of(names)


def labels_in(data: JsonObject) -> dict[str, str]:
    """The labels that a start brought."""
    labels = data.get("labels")
    return {name: str(text) for name, text in labels.items()} if isinstance(labels, dict) else {}


def places_of(value: Json) -> tuple[tuple[str, str], ...]:
    """Keys of places, each with the execution that holds it, as far as there are some."""
    pairs = value if isinstance(value, list) else []
    return tuple([(str(pair[0]), str(pair[1])) for pair in pairs if isinstance(pair, list) and len(pair) == 2])
