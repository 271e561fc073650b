"""dead-part: an arc, step or task that no run comes to, though there is a way to it.

Why it matters
    Guards on the way exclude each other, or a join before it never starts: what stands there is never done.
Example
    - {step: start, next: {arcs: [{step: small, when: "{{ workload.size == 's' }}"}, {step: end}]}}
    - {step: small, next: {arcs: [{step: big, when: "{{ workload.size == 'l' }}"}, {step: end}]}}
    - {step: big}                               # the size is 's' here
Instead
    - step: start
      next: {arcs: [{step: small, when: "{{ workload.size == 's' }}"}, {step: big}]}
When to ignore
    While the playbook is being written and the way is not yet open.
"""

from collections.abc import Iterator

from noetl_ir.span import Span
from noetlc.ast.graph import has_unknown_target, reached
from noetlc.ast.pipeline import has_unknown_jump, pipeline_of
from noetlc.ast.playbook import Playbook, Step
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.paths import AccessPath, paths_read
from noetlc.rules import LintRule, Unit

MOST_PARTS = 60
"""Steps, tasks and arcs of a playbook that are all asked about."""


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Parts that guards and joins shut off, but those that steps, tasks or one router alone show to be shut."""
    proofs = unit.proofs
    if (
        # Each part is a question of its own to the analysis, and lint has a bar for its time.
        _parts(unit.playbook) > MOST_PARTS
        or proofs.starved
        or has_unknown_target(unit.playbook)
        # With one token and no question asked twice, guards cannot exclude each other: the tree alone shows what is
        # dead.
        or (proofs.single and not _ask_twice(unit.playbook))
    ):
        return
    told = _told(unit)
    dead = [verdict for verdict in proofs.dead if verdict.span is not None and verdict.span not in told]
    arcs = {verdict.span for verdict in dead if verdict.span is not None}
    shut = _behind(unit, told | arcs)
    for verdict in dead:
        # The arc that is shut is the cause; all that lies behind it is dead for the same reason.
        if verdict.span is not None and not (set(verdict.about) & shut):
            help = "look at the guards on the way to it: no data make them all true"
            yield RULE.finding(verdict.detail, verdict.span, help=help)


def _parts(playbook: Playbook) -> int:
    routers = [step.router for step in playbook.steps if step.router is not None]
    tasks = sum(len(step.tasks) for step in playbook.steps)
    return len(playbook.steps) + tasks + sum(len(router.arcs) for router in routers)


def _ask_twice(playbook: Playbook) -> bool:
    """Whether two steps ask about the same part of the workload, so that one may exclude the other.

    Gates do not when each part of the workload and of `ctx` that they read is read by gates of the same rules alone:
    what opens one of them opens all.
    """
    steps: dict[AccessPath, set[int]] = {}
    questions: dict[AccessPath, set[object]] = {}
    for number, step in enumerate(playbook.steps):
        arcs = step.router.arcs if step.router is not None else ()
        rules = step.spec.admit.rules if step.spec.admit is not None else ()
        # Gates are compared by what they ask, arcs by their step: the arcs of one router exclude each other on
        # purpose.
        gate = tuple((rule.when.expr if rule.when is not None else None, rule.allow) for rule in rules)
        for question, guards in ((number, [arc.when for arc in arcs]), (gate, [rule.when for rule in rules])):
            for path in {path[:2] for guard in guards if guard is not None for path in paths_read(guard.expr)}:
                if path[0] in ("workload", "ctx"):
                    steps.setdefault(path, set()).add(number)
                    questions.setdefault(path, set()).add(question)
    twice = any(path[0] == "workload" and len(found) > 1 for path, found in steps.items())
    return twice and any(len(found) > 1 for found in questions.values())


def _told(unit: Unit) -> set[Span]:
    """Arcs and tasks of which other rules say that they are never come to."""
    found: set[Span] = set()
    for step in unit.playbook.steps:
        choice = unit.choices.on_success(step)
        exclusive = step.router is not None and step.router.mode == "exclusive"
        for number, arc in enumerate(step.router.arcs if step.router is not None else ()):
            if not choice.may(number) or (exclusive and not choice.first(number)):
                found.add(arc.span)
        found |= _tasks(step)
    return found


def _tasks(step: Step) -> set[Span]:
    if len(step.tasks) < 2 or has_unknown_jump(step):
        return set()
    alive = reached(pipeline_of(step).following, (0,))
    return {task.span for at, task in enumerate(step.tasks) if at not in alive}


def _behind(unit: Unit, shut: set[Span]) -> set[str]:
    """The steps to which no open arc leads: it is the shut arc that is told."""
    open_ = [
        tuple(
            unit.graph.positions[arc.target]
            for arc in (step.router.arcs if step.router is not None else ())
            if arc.span not in shut and arc.target in unit.graph.positions
        )
        for step in unit.playbook.steps
    ]
    alive = reached(tuple(open_), unit.graph.entries)
    return {step.name for at, step in enumerate(unit.playbook.steps) if at not in alive}


RULE = LintRule("NL707", Severity.WARNING, "net", check)
