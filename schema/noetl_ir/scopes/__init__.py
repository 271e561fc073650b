"""Which names an expression may use where, and what they mean: the table (`places`), the words that may be
called (`vocabulary`), what a name can stand for (`values`) and the scope of a running playbook (`play`)."""

from noetl_ir.scopes.places import (
    EVENT_ATTRIBUTES,
    EVENT_NAMES,
    LAYERS,
    LOOP_COUNTS,
    LOOP_EVENT_NAMES,
    PLACES,
    RESERVED,
    SIGNAL_NAMES,
    Evaluator,
    PlaceRules,
    Site,
    table_markdown,
)
from noetl_ir.scopes.play import PlayScope
from noetl_ir.scopes.values import Fault, LoopResult, Reference, StepResult, Undefined

__all__ = [
    "EVENT_ATTRIBUTES",
    "EVENT_NAMES",
    "LAYERS",
    "LOOP_COUNTS",
    "LOOP_EVENT_NAMES",
    "PLACES",
    "RESERVED",
    "SIGNAL_NAMES",
    "Evaluator",
    "Fault",
    "LoopResult",
    "PlaceRules",
    "PlayScope",
    "Reference",
    "Site",
    "StepResult",
    "Undefined",
    "table_markdown",
]  # fmt: skip
