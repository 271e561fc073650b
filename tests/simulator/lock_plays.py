"""Plays of locks: of runs, and of sections that are held through several steps."""

LOCKS = """
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: many}, {step: call}, {step: b}, {step: stop}]}
  - step: a
    spec: {policy: {lock: x}}
    tool:
      kind: http
      url: "http://x/a"
      spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: {do: retry, attempts: 3, delay: 2}}]}}
    next: {arcs: [{step: b}]}
  - step: many
    spec: {policy: {lock: [x, y]}}
    loop: {in: "{{ [1, 2, 3] }}", iterator: i, spec: {mode: parallel, max_in_flight: 2}}
    tool: {kind: http, url: "http://x/many"}
  - {step: call, spec: {policy: {lock: y}}, tool: {kind: playbook, path: t/c}}
  - {step: b, spec: {policy: {join: any, lock: x}}, tool: {kind: http, url: "http://x/b"}}
  - {step: stop, spec: {policy: {lock: y, cancels: [call]}}, tool: {kind: http, url: "http://x/stop"}}
"""

SECTIONS = """
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}, {step: c}, {step: stop, spec: {delay: 2}}]}
  - step: a
    spec: {policy: {lock: {name: x, through: [a1, a2, a3]}}}
    tool: {kind: http, url: "http://x/a"}
    next: {spec: {mode: inclusive}, arcs: [{step: a1, spec: {delay: 1}}, {step: a2}]}
  - step: a1
    loop: {in: "{{ [1, 2, 3] }}", iterator: i, spec: {mode: parallel, max_in_flight: 2}}
    tool:
      kind: http
      url: "http://x/a1"
      spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: {do: retry, attempts: 3, delay: 1}}]}}
    next: {arcs: [{step: a3}]}
  - {step: a2, tool: {kind: playbook, path: t/c}, next: {arcs: [{step: a3}]}}
  - {step: a3, spec: {policy: {join: 2}}, next: {arcs: [{step: after}]}}
  - {step: b, spec: {policy: {lock: [y, {name: x, through: [b1]}]}}, next: {arcs: [{step: b1}]}}
  - {step: b1, tool: {kind: http, url: "http://x/b1"}}
  - {step: c, spec: {policy: {lock: [x, y]}}, tool: {kind: http, url: "http://x/c"}}
  - {step: stop, spec: {policy: {lock: y, cancels: [c, b1]}}, tool: {kind: http, url: "http://x/stop"}}
  - {step: after}
"""
