"""NL3yy: templates, guards and the names in them."""

from noetlc.diag.diagnostic import Code, Severity

_WARNING, _ERROR = Severity.WARNING, Severity.ERROR

EXPRESSION_CODES: dict[str, Code] = {
    "NL301": Code(
        "bad-template", _ERROR, "A template that is no expression",
        "It could not be evaluated at run time either.",
        "url: \"{{ workload.api_url + }}\"",
        "url: \"{{ workload.api_url }}\"",
    ),
    "NL302": Code(
        "bad-guard", _ERROR, "A guard that is not exactly one expression in braces",
        "Text around an expression makes the whole a text, and a text that is not empty is true.",
        "when: \"{{ ctx.a }} and {{ ctx.b }}\"",
        "when: \"{{ ctx.a and ctx.b }}\"",
    ),
    "NL303": Code(
        "undeclared-name", _ERROR, "A name that nothing declares",
        "It is undefined whenever it is asked for. In a file with legacy constructs this is a warning.",
        "url: \"{{ api_url }}\"                    # not in the workload",
        "workload: {api_url: \"https://example.com\"}",
    ),
    "NL304": Code(
        "misplaced-name", _ERROR, "A name that is not visible at this place",
        "Who evaluates the expression does not have it: the server knows no outcome, the worker no event.",
        "next: {arcs: [{step: b, when: \"{{ outcome.status == 'ok' }}\"}]}",
        "next: {arcs: [{step: b, when: \"{{ event.name == 'step.done' }}\"}]}",
    ),
    "NL305": Code(
        "template-not-allowed", _ERROR, "A template where only a plain value may stand",
        "Nothing renders it there.",
        "executor: {profile: \"{{ workload.profile }}\"}",
        "executor: {profile: local}",
    ),
    "NL306": Code(
        "block-out-of-place", _ERROR, "A block template outside a task's fields",
        "Blocks are rendered by the worker only; elsewhere the evaluator knows expressions alone.",
        "next: {arcs: [{step: b, args: {n: \"{% if ctx.a %}1{% endif %}\"}}]}",
        "next: {arcs: [{step: b, args: {n: \"{{ 1 if ctx.a else 0 }}\"}}]}",
    ),
    "NL308": Code(
        "workload-cycle", _ERROR, "Workload values that read each other in a circle",
        "There is no order in which they could be rendered.",
        "workload: {a: \"{{ workload.b }}\", b: \"{{ workload.a }}\"}",
        "Let one of them be a plain value.",
    ),
    "NL309": Code(
        "literal-braces", _WARNING, "Braces in program text that begin no expression",
        "They stay as written. If an expression was meant, it will not be rendered.",
        "command: \"docker inspect -f '{{.Id}}' app\"",
        "Leave it if it is meant so; else write `{{ expression }}`.",
        "Where the braces belong to the program, as in Go templates and in shell expansions.",
    ),
    "NL310": Code(
        "scalar-loop", _ERROR, "A loop over a single value",
        "Only a list or a mapping has items; the run would fail at this step.",
        "loop: {in: 7, iterator: n}",
        "loop: {in: \"{{ range(7) | list }}\", iterator: n}",
    ),
    "NL311": Code(
        "unknown-attribute", _ERROR, "An attribute that a built-in name does not have",
        "It is undefined whenever it is asked for.",
        "when: \"{{ event.nam == 'step.failed' }}\"",
        "when: \"{{ event.name == 'step.failed' }}\"",
    ),
    "NL313": Code(
        "ambiguous-name", _WARNING, "A bare name that means two things",
        "It has the meaning of the stronger scope, and a change elsewhere in the file can take it over.",
        "n: \"{{ total }}\"                        # a key of `ctx` and of `workload`",
        "n: \"{{ workload.total }}\"",
        "Where both have the same value by construction.",
    ),
}  # fmt: skip
