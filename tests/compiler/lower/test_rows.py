"""Every row of the lowering tables has goldens: construct → the cases under golden/dialects, golden/lower, golden/spec.

The rows are those of the language's table (its order) and then those of the dialects' table that it does not have.
"""

import goldens

ROWS: dict[str, str] = {
    "unguarded next: name, list": "next-forms next-fork next-fork-any next-fork-shared next-end",
    "v1 next: [{when, then}, {else}]": "next-ladder next-when-list next-fork-args next-item-else",
    "a case rule: once, on the event it names": "case-routes event-names case-enter case-vars",
    "case that only routes": "case-routes",
    "any other case": "case-branches case-error case-sink case-sink-when case-sends case-sends-answer",
    "case in a step with a loop": "case-loop case-inclusive-loop",
    "case_mode: inclusive": (
        "case-inclusive-end-step case-inclusive-break-chain case-inclusive-defer case-inclusive-error case-1.3-1 "
        "case-2.4-2"
    ),
    "eval_mode: on_event": "case-on-event case-on-event-inclusive case-timeout case-1.2-1",
    "next.to with a template, delay": "next-template case-2.4-3 case-2.4-4",
    "retry map": "retry-map retry-when retry-stop retry-both retry-backoff retry-exhausted",
    "retry.scope": "case-retry retry-inherited",
    "retry list": "retry-list retry-list-errors retry-pages-exhausted retry-merge retry-two-lists case-pages",
    "poll": "poll poll-exhausted",
    "sink, save": "sink save save-forms formal-10-1",
    "vars, case.then.set, result": "vars vars-loop vars-own-name step-result step-set-ctx case-vars",
    "step args": "step-args",
    "workbook task": "v1-workbook v1-call workbook-args workbook-sink",
    "step.when, pass": "step-when",
    "set (D10)": "set-input-output",
    "input, output (D10)": "set-input-output",
    "loop.cursor (D11)": "cursor cursor-frame",
    "on_error; of a loop": "on-error-ignore loop-on-error",
    "batch_size, chunk, limit, order_by; where": "loop-forms loop-chunk case-7-1",
    "tool.spec.async, case.spec.cache": "case-7-1",
    "pipe, eval, expr": "pipe eval",
    "choose, while, until": (
        "choose choose-no-else while while-never while-exhausted until until-exhausted until-deadline nested-sugar"
    ),
    "root vars, ctx": "root-vars",
    "env, token()": "env",
    "block templates": "blocks blocks-args blocks-vars blocks-workload",
    "names in templates": "arc-events event-names loop-names",
    # Only in the table of the dialects.
    "labelled, wrapped, unnamed, single task": "task-wrapped v1-word-tool v10-7.2-1 v10-7.3-1 canonical-5.1-1",
    "type: K, tool: K": "v1-word-tool",
    "with, input, data, args as carriers": "next-forms v1-word-tool v1-call",
    "condition, cond": "next-condition",
    "retry: true, N; tool.spec.retry": "retry-exhausted case-7-1",
    "loop forms, type iterator": "loop-forms iterator",
    "loop over steps, end_loop": "end-loop end-loop-fork end-loop-skips",
    "bare iterator, loop_index": "loop-names",
    "implicit end": "next-end",
    "else with do, else with a sibling then": "else-forms",
}


def test_every_row_has_its_goldens() -> None:
    there = {case.name for case in goldens.cases() if case.stage in ("dialects", "lower", "spec")}
    assert {row: missing for row, names in ROWS.items() if (missing := sorted(set(names.split()) - there))} == {}
