"""Whether two plans say the same, wherever they were written and by whom."""

from collections.abc import Sequence

from noetl_ir.expr import ListTemplate, MapTemplate, Template
from noetl_ir.net import Transition
from noetl_ir.plan import Arc, KeychainEntry, Loop, Plan, Rule, Step, Task
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span

_POOLED: dict[type, frozenset[str]] = {
    Plan: frozenset({"workload"}),
    KeychainEntry: frozenset({"fields"}),
    Step: frozenset({"timeout"}),
    Loop: frozenset({"items", "in_flight"}),
    Task: frozenset({"fields", "args", "knobs", "timeout"}),
    Rule: frozenset({"when", "delay", "max_delay", "code", "message", "set_iter", "set_ctx"}),
    Arc: frozenset({"args", "delay"}),
    Transition: frozenset({"guard"}),
}
"""The fields that index the pool of templates."""

_ASIDE = frozenset({"maker", "aliases", "templates", "template_spans"})
"""Fields that say nothing of what a run does; the templates are compared where they are used."""


def same_plan(one: Plan, other: Plan) -> bool:
    """Whether two plans have equal nets, tables and templates.

    Places in the file, makers of generated parts, quotes in templates and the order of the keys of a mapping are not
    compared: a migrated file keeps its author's, and a run does not depend on them.
    """
    return _Pools(one.templates, other.templates).is_same(one, other)


class _Pools(NamedTuple):
    """The templates of the two plans."""

    one: Sequence[Template]
    other: Sequence[Template]

    def is_same(self, one: object, other: object) -> bool:
        """Whether two parts of the plans say the same."""
        if isinstance(one, Span) or isinstance(other, Span):
            return True  # also where only one of them has a place
        if not isinstance(one, tuple) or type(one) is not type(other):
            return one == other
        assert isinstance(other, tuple)
        # Plain tuples have no fields, and are compared item by item.
        names = [name for name in getattr(one, "_fields", ()) if name not in _ASIDE]
        if not names:
            return len(one) == len(other) and all(map(self.is_same, one, other))
        pooled = _POOLED.get(type(one), frozenset())
        return all(
            (self._is_same_template if name in pooled else self.is_same)(getattr(one, name), getattr(other, name))
            for name in names
        )

    def _is_same_template(self, one: object, other: object) -> bool:
        """Whether two indices, or named ones, are of the same template."""
        match one, other:
            case int(), int():
                # An index of the pool says nothing by itself: a template that is written twice in one file is
                # numbered otherwise.
                return (one < 0) is (other < 0) and (one < 0 or _by_key(self.one[one]) == _by_key(self.other[other]))
            case tuple(), tuple():
                pairs = zip(one, other, strict=True) if len(one) == len(other) else ()
                return len(one) == len(other) and all(
                    name == same and self._is_same_template(index, as_well) for (name, index), (same, as_well) in pairs
                )
            case _:
                return False


def _by_key(template: Template) -> Template:
    """The template with its keys sorted, whatever the order in which they were written."""
    match template:
        case MapTemplate(items=pairs):
            inner = [(key, _by_key(value)) for key, value in pairs]
            return MapTemplate(tuple(sorted(inner, key=lambda pair: pair[0])))
        case ListTemplate(items=items):
            return ListTemplate(tuple(_by_key(item) for item in items))
        case _:
            return template
