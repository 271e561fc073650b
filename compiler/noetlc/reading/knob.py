"""Knobs of tools in the spec of the executor, a step or a loop, for the tasks inside (LANGUAGE §1, Effective
spec).
"""

from noetlc.reading.drafts import Pairs
from noetlc.reading.field import read_field
from noetlc.reading.kinds import knobs_of_any_kind
from noetlc.reading.policy import CONTROL
from noetlc.reading.reader import Draft, Reader, Table, stray_key
from noetlc.source.nodes import Mapping


def take_spec(r: Reader, scope: str, table: Table[Draft], draft: Draft, knobs: Pairs, node: Mapping) -> None:
    """Take the keys of a spec; a key that some kind declares as a knob is kept for the tasks that know it."""
    for key, value in node.entries:
        take = table.get(key.text)
        if take is not None:
            take(r, draft, key, value)
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
        elif key.text in CONTROL or key.text == "rules":
            r.report(
                "NL117",
                f"`{key.text}` belongs to a task's policy",
                key.span,
                help="only `task.spec.policy.rules` may retry, jump, break, continue or fail",
            )
        else:
            stray_key(r, scope, key, tuple(table))
