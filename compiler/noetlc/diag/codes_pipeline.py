"""NL5yy: task policies and loops; NL6yy: admission and routing, as far as the shape decides."""

from noetlc.diag.diagnostic import Code, Severity

_NOTE, _WARNING, _ERROR = Severity.NOTE, Severity.WARNING, Severity.ERROR

PIPELINE_CODES: dict[str, Code] = {
    "NL501": Code(
        "bad-attempts", _ERROR, "`attempts` that is no whole number of at least 1",
        "It counts all attempts, the first included; nothing silently becomes a default.",
        "then: {do: retry, attempts: 0}",
        "then: {do: retry, attempts: 3}          # 1 means no retry",
    ),
    "NL502": Code(
        "rule-after-else", _ERROR, "A rule after `else`",
        "`else` always matches, so that no later rule is asked.",
        "rules: [{else: {then: {do: continue}}}, {when: \"{{ iter.bad }}\", then: {do: fail}}]",
        "Put `else` last.",
    ),
    "NL503": Code(
        "empty-rules", _ERROR, "A policy without any rule",
        "With rules, what matches none goes on, errors too; that is hardly meant by none at all.",
        "spec: {policy: {rules: []}}",
        "Leave the policy out: ok goes on, an error fails.",
    ),
    "NL504": Code(
        "idle-key", _WARNING, "A key that the rule's directive does not use",
        "It is never looked at, so that something else was probably meant.",
        "then: {do: continue, attempts: 5}",
        "then: {do: retry, attempts: 5}",
        "Where the key is kept for a directive that is switched by hand.",
    ),
    "NL505": Code(
        "bad-max-in-flight", _ERROR, "`max_in_flight` that is no whole number of at least 1",
        "No iteration could ever start.",
        "spec: {mode: parallel, max_in_flight: 0}",
        "spec: {mode: parallel, max_in_flight: 4}",
    ),
    "NL607": Code(
        "empty-arcs", _NOTE, "A router without arcs",
        "The step is a leaf: its token ends there.",
        "next: {spec: {mode: inclusive}, arcs: []}",
        "Leave `next` out.",
        "Where a generator writes a router for every step.",
    ),
    "NL608": Code(
        "empty-admission", _ERROR, "An admission policy without any rule",
        "No rule matches, so that every token would be turned away.",
        "spec: {policy: {admit: {rules: []}}}",
        "Leave `admit` out to let every token in.",
    ),
}  # fmt: skip
