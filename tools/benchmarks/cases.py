"""Rows about `noetl test`: a file of fifty cases, whole process."""

from benchmarks.measure import interleave, pass_seconds, process
from benchmarks.row import Bench, Reading, limit

_CASES, _MOST = 50, 3.0
"""Cases of the file, and the seconds that it may take."""

_PLAYBOOK = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: cases, path: bench/cases}
workload: {limit: 10}
workflow:
  - step: start
    tool:
      kind: http
      url: "https://example.org/orders?limit={{ workload.limit }}"
      spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: {do: retry, attempts: 3, delay: 2}}]}}
    next: {arcs: [{step: store, when: "{{ start.data | length > 0 }}"}, {step: quiet}]}
  - step: store
    tool: {kind: python, args: {rows: "{{ start.data }}"}, code: "result = {'sum': sum(rows)}"}
  - {step: quiet, tool: {kind: noop, result: nothing}}
"""
_CASE = """
  - case: the second try brings {n}
    outcomes:
      - {{step: start, times: 1, outcome: {{status: error, http: {{status: 503}}}}}}
      - {{step: start, outcome: {{result: [3, {n}]}}}}
    expect: {{steps: [start, store], results: {{store: {{sum: {sum}}}}}, duration: 2s}}
"""
"""A retry, a choice, and python that runs for real."""


def fifty(bench: Bench) -> list[Reading]:
    """The file, from its start to its last word."""
    bench.file("cases.yaml", _PLAYBOOK)
    rows = "".join(_CASE.format(n=number, sum=3 + number) for number in range(_CASES))
    tests = bench.file("cases.test.yaml", f"cases:{rows}")
    seconds, base = interleave(
        bench.runs, lambda: process([bench.noetl, "test", tests]).seconds, lambda: pass_seconds(bench)
    )
    remark = f"{seconds / base:.0f} × python -c pass"
    return [limit(f"noetl test of {_CASES} cases", seconds, _MOST, unit="s", remark=remark)]
