"""The specs and policies of the executor, a step and a loop: tables of keys, and the keys that they share."""

from typing import Generic, Protocol

from noetlc.ast.playbook import Value
from noetlc.reading.drafts import DraftPairs
from noetlc.reading.field import read_field
from noetlc.reading.kinds import knobs_of_any_kind
from noetlc.reading.policy import CONTROL
from noetlc.reading.reader import Draft, Reader, Table, Take, stray_key
from noetlc.reading.shapes import choice_of, mapping_of
from noetlc.reading.values import read_lifetime, read_timeout
from noetlc.source.nodes import Mapping, Node, Scalar


def take_spec(r: Reader, scope: str, table: Table[Draft], draft: Draft, knobs: DraftPairs, node: Mapping) -> None:
    """Take the keys of a spec; a key that some kind declares as a knob is kept for the tasks that know it (LANGUAGE §1,
    Effective spec).
    """
    for key, value in node.entries:
        take = table.get(key.text)
        if take is not None:
            take(r, draft, key, value)
        # A legacy key of the scope comes first: a kind of another package may have a knob of that name.
        elif key.text not in r.legacy.get(scope, {}) and key.text in knobs_of_any_kind():
            knobs.append((key.text, read_field(r, knobs_of_any_kind()[key.text], key.text, value)))
        else:
            stray_key(r, scope, key, tuple(table))


def take_policy(r: Reader, scope: str, table: Table[Draft], draft: Draft, node: Mapping) -> None:
    """Take the keys of a policy that is not a task's; control actions have no place there (v10 §5.2.2)."""
    for key, value in node.entries:
        take = table.get(key.text)
        if take is not None:
            take(r, draft, key, value)
        # Said by a code of its own: an author who writes `retry` here expects it to act.
        elif key.text in CONTROL or key.text == "rules":
            r.report(
                "NL117",
                f"`{key.text}` belongs to a task's policy",
                key.span,
                help="only `task.spec.policy.rules` may retry, jump, break, continue or fail",
            )
        else:
            stray_key(r, scope, key, tuple(table))


class PolicyKeys(Generic[Draft]):
    """Takes a mapping within a policy, which is named after its key, by a table of its own keys."""

    def __init__(self, scope: str, table: Table[Draft]) -> None:
        self.scope = scope
        self.table = table

    def __call__(self, r: Reader, draft: Draft, key: Scalar, node: Node) -> None:
        mapping = mapping_of(r, node, f"`{self.scope}`")
        if mapping is not None:
            take_policy(r, self.scope, self.table, draft, mapping)


class HasLifetime(Protocol):
    """A draft of what may be given a time in which it has to be done."""

    lifecycle_timeout: Value | None


class HasFailureMode(Protocol):
    """A draft of what says what happens to others when a part of it has failed."""

    failure_mode: str


def lifetime(of: str) -> Take[HasLifetime]:
    """Takes `timeout_s` of a `lifecycle`, the time of an execution, step run or iteration, as `of` names it."""

    def take(r: Reader, draft: HasLifetime, key: Scalar, node: Node) -> None:
        draft.lifecycle_timeout = read_lifetime(r, node, of)

    return take


class HasTimeout(Protocol):
    """A draft of what may say how long one attempt of a task may take."""

    timeout: Value | None


def attempt_limit(r: Reader, draft: HasTimeout, key: Scalar, node: Node) -> None:
    """Take `timeout`."""
    draft.timeout = read_timeout(r, node)


def failure_mode(r: Reader, draft: HasFailureMode, key: Scalar, node: Node) -> None:
    """Take `mode` of a `failure`."""
    draft.failure_mode = choice_of(r, node, "`failure.mode`", ("fail_fast", "best_effort")) or "fail_fast"
