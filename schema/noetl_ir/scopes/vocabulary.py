"""The filters, tests, methods and functions that an expression may call, and those that it may not, with why.

The compiler names them in its errors and the evaluator implements them; a test holds the two together.
"""

FILTERS = frozenset({
    "abs", "b64decode", "b64encode", "batch", "capitalize", "center", "count", "d", "default", "dictsort", "e",
    "escape", "filesizeformat", "first", "float", "forceescape", "format", "fromjson", "groupby", "indent",
    "int", "items", "join", "last", "length", "list", "lower", "map", "max", "min", "pprint", "reject",
    "rejectattr", "replace", "reverse", "round", "safe", "select", "selectattr", "slice", "sort", "string",
    "striptags", "sum", "title", "tojson", "trim", "truncate", "unique", "upper", "urlencode", "urlize",
    "wordcount", "wordwrap", "xmlattr",
})  # fmt: skip
"""Jinja2's pure filters, and `b64encode b64decode tojson fromjson` (LANGUAGE §2)."""

MANY = 1_000
FILTER_ARGUMENTS: dict[str, tuple[int, int]] = {
    "batch": (1, 2), "center": (0, 1), "d": (0, 2), "default": (0, 2), "dictsort": (0, 3), "filesizeformat": (0, 1),
    "float": (0, 1), "format": (0, MANY), "groupby": (1, 3), "indent": (0, 3), "int": (0, 2), "join": (0, 2),
    "map": (0, MANY), "max": (0, 2), "min": (0, 2), "reject": (0, MANY), "rejectattr": (0, MANY),
    "replace": (2, 3), "round": (0, 2), "select": (0, MANY), "selectattr": (0, MANY), "slice": (1, 2),
    "sort": (0, 3), "sum": (0, 2), "tojson": (0, 1), "trim": (0, 1), "truncate": (0, 4), "unique": (0, 2),
    "urlize": (0, 5), "wordwrap": (0, 4), "xmlattr": (0, 1),
}  # fmt: skip
"""Filter → how few and how many arguments it takes beside the value; the others take none."""

TESTS = frozenset({
    "boolean", "callable", "defined", "divisibleby", "eq", "equalto", "escaped", "even", "false", "filter",
    "float", "ge", "greaterthan", "gt", "in", "integer", "iterable", "le", "lessthan", "lower", "lt",
    "mapping", "ne", "none", "number", "odd", "sameas", "sequence", "string", "test", "true", "undefined",
    "upper",
})  # fmt: skip
"""Jinja2's tests."""
OPERATOR_TESTS = frozenset({"==", "!=", "<", "<=", ">", ">="})
"""Tests that can be named only in a text, as in `select('>', 3)`."""

METHODS = frozenset({
    "get", "keys", "values", "items", "split", "strip", "lower", "upper", "startswith", "endswith", "replace",
    "join",
})  # fmt: skip
"""The methods of text and mappings that are pure (LANGUAGE §2)."""

FUNCTIONS = frozenset({"range", "dict", "now", "ref"})
LEGACY_FUNCTIONS = frozenset({"token", "env"})
"""Functions of old playbooks: lowering turns their calls into keychain entries (LANGUAGE §2)."""

_CHANCE = "a run must be repeatable from its log, so nothing in it may be left to chance"
_OBJECT = "it makes an object with a state, and an expression is a value"
_CHANGE = "data cannot be changed inside an expression"

REFUSED_FILTERS = {
    "random": _CHANCE,
    "shuffle": _CHANCE,
    "attr": "data is reached by key: write `x.name` or `x['name']`",
}
REFUSED_FUNCTIONS = {
    "lipsum": _CHANCE,
    "random": _CHANCE,
    "uuid": _CHANCE,
    "cycler": _OBJECT,
    "joiner": _OBJECT,
    "namespace": _OBJECT,
}
REFUSED_METHODS = {
    "append": f"{_CHANGE}: write `list + [x]`",
    "extend": f"{_CHANGE}: write `list + other`",
    "insert": _CHANGE,
    "pop": _CHANGE,
    "remove": _CHANGE,
    "clear": _CHANGE,
    "update": f"{_CHANGE}: write `dict(old, key=value)`",
    "setdefault": _CHANGE,
    "format": "write `'…' | format(x)` or join texts with `~`",
    "format_map": "write `'…' | format(x)` or join texts with `~`",
    "encode": "an expression has no bytes: write `x | b64encode` or `x | urlencode`",
}
