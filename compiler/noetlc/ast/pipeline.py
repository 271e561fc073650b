"""A step's tasks as a graph: where the pipeline may go after each task, and whether it may end there."""

from noetl_ir.records import NamedTuple
from noetl_ir.words import FAILING
from noetlc.ast.graph import reached
from noetlc.ast.once import Once
from noetlc.ast.playbook import Rule, Step, Task
from noetlc.ast.truth import ERROR_FACTS, NO_FACTS, truth_of
from noetlc.ast.walk import limits_of, loops_of


class PipelineGraph(NamedTuple):
    """Tasks by position. `following` holds the tasks that may come next; `ends` says where the run may end.

    Faults aside: any task may fail by one, and no playbook relies on that. `ends_anywhere` says that a time
    limit or an interrupt may end the run wherever it is.
    """

    following: tuple[tuple[int, ...], ...]
    ends: tuple[bool, ...]
    ends_anywhere: bool


def _pipeline_of(step: Step) -> PipelineGraph:
    positions: dict[str, int] = {}
    for position, task in enumerate(step.tasks):
        positions.setdefault(task.name, position)
    following, ends = [], []
    for position, task in enumerate(step.tasks):
        targets, may_end = _after(task, positions, position + 1 if position + 1 < len(step.tasks) else -1)
        following.append(targets)
        ends.append(may_end)
    return PipelineGraph(tuple(following), tuple(ends), ends_from_outside(step))


pipeline_of = Once(_pipeline_of)
"""The graph of a step's pipeline; a jump to a task that does not exist leads nowhere."""


def sources_in(step: Step) -> tuple[tuple[int, ...], ...]:
    """For each task the tasks that may come right before it: the ways of the pipeline, backwards."""
    found: list[list[int]] = [[] for _ in step.tasks]
    for at, ways in enumerate(pipeline_of(step).following):
        for target in ways:
            found[target].append(at)
    return tuple([tuple(each) for each in found])


def is_bounded(step: Step) -> bool:
    """Whether a time limit ends each pipeline of the step: that of its run, or of an iteration around it."""
    return bool(limits_of(step.spec)) or any(loop.lifecycle_timeout is not None for loop in loops_of(step))


def ends_from_outside(step: Step) -> bool:
    """Whether a time limit, a timer or a signal may end each pipeline of the step, wherever it stands."""
    return step.spec.interrupt is not None or is_bounded(step)


def has_unknown_jump(step: Step) -> bool:
    """Whether a jump leads to a task that does not exist, so that nothing certain can be said about the pipeline."""
    names = {task.name for task in step.tasks}
    return any(rule.to is not None and rule.to not in names for task in step.tasks for rule in task.rules)


def _asked_rules(task: Task) -> tuple[Rule, ...]:
    found: list[Rule] = []
    for rule in task.rules:
        found.append(rule)
        if truth_of(rule.when, NO_FACTS) is True:
            break
    return tuple(found)


asked_rules = Once(_asked_rules)
"""The rules of a task up to the first that always matches; none after it is ever asked."""


def lets_errors_pass(task: Task) -> bool:
    """Whether its step may go on, or end well, after an error of the task."""
    # A noop cannot fail, so it lets nothing pass.
    if task.kind == "noop":
        return False
    for rule in asked_rules(task):
        caught = truth_of(rule.when, ERROR_FACTS)
        # A rule that may catch an error is enough: the question is what can happen.
        if caught is not False and rule.directive not in ("fail", "retry"):
            return True
        if caught is True and rule.directive == "fail":
            return False
    return bool(task.rules)


def always_fails(step: Step) -> bool:
    """Whether every run of the step that ends ends badly. One of which none ends is not said to fail."""
    # A loop over nothing succeeds, and one that takes failures does.
    if step.loop is not None or not step.tasks or has_unknown_jump(step):
        return False
    last, graph = len(step.tasks) - 1, pipeline_of(step)
    found = reached(graph.following, (0,))
    if any(_may_end_well(step.tasks[position], position == last) for position in found):
        return False
    return any(graph.ends[position] for position in found)


def _may_end_well(task: Task, last: bool) -> bool:
    fails = task.kind == FAILING
    if not task.rules:
        return last and not fails
    for rule in asked_rules(task):
        possible = truth_of(rule.when, ERROR_FACTS if fails else NO_FACTS) is not False
        if possible and (rule.directive == "break" or (last and rule.directive == "continue")):
            return True
    return last and truth_of(task.rules[-1].when, NO_FACTS) is not True


def _after(task: Task, positions: dict[str, int], after: int) -> tuple[tuple[int, ...], bool]:
    if not task.rules:  # the default policy: ok goes on, an error fails
        return (() if after < 0 or task.kind == FAILING else (after,)), True
    targets: dict[int, None] = {}
    may_end = False
    rules = asked_rules(task)
    # With rules, what matches none of them goes on, errors too (LANGUAGE §4).
    no_match = truth_of(rules[-1].when, NO_FACTS) is not True
    goes_on = no_match or any(rule.directive == "continue" for rule in rules)
    for rule in rules:
        match rule.directive:
            case "jump":
                target = positions.get(rule.to or "")
                if target is not None:
                    targets[target] = None
            case "break" | "fail" | "retry":  # a retry that is used up fails
                may_end = True
    if goes_on and after >= 0:
        targets[after] = None
    return tuple(targets), may_end or (goes_on and after < 0)
