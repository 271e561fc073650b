"""The workload of a run by what its payload gives, as a start of the engine makes it."""

from collections.abc import Callable, Mapping

from noetl_ir.evaluate import Fault, Scope, compile_template
from noetl_ir.expr import Json, Literal, MapTemplate, Template, entries_of
from noetl_ir.plan import Plan
from noetl_ir.scopes import PlayScope
from noetlc.analysis.trials import merged_values
from noetlc.analysis.unknown import UNKNOWN


class Workloads:
    """The workloads of a plan. Values that only a run can render are unknown, and inputs that must be brought are."""

    def __init__(self, plan: Plan) -> None:
        parts = entries_of(plan.templates[plan.workload]) if plan.workload >= 0 else None
        self._parts: Mapping[str, Template] = parts or {}
        self._order = [key for key in plan.workload_order or self._parts if key in self._parts]
        self._inputs = plan.inputs
        self._brought = _brought(plan)
        self._computed = not all(isinstance(part, Literal) for part in self._parts.values())
        self._compiled: dict[int, Callable[[Scope], Json]] = {}
        self.least = self._rendered(self._brought)
        """The workload of the payload that has no more than it must."""

    def with_chosen(self, chosen: dict[str, Json]) -> dict[str, Json]:
        """The workload with these values in the payload."""
        if not chosen:
            return self.least
        # Values may be computed from those of the payload.
        return self._rendered(self.payload(chosen)) if self._computed else merged_values(self.least, chosen)

    def payload(self, chosen: dict[str, Json]) -> dict[str, Json]:
        """The payload with these values, and with the inputs that must be brought."""
        return merged_values(self._brought, chosen)

    def may_start(self, chosen: dict[str, Json]) -> bool:
        """Whether a start with these values is one of those that the declared inputs allow."""
        if self._inputs is None:
            return True
        from noetl_ir.schemas import faults

        declared = {each.name: each.schema for each in self._inputs}
        payload, workload = self.payload(chosen), self.with_chosen(chosen)
        return payload.keys() <= declared.keys() and not any(
            faults(declared[name], workload[name], name) for name in payload
        )

    def _rendered(self, payload: Mapping[str, Json]) -> dict[str, Json]:
        found = {key: value for key, value in payload.items() if key not in self._parts}
        # Inputs that nobody gives are null.
        found.update({each.name: None for each in self._inputs or () if each.name not in {*payload, *self._parts}})
        scope = PlayScope({"workload": found, "execution_id": "1"})
        # Keys may read each other. The plan says in which order they can be rendered.
        for key in self._order:
            found[key] = self._over(self._parts[key], payload, key, scope)
        return found

    def _over(self, template: Template, payload: Mapping[str, Json], key: str, scope: PlayScope) -> Json:
        """A value with what the payload gives over it (`noetl.engine.workload`)."""
        over = payload.get(key)
        if key in payload and not isinstance(over, dict):
            return over
        if isinstance(template, MapTemplate):
            inner = over if isinstance(over, dict) else {}
            return {**inner, **{name: self._over(part, inner, name, scope) for name, part in template.items}}
        if id(template) not in self._compiled:
            self._compiled[id(template)] = compile_template(template)
        try:
            value = self._compiled[id(template)](scope)
        except Fault:
            value = UNKNOWN
        if not isinstance(over, dict):
            return value
        return merged_values(value, over) if isinstance(value, dict) else over


def _brought(plan: Plan) -> dict[str, Json]:
    if plan.inputs is None:
        return {}
    from noetlc.analysis.inputs import brought  # few playbooks declare inputs

    return brought(plan)
