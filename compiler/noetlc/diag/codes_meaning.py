"""Codes of what a playbook means: names, expressions, routing, the net, and older forms (NL2yy to NL9yy)."""

from noetlc.diag.diagnostic import Code, Severity

E, W, N = Severity.ERROR, Severity.WARNING, Severity.NOTE

MEANING_CODES: dict[str, Code] = {
    # NL2yy: names of steps, tasks and other things, and references to them.
    "NL201": Code(
        "duplicate-step", E, "Two steps of one name",
        "An arc to that name could mean either of them.",
        "workflow: [{step: start}, {step: load}, {step: load}]",
        "Give every step of the workflow its own name.",
    ),
    "NL202": Code(
        "missing-entry", E, "No step to begin with",
        "The workflow begins at `executor.spec.entry_step`, else at the step named `start`. In files of older\n"
        "dialects, which may do without both, the first step is taken (NL910).",
        "executor: {spec: {entry_step: begn}}\nworkflow: [{step: begin}]",
        "executor: {spec: {entry_step: begin}}\nworkflow: [{step: begin}]",
    ),
    "NL203": Code(
        "unknown-step", E, "An arc or `cancels` names a step that does not exist",
        "The token would have nowhere to go.",
        "next: {arcs: [{step: clean_up}]}        # the step is called `cleanup`",
        "next: {arcs: [{step: cleanup}]}",
    ),
    "NL204": Code(
        "duplicate-task", E, "Two tasks of one name in a step",
        "A jump to that name, and a result read by it, could mean either of them.",
        "tool: [{name: a, kind: noop}, {name: a, kind: noop}]",
        "Give every task of a step its own name.",
    ),
    "NL205": Code(
        "unknown-task", E, "A jump to a task that does not exist",
        "The pipeline could not go on.",
        "then: {do: jump, to: fecth}",
        "then: {do: jump, to: fetch}",
    ),
    "NL206": Code(
        "jump-out-of-step", E, "A jump to a task of another step",
        "A jump stays in its step; only arcs lead from step to step.",
        "then: {do: jump, to: task_of_another_step}",
        "Record what was found with `set_ctx` and route with a guarded arc.",
    ),
    "NL207": Code(
        "unknown-workbook-task", E, "A task that the workbook does not have",
        "There is nothing to put in its place.",
        "tool: {kind: workbook, task: lod_data}",
        "tool: {kind: workbook, task: load_data}",
    ),
    "NL208": Code(
        "workbook-cycle", E, "Workbook tasks that stand for each other in a circle",
        "There is no task at the end of it.",
        "workbook: [{name: a, kind: workbook, task: b}, {name: b, kind: workbook, task: a}]",
        "Let one of them be a task of another kind.",
    ),
    "NL209": Code(
        "join-above-sources", E, "A join that waits for more tokens than can come",
        "The step would never start.",
        "spec: {policy: {join: 3}}               # two steps lead here",
        "spec: {policy: {join: 2}}, or `all`",
    ),
    "NL210": Code(
        "iterator-is-task", E, "An iterator and a task of one name",
        "The bare name in an expression could mean either of them.",
        "loop: {in: \"{{ workload.items }}\", iterator: load}   # and a task `load`",
        "Rename one of them.",
    ),
    "NL211": Code(
        "duplicate-credential", E, "Two keychain entries of one name",
        "Nothing says which of the two entries is meant.",
        "keychain: [{name: pg, kind: env}, {name: pg, kind: file}]",
        "Give every entry its own name.",
    ),
    "NL212": Code(
        "reserved-name", E, "A step, task or iterator named like a scope of expressions",
        "Its result could never be reached by that name; an iterator `index` or `parent` would lose its items to what\n"
        "the engine writes to `iter` under that name.",
        "- {step: ctx}",
        "- {step: context_step}",
    ),
    "NL213": Code(
        "undeclared-credential", W, "`keychain.<name>` without such an entry",
        "Nothing resolves it before the run.",
        "headers: {Authorization: \"Bearer {{ keychain.api_token }}\"}",
        "keychain: [{name: api_token, kind: env}]",
        "Where the entry is known to the credential store of every place that runs the playbook.",
    ),
    "NL218": Code(
        "unknown-phase-step", E, "A phase behind main begins at a step that does not exist",
        "The phase could not begin, and nothing that it is for would run.",
        "executor: {spec: {finally: clean_up}}   # the step is called `cleanup`",
        "executor: {spec: {finally: cleanup}}",
    ),
    "NL219": Code(
        "step-in-two-phases", E, "A step that two phases lead to",
        "Main, `on_failure` and `finally` follow each other, and each begins with no token of the one before. A step\n"
        "in two of them would have to belong to either. A declared `end` belongs to main.",
        "executor: {spec: {finally: release}}\n"
        "workflow: [{step: start, next: {arcs: [{step: release}]}}, {step: release}]",
        "Give each phase steps of its own: what `finally` begins with runs after main however that ends, so that no\n"
        "arc needs to lead there.",
    ),
    "NL220": Code(
        "idle-after", W, "A limit of time for phases that there are not",
        "`after_s` bounds each phase behind main; `timeout_s` bounds main.",
        "executor: {spec: {policy: {lifecycle: {after_s: 60}}}}",
        "executor: {spec: {finally: release, policy: {lifecycle: {after_s: 60}}}}",
        "While the step that such a phase begins with is still to be written.",
    ),
    "NL221": Code(
        "compensated-behind-main", W, "A step behind main whose runs are to be compensated",
        "Only runs of main are remembered: what undoes them, and what runs after main, is not undone.",
        "executor: {spec: {finally: release}}\n"
        "workflow: [{step: start}, {step: release, spec: {policy: {compensate: undo}}}, {step: undo}]",
        "Remove it, or handle the failure with arcs.",
        "Where the step is meant to be moved into main again.",
    ),
    "NL222": Code(
        "empty-list", W, "A list without entries, so that nothing is done of what it stands for",
        "Whoever reads it believes that steps are cancelled, or runs compensated.",
        "executor: {spec: {compensate_on: []}}\n"
        "workflow: [{step: start, spec: {policy: {compensate: undo}}}, {step: undo}]",
        "executor: {spec: {compensate_on: [failed]}}\n"
        "workflow: [{step: start, spec: {policy: {compensate: undo}}}, {step: undo}]",
        "While compensation is turned off for a time.",
    ),
    "NL223": Code(
        "idle-compensate-on", W, "Ends after which runs are compensated, and no step is compensated",
        "`compensate_on` only says when; what undoes a run is named by its step.",
        "executor: {spec: {compensate_on: [failed]}}\nworkflow: [{step: start}]",
        "executor: {spec: {compensate_on: [failed]}}\n"
        "workflow: [{step: start, spec: {policy: {compensate: undo}}}, {step: undo}]",
        "While the step that undoes is still to be written.",
    ),
    # NL3yy: templates, guards and the names in them.
    "NL301": Code(
        "bad-template", E, "A template that is no expression",
        "The template could not be evaluated at run time either.",
        "url: \"{{ workload.api_url + }}\"",
        "url: \"{{ workload.api_url }}\"",
    ),
    "NL302": Code(
        "bad-guard", E, "A guard that is not exactly one expression in braces",
        "Text around an expression makes the whole a text, and a text that is not empty is true.",
        "when: \"{{ ctx.a }} and {{ ctx.b }}\"",
        "when: \"{{ ctx.a and ctx.b }}\"",
    ),
    "NL303": Code(
        "undeclared-name", E, "A name that nothing declares",
        "The name is undefined whenever it is asked for. In a file with legacy constructs this is a warning.",
        "url: \"{{ api_url }}\"                    # not in the workload",
        "workload: {api_url: \"https://example.com\"}",
    ),
    "NL304": Code(
        "misplaced-name", E, "A name that is not visible at this place",
        "Who evaluates the expression does not have it: the server knows no outcome, the worker no event.",
        "next: {arcs: [{step: b, when: \"{{ outcome.status == 'ok' }}\"}]}",
        "next: {arcs: [{step: b, when: \"{{ event.name == 'step.done' }}\"}]}",
    ),
    "NL305": Code(
        "template-not-allowed", E, "A template where only a plain value may stand",
        "Nothing renders it there.",
        "executor: {profile: \"{{ workload.profile }}\"}",
        "executor: {profile: local}",
    ),
    "NL306": Code(
        "block-out-of-place", E, "A block template outside a task's fields",
        "Blocks are rendered by the worker only; elsewhere the evaluator knows expressions alone.",
        "next: {arcs: [{step: b, args: {n: \"{% if ctx.a %}1{% endif %}\"}}]}",
        "next: {arcs: [{step: b, args: {n: \"{{ 1 if ctx.a else 0 }}\"}}]}",
    ),
    "NL308": Code(
        "workload-cycle", E, "Workload values that read each other in a circle",
        "There is no order in which they could be rendered.",
        "workload: {a: \"{{ workload.b }}\", b: \"{{ workload.a }}\"}",
        "Let one of them be a plain value.",
    ),
    "NL309": Code(
        "literal-braces", W, "Braces in program text that begin no expression",
        "The braces stay as written. An expression that was meant is not rendered.",
        "command: \"echo '{{.Id}}'\"",
        "Leave it if it is meant so; else write `{{ expression }}`.",
        "Where the braces belong to the program, as in Go templates and in shell expansions. The value of an option\n"
        "that takes a Go template (`--format`, `-f`) is no finding.",
    ),
    "NL310": Code(
        "scalar-loop", E, "A loop over a single value",
        "Only a list or a mapping has items; the run would fail at this step.",
        "loop: {in: 7, iterator: n}",
        "loop: {in: \"{{ range(7) | list }}\", iterator: n}",
    ),
    "NL311": Code(
        "unknown-attribute", E, "An attribute that a built-in name does not have",
        "The attribute is undefined whenever it is asked for.",
        "when: \"{{ event.nam == 'step.failed' }}\"",
        "when: \"{{ event.name == 'step.failed' }}\"",
    ),
    "NL313": Code(
        "ambiguous-name", W, "A bare name that means two things",
        "The name has the meaning of the stronger scope, and a change elsewhere in the file can give it the other one.",
        "n: \"{{ total }}\"                        # a key of `ctx` and of `workload`",
        "n: \"{{ workload.total }}\"",
        "Where both have the same value by construction.",
    ),
    # NL4yy: data flow; most of it are rules.
    "NL416": Code(
        "unfit-default", E, "A default that is not what the schema of its input says",
        "Every start that does not bring the input would be refused.",
        "executor: {spec: {inputs: {limit: {type: integer}}}}\nworkload: {limit: ten}",
        "executor: {spec: {inputs: {limit: {type: integer}}}}\nworkload: {limit: 10}",
    ),
    # NL5yy: task policies and loops; NL6yy: admission and routing, as far as the shape decides.
    "NL501": Code(
        "bad-attempts", E, "`attempts` that is no whole number of at least 1",
        "`attempts` counts all attempts, the first included. No wrong value silently becomes a default.",
        "then: {do: retry, attempts: 0}",
        "then: {do: retry, attempts: 3}          # 1 means no retry",
    ),
    "NL502": Code(
        "rule-after-else", E, "A rule after `else`",
        "`else` always matches, so that no later rule is asked.",
        "rules: [{else: {then: {do: continue}}}, {when: \"{{ iter.bad }}\", then: {do: fail}}]",
        "Put `else` last.",
    ),
    "NL503": Code(
        "empty-rules", E, "A policy without any rule",
        "With rules, what matches none goes on, errors too; that is hardly meant by none at all.",
        "spec: {policy: {rules: []}}",
        "Leave the policy out: ok goes on, an error fails.",
    ),
    "NL504": Code(
        "idle-key", W, "A key that the rule's directive does not use",
        "Nothing reads the key there, so another directive or key was probably meant.",
        "then: {do: continue, attempts: 5}",
        "then: {do: retry, attempts: 5}",
        "Where the key is kept for a directive that is switched by hand.",
    ),
    "NL505": Code(
        "bad-max-in-flight", E, "`max_in_flight` that is no whole number of at least 1",
        "No iteration could ever start.",
        "spec: {mode: parallel, max_in_flight: 0}",
        "spec: {mode: parallel, max_in_flight: 4}",
    ),
    "NL513": Code(
        "bad-enough", E, "`enough` that is neither a number of iterations nor a condition",
        "The loop could never end by it, or would end before anything is done.",
        "spec: {policy: {enough: 0}}",
        "spec: {policy: {enough: 3}}             # three that succeed, or a condition:\n"
        "spec: {policy: {enough: \"{{ event.done == event.total or event.ok >= 3 }}\"}}",
    ),
    "NL516": Code(
        "idle-rest", W, "`rest` of a loop that nothing ends early",
        "`rest` says what becomes of iterations that still run when enough are done; here all are always awaited.",
        "spec: {policy: {rest: swallow}}",
        "spec: {policy: {enough: 2, rest: swallow}}",
        "Where `enough` is switched on and off by hand.",
    ),
    "NL517": Code(
        "swallowed-inside", E, "`rest: swallow` in a loop inside another one",
        "Iterations that are left behind go on beside what follows the step. Iterations of an inner loop are a\n"
        "part of the iteration around them, whose result would be told before it is known.",
        "loop:\n  in: \"{{ workload.groups }}\"\n  iterator: group\n"
        "  loop: {in: \"{{ group }}\", iterator: n, spec: {policy: {enough: 1, rest: swallow}}}",
        "loop:\n  in: \"{{ workload.groups }}\"\n  iterator: group\n"
        "  loop: {in: \"{{ group }}\", iterator: n, spec: {policy: {enough: 1, rest: cancel}}}",
    ),
    "NL518": Code(
        "idle-close", W, "`close` of a loop that nothing adds items to",
        "`close` says that no more items come; the items of this loop are all there when the loop begins.",
        "spec: {close: {events: [last_order]}}",
        "spec: {more: {events: [order]}, close: {events: [last_order]}}\n"
        "spec: {complete: {events: [last_order]}}   # ends the loop, and skips what waits",
        "Where `more` is switched on and off by hand.",
    ),
    "NL519": Code(
        "signal-of-two", E, "A signal that is for two things of one loop",
        "One of them takes it every time, and the other one never gets it.",
        "spec: {more: {events: [order]}, close: {events: [order]}}",
        "spec: {more: {events: [order]}, close: {events: [last_order]}}",
    ),
    "NL607": Code(
        "empty-arcs", N, "A router without arcs",
        "The step is a leaf: its token ends there.",
        "next: {spec: {mode: inclusive}, arcs: []}",
        "Leave `next` out.",
        "Where a generator writes a router for every step.",
    ),
    "NL608": Code(
        "empty-admission", E, "An admission policy without any rule",
        "No rule matches, so that every token would be turned away.",
        "spec: {policy: {admit: {rules: []}}}",
        "Leave `admit` out to let every token in.",
    ),
    # NL65y: joins and gates that have no net; NL69y: the children that a plan embeds.
    "NL650": Code(
        "taken-without-fork", E, "A `taken` join that no fork belongs to",
        "`taken` waits for the branches that a fork took: one inclusive router that every way to the join goes\n"
        "through, each of whose arcs starts its own branch that ends in exactly one source of the join.",
        "next: {arcs: [{step: a}, {step: b}]}    # exclusive, and `join: taken` behind a and b",
        "next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}\n"
        "# or, where every source always delivers: `join: all`",
    ),
    "NL653": Code(
        "torn-branches", E, "A step cancels a part of the branches that a `taken` join waits for",
        "The join would wait for ever for the branch that brings nothing.",
        "- {step: stop, spec: {policy: {cancels: [a]}}}          # `j` waits for a and b",
        "- {step: stop, spec: {policy: {cancels: [a, b, j]}}}",
    ),
    "NL654": Code(
        "way-past-lock", E, "A way into a section past the step that takes its lock",
        "A section is held from the step that takes its lock through the steps of `through`. A token that comes to\n"
        "one of these from elsewhere would be in it beside the one that has the lock.",
        "- {step: check, spec: {policy: {lock: {name: account, through: [book]}}}, next: {arcs: [{step: book}]}}\n"
        "- {step: mend, next: {arcs: [{step: book}]}}            # comes to `book` without the lock",
        "- {step: mend, next: {arcs: [{step: check}]}}           # or let `mend` take it, too:\n"
        "- {step: mend, spec: {policy: {lock: {name: account, through: [book]}}}, next: {arcs: [{step: book}]}}",
    ),
    "NL651": Code(
        "long-admission", E, "An admission with very many rules",
        "The rules become one expression, and expressions are bounded in depth.",
        "admit: {rules: [ …more than 64 rules… ]}",
        "Put the conditions of one verdict into one rule, with `or`, or into a list that is looked up.",
    ),
    "NL690": Code(
        "child-not-found", W, "A child playbook that is in no catalogue",
        "The child is not checked now, and the plan does not have it. At run time the child is looked up again, and\n"
        "the task fails with `playbook.not_found` where it is still missing.",
        "tool: {kind: playbook, path: jobs/lode}",
        "tool: {kind: playbook, path: jobs/load}  # and `--path FOLDER` with the playbook in it",
        "Where the child is registered at run time only.",
    ),
    "NL691": Code(
        "child-with-errors", W, "A child playbook that does not compile",
        "The plan does not have the child, and at run time the task that calls it fails.",
        "tool: {kind: playbook, path: jobs/broken}",
        "Run `noetlc lint` on the child and mend it.",
        "Where the child is mended before the playbook runs.",
    ),
    "NL692": Code(
        "child-cycle", W, "A call that comes back to a playbook that is being called",
        "The child is looked up at run time instead of being part of the plan; nothing but\n"
        "`limits.max_children_depth` ends such calls.",
        "# jobs/a\ntool: {kind: playbook, path: jobs/b}   # and jobs/b calls jobs/a",
        "Make one playbook of both, or call with a condition that ends the calls.",
        "Where a condition surely ends the calls, as on the depth of a tree that is walked.",
    ),
    "NL693": Code(
        "child-path-template", W, "A child playbook named by a template",
        "Which playbook it is, is known at run time only; it is not checked now and not part of the plan.",
        "tool: {kind: playbook, path: \"{{ workload.job }}\"}",
        "tool: {kind: playbook, path: jobs/load}",
        "Where the set of playbooks is open on purpose, and each of them is checked by itself. `noetlc lint` says it\n"
        "only where `--path` asks for all children.",
    ),
    "NL694": Code(
        "child-too-large", W, "A child playbook whose plan is too large to be embedded",
        "The plan does not have the child; at run time the child is looked up in the catalogue.",
        "# a child that embeds children that embed the same large children",
        "Call the shared child from fewer places.",
        "Where the child is in the catalogue of every place that runs the playbook.",
    ),
    "NL695": Code(
        "unfit-call", W, "A call that the inputs of its child refuse",
        "The child is known, and declares what it may be given: the call gives the error outcome `inputs.invalid`\n"
        "whenever it is made.",
        "tool: {kind: playbook, path: jobs/report, args: {dya: 1}}     # inputs: {day: {type: string}}",
        "tool: {kind: playbook, path: jobs/report, args: {day: monday}}",
        "Where another playbook has that path where it runs.",
    ),
    "NL696": Code(
        "unread-argument", W, "A call that brings what its child does not read",
        "The child has no such key in its workload and reads none of that name: it goes on with its own default,\n"
        "and its result is another one than the caller believes.",
        "tool: {kind: playbook, path: jobs/sum, args: {quantity: 1}}     # workload: {qty: 0}",
        "tool: {kind: playbook, path: jobs/sum, args: {qty: 1}}",
        "Where the child is to read it in a later version.",
    ),
    # NL9yy: what lowering did to older constructs, by class, and what it could not lower.
    "NL903": Code(
        "not-lowered", E, "A construct that has no canonical form",
        "Tasks, rules and arcs cannot say what the construct asks for, so the playbook would not run as written.",
        "tool:\n- {name: a, kind: noop, spec: {policy: {rules: [{else: {then: {do: jump, to: b}}}]}}}\n"
        "- {while: {when: \"{{ iter.more }}\", then: [{name: b, kind: noop}]}}",
        "then: {do: jump, to: while_1}           # begin the loop",
    ),
    "NL904": Code(
        "not-migrated", E, "A file that `noetlc migrate` cannot rewrite",
        "The text at this place also has a meaning elsewhere in the file, which the rewriting would change.",
        "- {step: a, <<: *defaults, sink: {tool: {kind: noop}}}",
        "- {step: a, desc: what the defaults say, sink: {tool: {kind: noop}}}",
    ),
    "NL905": Code(
        "migrated-wrongly", E, "A rewritten file that does not mean the same",
        "`noetlc migrate` compiles what it wrote and compares the plans; they differ, so nothing is written. This is "
        "a mistake of `noetlc`: please report it.",
        "noetlc migrate --write old.yaml",
        "noetlc compile --format canonical old.yaml   # as an emergency: without comments",
    ),
    "NL910": Code(
        "lowered-exactly", N, "A legacy construct that was read as its canonical form",
        "The canonical form means the same; `noetlc migrate`, or `noetlc lint --fix`, writes the canonical form.",
        "next: b",
        "next: {spec: {mode: exclusive}, arcs: [{step: b}]}",
        "Where the file is kept in its dialect, because old engines still run it.",
    ),
    "NL911": Code(
        "lowered-safely", N, "A legacy construct on which the old engines disagreed",
        "The canonical form means the same, except where the old engines disagreed among themselves.",
        "next: [{when: \"{{ ctx.a }}\", then: [{step: b}]}, {else: [{step: c}]}]   # some took every true one",
        "next: {spec: {mode: exclusive}, arcs: [{step: b, when: \"{{ ctx.a }}\"}, {step: c}]}",
        "Where the file is kept in its dialect, and the reading is the one that was meant.",
    ),
    "NL912": Code(
        "lowered-for-review", N, "A legacy construct whose meaning should be looked at",
        "The old engines left it open, and one meaning had to be chosen. `noetlc migrate --format markdown` lists all.",
        "next: [{step: a}, {step: b}]            # and both lead to `c`: does it wait for both?",
        "next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}   # and `join: all` at `c`",
        "Where somebody has looked, and the reading is the one that was meant.",
    ),
}  # fmt: skip
