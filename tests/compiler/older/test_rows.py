"""Every row of the lowering tables has goldens: construct → the cases under golden/dialects, golden/lower, golden/spec.

The rows are those of the language's table (its order) and then those of the dialects' table that it does not have.
"""

import goldens

ROWS: dict[str, str] = {
    "unguarded next: name, list": (
        "next-forms next-fork next-fork-any next-fork-shared next-end end-undeclared next-named"
    ),
    "v1 next: [{when, then}, {else}]": (
        "next-ladder next-when-list next-fork-args next-item-else next-mode next-bare-condition"
    ),
    "a case rule: once, on the event it names": "case-routes event-names case-enter case-vars case-error-first",
    "case that only routes": "case-routes",
    "any other case": (
        "case-branches case-error case-sink case-sink-when case-sends case-sends-answer "
        "case-own-name case-own-task case-chain-retry case-retry-cause case-again case-call-then-exit case-empty-answer"
    ),
    "case in a step with a loop": "case-loop case-inclusive-loop case-loop-args case-loop-done case-enter-loop",
    "case_mode: inclusive": (
        "case-inclusive-end-step case-inclusive-break-chain case-inclusive-defer case-inclusive-error case-1.3-1 "
        "case-2.4-2"
    ),
    "eval_mode: on_event": (
        "case-on-event case-on-event-inclusive case-on-event-own case-on-event-vars case-timeout case-timeout-untaken "
        "case-1.2-1 case-timer-name"
    ),
    "next.to with a template, delay": "next-template case-2.4-3 case-2.4-4",
    "retry map": (
        "retry-map retry-when retry-stop retry-both retry-backoff retry-exhausted retry-linear retry-names retry-on "
        "retry-stop-rules retry-when-case"
    ),
    "retry.scope": (
        "case-retry case-retry-used-up retry-inherited case-sink-retry retry-executor retry-executor-unused retry-false"
    ),
    "retry list": (
        "retry-list retry-list-errors retry-pages-exhausted retry-merge retry-two-lists case-pages case-pages-last "
        "case-pages-told retry-list-order retry-collect-replace retry-page-names loop-pagination pages-into "
        "case-pages-chain"
    ),
    "poll": "poll poll-exhausted",
    "sink, save": (
        "sink save save-forms formal-10-1 save-log save-statement sink-names sink-own-result sink-step-name toolless"
    ),
    "vars, case.then.set, result": (
        "vars vars-loop vars-own-name step-result step-set-ctx case-vars vars-not-on-error task-level-"
        "vars root-ctx toolless"
    ),
    "step args": "step-args args-token args-name",
    "workbook task": (
        "v1-workbook v1-call workbook-args workbook-sink workbook-mapping workbook-map-plain workbook-"
        "retry workbook-reference call-args workbook-own-args workbook-entry-task"
    ),
    "step.when, pass": "step-when skip-pass skip-when-pass skip-loop",
    "set (D10)": "set-input-output set-task set-rule set-arc set-step-loop set-before-arcs "
    "set-arc-carried set-loop-arcs",
    "input, output (D10)": "set-input-output input-merge output-names output-arc output-ref output-store output-tiers",
    "loop.cursor (D11)": "cursor cursor-frame cursor-failed cursor-frame-whole",
    "on_error; of a loop": "on-error-ignore loop-on-error on-error-fail",
    "batch_size, chunk, limit, order_by; where": (
        "loop-forms loop-chunk case-7-1 loop-order-limit loop-where loop-where-limit loop-hints"
    ),
    "tool.spec.async, case.spec.cache": "case-7-1",
    "pipe, eval, expr": "pipe pipe-catch-beside pipe-passed-over pipe-from eval eval-jump eval-spec",
    "choose, while, until": (
        "choose choose-no-else while while-never while-exhausted until until-exhausted until-deadline nested-sugar"
    ),
    "root vars, ctx": "root-vars root-ctx root-spec root-vars-workbook",
    "env, token()": "env env-workload token-computed",
    "block templates": "blocks blocks-args blocks-vars blocks-workload",
    "names in templates": "arc-events event-names loop-names names-in-text arc-status old-words-declared "
    "block-old-words event-negated names-beside-braces",
    # Only in the table of the dialects.
    "labelled, wrapped, unnamed, single task": (
        "task-wrapped v1-word-tool v10-7.2-1 v10-7.3-1 canonical-5.1-1 labelled task-unnamed"
    ),
    "type: K, tool: K": "v1-word-tool tool-string type-names type-save",
    "with, input, data, args as carriers": (
        "next-forms v1-word-tool v1-call carriers carriers-conflict carriers-http next-carriers"
    ),
    "fields in tool.spec; assert": "task-spec-fields",
    "condition, cond": "next-condition arc-cond",
    "retry: true, N; tool.spec.retry": "retry-exhausted case-7-1 retry-true retry-number retry-tool-spec",
    "loop forms, type iterator": "loop-forms iterator loop-collection loop-mapping iterator-kind",
    "loop over steps, end_loop": "end-loop end-loop-fork end-loop-skips",
    "bare iterator, loop_index": "loop-names",
    "on_error, on_success; loop.pagination": "retry-on-error retry-on-success retry-two-lists loop-pagination",
    "playbook with and without return_step": "playbook-return-step playbook-no-return",
    "root name, path; versions; hints": "root-name-path root-hints",
    "implicit end": "next-end end-with-arcs",
    "else with do, else with a sibling then": "else-forms",
    # REAL.md, values.
    "guards that are texts": "guard-texts",
    "old names that are absent": "absent-names",
    "secret.x, auth.alias.x": "secret-words",
    "job, payload, input, data, args, spec": "request-names request-names-loose",
    # REAL.md, flow.
    "backoff: fixed, a number; results; names with marks first": "backoff-words",
    "older words for fields": "older-fields",
    "set as a list, set_vars, names under their scope": "set-list set-under-scope",
    "with or data on a step without a tool": "end-with-data",
    "assert: {expects, returns}": "declared",
    "spec.next_mode": "next-mode-spec",
    "a bare result that code asks to be a list": "list-args",
    "a file without `start`; leaves and an end with work": "entry-first end-with-work",
    "collect without paging, result of a rule": "case-collect case-result",
    "sinks that find their keys": "sink-widened",
    "backoff_seconds, retry_on_status; assert of a task": "retry-words",
    "a loop over pages without a number": "pages-all",
    "output.response": "output-response",
    "older words for values and fields": "older-words",
    "results of a branch in its next": "case-branch-result",
    "a bare step of a case where all else leads": "case-last-step",
    "words at the root; fields one level deeper": "root-words deeper-fields",
    "timers that nothing starts": "case-timer-unstarted",
    "`data` of a SQL result": "sql-data",
    "the timeout of a step around a call": "timeout-wait",
}


def test_every_golden_of_the_dialects_shows_a_row_and_how_it_runs() -> None:
    shown = {name for names in ROWS.values() for name in names.split()}
    there = [case for case in goldens.cases() if case.stage == "dialects"]
    assert len(there) >= 120
    assert [case.name for case in there if case.name not in shown] == []
    said = [case for case in there if not case.beside("same").exists()]  # the others run as what they are the same as
    assert [case.name for case in said if not case.beside("events").exists()] == [
        "env-workload",
        "env",
        "secret-words",
        "token-computed",
    ]  # their secrets come from outside


def test_every_row_has_its_goldens() -> None:
    there = {case.name for case in goldens.cases() if case.stage in ("dialects", "lower", "spec")}
    assert {row: missing for row, names in ROWS.items() if (missing := sorted(set(names.split()) - there))} == {}
