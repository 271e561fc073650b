"""Which construct of which older dialect is taken by which reader: one table a dialect, one row a key."""

from types import FunctionType

from noetl_ir import registry
from noetlc.reading.reader import Reader, Take
from noetlc.source.nodes import Node, Scalar

OLDER, CASE = "noetlc.older", "noetlc.older.case"
"""The packages that readers and passes stand in."""


def by(module: str, function: str, package: str = OLDER) -> Take[object]:
    """The reader `function` of a construct's file. The file is imported when the key is met, so that canonical
    playbooks start sooner.
    """

    def take(r: Reader, draft: object, key: Scalar, node: Node) -> None:
        registry.load(package, module, function, FunctionType)(r, draft, key, node)

    take.__name__, take.__module__ = function, f"{package}.{module}"
    return take
