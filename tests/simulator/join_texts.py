"""The simulated playbooks whose branches come together."""

CALL = 'tool: {kind: http, url: "http://x/%s"}'


def fork_to(join: str) -> str:
    """Three branches that meet in one step."""
    return f"""
workflow:
  - {{step: start, next: {{spec: {{mode: inclusive}}, arcs: [{{step: a}}, {{step: b}}, {{step: c}}]}}}}
  - {{step: a, {CALL % "a"}, next: {{arcs: [{{step: z, args: {{a: 1}}}}]}}}}
  - {{step: b, {CALL % "b"}, next: {{arcs: [{{step: z, args: {{b: 2}}, spec: {{delay: 2}}}}]}}}}
  - {{step: c, {CALL % "c"}, next: {{arcs: [{{step: z, args: {{c: 3}}}}]}}}}
  - step: z
    spec: {{policy: {{join: {join}}}}}
    tool:
      name: t
      kind: noop
      args: {{n: "{{{{ ctx.n | default(0) + 1 }}}}"}}
      spec: {{policy: {{rules: [{{else: {{then: {{do: continue, set_ctx: {{n: "{{{{ outcome.result.n }}}}"}}}}}}}}]}}}}
"""


SETTLED = """
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}, {step: c}, {step: late, spec: {delay: 4}}]}
  - step: a
    tool: {kind: http, url: "http://x/a"}
    next: {spec: {mode: inclusive}, arcs: [{step: j, args: {a: 1}}, {step: d}]}
  - step: b
    tool:
      kind: http
      url: "http://x/b"
      spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: {do: retry, attempts: 3, delay: 2}}]}}
    next: {arcs: [{step: d}]}
  - {step: c, next: {arcs: [{step: d}]}}
  - step: d
    spec: {policy: {join: settled}}
    tool: {kind: http, url: "http://x/d"}
    next: {arcs: [{step: k}, {step: end}]}
  - {step: late, tool: {kind: http, url: "http://x/late"}, next: {arcs: [{step: j, args: {late: 1}}]}}
  - {step: j, spec: {policy: {join: settled}}, tool: {kind: http, url: "http://x/j"}, next: {arcs: [{step: k}]}}
  - step: k
    spec: {policy: {join: settled, lock: x}}
    tool: {kind: http, url: "http://x/k"}
    next: {arcs: [{step: m}]}
  - {step: m, spec: {policy: {join: settled, cancels: [late]}}, tool: {kind: http, url: "http://x/m"}}
"""
