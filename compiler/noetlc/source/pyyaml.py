"""PyYAML, imported without compiling its regular expressions, which takes a twelfth of the time of a start.

Only PyYAML's reader and resolver in Python use them. Files are read by libyaml, and `resolve` decides what plain text
means. Where libyaml is missing, PyYAML's own reader uses one of the patterns, which is compiled at that moment.
"""

import re

from noetl_ir.patterns import LatePattern


class _Pattern(LatePattern):
    """One of PyYAML's patterns."""

    __slots__ = ()

    def __getattr__(self, name: str) -> object:
        return getattr(self.compiled, name)


_compile = re.compile
try:
    # The patterns are made while PyYAML's classes are defined, so that `re.compile` is replaced during the import.
    re.compile = _Pattern  # type: ignore[assignment]
    import yaml
finally:
    re.compile = _compile

__all__ = ["yaml"]
