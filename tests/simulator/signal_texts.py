"""Playbooks of plays about signals: those that executions send each other, also by a key, and those that stop runs."""

SENDS = """
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: call}, {step: hear}]}}
  - {step: call, tool: {name: c, kind: playbook, path: t/sender}}
  - step: hear
    tool:
      - {name: h, kind: wait, events: [back]}
      - {name: t, kind: http, url: "http://x/{{ h.data }}"}
      - {name: s, kind: signal, to: children, signal: go, data: 2}
"""

SENDER = """
workflow:
  - step: start
    tool:
      - {name: a, kind: http, url: "http://x/1"}
      - {name: s, kind: signal, to: parent, signal: back, data: 1}
      - {name: w, kind: wait, events: [go]}
"""

INTERRUPTED = """
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: call}, {step: many}, {step: again}, {step: hear}]}}
  - step: call
    spec: {policy: {interrupt: {events: [stop]}}}
    tool: {name: c, kind: playbook, path: t/c, args: {n: 2}}
    next: {arcs: [{step: undo, when: "{{ event.name == 'step.failed' }}", args: {by: "{{ event.error.event }}"}}]}
  - step: many
    spec: {policy: {interrupt: {events: [halt, stop], timers: {late: 12}}}}
    loop: {in: [1, 2, 3, 4], iterator: i, spec: {mode: parallel, max_in_flight: 2}}
    tool: [{name: a, kind: http, url: "http://x/{{ i }}"}, {name: b, kind: http, url: "http://x/{{ i }}/b"}]
    next: {arcs: [{step: undo, when: "{{ event.name == 'step.failed' }}"}]}
  - step: again
    spec: {policy: {interrupt: {timers: {late: 6}}}}
    tool:
      kind: http
      url: "http://x/again"
      spec: {policy: {rules: [{when: "{{ _attempt < 9 }}", then: {do: retry, attempts: 9, delay: 1}}]}}
    next: {arcs: [{step: undo, when: "{{ event.name == 'step.failed' }}"}]}
  - {step: hear, tool: {kind: wait, events: [stop], timers: {late: 20}}}
  - {step: undo, tool: {kind: http, url: "http://x/undo"}}
"""

STOPS = ((2, "stop"), (3, "halt"), (9, "stop"))

MAIL = """
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: send}, {step: hear}, {step: race}, {step: many}]}}
  - step: send
    loop: {in: [1, 2, 3, 4, 5, 6], iterator: i, spec: {mode: parallel, max_in_flight: 3}}
    tool:
      - {name: t, kind: http, url: "http://x/{{ i }}"}
      - {name: s, kind: signal, key: k, signal: go, data: "{{ execution_id }} {{ i }}"}
  - step: hear
    tool:
      - {name: a, kind: wait, events: [go, stop], correlation: k, timers: {late: 6}}
      - {name: t, kind: http, url: "http://x/hear"}
      - {name: b, kind: wait, events: [go], correlation: k, timers: {late: 3}}
  - step: race
    spec: {policy: {interrupt: {timers: {over: 4}}}}
    tool: {kind: wait, events: [go], correlation: k, timers: {late: 5}}
    next: {arcs: [{step: undo, when: "{{ event.name == 'step.failed' }}"}]}
  - step: many
    loop: {in: [1, 2, 3], iterator: i, spec: {mode: parallel, policy: {enough: 1}}}
    tool: {name: w, kind: wait, events: [go], correlation: "{{ 'k' if i < 3 else 'other' }}", timers: {late: 8}}
  - {step: undo, tool: {kind: wait, events: [go], correlation: k, timers: {late: 1}}}
"""

COUNTED = """
executor: {spec: {ctx: {heard: {reduce: append}, kept: {reduce: append}}}}
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: call}, {step: hear}, {step: fetch}]}}
  - {step: call, tool: {name: c, kind: playbook, path: t/counts, args: {caller: "{{ execution_id }}"}}}
  - step: hear
    loop: {in: [1, 2, 3, 4, 5], iterator: i}
    tool:
      name: w
      kind: wait
      events: [back]
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {heard: "{{ outcome.result.data }}"}}}}]}}
    next: {arcs: [{step: more}]}
  - step: more
    tool:
      name: w
      kind: wait
      events: [back]
      timers: {none: 30}
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {heard: "{{ outcome.result.name }}"}}}}]}}
  - step: fetch
    loop: {in: [1, 2, 3], iterator: i}
    tool:
      name: w
      kind: wait
      events: [letter]
      correlation: "to {{ execution_id }}"
      timers: {none: 900}
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {kept: "{{ outcome.result.data | last }}"}}}}]}}
"""

COUNTS = """
workload: {caller: nobody}
workflow:
  - step: start
    loop: {in: [1, 2, 3], iterator: i}
    tool:
      - {name: a, kind: http, url: "http://x/{{ i }}"}
      - {name: s, kind: signal, to: "{{ workload.caller }}", signal: back, data: "{{ i }}"}
      - name: l
        kind: signal
        key: "to {{ workload.caller }}"
        keep_for: 1d
        signal: letter
        data: "{{ workload.caller }} {{ i }}"
    next: {arcs: [{step: two}]}
  - step: two
    loop: {in: [4, 5], iterator: i}
    tool: {name: s, kind: signal, to: parent, signal: back, data: "{{ i }}"}
"""
"""Signals of which each is heard once, in the order in which they were sent, and then none."""
