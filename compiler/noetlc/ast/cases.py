"""Sugar of events: `case` with its rules, and `next` as an action of them."""

from typing import NamedTuple

from noetl_ir.span import Span
from noetlc.ast.bodies import ChangeList, HasBodies, Tasks
from noetlc.ast.playbook import Arc, Guard, Value
from noetlc.ast.repeat import Repetition
from noetlc.ast.sugar import Sugar


class CaseRule(NamedTuple):
    """A rule; `when` is None for `else`. `chain` are its actions in order: tasks, and noops that carry `Route`.

    `again` repeats the tool when the rule is true; `retry` is that of the chain.
    """

    when: Guard | None
    chain: Tasks
    priority: int
    again: Repetition | None
    retry: Repetition | None
    span: Span


class Case(HasBodies):
    """`case` of a step: `mode` is `exclusive` or `inclusive`, `eval` `on_entry` or `on_event`, `order` `source` or
    `priority`, `policy` `end_step`, `break_chain` or `defer`.
    """

    rules: tuple[CaseRule, ...]
    mode: str
    eval: str
    order: str
    policy: str
    timeout: Value | None
    span: Span

    def with_bodies(self, change: ChangeList) -> "Case":
        """The same with every chain changed."""
        return self._replace(rules=tuple(rule._replace(chain=change(rule.chain)) for rule in self.rules))

    def bodies(self) -> tuple[Tasks, ...]:
        """The chains."""
        return tuple(rule.chain for rule in self.rules)


class CaseSetting(Sugar):
    """A key of the step's spec that is about its case: the field of `Case` and its value."""

    word: str
    value: str
    span: Span


class Route(Sugar):
    """`next` in a chain; `policy` is "" where that of the step holds."""

    arcs: tuple[Arc, ...]
    policy: str
    priority: int
    span: Span
