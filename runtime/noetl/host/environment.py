"""The environment of the process as far as playbooks may read it: the names that the operator allows, and no others."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType

from noetl.engine.program import Program
from noetl.engine.workload import variables_of
from noetl.host.process_secrets import is_own
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple


class Environment(NamedTuple):
    """`allowed` are names and patterns, as `APP_*`; `values` the variables of the process."""

    allowed: tuple[str, ...] = ()
    values: Mapping[str, str] = MappingProxyType({})

    def variables_for(self, program: Program) -> dict[str, Json] | None:
        """The variables that the workload of a program may read, by name; None where it reads nothing of it."""
        return {name: self.values[name] for name in variables_of(program) if self._may_read(name)} or None

    def _may_read(self, name: str) -> bool:
        # A variable may hold any bytes. Python gives those that are no UTF-8 as halves of surrogate pairs, which no
        # log could hold.
        is_text = name in self.values and not any("\ud800" <= char <= "\udfff" for char in self.values[name])
        return is_text and not is_own(name) and any(fnmatchcase(name, pattern) for pattern in self.allowed)


NO_ENVIRONMENT = Environment()
"""Nothing may be read."""
