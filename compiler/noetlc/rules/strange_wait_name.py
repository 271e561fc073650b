"""strange-wait-name: a guard asks for a name that the wait or interrupt before it never gives.

Why it matters
    A `wait` gives the name of the signal that ended it, or the timer's own id, and so does `error.event` of a run that
    was interrupted. A comparison with any other word is always false, so the branch is never taken.
Example
    tool: {kind: wait, events: [go], timers: {late: 1h}}
    next: {arcs: [{step: remind, when: "{{ event.result.name == 'timer.fired' }}"}, {step: pay}]}
Instead
    next: {arcs: [{step: remind, when: "{{ event.result.name == 'late' }}"}, {step: pay}]}
When to ignore
    Never: the comparison cannot become true.
"""

from collections.abc import Iterator

from noetl_ir.nearest import nearest
from noetlc.ast.heard_names import names_of_interrupt, names_of_wait
from noetlc.ast.playbook import Guard, Step, Task
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.closed import words_compared
from noetlc.rules import LintRule, Unit

_TIMER = "timer.fired"
_INTERRUPTED = ("event", "error", "event", "name")


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Each such word at its place."""
    for step in unit.playbook.steps:
        for task in step.tasks:
            if task.kind == "wait" and (names := names_of_wait(task)) is not None:
                for guard, path in _guards(step, task):
                    yield from _strange(unit, guard, path, names, "the wait")
        if step.spec.interrupt is not None:
            names = names_of_interrupt(step.spec.interrupt)
            for arc in step.router.arcs if step.router is not None else ():
                if arc.when is not None:
                    yield from _strange(unit, arc.when, _INTERRUPTED, names, "the interrupt")


def _guards(step: Step, task: Task) -> Iterator[tuple[Guard, tuple[str, ...]]]:
    """The guards that ask what the wait gave, and where it stands there."""
    for rule in task.rules:
        if rule.when is not None:
            yield rule.when, ("outcome", "result", "name")
    # Only the last task's result is the step's, and a loop's is a list.
    if task is step.tasks[-1] and step.loop is None and step.router is not None:
        for arc in step.router.arcs:
            if arc.when is not None:
                yield arc.when, ("event", "result", "name")


_Names = tuple[tuple[str, ...], tuple[str, ...]]
"""Names of signals and of timers."""


def _strange(unit: Unit, guard: Guard, path: tuple[str, ...], names: _Names, who: str) -> Iterator[Diagnostic]:
    signals, timers = names
    known = (*signals, *timers)
    for where, const in words_compared(guard.expr):
        word = str(const.value)
        # A constant without a place was made by a lowering.
        if where != path or word in known or guard.node is None or const.end <= const.start:
            continue
        span = unit.source.inner_span(guard.node, const.start, const.end)
        shown = ", ".join(f"`{name}`" for name in known) or "none"
        if word == _TIMER and timers:
            help = f"the name that a timer gives is its own id: {', '.join(f'`{name}`' for name in timers)}"
        elif near := nearest(word, known):
            help = f"did you mean `{near}`?"
        else:
            help = f"it gives the name of its signal or the id of its timer: {shown}"
        yield RULE.finding(f"{who} never gives the name `{word}`", span, help=help)


RULE = LintRule("NL316", Severity.WARNING, "ast", check, about=("wait", "interrupt"))
