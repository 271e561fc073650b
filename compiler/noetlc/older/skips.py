"""`when` and `pass` of a step (v1): whether it does anything.

lower_skip: `step.when` and `pass` become a first noop that ends the run (LANGUAGE §6).

    when: g, tool: t            →  __s__when (break unless g), t
    pass: g, tool: t            →  __s__pass (break when g), t
    when: g, loop: {in: xs}     →  loop: {in: "{{ xs if g else [] }}"}

A skipped step is done and routing goes on.
"""

from noetl_ir.expr import Const, ListOf
from noetl_ir.span import Span
from noetlc.ast.bodies import taken_of
from noetlc.ast.playbook import Guard, Loop, Playbook, Rule, Step
from noetlc.ast.sugar import Sugar
from noetlc.ast.walk import replace_steps
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.generated import computed, expression_of, generated_name, guard, guard_as_value, noop
from noetlc.expr.shorthand import chosen, negated
from noetlc.older.loose import read_loose_guard
from noetlc.reading.drafts import StepDraft
from noetlc.reading.reader import Reader
from noetlc.source.nodes import Node, Scalar


class Skip(Sugar):
    """A step whose tool runs only when the guard is true; `key` is where it was written."""

    key: str
    unless: Guard
    span: Span


def take_when(r: Reader, draft: StepDraft, key: Scalar, node: Node) -> None:
    """`when`: the tool runs only when it is true."""
    r.legacy_seen = True
    found = read_loose_guard(r, node, "the step's `when`")
    if found is not None:
        draft.extras.append(Skip("when", found, key.span))


def take_pass(r: Reader, draft: StepDraft, key: Scalar, node: Node) -> None:
    """`pass`: the tool runs only when it is false."""
    r.legacy_seen = True
    found = read_loose_guard(r, node, "`pass`")
    if found is not None and found.expr != Const(False):
        draft.extras.append(Skip("pass", guard(negated(found.expr), found.span), key.span))


def may_be_skipped(step: Step) -> bool:
    """Whether a step has a condition, or had one."""
    first = generated_name(step.name, "when"), generated_name(step.name, "pass")
    return any(isinstance(extra, Skip) for extra in step.extras) or step.tasks[0].name in first


BY = "lower_skip"


def lower_skip(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook without conditions on steps."""
    return replace_steps(playbook, lambda step: _lowered(step, record))


def _lowered(step: Step, record: RecordChange) -> Step:
    skip, rest = taken_of(step, Skip)
    if skip is None:
        return step
    word = f"`step.{skip.key}`"
    # Iterations have no common first task that could end the step. A loop over nothing ends well, as a step that is
    # skipped does.
    if rest.loop is not None:
        record(Change(BY, skip.span, word, "exact", "a loop over nothing when it is skipped"))
        return _lowered(rest._replace(loop=_emptied(rest.loop, skip)), record)
    record(Change(BY, skip.span, word, "exact", "a first task that ends the run when it is skipped"))
    # A skipped step ends well and lets the flow go on; as an admission rule it would end the token, and the branch
    # with it.
    rules = (Rule(skip.unless, "continue", skip.span), Rule(None, "break", skip.span))
    first = noop(generated_name(step.name, skip.key), skip.span, rules)
    return _lowered(rest._replace(tasks=(first, *rest.tasks)), record)


def _emptied(loop: Loop, skip: Skip) -> Loop:
    items = chosen(guard_as_value(skip.unless.expr), expression_of(loop.items.template), ListOf(()))
    return loop._replace(items=computed(items, loop.items.span))
