"""Documents of a server, as all parts of its store read them."""

from datetime import datetime

from noetl.ports import StoreFailure
from noetl.ports.queries import LABEL, SEARCH, ExecutionAttribute
from noetl_ir.expr import Json


def not_from_here(url: str) -> StoreFailure:
    """The refusal of what only the server does."""
    return StoreFailure(f"the server at {url} drives its executions; nothing is written from here")


def no_server_of_ours(url: str) -> StoreFailure:
    """The refusal of an answer that no server of ours gives."""
    return StoreFailure(f"{url} does not answer as a noetl server does")


def micros_of(text: str) -> int:
    """A time of a document, in microseconds since the epoch. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    return int(moment.timestamp()) * 1_000_000 + moment.microsecond


def attributes_of(document: dict[str, Json]) -> tuple[ExecutionAttribute, ...]:
    """The attributes that the row of an execution shows; a time is a text there."""
    found = list[ExecutionAttribute]()
    for key, prefix in (("labels", LABEL), ("search", SEARCH)):
        mine = document.get(key)
        for name, value in mine.items() if isinstance(mine, dict) else ():
            if isinstance(value, bool):
                found.append(ExecutionAttribute(prefix + name, "bool", str(value).lower(), float(value)))
            elif isinstance(value, int | float):
                found.append(ExecutionAttribute(prefix + name, "number", str(value), float(value)))
            else:
                found.append(ExecutionAttribute(prefix + name, "string", str(value)))
    return tuple(sorted(found))
