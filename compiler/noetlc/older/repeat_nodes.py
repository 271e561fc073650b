"""Sugar of repetition: `retry` in its forms, and `poll`."""

from noetl_ir.rows import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.playbook import Guard, Task, Value
from noetlc.ast.sugar import Sugar


class Repetition(NamedTuple):
    """`retry` as a mapping, a number or a truth value: attempts count from the first.

    `scope` is `tool`, `chain` or `step`. `when` limits which outcomes repeat; `until` ends it, and alone repeats
    successes too. `attempts` 1 switches an inherited retry off.
    """

    attempts: int
    backoff: str
    delay: Value | None
    multiplier: float
    max_delay: Value | None
    jitter: bool
    when: Guard | None
    until: Guard | None
    scope: str
    span: Span


class Retry(Sugar):
    """A repetition that stands at a task or step."""

    policy: Repetition
    span: Span


class Collect(NamedTuple):
    """How pages are gathered: what of each, and the name of the whole. No `strategy`: they are not."""

    strategy: str
    path: tuple[str, ...]
    into: str


class Page(NamedTuple):
    """One policy of a `retry` list (formal-extended §6): `when` selects it by the outcome.

    A repetition with `next_call`, `collect` or `sink` is one of success: it has its own counter. `next_call` gives
    fields of the task for the next call.
    """

    when: Guard | None
    retry: Repetition
    next_call: tuple[tuple[str, Value], ...]
    collect: Collect
    sink: Task | None
    span: Span


class Pages(Sugar):
    """`retry` as an ordered list: the first policy whose `when` is true is taken."""

    policies: tuple[Page, ...]
    span: Span


class Poll(Sugar):
    """`poll`: a success is repeated until the guard is true (case §4.3)."""

    until: Guard
    interval: Value | None
    attempts: Value | None
    deadline: Value | None
    span: Span


class OnError(Sugar):
    """`on_error: fail | ignore | retry` of a step or task (case §7)."""

    mode: str
    span: Span
