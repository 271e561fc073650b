"""Inputs made of what has happened, by the expressions of a trigger, which the compiler read when it was kept."""

from collections.abc import Callable, Mapping
from typing import Any

from noetl_ir.evaluate import Fault, Scope, compile_template
from noetl_ir.expr import Json, Name, expressions_of, walk
from noetl_ir.plan_format import PlanError
from noetl_ir.plan_format.json import templates_from_json
from noetl_ir.scopes.play import PlayScope

LONGEST_KEY = 200


class NotMapped(Exception):
    """Nothing can be made into inputs of what has happened; the text says which key, and why."""


class TriggerMapping:
    """The expressions of a trigger, ready. Raises NotMapped where they are none that this version knows."""

    def __init__(self, templates: Mapping[str, Json]) -> None:
        try:
            known = templates_from_json({**templates})
        except PlanError as problem:
            raise NotMapped(str(problem)) from None
        parts = [part for template in known.values() for expr in expressions_of(template) for part in walk(expr)]
        self.reads = frozenset([part.name for part in parts if isinstance(part, Name)])
        """The names that they read."""
        self._values: dict[str, Callable[[Scope], Json]] = {
            name: compile_template(template) for name, template in known.items()
        }

    def is_wanted(self, scope: Mapping[str, object]) -> bool:
        """Whether what `when` says holds; without it all is wanted. Raises NotMapped."""
        return "when" not in self._values or self._value("when", scope) not in (False, None, "", 0, "false", [], {})

    def inputs(self, scope: Mapping[str, object]) -> dict[str, Json]:
        """The inputs of the start. Raises NotMapped."""
        made: Any = self._value("inputs", scope)
        assert isinstance(made, dict), "a document has a mapping there"
        return made

    def key(self, scope: Mapping[str, object]) -> str:
        """The text that tells one thing that happens from another. Raises NotMapped."""
        made = self._value("key", scope)
        if isinstance(made, bool) or not isinstance(made, str | int) or made == "":
            raise NotMapped("`key` is neither a text nor a number")
        return str(made)

    def _value(self, name: str, scope: Mapping[str, object]) -> Json:
        try:
            return self._values[name](PlayScope(scope))
        except Fault as fault:
            where = ".".join([name, *map(str, fault.where)])
            raise NotMapped(f"`{where}`: {fault.message}") from None
