"""A step's admission policy (v10 §5.2.1, LANGUAGE §3)."""

from noetlc.ast.playbook import Admit, AdmitRule
from noetlc.reading.drafts import AdmitDraft
from noetlc.reading.policy import CONTROL, read_branch, read_rules
from noetlc.reading.reader import Reader, Table, stray_key, take_all
from noetlc.reading.shapes import boolean_of, choice_of, is_misspelt, mapping_of, missing, sequence_of
from noetlc.source.nodes import Mapping, Node, Scalar


def read_admit(r: Reader, node: Node) -> Admit | None:
    """The admission policy; without any rule it would deny everything, so that is an error."""
    mapping = mapping_of(r, node, "`admit`")
    if mapping is None:
        return None
    draft = AdmitDraft()
    take_all(r, "admit", r.tables.admit, draft, mapping)
    if mapping.get("rules") is None and not is_misspelt(mapping, "rules", r.tables.admit):
        missing(r, "`rules` of the admission policy", mapping.span, help="leave `admit` out to admit every token")
    # Without a rule that could be read the policy is dropped: its lack is told, and a policy without rules denies
    # everything.
    return Admit(tuple(draft.rules), draft.waits, mapping.span) if draft.rules else None


def _rules(r: Reader, draft: AdmitDraft, key: Scalar, node: Node) -> None:
    listed = sequence_of(r, node, "`rules`", "rules")
    if listed is None:
        return
    if not listed.items:
        r.report(
            "NL608",
            "`admit.rules` is empty: no token could ever pass",
            key.span,
            help="leave `admit` out to admit every token",
        )
        return
    draft.rules = read_rules(r, listed, _rule)


def _rule(r: Reader, node: Node) -> AdmitRule | None:
    branch = read_branch(r, node, ("allow",))
    if branch is None or branch[1] is None:
        return None
    guard, body, span = branch
    assert body is not None
    allow = _allow(r, body)
    return None if allow is None else AdmitRule(guard, allow, span)


def _allow(r: Reader, body: Mapping) -> bool | None:
    for key, _ in body.entries:
        if key.text in CONTROL:
            r.report(
                "NL117",
                f"`{key.text}` belongs to a task's policy",
                key.span,
                help="an admission rule only says `allow: true` or `allow: false`",
            )
        elif key.text != "allow":
            stray_key(r, "admit", key, ("allow",))
    node = body.get("allow")
    if node is None:
        if not is_misspelt(body, "allow", ("allow",)):
            missing(r, "`allow`", body.span, help="write `then: {allow: true}` or `then: {allow: false}`")
        return None
    return boolean_of(r, node, "`allow`")


def _mode(r: Reader, draft: AdmitDraft, key: Scalar, node: Node) -> None:
    # Inclusive is read as exclusive: admission is a yes or no (LANGUAGE §3).
    if choice_of(r, node, "`mode`", ("exclusive", "inclusive")) == "inclusive":
        r.report("NL110", "`mode: inclusive` is read as `exclusive`: admission is one yes or no", node.span)


def _on_deny(r: Reader, draft: AdmitDraft, key: Scalar, node: Node) -> None:
    draft.waits = choice_of(r, node, "`on_deny`", ("wait", "reject")) == "wait"


KEYS: Table[AdmitDraft] = {"mode": _mode, "rules": _rules, "on_deny": _on_deny}
