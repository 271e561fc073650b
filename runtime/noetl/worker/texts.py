"""The texts of a value, and whether one of them may be the marker of a secret: asked of each call of a tool, also where
an execution has no secrets.
"""

from noetl_ir.expr import Json
from noetl_ir.outcome import Handle


def has_markers(value: Json) -> bool:
    """Whether something in a value looks like a marker."""
    waiting: list[Json] = [value]
    # The list grows while it is gone through. Nothing is gathered, as hardly any value has one.
    for part in waiting:
        if isinstance(part, str):
            if "[[secret:" in part:
                return True
        elif isinstance(part, dict):
            waiting += part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return False


def collect_texts(value: Json, texts: list[str]) -> bool:
    """Gather every text of a value, keys included; whether there are handles to seal."""
    sealed = False
    # A stack of our own, since a tool may give values that are nested deeper than Python recurses.
    waiting: list[Json] = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                texts.append(text)
            case list() as entries:
                waiting.extend(entries)
            case dict() as mapping:
                sealed = sealed or type(mapping) is Handle
                texts.extend(mapping)
                waiting.extend(mapping.values())
    return sealed
