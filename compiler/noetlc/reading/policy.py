"""A task's policy: rules that map an outcome to a directive (v10 §5.4, LANGUAGE §4)."""

from collections.abc import Callable, Container
from typing import TypeVar

from noetl_ir.expr import Const
from noetl_ir.span import Span
from noetl_ir.words import DIRECTIVES
from noetlc.ast.playbook import AdmitRule, Guard, Rule
from noetlc.diag.diagnostic import Fix
from noetlc.reading.drafts import DraftPairs, TaskDraft, ThenDraft
from noetlc.reading.reader import Reader, Table, no_effect, stray_key, stray_keys, take_all
from noetlc.reading.shapes import (
    boolean_of,
    choice_of,
    is_empty,
    is_misspelt,
    mapping_of,
    missing,
    number_of,
    quotes_told,
    reference_of,
    sequence_of,
    wrong_shape,
)
from noetlc.reading.values import read_duration, read_guard, read_pairs, read_value
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, mapping_at

CONTROL = frozenset({"do", "attempts", "backoff", "delay", "to", "set_iter", "set_ctx", *DIRECTIVES})
"""What only a task's policy may hold."""

OneRule = TypeVar("OneRule", Rule, AdmitRule)

_BRANCH = ("when", "then", "else")
_STARTS_STEPS = frozenset({"step", "next", "arcs", "goto", "steps"})
_ONLY_WITH = {
    "attempts": ("retry",),
    "backoff": ("retry",),
    "multiplier": ("retry",),
    "max_delay": ("retry",),
    "jitter": ("retry",),
    "delay": ("retry", "jump"),
    "to": ("jump",),
    "code": ("fail",),
    "message": ("fail",),
}


def read_policy(r: Reader, draft: TaskDraft, node: Node) -> None:
    """Take the keys of `task.spec.policy`; `rules` is required (v10 §5.4)."""
    # A list as the policy is one mistake; read on, it would be three about missing keys.
    if isinstance(node, Sequence):
        r.report(
            "NL102",
            "`policy`: expected a mapping with `rules`, found a list",
            node.span,
            help="put it under `rules:`",
        )
        return
    policy = mapping_of(r, node, "`policy`")
    if policy is None:
        return
    take_all(r, "task_policy", r.tables.task_policy, draft, policy)
    if policy.get("rules") is None and not is_misspelt(policy, "rules", r.tables.task_policy):
        missing(r, "`rules` of the policy", policy.span, help="write `rules: [{when: …, then: {do: …}}, …]`")


def read_branch(r: Reader, node: Node, short: Container[str]) -> tuple[Guard | None, Mapping | None, Span] | None:
    """The guard, the `then` mapping and the place of a rule; the guard is None for `else`.

    `else: {do: …}` (any key of `short`) and `else:` with a sibling `then` are read as `else: {then: …}` and
    noted.
    """
    if not isinstance(node, Mapping):
        wrong_shape(r, node, "a rule", "`{when: …, then: …}` or `{else: {then: …}}`")
        return None
    when, otherwise, then = node.get("when"), node.key("else"), node.get("then")
    # `{when: …, do: retry}` lacks its `then`: the keys are read as what stands in it, so that only that is told.
    own = [] if then is not None or otherwise is not None else [e for e in node.entries if e[0].text in short]
    for key, value in own[:1]:
        shown = f"{{{key.text}: {value.text}}}" if isinstance(value, Scalar) else f"{{{key.text}: …}}"
        r.report("NL103", f"`{key.text}` stands in `then`", key.span, help=f"write `then: {shown}`")
        then = mapping_at(own, node.span)
    for key, _ in node.entries:
        if key.text not in _BRANCH and not (own and key.text in short):
            stray_key(r, "rule", key, _BRANCH)
    if otherwise is not None and when is not None:
        r.report("NL109", "a rule has either `when` or `else`", otherwise.span, help="make two rules of them")
    if otherwise is not None:
        then = _else_body(r, node, otherwise, short)
    guard = read_guard(r, when, "`when`") if when is not None and otherwise is None else None
    if when is None and otherwise is None:
        if is_misspelt(node, "when", _BRANCH) or is_misspelt(node, "else", _BRANCH):
            return None
        missing(r, "the rule's `when`", node.span, help='write `when: "{{ … }}"`, or `else:` for the last rule')
        return None
    # A guard that could not be read was told. Without it the rule would match always, and hide those behind it.
    if when is not None and guard is None and otherwise is None:
        return None
    body = None if then is None else mapping_of(r, then, "`then`")
    if body is None and (then is None or is_empty(then)) and not is_misspelt(node, "then", _BRANCH):
        missing(r, "the rule's `then`", node.span)
    return guard, body, node.span


def _else_body(r: Reader, rule: Mapping, key: Scalar, short: Container[str]) -> Node | None:
    body, sibling = rule.get("else"), rule.get("then")
    if body is None or is_empty(body):
        if sibling is not None:
            r.report(
                "NL112",
                "`else:` beside `then` is read as `else: {then: …}`",
                key.span,
                help="indent `then` under `else`",
            )
        return sibling
    if isinstance(body, Mapping):
        inner = body.get("then")
        # The form of the specification; the other two are read as it, with a note.
        if inner is not None:
            stray_keys(r, "rule", body, ("then",))
            return inner
        if any(name.text in short for name, _ in body.entries):
            r.report(
                "NL112",
                "`else` without `then` is read as `else: {then: …}`",
                key.span,
                help="write `else: {then: {…}}`",
            )
            return body
        stray_keys(r, "rule", body, ("then",))
        return None
    wrong_shape(r, body, "`else`", "`{then: {…}}`")
    return None


def _rules(r: Reader, draft: TaskDraft, key: Scalar, node: Node) -> None:
    listed = sequence_of(r, node, "`rules`", "rules")
    if listed is None:
        return
    if not listed.items:
        r.report(
            "NL503",
            "`rules` is empty",
            key.span,
            help="leave the policy out for the default: ok goes on, an error fails",
        )
    draft.rules += read_rules(r, listed, _rule)
    last = draft.rules[-1] if draft.rules else None
    if last is not None and last.when is not None and last.when.expr == Const(True):
        draft.rules[-1] = last._replace(when=None)  # always, as the last one: that is what `else` says


def read_rules(r: Reader, listed: Sequence, read: Callable[[Reader, Node], OneRule | None]) -> list[OneRule]:
    """The rules of a list, those that could be read; `else` before the last one is told."""
    rules = []
    for position, item in enumerate(listed.items):
        rule = read(r, item)
        if rule is None:
            continue
        # The rule is kept, so that names in the others are still checked.
        if rule.when is None and position < len(listed.items) - 1:
            r.report("NL502", "`else` must be the last rule: what follows is never asked", rule.span)
        rules.append(rule)
    return rules


def _rule(r: Reader, node: Node) -> Rule | None:
    table = r.tables.then
    branch = read_branch(r, node, table)
    if branch is None:
        return None
    guard, body, span = branch
    if body is None:
        return None
    then = ThenDraft()
    for key, value in body.entries:
        # Before the table: whatever a dialect takes, a task's policy never starts a step.
        if key.text in _STARTS_STEPS:
            r.report(
                "NL118",
                f"`{key.text}`: a task's policy never starts or names a step",
                key.span,
                help="record what was found with `set_ctx` or `set_iter` and route in `next.arcs`",
            )
            continue
        take = table.get(key.text)
        if take is None:
            stray_key(r, "then", key, tuple(table))
            continue
        then.keys.append(key)
        take(r, then, key, value)
    if body.get("do") is None and not is_misspelt(body, "do", table):
        missing(r, "`do`", body.span, help="one of " + ", ".join(f"`{name}`" for name in DIRECTIVES))
    # Without a directive nobody knows what the other keys belong to.
    if not then.directive:
        return None
    _check_together(r, then, body)
    return Rule(
        guard,
        then.directive,
        span,
        then.attempts,
        then.backoff,
        then.delay,
        then.multiplier,
        then.max_delay,
        then.jitter,
        then.to,
        then.to_span,
        then.code,
        then.message,
        tuple(then.set_iter),
        tuple(then.set_ctx),
    )


def _check_together(r: Reader, then: ThenDraft, body: Mapping) -> None:
    """Keys that belong to another directive than the one given."""
    if then.directive == "jump" and body.get("to") is None and not is_misspelt(body, "to", r.tables.then):
        missing(r, "the target `to` of the jump", body.span, help="name a task of this step")
    for key in then.keys:
        name = key.text
        owners = _ONLY_WITH.get(name)
        if owners is not None and then.directive not in owners:
            r.report(
                "NL504",
                f"`{name}` has no meaning with `do: {then.directive}`",
                key.span,
                help=f"it belongs to `do: {owners[0]}`",
            )


def _do(r: Reader, then: ThenDraft, key: Scalar, node: Node) -> None:
    if isinstance(node, Scalar) and node.text == "skip" and r.legacy:
        r.refuse("`do: skip`", node.span, help="write `do: continue`, and what the next task needs into `set_iter`")
        return
    then.directive = choice_of(r, node, "`do`", DIRECTIVES) or ""


def _attempts(r: Reader, then: ThenDraft, key: Scalar, node: Node) -> None:
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        then.attempts = value
        return
    if quotes_told(r, "NL501", "`attempts`:", node, (int,)):
        return
    # `attempts: 0` means no retry to its author, which is 1 here: all attempts are counted.
    fix = Fix(node.span, "1", "write 1: the first attempt only", safe=False) if value == 0 else None
    r.report(
        "NL501",
        "`attempts` must be a whole number of at least 1",
        node.span,
        fix=fix,
        help="it counts all attempts, the first included: 1 means no retry",
    )


def _backoff(r: Reader, then: ThenDraft, key: Scalar, node: Node) -> None:
    if isinstance(node, Scalar) and node.text in ("fixed", "constant"):
        r.respelt(node.span, f"`backoff: {node.text}`", "`backoff: none`, the same delay each time")
        return
    if isinstance(node, Scalar) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        r.respelt(key.span, "a number as `backoff`", "`delay`, the same each time")
        # A `delay` that is given says more than the number of an older engine's `backoff`.
        then.delay = then.delay or read_duration(r, node, "`backoff`")
        return
    then.backoff = choice_of(r, node, "`backoff`", ("none", "linear", "exponential")) or "none"


def _delay(r: Reader, then: ThenDraft, key: Scalar, node: Node) -> None:
    then.delay = read_duration(r, node, "`delay`")


def _multiplier(r: Reader, then: ThenDraft, key: Scalar, node: Node) -> None:
    then.multiplier = number_of(r, node, "`multiplier`") or 2.0


def _max_delay(r: Reader, then: ThenDraft, key: Scalar, node: Node) -> None:
    then.max_delay = read_duration(r, node, "`max_delay`")


def _jitter(r: Reader, then: ThenDraft, key: Scalar, node: Node) -> None:
    then.jitter = boolean_of(r, node, "`jitter`") or False


def _to(r: Reader, then: ThenDraft, key: Scalar, node: Node) -> None:
    then.to = reference_of(r, node, "`to`")
    then.to_span = node.span


def _code(r: Reader, then: ThenDraft, key: Scalar, node: Node) -> None:
    then.code = read_value(r, node)


def _message(r: Reader, then: ThenDraft, key: Scalar, node: Node) -> None:
    then.message = read_value(r, node)


def _set_iter(r: Reader, then: ThenDraft, key: Scalar, node: Node) -> None:
    then.set_iter = _assigned(r, node, "iter")


def _set_ctx(r: Reader, then: ThenDraft, key: Scalar, node: Node) -> None:
    then.set_ctx = _assigned(r, node, "ctx")


def _assigned(r: Reader, node: Node, scope: str) -> DraftPairs:
    """The keys that a rule puts into `ctx` or `iter`: keys are top-level names, no paths (LANGUAGE §4)."""
    pairs = dict(read_pairs(r, node, f"`set_{scope}`"))
    for key in [key for key, _ in node.entries if "." in key.text] if isinstance(node, Mapping) else ():
        first, _, rest = key.text.partition(".")
        # `ctx.done` in `set_ctx` repeats the scope; any other path means a key of a mapping.
        fix = Fix(key.span, rest, f"write `{rest}`", safe=False) if first == scope and "." not in rest else None
        help = f"write `set_{scope}: {{{rest}: …}}`" if fix else f"write `set_{scope}: {{{first}: {{{rest}: …}}}}`"
        message = f"`{key.text}`: a key of `set_{scope}` is a name of `{scope}`, not a path"
        r.report("NL120", message, key.span, help=help, fix=fix)
        # Read on under the name that was meant, so that its uses are not unknown.
        pairs[rest if fix else first] = pairs.pop(key.text)
    return list(pairs.items())


def _mode(r: Reader, draft: TaskDraft, key: Scalar, node: Node) -> None:
    choice_of(r, node, "`mode`", ("exclusive",))


def _on_unmatched(r: Reader, draft: TaskDraft, key: Scalar, node: Node) -> None:
    if choice_of(r, node, "`on_unmatched`", ("continue",)):
        draft.on_unmatched_written = True


def _hook(r: Reader, draft: TaskDraft, key: Scalar, node: Node) -> None:
    # Empty hooks change nothing; only what would never run is an error.
    if is_empty(node) or (isinstance(node, Sequence) and not node.items):
        no_effect(r, draft, key, node)
    else:
        r.report("NL114", f"the hook `{key.text}` is reserved and must be empty", key.span, help="make tasks of it")


KEYS: Table[TaskDraft] = {
    "rules": _rules,
    "on_unmatched": _on_unmatched,
    "mode": _mode,
    "before": _hook,
    "after": _hook,
    "finally": _hook,
}
THEN_KEYS: Table[ThenDraft] = {
    "do": _do,
    "attempts": _attempts,
    "backoff": _backoff,
    "delay": _delay,
    "multiplier": _multiplier,
    "max_delay": _max_delay,
    "jitter": _jitter,
    "to": _to,
    "code": _code,
    "message": _message,
    "set_iter": _set_iter,
    "set_ctx": _set_ctx,
}
