"""Requirements of python tasks: names of packages with versions, as PEP 508 writes them.

An address or a path (`pkg @ https://…`, `./pkg`), or an option of the installer, is none: what is installed comes from
the index that the operator chose.
"""

import re
from collections.abc import Iterable

from noetl_ir.patterns import LatePattern

# ASCII alone, and no dash in front: the text goes to an installer's command line, where `-r file` is an option.
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_CLAUSE = r"(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+"
_REQUIREMENT = LatePattern(
    rf"\s*{_NAME}\s*(?:\[\s*{_NAME}(?:\s*,\s*{_NAME})*\s*\])?"
    rf"\s*(?:\(?\s*{_CLAUSE}(?:\s*,\s*{_CLAUSE})*\s*\)?)?\s*(?:;[\w\s.'\"<>=!~()-]*)?",
    re.ASCII,
)
_NAMED = LatePattern(rf"\s*({_NAME})", re.ASCII)
_PINNED = LatePattern(r"[^=!<>~;]*==\s*[^*,;]+(?:;.*)?", re.ASCII | re.DOTALL)

MOST = 100
LONGEST = 500
"""How many there may be of a task, and characters of each."""


def is_requirement(text: str) -> bool:
    """Whether a text is one."""
    return len(text) <= LONGEST and _REQUIREMENT.fullmatch(text) is not None


def is_pinned(requirement: str) -> bool:
    """Whether it allows one version only (`==`, without `.*`)."""
    return _PINNED.fullmatch(requirement) is not None


def package_of(requirement: str) -> str:
    """The name of the package that a requirement asks for."""
    found = _NAMED.match(requirement)
    return found[1] if found else ""


def normalized(name: str) -> str:
    """A package's name as all its spellings have it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def canonical(requirements: Iterable[str]) -> tuple[str, ...]:
    """A set of requirements as the same texts for the same set: without spaces around, sorted, each once."""
    return tuple(sorted({" ".join(text.split()) for text in requirements}))
