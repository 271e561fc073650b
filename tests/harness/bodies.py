"""Bodies of playbooks that tests of several parts run: what stands behind the header."""

WAITING = """
workload: {n: 3}
workflow:
  - step: start
    tool: {kind: python, args: {n: "{{ workload.n }}"}, code: "result = n * 2"}
    next: {arcs: [{step: hold}]}
  - step: hold
    tool: {kind: wait, events: [go]}
    next: {arcs: [{step: last}]}
  - step: last
    tool: {kind: python, args: {v: "{{ start }}"}, code: "result = v + 1"}
"""
"""Waits for `go` between a step that doubles `n` and one that adds 1: with it, 3 * 2 + 1."""

DIVIDES = """
workflow:
  - step: divide
    tool:
      kind: python
      code: |
        total = 1
        result = total / 0
"""
"""Fails by a division in the second line of a Python program."""
