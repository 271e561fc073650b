"""NL65y: joins and gates that have no net; NL69y: the children that a plan embeds."""

from noetlc.diag.diagnostic import Code, Severity

_WARNING, _ERROR = Severity.WARNING, Severity.ERROR

NET_CODES: dict[str, Code] = {
    "NL650": Code(
        "taken-without-fork", _ERROR, "A `taken` join that no fork belongs to",
        "`taken` waits for the branches that a fork took: one inclusive router that every way to the join goes\n"
        "through, each of whose arcs starts its own branch that ends in exactly one source of the join.",
        "next: {arcs: [{step: a}, {step: b}]}    # exclusive, and `join: taken` behind a and b",
        "next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}\n"
        "# or, where every source always delivers: `join: all`",
    ),
    "NL651": Code(
        "long-admission", _ERROR, "An admission with very many rules",
        "The rules become one expression, and expressions are bounded in depth.",
        "admit: {rules: [ …more than 64 rules… ]}",
        "Put the conditions of one verdict into one rule, with `or`, or into a list that is looked up.",
    ),
    "NL690": Code(
        "child-not-found", _WARNING, "A child playbook that is in no catalogue",
        "It is not checked now and not part of the plan; at run time it is looked up again, and the task fails\n"
        "with `playbook.not_found` where it is still missing.",
        "tool: {kind: playbook, path: jobs/lode}",
        "tool: {kind: playbook, path: jobs/load}  # and `--path FOLDER` with the playbook in it",
        "Where the child is registered at run time only.",
    ),
    "NL691": Code(
        "child-with-errors", _WARNING, "A child playbook that does not compile",
        "It is not part of the plan; at run time the task that calls it fails.",
        "tool: {kind: playbook, path: jobs/broken}",
        "Run `noetlc lint` on the child and mend it.",
        "Where the child is mended before the playbook runs.",
    ),
    "NL692": Code(
        "child-cycle", _WARNING, "A call that comes back to a playbook that is being called",
        "The child is looked up at run time instead of being part of the plan; nothing but\n"
        "`limits.max_children_depth` ends such calls.",
        "# jobs/a\ntool: {kind: playbook, path: jobs/b}   # and jobs/b calls jobs/a",
        "Make one playbook of both, or call with a condition that ends the calls.",
        "Where a condition surely ends the calls, as on the depth of a tree that is walked.",
    ),
    "NL693": Code(
        "child-path-template", _WARNING, "A child playbook named by a template",
        "Which playbook it is, is known at run time only; it is not checked now and not part of the plan.",
        "tool: {kind: playbook, path: \"{{ workload.job }}\"}",
        "tool: {kind: playbook, path: jobs/load}",
        "Where the set of playbooks is open on purpose, and each of them is checked by itself. `noetlc lint` says it\n"
        "only where `--path` asks for all children.",
    ),
    "NL694": Code(
        "child-too-large", _WARNING, "A child playbook whose plan is too large to be embedded",
        "It is not part of the plan; at run time it is looked up in the catalogue.",
        "# a child that embeds children that embed the same large children",
        "Call the shared child from fewer places.",
        "Where the child is in the catalogue of every place that runs the playbook.",
    ),
}  # fmt: skip
"""Code → what it means."""
