"""The dialect of `set`, `input`, `output` and `loop.cursor`, newer than any specification; recognised, not
read yet.
"""

from noetlc.dialects import Dialect

_DIALECT = "set/input dialect"


def _named(*keys: str) -> dict[str, str]:
    return {key: f"`{key}` ({_DIALECT})" for key in keys}


DIALECT = Dialect(
    _DIALECT,
    legacy={
        "step": _named("set", "input", "output"),
        "task": _named("set", "input", "output", "output_select"),
        "then": _named("set"),
        "arc": _named("set"),
        "loop": _named("cursor"),
        "loop_spec": _named("cursor"),
    },
)
