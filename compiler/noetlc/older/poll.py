"""`poll: {until, interval, max_attempts, deadline}` (case §4.3).

lower_poll: `poll` becomes jumps of a task to itself, with a counter of its own (LANGUAGE §6, case §4.3).

    tool: t, poll: {until: g, interval: 5s, max_attempts: 60}
        →  __t__poll       iter.__t__poll = 0
           t               what repeats t; fail `poll.exhausted` when ok and not g and iter.__t__poll + 1 >= 60;
                           when ok and not g iter.__t__poll + 1, jump to t after 5 s; what else t does

Errors go to `retry`, and a jump begins with the first attempt again. What is done with a success that is no longer
repeated stands behind.
"""

from noetl_ir.span import Span
from noetlc.ast.bodies import Tasks, change_lists, taken
from noetlc.ast.playbook import Guard, Playbook, Rule, Step, Task, Value
from noetlc.ast.sugar import Sugar
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.counting import again, exhausted, first_values
from noetlc.expr.generated import constant, generated_name, guard, noop
from noetlc.expr.shorthand import OUTCOME_OK, both, negated
from noetlc.expr.templates import guard_with
from noetlc.older.legacy_names import IN_RULES, declared_in, declared_names
from noetlc.older.loose import read_loose_guard
from noetlc.older.page_nodes import Pages, repeats_success
from noetlc.older.repetition import behind_repeats, duration_under, names_of_now, read_attempts
from noetlc.reading.drafts import StepDraft, TaskDraft
from noetlc.reading.reader import Reader, stray_keys
from noetlc.reading.shapes import mapping_of, missing
from noetlc.source.nodes import Node, Scalar


class Poll(Sugar):
    """`poll`: a success is repeated until the guard is true (case §4.3)."""

    until: Guard
    interval: Value | None
    attempts: Value | None
    deadline: Value | None
    span: Span


def take_poll(r: Reader, draft: StepDraft | TaskDraft, key: Scalar, node: Node) -> None:
    """`poll: {until, interval, max_attempts, deadline}`."""
    r.legacy_seen = True
    mapping = mapping_of(r, node, "`poll`")
    if mapping is None:
        return
    settings = {name.text: value for name, value in mapping.entries}
    stray_keys(r, "poll", mapping, ("until", "interval", "max_attempts", "deadline"))
    if "until" not in settings:
        missing(r, "the `until` of `poll`", key.span, help='write `until: "{{ … }}"`')
        return
    until = read_loose_guard(r, settings["until"], "`until`")
    most = constant(read_attempts(r, settings["max_attempts"]), key.span) if "max_attempts" in settings else None
    if until is not None:
        interval, deadline = duration_under(r, settings, "interval"), duration_under(r, settings, "deadline")
        draft.extras.append(Poll(until, interval, most, deadline, key.span))


def lower_poll(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook without `poll`."""
    known = declared_names(playbook)

    def without(step: Step, task: Task) -> Tasks:
        poll, rest = taken(task, Poll)
        if poll is None:
            return (task,)
        # Both would repeat one success, each by a count of its own. The list has a `when` that can ask for the same.
        if any(isinstance(extra, Pages) and any(map(repeats_success, extra.policies)) for extra in rest.extras):
            why = "beside a list of `retry` policies: let the list repeat it, with a `when`"
            record(Change("lower_poll", poll.span, "`poll`", "refused", why))
            return (rest,)
        while (other := taken(rest, Poll))[0] is not None:
            record(Change("lower_poll", other[0].span, "`poll` of a step", "safe", "nothing: the tool has its own"))
            rest = other[1]
        record(Change("lower_poll", poll.span, "`poll`", "exact", "a jump of the task to itself until it is true"))
        return _lowered(step, rest, poll, declared_in(step, known))

    return change_lists(playbook, lambda step, tasks: tuple(made for task in tasks for made in without(step, task)))


def _lowered(step: Step, task: Task, poll: Poll, known: frozenset[str]) -> Tasks:
    label, span = generated_name(task.name, "poll"), poll.span
    until = guard_with(poll.until, names_of_now(step, task, IN_RULES, known))
    # The counter is one of its own, not the attempts of the task: case §4.3 wants two, and a jump begins the attempts
    # of `retry` anew.
    begin = Rule(None, "continue", span, set_iter=first_values(label, poll.deadline, span))
    # Only successes are polled. An error goes to the rules of `retry`, or fails the task at once.
    left = both(OUTCOME_OK, negated(until.expr))
    rules = (
        *exhausted(label, poll.attempts, poll.deadline, code="poll.exhausted", done=1, when=left),
        again(label, task.name, span, when=guard(left, until.span), delay=poll.interval),
    )
    return (noop(label, span, (begin,)), task._replace(rules=behind_repeats(task, rules)))
