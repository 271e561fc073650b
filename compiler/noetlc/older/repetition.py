"""A policy of repetition, in which all forms of `retry` are read, and the rule that it makes (formal §7, case §4)."""

from noetl_ir.expr import Compare, Const, Expr, ListOf
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.playbook import Guard, Rule, Step, Task, Value
from noetlc.ast.sugar import Sugar
from noetlc.expr.generated import guard
from noetlc.expr.rewrite import Replace
from noetlc.expr.shorthand import OUTCOME_ERROR, both, defined, either, one_of, path
from noetlc.older.legacy_names import Meanings, own_meanings, renamed
from noetlc.older.loose import read_loose_guard
from noetlc.reading.reader import Reader, stray_key
from noetlc.reading.shapes import boolean_of, choice_of, is_empty, number_of, wrong_shape
from noetlc.reading.values import read_duration
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence


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


class NotRetried(Sugar):
    """Mark of a task that inherits no `retry` from its step or the executor, since its construct says what is tried
    again.
    """

    span: Span


def retrying(policy: Repetition, when: Guard | None, span: Span) -> Rule:
    """The rule that retries as the policy says."""
    return Rule(
        when,
        "retry",
        span,
        attempts=policy.attempts,
        backoff=policy.backoff,
        delay=policy.delay,
        multiplier=policy.multiplier,
        max_delay=policy.max_delay,
        jitter=policy.jitter,
    )


def behind_repeats(task: Task, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules of a task with further ones for successes, put behind those that repeat it.

    A task without rules gets those of the default policy written out.
    """
    span = task.span
    own = task.rules or (Rule(guard(OUTCOME_ERROR, span), "fail", span), Rule(None, "continue", span))
    # Rules of `case`, `vars` and results are asked after every repetition of the tool (REAL.md, flow). Before it they
    # would take the outcome of an attempt that is not the last.
    at = next((n for n, rule in enumerate(own) if not repeats(rule, task)), len(own))
    return (*own[:at], *rules, *own[at:])


def names_of_now(step: Step, task: Task, meanings: Meanings, known: frozenset[str]) -> Replace:
    """A replacement for the conditions that repeat a task: its own name means the result that the tool has just given.

    So does the name of the step where the task is its last one. Elsewhere these names mean an earlier run.
    """
    tasks = [own.name for own in step.tasks if not own.generated]
    # The step's name is its last task's result. In a repetition of an earlier task it still means an earlier run.
    own = {task.name, step.name} if task.name in tasks[-1:] else {task.name}
    of_names = {path: meant for name in sorted(own) for path, meant in own_meanings(name).items()}
    return renamed({**meanings, **of_names}, known - own)


def repeats(rule: Rule, task: Task) -> bool:
    """Whether a rule of a task calls it once more."""
    return rule.directive == "retry" or rule.to == task.name


_NAMES = {
    "max_attempts": "attempts",
    "attempts": "attempts",
    "initial_delay": "delay",
    "delay": "delay",
    "delay_seconds": "delay",
    "backoff_seconds": "delay",
    "backoff_multiplier": "multiplier",
    "multiplier": "multiplier",
    "max_delay": "max_delay",
    "max_delay_seconds": "max_delay",
    "jitter": "jitter",
    "backoff": "backoff",
    "type": "backoff",
    "retry_when": "when",
    "when": "when",
    "stop_when": "until",
    "on": "on",
    "retry_on": "on",
    "retry_on_status": "statuses",
    "scope": "scope",
}
"""Every key of a policy, and what it is about."""

_BACKOFFS = {"fixed": "none", "none": "none", "linear": "linear", "exponential": "exponential"}

DEFAULT_ATTEMPTS = 3


def plain_repetition(attempts: int, span: Span) -> Repetition:
    """The policy that only a number of attempts was given for."""
    return Repetition(attempts, "none", None, 2.0, None, False, None, None, "tool", span)


def read_attempts(r: Reader, node: Node) -> int:
    """How often something is tried, at least once; what is no such number is told."""
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    r.report("NL501", "`max_attempts` must be a whole number of at least 1", node.span)
    return DEFAULT_ATTEMPTS


def read_repetition(r: Reader, mapping: Mapping, span: Span, others: tuple[str, ...]) -> Repetition:
    """The keys of one policy; `others` belong to somebody else."""
    settings: dict[str, Node] = {}
    for key, value in mapping.entries:
        about = _NAMES.get(key.text)
        if about == "backoff" and isinstance(value, Mapping):
            for inner, item in value.entries:
                if inner.text in _NAMES:
                    settings[_NAMES[inner.text]] = item
                else:
                    stray_key(r, "retry", inner, tuple(_NAMES))
        elif about is not None:
            settings[about] = value
        elif key.text not in others:
            stray_key(r, "retry", key, (*_NAMES, *others))
    if isinstance(pause := settings.get("backoff"), Scalar) and isinstance(pause.value, int | float):
        settings.setdefault("delay", settings.pop("backoff"))  # a number is the same pause each time
    # A multiplier without a word for the backoff is how older files ask for an exponential one.
    backoff = "exponential" if "multiplier" in settings else "none"
    if "backoff" in settings:
        backoff = _BACKOFFS[choice_of(r, settings["backoff"], "`backoff`", tuple(_BACKOFFS)) or "none"]
    return Repetition(
        read_attempts(r, settings["attempts"]) if "attempts" in settings else DEFAULT_ATTEMPTS,
        backoff,
        duration_under(r, settings, "delay"),
        number_of(r, settings["multiplier"], "`multiplier`") or 2.0 if "multiplier" in settings else 2.0,
        duration_under(r, settings, "max_delay"),
        bool("jitter" in settings and boolean_of(r, settings["jitter"], "`jitter`")),
        both_guards(
            _causes(r, [settings[about] for about in ("on", "statuses") if about in settings]),
            _guard(r, settings, "when"),
        ),
        _guard(r, settings, "until"),
        choice_of(r, settings["scope"], "`scope`", ("tool", "chain", "step")) or "tool"
        if "scope" in settings
        else "tool",
        span,
    )


_ANY_CAUSE = frozenset({"error", "exception", "any", "all", "failure"})


def _causes(r: Reader, nodes: list[Node]) -> Guard | None:
    """The errors that `on` and `retry_on_status` say of the errors that repeat: codes, or numbers that http answers
    with; None where any does.
    """
    if not nodes:
        return None
    node = nodes[0]
    items = [item for node in nodes for item in (node.items if isinstance(node, Sequence) else [node])]
    words = [item.text for item in items if isinstance(item, Scalar) and not is_empty(item)]
    if len(words) < len(items):
        wrong_shape(r, node, "`on`", "`error`, the code of an error, a status of http, or a list of them")
    # One word for any error makes the rest of the list idle.
    if not words or _ANY_CAUSE & set(words):
        return None
    asked: list[Expr] = []
    # As a cause `status_code` names no code: it asks for any error that came with an answer of http.
    if "status_code" in words:
        asked.append(defined(path("outcome", "http", "status")))
    statuses = tuple(Const(int(word)) for word in words if word.isdecimal())
    if statuses:
        asked.append(Compare(path("outcome", "http", "status"), (("in", ListOf(statuses)),)))
    codes = tuple(word for word in words if not word.isdecimal() and word != "status_code")
    if codes:
        asked.append(one_of(path("outcome", "error", "code"), codes))
    return guard(either(*asked), node.span)


def both_guards(first: Guard | None, second: Guard | None) -> Guard | None:
    """The guard that asks for both of two, either of which may be none."""
    return (
        guard(both(first.expr, second.expr), second.span)
        if first is not None and second is not None
        else first or second
    )


def _guard(r: Reader, settings: dict[str, Node], about: str) -> Guard | None:
    return (
        read_loose_guard(r, settings[about], f"`{about}`")
        if about in settings and not is_empty(settings[about])
        else None
    )


def duration_under(r: Reader, settings: dict[str, Node], about: str) -> Value | None:
    """The duration under a key, where it is given."""
    return read_duration(r, settings[about], f"`{about}`") if about in settings else None
