"""PyYAML, imported without compiling what only its reader and resolver in Python ask: a twelfth of the time of a start.

libyaml reads our files, and what plain text means is `resolve`'s. Without libyaml PyYAML's own reader asks one of the
patterns, which is compiled then.
"""

import re

from noetl_ir.patterns import Late


class _Pattern(Late):
    """One of PyYAML's patterns."""

    __slots__ = ()

    def __getattr__(self, name: str) -> object:
        return getattr(self.compiled, name)


_compile = re.compile
try:
    # PyYAML has them as constants of classes: there is no other way to leave them out.
    re.compile = _Pattern  # type: ignore[assignment]
    import yaml
finally:
    re.compile = _compile

__all__ = ["yaml"]
