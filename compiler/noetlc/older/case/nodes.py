"""Sugar of events: `case` with its rules, and `next` as an action of them."""

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.bodies import ChangeList, HasBodies, Tasks
from noetlc.ast.playbook import Arc, Guard, Value
from noetlc.ast.sugar import Sugar
from noetlc.older.repetition import Repetition


class CaseRule(NamedTuple):
    """A rule; `when` is None for `else`. `chain` are its actions in order: tasks, and noops that carry `Route`.

    `again` repeats the tool when the rule is true; `retry` is that of the chain. `priority_span` is where a priority
    stands, if it does. `own` is what a rule about events asks when the step's tool has ended.
    """

    when: Guard | None
    chain: Tasks
    priority: int
    again: Repetition | None
    retry: Repetition | None
    span: Span
    priority_span: Span | None = None
    own: Guard | None = None


class Case(HasBodies):
    """`case` of a step: `mode` is `exclusive` or `inclusive`, `eval` `on_entry` or `on_event`, `order` `source` or
    `priority`, `policy` `end_step`, `break_chain` or `defer`. `tool` is the task before the wait of one on events.
    """

    rules: tuple[CaseRule, ...]
    mode: str
    eval: str
    order: str
    policy: str
    timeout: Value | None
    span: Span
    tool: str = ""

    def with_bodies(self, change: ChangeList) -> "Case":
        """The node with every chain changed."""
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
    """`next` in a chain; `policy` is "" where that of the step holds. `policy_span` and `priority_span` are where they
    stand, if they do; `carried` is what an iteration records for its arcs.
    """

    arcs: tuple[Arc, ...]
    policy: str
    priority: int
    span: Span
    policy_span: Span | None = None
    priority_span: Span | None = None
    carried: Value | None = None
