"""The parts of a playbook that a run can reach, by the analysis: what tests are to cover (`noetl test --coverage`).

A step runs, an arc is taken, a guard is false, a task ends well or badly, a rule decides. What is proved never to
happen, on free choices and with what guards show, is no part: nobody can cover it, and lint tells it.
"""

from collections.abc import Iterable, Iterator

from noetl_ir.expr import Literal
from noetl_ir.net import Transition
from noetl_ir.plan import COMPLETE, Plan, Task, fields_of
from noetl_ir.span import Span
from noetl_ir.suite import PURE_KINDS, PlaybookPart
from noetlc.analysis.effort import STANDARD, Budget, Effort
from noetlc.analysis.knowledge import informed
from noetlc.analysis.outcomes import OUTCOMES
from noetlc.analysis.regions import regions_of
from noetlc.analysis.skeleton import whole_skeleton
from noetlc.analysis.soundness import dead_among
from noetlc.analysis.verdict import TooLarge
from noetlc.analysis.waves import folded_joins
from noetlc.analysis.witness import rule_fits


def parts_of(plan: Plan, budget: Budget = STANDARD) -> tuple[tuple[PlaybookPart, ...], int]:
    """The parts in the order of the file, and how many are proved never to be reached."""
    effort = Effort(budget)
    dead, open_ = set[str](), set[str]()
    why = effort.refuses(plan)
    regions = regions_of(plan)
    for region in regions:
        never, unsure = (
            # Phases follow each other, each from a marking of its own; a hard one must not take the time of the others.
            _unreachable(region.plan, effort.part(1 / len(regions))) if not why else (set[str](), _ids(plan))
        )
        dead |= never
        open_ |= unsure
    every = sorted(_written(plan), key=lambda part: (part.span, part.kind))
    found = [part for part in every if not dead.issuperset(part.transitions)]
    told = [part._replace(open=open_.issuperset(set(part.transitions) - dead)) for part in found]
    return tuple(told), len(every) - len(found)


def _ids(plan: Plan) -> set[str]:
    return {t.id for t in plan.net.transitions}


def _unreachable(plan: Plan, effort: Effort) -> tuple[set[str], set[str]]:
    """The ids of transitions that never fire, and of those of which it is not known."""
    whole = whole_skeleton(plan)
    # The net with what guards show has every run of the playbook, and fewer than free choices.
    skeleton = informed(folded_joins(whole))
    every = range(len(skeleton.origin))
    try:
        dead, open_ = dead_among(skeleton.net, every, effort)
    except TooLarge:
        return set(), _ids(plan)
    possible = {skeleton.transition(number).id for number in every if number not in dead}
    seen = {skeleton.transition(number).id for number in every if number not in dead and number not in open_}
    known = {skeleton.transition(number).id for number in every}
    # Where joins are folded, some transitions of the plan are none of the skeleton: nothing is known of these.
    kept = {whole.transition(number).id for number in range(len(whole.origin))}
    left_out = _ids(plan) - kept
    return (known - possible) | left_out, (possible - seen) | (kept - known)


def _written(plan: Plan) -> Iterator[PlaybookPart]:
    """Every part that somebody wrote, whether or not it can be reached."""
    by_step: dict[int, list[Transition]] = {}
    for t in plan.net.transitions:
        by_step.setdefault(t.step, []).append(t)
    for number, step in enumerate(plan.steps):
        own = by_step.get(number, [])
        if step.span.line:
            yield PlaybookPart("step", step.name, step.span, _of(own, "admit"))
        yield from _choices(plan, number, own)
        for row in step.tasks:
            if not plan.tasks[row].generated and plan.tasks[row].span.line:
                yield from _ends(plan, row, [t for t in own if t.task == row])


def _of(transitions: Iterable[Transition], *roles: str) -> tuple[str, ...]:
    return tuple(t.id for t in transitions if t.role in roles)


def _choices(plan: Plan, number: int, own: list[Transition]) -> Iterator[PlaybookPart]:
    """Arcs that are taken, and what else a step decides."""
    step = plan.steps[number]
    for row in step.arcs:
        arc = plan.arcs[row]
        name = f"{step.name} → {plan.steps[arc.target].name if arc.target >= 0 else 'end'}"
        asked = [t for t in own if t.arc == row]
        if not arc.span.line or not asked:
            continue
        yield PlaybookPart("arc", name, arc.span, _of(asked, "take"))
        # An arc without a guard is never not taken: that would be a part that no test can reach.
        if any(t.guard >= 0 for t in asked if t.role == "take"):
            yield PlaybookPart("branch", f"{name} is not taken", arc.span, _of(asked, "pass"))
    if denied := _of(own, "deny"):
        yield PlaybookPart("branch", f"{step.name} is not admitted", step.span, denied)
    if step.loops and step.span.line:
        outer = [t for t in own if t.level <= 0]
        for role, words in (("expand", "with items"), ("empty", "without items")):
            if ids := _of(outer, role):
                yield PlaybookPart(
                    "branch", f"the loop of {step.name} {words}", _at(step.loops[0].span, step.span), ids
                )
    if step.span.line:
        yield from _from_outside(plan, number, own)


def _from_outside(plan: Plan, number: int, own: list[Transition]) -> Iterator[PlaybookPart]:
    """The ways in which signals and timers stop, feed and end a step."""
    step = plan.steps[number]
    if stopped := _of(own, "interrupt"):
        yield PlaybookPart("branch", f"{step.name} is interrupted", step.span, stopped)
    span = _at(step.loops[0].span, step.span) if step.loops else step.span
    if brought := _of(own, "add"):
        yield PlaybookPart("branch", f"the loop of {step.name} is brought an item", span, brought)
    ended = {row.level for row in plan.loop_signals if (row.step, row.verb) == (number, COMPLETE)}
    if left := _of([t for t in own if t.level in ended], "skip", "stop", "leave"):
        yield PlaybookPart("branch", f"the loop of {step.name} ends with items left", span, left)


def _never_fails(plan: Plan, task: Task) -> bool:
    """Whether nothing in the world makes a task fail, which the net does not know: a `noop`, and a `wait` for names
    that are written out, as long as it takes.
    """
    if task.kind != "wait":
        return task.kind in PURE_KINDS and task.kind != "fail"
    fields = fields_of(plan, task)
    limited = task.timeout >= 0 or plan.steps[task.step].timeout >= 0
    return not limited and fields is not None and all(isinstance(field, Literal) for field in fields.values())


def _at(span: Span, otherwise: Span) -> Span:
    return span if span.line else otherwise


def _ends(plan: Plan, row: int, own: list[Transition]) -> Iterator[PlaybookPart]:
    """The outcomes of a task, and the rules that decide on them."""
    task, step = plan.tasks[row], plan.steps[plan.tasks[row].step].name
    for outcome in ("ok", "error"):
        ids = tuple(t.id for t in own if t.role in OUTCOMES and t.outcome == outcome)
        if ids and not (outcome == "error" and _never_fails(plan, task)):
            yield PlaybookPart("outcome", f"{step} / {task.name}: {outcome}", task.span, ids)
    for number, rule in enumerate(task.rules):
        ids = tuple(t.id for t in own if t.role in OUTCOMES and rule_fits(plan, rule, t))
        if rule.span.line and ids:
            name = f"{step} / {task.name}: rule {number + 1} ({rule.directive})"
            yield PlaybookPart("rule", name, rule.span, ids, row, number)
