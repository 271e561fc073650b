"""The gate of a step: what its admission lets in."""

from noetl_ir.assembly.looping import Ends
from noetl_ir.assembly.making import CTX, NOTHING, Arcs, Maker
from noetl_ir.expr import Literal, Template
from noetl_ir.plan import Step
from noetl_ir.span import Span


def build_gate(
    maker: Maker, step: Step, index: int, *, gate: Arcs, ends: Ends, guard: int, bound: Template | None, span: Span
) -> None:
    """Add the transitions that leave the gate; `bound` is the template of `lifecycle.timeout_s`, None for none."""
    name, ready = step.name, ends.ready
    if guard < 0:
        maker.transition(f"admit {name}", "admit", gate, ready, step=index, span=span)
        # A literal duration has been checked by the compiler. Only a computed one can fail at the gate, and only then
        # the net has a way for it.
        if bound is not None and not isinstance(bound, Literal):  # it may be no duration
            maker.transition(f"admit err {name}", "admit_fault", gate, ends.failed, step=index, span=span, fault=True)
        return
    if step.waits:
        maker.transition(f"admit {name}", "admit", gate, ready, trigger=CTX, step=index, span=span, guard=guard)
    else:
        maker.transition(f"admit {name}", "admit", gate, ready, step=index, span=span, guard=guard)
        maker.transition(f"deny {name}", "deny", gate, NOTHING, step=index, span=span)
    maker.transition(f"admit err {name}", "admit_fault", gate, ends.failed, step=index, span=span, fault=True)
