"""Playbooks of plays about what follows main: what is undone and when, and what each phase is told."""

UNDONE = """
executor:
  spec: {on_failure: tell, finally: last, ctx: {undone: {reduce: append}, told: {reduce: merge}}}
workflow:
  - step: start
    spec: {policy: {compensate: {step: undo, on: done}}}
    tool: {name: a, kind: http, url: "http://x/a"}
    next: {arcs: [{step: each, args: {by: start}}]}
  - step: each
    spec: {policy: {compensate: undo, failure: {mode: best_effort}}}
    loop: {in: [5, 6, 7], iterator: n}
    tool: {name: a, kind: http, url: "http://x/odd"}
    next: {arcs: [{step: bad}]}
  - step: bad
    spec: {policy: {compensate: {step: undo, on: started}}}
    tool: {name: b, kind: fail, code: mine, message: "{{ action_id }} fails"}
  - step: undo
    tool:
      name: u
      kind: http
      url: "http://x/flaky1"
      spec:
        policy:
          rules:
            - {when: "{{ outcome.status == 'error' }}", then: {do: retry, attempts: 2, delay: 1}}
            - else:
                then:
                  do: continue
                  set_ctx:
                    undone: "{{ [args.status, args.result and args.result.name, args.args.by | default('none'), \
args.iter.n | default(0), args.index] }}"
  - step: tell
    tool:
      name: t
      kind: http
      url: "http://x/tell"
      spec:
        policy:
          rules:
            - else:
                then:
                  do: continue
                  set_ctx: {told: {status: "{{ args.status }}", code: "{{ args.error.code }}", step: "{{ args.step }}"}}
  - step: last
    tool:
      name: l
      kind: noop
      spec:
        policy:
          rules: [{else: {then: {do: continue, set_ctx: {told: {last: "{{ [args.error.code, args.result] }}"}}}}}]
"""

ENDS = "next: {arcs: [{step: end, when: \"{{ event.name == 'step.failed' }}\"}]}"
CAUSES = """
workflow:
  - step: start
    next:
      spec: {mode: inclusive}
      arcs: [{step: a}, {step: b}, {step: c}, {step: d}, {step: e}, {step: stop, spec: {delay: 4}},
             {step: halt, spec: {delay: 6}}]
  - {step: a, tool: {name: a, kind: playbook, path: t/failed}, ENDS}
  - {step: b, tool: {name: b, kind: playbook, path: t/blocked}, ENDS}
  - {step: c, tool: {name: c, kind: playbook, path: t/cancelled}, ENDS}
  - {step: d, tool: {name: d, kind: playbook, path: t/kept}, ENDS}
  - {step: e, tool: {name: e, kind: playbook, path: t/failed_and_kept}, ENDS}
  - {step: stop, spec: {policy: {cancels: c}}}
  - {step: halt, spec: {policy: {cancels: [d]}}}
""".replace("ENDS", ENDS)

_CAUSED = """
executor: {spec: {compensate_on: CAUSES}}
workflow:
  - step: start
    spec: {policy: {compensate: undo}}
    tool: {name: a, kind: http, url: "http://x/a"}
    next: {spec: {mode: inclusive}, arcs: [{step: on}, {step: off}]}
  - {step: on, tool: {kind: TOOL}, next: {arcs: [{step: both}]}}
  - {step: off, next: {arcs: [{step: both, when: "{{ ctx.never | default(false) }}"}]}}
  - {step: both, spec: {policy: {join: all}}}
  - {step: undo, tool: [{name: u, kind: http, url: "http://x/u"}, {name: v, kind: http, url: "http://x/v"}]}
"""

CAUSED = tuple(
    (path, _CAUSED.replace("CAUSES", causes).replace("TOOL", tool))
    for path, causes, tool in (
        ("t/failed", "failed", "http, url: 'http://x/bad'"),
        ("t/blocked", "[blocked, cancelled]", "noop"),
        ("t/cancelled", "[cancelled]", "wait, timers: {late: 900}"),
        ("t/kept", "[failed, blocked]", "wait, timers: {late: 900}"),
        ("t/failed_and_kept", "[blocked, cancelled]", "http, url: 'http://x/bad'"),
    )
)
"""Path → a playbook that is undone after some ends, and has one of those, or another one."""
