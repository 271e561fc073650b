"""The price of each filter before it begins, by the lengths of what it is given (`noetl_ir.evaluate.work`).

The table has every filter: one that is missing in it cannot be offered. What a filter costs besides, by what it finds
in a value, it spends itself. The prices are those of the worst values: of text all words of one letter, all marks that
are replaced, or all characters of four bytes.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from noetl_ir.evaluate.work import SHORT_TEXT, VIEW_TYPES, spend

Filter: TypeAlias = Callable[..., object]

_SIZED = frozenset({list, tuple, dict, range, *VIEW_TYPES})

_FREE = (0, 0)
PRICES: dict[str, tuple[int, int]] = {
    "abs": _FREE, "b64decode": (2, 0), "b64encode": (4, 0), "batch": (32, 4), "capitalize": (8, 0), "center": (4, 0),
    "count": _FREE, "d": _FREE, "default": _FREE, "dictsort": (0, 12), "e": (16, 0), "escape": (16, 0),
    "filesizeformat": (4, 0), "first": _FREE, "float": (4, 0), "forceescape": (16, 0), "format": (4, 0),
    "fromjson": (16, 0), "groupby": (32, 40), "indent": (32, 0), "int": (4, 0), "items": (0, 3), "join": (64, 8),
    "last": _FREE, "length": _FREE, "list": (8, 1), "lower": (8, 0), "map": (320, 20), "max": (320, 20),
    "min": (320, 20), "pprint": (64, 0), "reject": (320, 20), "rejectattr": (320, 20), "replace": (0, 0),
    "reverse": (4, 2), "round": _FREE, "safe": _FREE, "select": (320, 20), "selectattr": (320, 20), "slice": (32, 4),
    "sort": (320, 20), "string": _FREE, "striptags": (64, 0), "sum": (320, 12), "title": (48, 0), "tojson": (8, 0),
    "trim": (4, 0), "truncate": (4, 0), "unique": (320, 20), "upper": (8, 0), "urlencode": (64, 0),
    "urlize": (400, 0), "wordcount": (32, 0), "wordwrap": (160, 0), "xmlattr": (0, 80),
}  # fmt: skip
"""Filter → sixteenths of a unit for a character of a text, and units for an entry of a list or mapping. Texts whose
entries are their characters count as such; what text a list becomes is spent where it is made."""


def charged(name: str, apply: Filter) -> Filter:
    """The filter, which spends its price first: for what it is applied to, and for texts among its arguments."""
    by_char, by_entry = PRICES[name]
    if not by_char and not by_entry:
        return apply

    def run(value: Any, /, *args: Any, **kwargs: Any) -> object:
        kind = type(value)
        if kind is str:
            if len(value) > SHORT_TEXT:
                spend(len(value) * by_char >> 4)
        elif kind in _SIZED:
            spend(len(value) * by_entry)
        if args or kwargs:
            for given in (*args, *kwargs.values()):
                if type(given) is str and len(given) > SHORT_TEXT:
                    spend(len(given) * by_char >> 4)
        return apply(value, *args, **kwargs)

    return run
