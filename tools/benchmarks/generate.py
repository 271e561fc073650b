"""Playbooks and templates of a given size, the inputs of the benchmarks.

    python3 -m benchmarks.generate N > FILE

`playbook(n)` is the canonical playbook of the bars: chain, gates, paging loops and inclusive routers, mixed.
"""

import sys

_HEAD = """apiVersion: noetl.io/v2
kind: Playbook
metadata:
  name: gen_{n}
  path: gen/gen_{n}
  version: "10.0"
executor:
  profile: auto
  spec:
    policy:
      limits: {{ max_payload_bytes: 1048576 }}
workload:
  api_url: "https://api.example.com"
  limit: 100
  items: [1, 2, 3]
workflow:
"""

_GATE = """    spec:
      policy:
        admit:
          mode: exclusive
          rules:
            - when: "{{ workload.limit > 10 and ctx.enabled | default(true) }}"
              then: { allow: true }
            - else:
                then: { allow: false }
"""

_PAGES = """    loop:
      in: "{{ workload.items }}"
      iterator: item
      spec:
        mode: parallel
        max_in_flight: 5
    tool:
      - name: init
        kind: noop
        spec:
          policy:
            rules:
              - else:
                  then: { do: continue, set_iter: { page: 1, has_more: true } }
      - name: fetch
        kind: http
        method: GET
        url: "{{ workload.api_url }}/{{ iter.item }}"
        params: { page: "{{ iter.page }}" }
        spec:
          timeout: { connect: 5, read: 15 }
          policy:
            rules:
              - when: "{{ outcome.status == 'error' and outcome.http.status in [429, 500, 502, 503, 504] }}"
                then: { do: retry, attempts: 10, backoff: exponential, delay: 2.0 }
              - when: "{{ outcome.status == 'error' }}"
                then: { do: fail }
              - else:
                  then:
                    do: continue
                    set_iter:
                      has_more: "{{ outcome.result.data.paging.hasMore | default(false) }}"
                      page: "{{ outcome.result.data.paging.page | default(iter.page) }}"
      - name: paginate
        kind: noop
        spec:
          policy:
            rules:
              - when: "{{ iter.has_more == true }}"
                then: { do: jump, to: fetch, set_iter: { page: "{{ (iter.page | int) + 1 }}" } }
              - else:
                  then: { do: break }
"""

_WORK = """    tool:
      - name: work_{i}
        kind: python
        args:
          n: "{{{{ workload.limit }}}}"
        code: |
          total = sum(range({i} + 10))
          result = {{"status": "ok", "total": total}}
        spec:
          policy:
            rules:
              - when: "{{{{ outcome.status == 'error' }}}}"
                then: {{ do: fail }}
              - else:
                  then:
                    do: continue
                    set_ctx:
                      last_{i}: "{{{{ outcome.result.total }}}}"
"""

_TAIL = """  - step: cleanup
    tool: { kind: noop }
  - step: end
    tool: { kind: noop }
"""

_GATED, _PAGED, _FORKED = 1, 2, 3  # what a step is, by its number modulo 4; 0 is a plain one


def playbook(steps: int) -> str:
    """The canonical playbook of the front-end bars, as YAML text."""
    return _HEAD.format(n=steps) + "".join(_step(i, steps) for i in range(steps)) + _TAIL


def _step(i: int, steps: int) -> str:
    kind = i % 4
    name = "start" if i == 0 else f"step_{i}"
    parts = [f"  - step: {name}\n    desc: Step number {i}\n"]
    if kind == _GATED:
        parts.append(_GATE)
    parts.append(_PAGES if kind == _PAGED else _WORK.format(i=i))
    parts.append(_next(kind, f"step_{i + 1}" if i + 1 < steps else "end"))
    return "".join(parts)


def _next(kind: int, target: str) -> str:
    mode = "inclusive" if kind == _FORKED else "exclusive"
    event = "loop.done" if kind == _PAGED else "step.done"
    arcs = _arc(target, event) + (_arc("cleanup", "step.failed") if kind == _PAGED else "")
    return f"    next:\n      spec:\n        mode: {mode}\n      arcs:\n{arcs}"


def _arc(target: str, event: str) -> str:
    return f"        - step: {target}\n          when: \"{{{{ event.name == '{event}' }}}}\"\n"


_LEGACY = (
    """    type: python
    with:
      n: "{{{{ workload.limit }}}}"
    code: |
      total = sum(range({i} + 10))
      result = {{"status": "ok", "total": total}}
    vars:
      last_{i}: "{{{{ result.total }}}}"   # kept for later
    next: {target}
""",
    """    tool:
      kind: http
      url: "{{{{ workload.api_url }}}}/{{{{ vars.last_0 | default(1) }}}}"
      params: {{ page: 1 }}
    retry: {{ max_attempts: 5, backoff: exponential, initial_delay: 1.0 }}
    sink:
      tool: {{ kind: postgres, auth: pg }}
      table: pages
      args: {{ id: "{{{{ result.data.id }}}}", code: "{{{{ this.http.status }}}}" }}
    next: [{{ step: {target} }}]
""",
    """    loop: {{ collection: "{{{{ workload.items }}}}", element: item, mode: parallel }}
    tool:
      - fetch:
          tool: {{ kind: http, url: "{{{{ workload.api_url }}}}/{{{{ item }}}}" }}
    next:
      - when: "{{{{ event.name == 'call.done' }}}}"
        then: [{{ step: {target} }}]
      - else: [{{ step: cleanup }}]
""",
    """    tool: {{ kind: python, code: "result = {i}" }}
    case:
      - when: "{{{{ event.name == 'call.error' }}}}"
        then: {{ next: [{{ step: cleanup }}] }}
    next: {target}
""",
)


def legacy_playbook(steps: int) -> str:
    """A playbook of as many steps in the older dialects, mixed."""
    parts = [_HEAD.format(n=steps)]
    for i in range(steps):
        name, target = "start" if i == 0 else f"step_{i}", f"step_{i + 1}" if i + 1 < steps else "end"
        parts.append(f"  - step: {name}\n    desc: Step number {i}\n{_LEGACY[i % 4].format(i=i, target=target)}")
    return "".join([*parts, _TAIL])


def cloudformation(resources: int) -> str:
    """A valid CloudFormation template, what cfn-lint reads, with as many resources."""
    lines = ["AWSTemplateFormatVersion: '2010-09-09'", "Resources:"]
    for i in range(resources):
        lines += [
            f"  Topic{i}:",
            "    Type: AWS::SNS::Topic",
            "    Properties:",
            f"      DisplayName: Topic number {i}",
            "      Tags:",
            "        - Key: number",
            f"          Value: '{i}'",
        ]
    return "\n".join(lines) + "\n"


_WRAPPER = """apiVersion: noetl.io/v2
kind: Playbook
metadata:
  name: {name}
  path: bench/{name}
workflow:
"""


WAITS = {
    "signal": "{ name: w, kind: wait, events: [go] }",
    "timer": "{ name: w, kind: wait, timers: { late: 36000 } }",
    "child": "{ name: c, kind: playbook, path: bench/wait_signal }",
}
"""What `waiting` can wait for, as a task."""


def waiting(what: str) -> str:
    """One step that waits."""
    return f"{_WRAPPER.format(name=f'wait_{what}')}  - step: start\n    tool: {WAITS[what]}\n"


def chain(steps: int) -> str:
    """Noop steps in a row."""
    out = [_WRAPPER.format(name=f"chain_{steps}")]
    for i in range(steps):
        out.append(f"  - step: {'start' if i == 0 else f's{i}'}\n    tool: {{ kind: noop }}\n")
        if i + 1 < steps:
            out.append(f"    next: {{ arcs: [{{ step: s{i + 1} }}] }}\n")
    return "".join(out)


def complete_graph(steps: int, *, back: bool, inclusive: bool, guarded: bool) -> str:
    """Each step leads to each later one, with `back` to each other one."""
    lines = [
        "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: complete, path: gen/complete}\n"
        "workload: {n: 1}\nworkflow:\n"
    ]
    for at in range(steps):
        lines.append(f"  - step: s{at}\n    tool: {{kind: noop}}\n")
        targets = [to for to in range(0 if back else at + 1, steps) if to != at]
        if targets:
            mode = "inclusive" if inclusive else "exclusive"
            lines.append(f"    next:\n      spec: {{mode: {mode}}}\n      arcs:\n")
        guards = {to: f", when: '{{{{ workload.n > {to} }}}}'" if guarded else "" for to in targets}
        lines += [f"        - {{step: s{to}{guard}}}\n" for to, guard in guards.items()]
    return "".join(lines)


def python_chain(steps: int) -> str:
    """Python steps in a row: each has an effect, as far as anybody can know."""
    return chain(steps).replace("{ kind: noop }", "{ kind: python, code: 'result = 1' }")


def parallel(items: int, *, result_bytes: int, steps_before: int) -> str:
    """A parallel noop loop, each iteration with `result_bytes` of result, after a step that runs in a cycle.

    `steps_before` is how often that step runs: the number of step runs grows and the plan does not.
    """
    result = f"\n        result: {'x' * result_bytes}" if result_bytes else ""
    return _WRAPPER.format(name=f"parallel_{items}") + (
        f"""  - step: start
    tool:
      - name: count
        kind: noop
        spec:
          policy:
            rules:
              - else: {{ then: {{ do: continue, set_ctx: {{ n: "{{{{ (ctx.n | default(0)) + 1 }}}}" }} }} }}
    next:
      arcs:
        - step: start
          when: "{{{{ ctx.n < {steps_before} }}}}"
        - step: fan
  - step: fan
    loop:
      in: "{{{{ range({items}) | list }}}}"
      iterator: n
      spec: {{ mode: parallel }}
    tool:
      - name: work
        kind: noop{result}
"""
    )


def python_loop(items: int, code: str, *, mode: str) -> str:
    """A loop of python code over as many items."""
    return _WRAPPER.format(name=f"python_{mode}_{items}") + (
        f"""  - step: start
    loop:
      in: "{{{{ range({items}) | list }}}}"
      iterator: n
      spec: {{ mode: {mode} }}
    tool:
      kind: python
      code: "{code}"
"""
    )


def jumps(tasks: int) -> str:
    """One run whose task jumps to itself until it has run as often as asked."""
    return _WRAPPER.format(name=f"jumps_{tasks}") + (
        f"""  - step: start
    tool:
      - name: spin
        kind: noop
        spec:
          policy:
            rules:
              - when: "{{{{ (iter.n | default(0)) < {tasks - 1} }}}}"
                then: {{ do: jump, to: spin, set_iter: {{ n: "{{{{ (iter.n | default(0)) + 1 }}}}" }} }}
              - else: {{ then: {{ do: break }} }}
"""
    )


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        sys.stdout.write(playbook(int(argument)))
