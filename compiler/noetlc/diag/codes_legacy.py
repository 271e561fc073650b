"""NL9yy: what lowering did to legacy constructs, by class, and what it could not lower."""

from noetlc.diag.diagnostic import Code, Severity

_NOTE, _ERROR = Severity.NOTE, Severity.ERROR

LEGACY_CODES: dict[str, Code] = {
    "NL903": Code(
        "not-lowered", _ERROR, "A construct that has no canonical form",
        "What it asks for cannot be said with tasks, rules and arcs, so that it would not run as written.",
        "tool:\n- {name: a, kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: b}}}]}}}\n"
        "- {while: {when: \"{{ iter.more }}\", then: [{name: b, kind: noop}]}}",
        "then: {do: jump, to: while_1}           # begin the loop",
    ),
    "NL904": Code(
        "not-migrated", _ERROR, "A file that `noetlc migrate` cannot rewrite",
        "What stands there would change its meaning somewhere else in the file.",
        "- {step: a, <<: *defaults, sink: {tool: {kind: noop}}}",
        "- {step: a, desc: what the defaults say, sink: {tool: {kind: noop}}}",
    ),
    "NL905": Code(
        "migrated-wrongly", _ERROR, "A rewritten file that does not mean the same",
        "`noetlc migrate` compiles what it wrote and compares the plans; they differ, so nothing is written. This is "
        "a mistake of `noetlc`: please report it.",
        "noetlc migrate --write old.yaml",
        "noetlc compile --format canonical old.yaml   # as an emergency: without comments",
    ),
    "NL910": Code(
        "lowered-exactly", _NOTE, "A legacy construct that was read as its canonical form",
        "It means the same; `noetlc migrate`, or `noetlc lint --fix`, writes the canonical form.",
        "next: b",
        "next: {spec: {mode: exclusive}, arcs: [{step: b}]}",
        "Where the file is kept in its dialect, because old engines still run it.",
    ),
    "NL911": Code(
        "lowered-safely", _NOTE, "A legacy construct on which the old engines disagreed",
        "It means the same except where the old engines disagreed among themselves.",
        "next: [{when: \"{{ ctx.a }}\", then: [{step: b}]}, {else: [{step: c}]}]   # some took every true one",
        "next: {spec: {mode: exclusive}, arcs: [{step: b, when: \"{{ ctx.a }}\"}, {step: c}]}",
        "Where the file is kept in its dialect, and the reading is the one that was meant.",
    ),
    "NL912": Code(
        "lowered-for-review", _NOTE, "A legacy construct whose meaning should be looked at",
        "The old engines left it open, and one meaning had to be chosen. `noetlc migrate --format markdown` lists all.",
        "next: [{step: a}, {step: b}]            # and both lead to `c`: does it wait for both?",
        "next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}   # and `join: all` at `c`",
        "Where somebody has looked, and the reading is the one that was meant.",
    ),
}  # fmt: skip
