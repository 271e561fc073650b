"""Playbooks of plays about how long attempts take and when the next one follows, as is set for all and for kinds."""

BUSY = """
executor:
  spec:
    timeout: 9
    tasks:
      http:
        spec:
          policy:
            rules:
              - when: "{{ outcome.status == 'error' }}"
                then: {do: retry, attempts: 20, delay: "{{ outcome.http.retry_after | default(1, true) }}"}
workflow:
  - step: start
    loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel, max_in_flight: 2, timeout: 60}}
    tool: {name: a, kind: http, url: "http://x/busy{{ n }}"}
    next: {arcs: [{step: slow}]}
  - step: slow
    tool: [{name: b, kind: http, url: "http://x/slow2"}, {name: c, kind: fail, code: over}]
    next: {arcs: [{step: z, when: "{{ event.name == 'step.failed' }}", args: {code: "{{ event.error.code }}"}}]}
  - {step: z, tool: {kind: noop, result: "{{ args.code }}"}}
"""
