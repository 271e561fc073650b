"""The data of an event, read: what has not the shape of its type is refused."""

from noetl.engine.execution import Mapping
from noetl.engine.marking import IllegalFiring
from noetl_ir.expr import Json


def mapping_of(value: Json) -> Mapping:
    if not isinstance(value, dict):
        raise IllegalFiring("an event's payload has not the shape of its type")
    return value


def texts_of(value: Json) -> list[str]:
    if not isinstance(value, list):
        raise IllegalFiring("an event's payload has not the shape of its type")
    return [str(item) for item in value]
