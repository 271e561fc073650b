"""The loop levels of a step, each an inner region between its `ready` and its `done` or `failed` (NET.md
LOOP).

Level 0 is the step itself; an inner level stands in place of the pipeline of the one around it. Without a
loop the pipeline stands between them alone.
"""

from collections.abc import Container, Mapping, Sequence

from noetl_ir.assembly.making import CONTROL, CTX, NOTHING, NOW, SIGNAL, SLOT, Arcs, Maker, times
from noetl_ir.expr import Literal, Template
from noetl_ir.net import Trigger, Weight
from noetl_ir.plan import SWALLOW, Loop, LoopEnd, Step
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span

ITEMS, SLOTS = Weight.ITEMS, Weight.SLOTS


class Ends(NamedTuple):
    """The places around a region: where a run of it begins, and where it ends well or badly."""

    ready: Arcs
    done: Arcs
    failed: Arcs


class Level(NamedTuple):
    """The places of the loop level `depth` that an iteration ends in."""

    depth: int
    slot: Arcs
    fin: Arcs


def ends_of(maker: Maker, step: Step, index: int, level: int, span: Span) -> Ends:
    """Make the places around the step itself (level 0) or around an inner loop."""
    suffix = f" {level}" if level else ""
    ready, done, failed = (
        maker.place(f"{role} {step.name}{suffix}", role, index, span=span, level=level)
        for role in ("ready", "done", "failed")
    )
    return Ends(ready, done, failed)


def build_loops(
    maker: Maker,
    step: Step,
    index: int,
    *,
    outer: Ends,
    body: Ends,
    early: Mapping[int, LoopEnd],
    grows: Container[int],
    span: Span,
) -> Level | None:
    """Add the levels between the step's ends and its pipeline's; returns the innermost level, None without one.

    `early` says how levels may end before their items are over, `grows` which get further items while they run.
    """
    if not step.loops:
        _straight(maker, step, index, outer=outer, body=body, span=span)
        return None
    inner_most = None
    for level, loop in enumerate(step.loops):
        last = level + 1 == len(step.loops)
        inner = body if last else ends_of(maker, step, index, level + 1, span)
        places = _Around(outer, inner, early.get(level), level in grows)
        inner_most = _level(maker, step, index, level=level, loop=loop, around=places)
        outer = inner
    return inner_most


def _straight(maker: Maker, step: Step, index: int, *, outer: Ends, body: Ends, span: Span) -> None:
    name = step.name
    maker.transition(f"begin {name}", "begin", outer.ready, body.ready, step=index, span=span)
    maker.transition(f"out {name}", "out", body.done, outer.done, step=index, span=span)
    maker.transition(f"bad {name}", "bad", body.failed, outer.failed, step=index, span=span)


class _Around(NamedTuple):
    """The ends that a level stands between, how it may end early, and whether it `grows`."""

    outer: Ends
    inner: Ends
    end: LoopEnd | None
    grows: bool


def _level(maker: Maker, step: Step, index: int, *, level: int, loop: Loop, around: _Around) -> Level:
    name, span = step.name, loop.span
    outer, inner, end, grows = around

    def place(role: str) -> Arcs:
        kind = SLOT if role == "slot" else CONTROL
        return maker.place(f"{role} {name} {level}", role, index, span=span, level=level, kind=kind)

    def fires(id: str, role: str, inputs: Arcs, outputs: Arcs, *, trigger: Trigger = NOW, fault: bool = False) -> None:
        maker.transition(id, role, inputs, outputs, step=index, span=span, level=level, trigger=trigger, fault=fault)

    run, todo, slot, fin = place("loop"), place("todo"), place("slot"), place("fin")
    # Of a loop that grows the number of items is fixed once it is closed: only then it can be over.
    fixed = place("closing") if grows else run
    ended = fin + slot
    # All items and all slots come back together, so the next run of the loop begins with none left over from this
    # one.
    whole = fixed + times(fin, ITEMS) + times(slot, SLOTS)
    fires(f"expand {name} {level}", "expand", outer.ready, run + times(todo, ITEMS) + times(slot, SLOTS))
    if grows:
        # Where nothing bounds how many run at once, an item brings its slot.
        room = slot if not loop.sequential and loop.in_flight < 0 else NOTHING
        fires(f"add {name} {level}", "add", run, run + todo + room, trigger=SIGNAL)
        fires(f"shut {name} {level}", "shut", run, fixed, trigger=SIGNAL)
    else:
        fires(f"empty {name} {level}", "empty", outer.ready, outer.done)
    fires(f"expand err {name} {level}", "expand_fault", outer.ready, outer.failed, fault=True)
    fires(f"begin {name} {level}", "begin", todo + slot, inner.ready)
    # An item skipped before it began takes no slot: those that run may hold all of them.
    fires(f"skip {name} {level}", "skip", todo, fin)
    fires(f"out {name} {level}", "out", inner.done, ended)
    fires(f"bad {name} {level}", "bad", inner.failed, ended)
    fires(f"close {name} {level}", "close", whole, outer.done)
    fires(f"close failed {name} {level}", "close_failed", whole, outer.failed)
    if end is not None and end.enough >= 0 and not grows:
        fires(f"empty failed {name} {level}", "empty_failed", outer.ready, outer.failed)
    if end is not None and end.rest == SWALLOW:
        # The step goes on, and what is left of the loop ends by itself.
        rest = place("rest")
        fires(f"leave {name} {level}", "leave", fixed, outer.done + rest)
        fires(f"rested {name} {level}", "rested", rest + times(fin, ITEMS) + times(slot, SLOTS), NOTHING)
    return Level(level, slot, fin)


# The gate of a step: what its admission lets in.
def build_gate(
    maker: Maker, step: Step, index: int, *, gate: Arcs, ends: Ends, guard: int, bounds: Sequence[Template], span: Span
) -> None:
    """Add the transitions that leave the gate; `bounds` are the templates of `lifecycle.timeout_s` and of timers."""
    name, ready = step.name, ends.ready
    if guard < 0:
        maker.transition(f"admit {name}", "admit", gate, ready, step=index, span=span)
        # A literal duration has been checked by the compiler. Only a computed one can fail at the gate, and only then
        # the net has a way for it.
        if any(not isinstance(bound, Literal) for bound in bounds):  # one may be no duration
            maker.transition(f"admit err {name}", "admit_fault", gate, ends.failed, step=index, span=span, fault=True)
        return
    if step.waits:
        maker.transition(f"admit {name}", "admit", gate, ready, trigger=CTX, step=index, span=span, guard=guard)
    else:
        maker.transition(f"admit {name}", "admit", gate, ready, step=index, span=span, guard=guard)
        maker.transition(f"deny {name}", "deny", gate, NOTHING, step=index, span=span)
    maker.transition(f"admit err {name}", "admit_fault", gate, ends.failed, step=index, span=span, fault=True)
