"""The playbooks that are simulated, small and of every construct, with what people do to them meanwhile.

`same` says what of the end does not depend on the order in which things happen: that is compared with a run without
faults.
"""

from typing import Literal, NamedTuple

from harness.running import compiled
from noetl.app.programs import program_of
from noetl.engine.program import Program
from simulator.join_texts import SETTLED, fork_to
from simulator.limit_texts import BUSY
from simulator.lock_plays import LOCKS, SECTIONS
from simulator.phase_texts import CAUSED, CAUSES, UNDONE
from simulator.signal_texts import COUNTED, COUNTS, INTERRUPTED, MAIL, SENDER, SENDS, STOPS


class Play(NamedTuple):
    """A playbook with the playbooks that it calls, by path; `signals` are (seconds, name)."""

    name: str
    text: str
    children: tuple[tuple[str, str], ...] = ()
    signals: tuple[tuple[float, str], ...] = ()
    same: Literal["all", "ctx", "nothing"] = "all"


class Ready(NamedTuple):
    """A play that was compiled: its program, and all programs by path."""

    play: Play
    program: Program
    by_path: dict[str, Program]


SEQUENCE = """
workflow:
  - step: start
    tool: [{name: a, kind: http, url: "http://x/a"}, {name: b, kind: noop, args: {v: "{{ _prev.name }}"}}]
    next: {arcs: [{step: two, args: {v: 1}}]}
  - step: two
    tool:
      - {name: c, kind: http, url: "http://x/c"}
      - name: d
        kind: http
        url: "http://x/d"
        spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {seen: "{{ outcome.result.name }}"}}}}]}}
    next: {arcs: [{step: three, spec: {delay: 3}}]}
  - {step: three, tool: {kind: noop, result: "{{ [ctx.seen, two.name] }}"}}
"""

LOOP = """
executor: {spec: {policy: {failure: {mode: best_effort}}}}
workflow:
  - step: start
    spec: {policy: {failure: {mode: best_effort}}}
    loop: {in: "{{ range(7) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 3}}
    tool: [{name: a, kind: http, url: "http://x/odd"}, {name: b, kind: noop, args: {v: "{{ iter.n }}"}}]
    next: {arcs: [{step: two, when: "{{ event.name == 'loop.done' }}"}]}
  - {step: two, tool: {kind: noop, result: "{{ start }}"}}
"""

NESTED = """
workflow:
  - step: start
    loop:
      in: "{{ range(3) | list }}"
      iterator: x
      spec: {mode: parallel, max_in_flight: 2}
      loop: {in: "{{ range(3) | list }}", iterator: y, spec: {mode: parallel, max_in_flight: 2}}
    tool: {name: t, kind: http, url: "http://x/{{ iter.x }}{{ iter.y }}"}
    next: {arcs: [{step: two, when: "{{ event.name == 'loop.done' }}"}]}
  - {step: two, tool: {kind: noop, result: "{{ start }}"}}
"""

LOCAL = """
workflow:
  - step: start
    loop: {in: "{{ range(5) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 3, policy: {exec: local}}}
    tool: {name: t, kind: http, url: "http://x/{{ iter.n }}"}
    next: {arcs: [{step: two, when: "{{ event.name == 'loop.done' }}"}]}
  - {step: two, tool: {kind: noop, result: "{{ start }}"}}
"""

POOLS = """
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}}
  - {step: a, spec: {pool: blue}, tool: {kind: http, url: "http://x/a"}, next: {arcs: [{step: z}]}}
  - {step: b, tool: {kind: http, url: "http://x/b"}, next: {arcs: [{step: z}]}}
  - {step: z, spec: {pool: blue, policy: {join: all}}, tool: {kind: http, url: "http://x/z"}}
"""

RETRY = """
workflow:
  - step: start
    tool:
      - name: t
        kind: http
        url: "http://x/flaky2"
        spec:
          policy:
            rules:
              - when: "{{ outcome.status == 'error' }}"
                then: {do: retry, attempts: 4, delay: 2, backoff: exponential}
              - else: {then: {do: continue, set_ctx: {tries: "{{ _attempt }}"}}}
      - {name: u, kind: http, url: "http://x/u"}
    next: {arcs: [{step: two}]}
  - {step: two, tool: {kind: noop, result: "{{ ctx.tries }}"}}
"""

BAD = """
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}
  - step: a
    tool: {name: t, kind: http, url: "http://x/bad"}
    next: {arcs: [{step: sorry, when: "{{ event.name == 'step.failed' }}"}]}
  - {step: sorry, tool: {kind: http, url: "http://x/sorry"}}
  - {step: b, tool: {kind: http, url: "http://x/b"}}
"""

FAILS = """
workflow:
  - step: start
    loop: {in: "{{ range(4) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: [{name: a, kind: http, url: "http://x/odd"}, {name: b, kind: http, url: "http://x/b"}]
"""

WAITS = """
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: w}, {step: each}]}}
  - {step: w, tool: {name: w, kind: wait, events: [go]}, next: {arcs: [{step: z}]}}
  - step: each
    loop: {in: "{{ [1, 2, 3] }}", iterator: i, spec: {mode: parallel, max_in_flight: 2}}
    tool:
      - {name: s, kind: wait, events: [never], timers: {t: 3}}
      - {name: t, kind: http, url: "http://x/{{ iter.i }}"}
    next: {arcs: [{step: z, when: "{{ event.name == 'loop.done' }}"}]}
  - {step: z, spec: {policy: {join: all}}, tool: {kind: noop, result: "{{ each }}"}}
"""

TRANSIENT = """
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}, {step: c}]}}
  - step: a
    tool:
      - {name: t, kind: http, url: "http://x/a"}
      - {name: w, kind: wait, events: [go, end], transient: true, timers: {late: 9}}
  - {step: b, tool: {name: w, kind: wait, events: [go, end], transient: true, timers: {late: 4}}}
  - {step: c, tool: {name: w, kind: wait, events: [end], timers: {past: {at: "1970-01-01T00:00:00Z"}}}}
"""

ENDED = """
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: each}, {step: w}, {step: child}, {step: late}]}
  - {step: a, tool: {kind: http, url: "http://x/a"}, next: {arcs: [{step: done}]}}
  - step: each
    loop: {in: "{{ range(4) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: [{name: a, kind: http, url: "http://x/each"}, {name: b, kind: http, url: "http://x/b"}]
  - {step: w, tool: {name: w, kind: wait, events: [go], timers: {t: 2}}, next: {arcs: [{step: done}]}}
  - {step: child, tool: {name: c, kind: playbook, path: t/c}}
  - {step: late, tool: {kind: http, url: "http://x/late"}, next: {arcs: [{step: late, spec: {delay: 1}}]}}
  - {step: done, spec: {policy: {terminate: completed}}, tool: {kind: http, url: "http://x/done"}}
"""

OVER_TIME = """
executor: {spec: {policy: {lifecycle: {timeout_s: 7}}}}
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: each}, {step: w}, {step: child}, {step: late}]}}
  - step: each
    loop: {in: "{{ range(9) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: [{name: a, kind: http, url: "http://x/each"}, {name: b, kind: http, url: "http://x/b"}]
  - {step: w, tool: {name: w, kind: wait, events: [go], timers: {t: 20}}}
  - {step: child, tool: {name: c, kind: playbook, path: t/c}}
  - {step: late, tool: {kind: http, url: "http://x/late"}, next: {arcs: [{step: late, spec: {delay: 1}}]}}
"""

BOUNDED = """
workflow:
  - step: start
    spec: {policy: {failure: {mode: best_effort}}}
    loop:
      in: "{{ range(4) | list }}"
      iterator: i
      spec: {mode: parallel, max_in_flight: 2, policy: {lifecycle: {timeout_s: 4}}}
      loop: {in: "{{ range(iter.i) | list }}", iterator: j, spec: {policy: {lifecycle: {timeout_s: 3}}}}
    tool: [{name: a, kind: http, url: "http://x/odd"}, {name: w, kind: wait, events: [never], timers: {t: 1}}]
    next: {arcs: [{step: two}]}
  - {step: two, tool: {kind: noop, args: {v: "{{ start }}"}}}
"""

PHASES = """
executor: {spec: {on_failure: tell, finally: release, policy: {lifecycle: {timeout_s: 8, after_s: 20}}}}
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: each}, {step: w}, {step: child}]}}
  - step: each
    loop: {in: "{{ range(5) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: [{name: a, kind: http, url: "http://x/odd"}, {name: b, kind: http, url: "http://x/b"}]
  - {step: w, tool: {name: w, kind: wait, events: [go], timers: {t: 20}}}
  - {step: child, tool: {name: c, kind: playbook, path: t/c}}
  - step: tell
    tool: {name: t, kind: http, url: "http://x/flaky1"}
    next: {arcs: [{step: told, spec: {delay: 1}}]}
  - {step: told, tool: {name: c, kind: playbook, path: t/c, args: {n: 3}}}
  - step: release
    next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}
  - {step: a, tool: {kind: http, url: "http://x/a"}, next: {arcs: [{step: z}]}}
  - {step: b, tool: {kind: http, url: "http://x/b"}, next: {arcs: [{step: z}]}}
  - {step: z, spec: {policy: {join: first}}, tool: {kind: http, url: "http://x/z"}}
"""

ENOUGH = """
workflow:
  - step: start
    loop:
      in: "{{ range(5) | list }}"
      iterator: n
      spec: {mode: parallel, max_in_flight: 3, policy: {enough: 2, rest: %s}}
    tool:
      - {name: a, kind: http, url: "http://x/odd"}
      - {name: b, kind: http, url: "http://x/{{ n }}"}
      - {name: c, kind: playbook, path: t/c}
    next: {arcs: [{step: two, when: "{{ event.name == 'loop.done' }}"}, {step: two}]}
  - step: two
    loop:
      in: [1, 2]
      iterator: i
      spec: {mode: parallel, policy: {enough: 1}}
      loop:
        in: [1, 2]
        iterator: j
        spec:
          mode: parallel
          policy: {enough: "{{ event.ok + event.failed == 1 and event.total > event.done }}", rest: finish}
    tool: {kind: http, url: "http://x/{{ i }}"}
"""

SAGA = """
executor: {spec: {finally: last, policy: {lifecycle: {timeout_s: 12, after_s: 60}}}}
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: each}, {step: child}, {step: bad, spec: {delay: 6}}]}}
  - step: each
    spec: {policy: {compensate: {step: undo, on: started}}}
    loop: {in: "{{ range(4) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: [{name: a, kind: http, url: "http://x/each"}, {name: w, kind: wait, timers: {t: 2}}]
  - step: child
    spec: {policy: {compensate: undo_child}}
    tool: {name: c, kind: playbook, path: t/c}
    next: {arcs: [{step: child, when: "{{ ctx.n is undefined }}", spec: {delay: 1}}]}
  - {step: bad, tool: {name: b, kind: http, url: "http://x/bad"}}
  - {step: undo, tool: {name: u, kind: http, url: "http://x/odd"}, next: {arcs: [{step: undone, spec: {delay: 1}}]}}
  - {step: undone, tool: {name: v, kind: http, url: "http://x/{{ args | length }}"}}
  - {step: undo_child, tool: {name: c, kind: playbook, path: t/c, args: {n: "{{ args.status }}"}}}
  - {step: last, tool: {name: l, kind: http, url: "http://x/last"}}
"""

GROWS = """
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: each}, {step: some}]}}
  - step: each
    loop:
      in: [1]
      iterator: n
      spec: {mode: parallel, %s, more: {events: [add]}, close: {events: [last], timers: {late: 20}}}
    tool: [{name: a, kind: http, url: "http://x/odd"}, {name: b, kind: playbook, path: t/c}]
    spec: {policy: {failure: {mode: best_effort}}}
    next: {arcs: [{step: z}]}
  - step: some
    loop:
      in: "{{ range(4) | list }}"
      iterator: n
      spec: {mode: parallel, max_in_flight: 2, complete: {events: [stop], timers: {late: 12}}, policy: {rest: %s}}
    tool: [{name: c, kind: http, url: "http://x/{{ n }}"}, {name: w, kind: wait, events: [go], timers: {t: 5}}]
    next: {arcs: [{step: z}]}
  - {step: z, spec: {policy: {join: all}}, tool: {kind: http, url: "http://x/z"}}
"""

CALLS = """
workflow:
  - step: start
    loop: {in: "{{ range(3) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: [{name: c, kind: playbook, path: t/c, args: {n: "{{ iter.n }}"}}, {name: d, kind: http, url: "http://x/d"}]
    next: {arcs: [{step: two, when: "{{ event.name == 'loop.done' }}"}]}
  - {step: two, tool: {name: e, kind: playbook, path: t/c, args: {n: 9}}}
"""

CALLED = """
workload: {n: 0}
workflow:
  - {step: start, tool: {name: a, kind: http, url: "http://x/{{ workload.n }}"}, next: {arcs: [{step: two}]}}
  - step: two
    tool:
      name: b
      kind: http
      url: "http://x/flaky1"
      spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: {do: retry, attempts: 2, delay: 1}}]}}
"""

CALLED_PHASES = (
    f"executor: {{spec: {{finally: its}}}}\n{CALLED.strip()}\n"
    + """\
  - {step: its, tool: [{name: a, kind: http, url: "http://x/its"}, {name: w, kind: wait, timers: {t: 2}}]}
"""
)

CIRCLE = """
executor:
  spec:
    search:
      k: {value: "{{ ctx.k }}", type: number}
      text: {value: "{{ ctx.k }}", type: string}
      bool: {value: "{{ ctx.k > 1 }}", type: bool}
      time: {value: "{{ '2026-11-0' ~ ctx.k }}", type: time}
workflow:
  - step: start
    tool:
      name: t
      kind: http
      url: "http://x/{{ ctx.k | default(0) }}"
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {k: "{{ ctx.k | default(0) + 1 }}"}}}}]}}
    next: {arcs: [{step: start, when: "{{ ctx.k < 3 }}", spec: {delay: 1}}, {step: z}]}
  - {step: z, tool: {kind: noop, result: "{{ ctx.k }}"}}
"""

JUMPS = """
workflow:
  - step: start
    tool:
      - {name: a, kind: http, url: "http://x/a"}
      - name: b
        kind: http
        url: "http://x/b"
        spec:
          policy:
            rules:
              - when: "{{ iter.n | default(0) < 3 }}"
                then: {do: jump, to: a, delay: 1, set_iter: {n: "{{ iter.n | default(0) + 1 }}"}}
              - else: {then: {do: continue, set_ctx: {n: "{{ iter.n }}"}}}
"""

LIMITED = """
workflow:
  - step: start
    spec: {policy: {lifecycle: {timeout_s: 3}}}
    loop: {in: "{{ range(3) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: [{name: a, kind: http, url: "http://x/a"}, {name: b, kind: http, url: "http://x/b"}]
    next: {arcs: [{step: z, when: "{{ event.name == 'step.failed' }}"}]}
  - {step: z, tool: {kind: noop}}
"""

BIG = """
executor: {spec: {policy: {limits: {max_payload_bytes: 1024}}}}
workflow:
  - step: start
    tool: [{name: a, kind: http, url: "http://x/big"}, {name: b, kind: noop, args: {n: "{{ _prev.text | length }}"}}]
    next: {arcs: [{step: z, args: {text: "{{ start.n }}"}}]}
  - {step: z, tool: [{name: c, kind: http, url: "http://x/big"}, {name: d, kind: noop, result: "{{ args.text }}"}]}
"""

REDUCED = """
executor:
  spec:
    policy: {failure: {mode: best_effort}}
    ctx:
      total: {reduce: sum, initial: 100}
      seen: {reduce: append}
      names: {reduce: union}
      tries: {reduce: count}
      high: {reduce: max}
      low: {reduce: min}
      by: {reduce: merge}
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: each}, {step: other}]}}
  - step: each
    loop: {in: "{{ range(5) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 3}}
    tool:
      name: t
      kind: http
      url: "http://x/{{ iter.n }}"
      spec:
        policy:
          rules:
            - {when: "{{ _attempt == 1 }}", then: {do: retry, delay: 0.5, set_ctx: {tries: 1}}}
            - else:
                then:
                  do: continue
                  set_ctx:
                    total: "{{ iter.n }}"
                    seen: "{{ iter.n }}"
                    names: ["{{ iter.n % 2 }}"]
                    high: "{{ iter.n }}"
                    low: "{{ iter.n }}"
                    by: {last: "{{ iter.n }}", first: "{{ [4 - iter.n] }}"}
    next: {arcs: [{step: z}]}
  - step: other
    tool:
      name: t
      kind: http
      url: "http://x/o"
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {total: 7}}}}]}}
    next: {arcs: [{step: z}]}
  - step: z
    spec: {policy: {join: all}}
    tool: {kind: noop, result: "{{ [ctx.total, ctx.seen, ctx.names, ctx.tries, ctx.high, ctx.low, ctx.by] }}"}
"""

CANCELS = """
workflow:
  - step: start
    next:
      spec: {mode: inclusive}
      arcs: [{step: a}, {step: many}, {step: call}, {step: listen}, {step: later, spec: {delay: 4}}, {step: quick}]
  - {step: a, tool: {kind: http, url: "http://x/a"}, next: {arcs: [{step: use}]}}
  - step: many
    loop: {in: "{{ [1, 2, 3] }}", iterator: i, spec: {mode: parallel, max_in_flight: 2}}
    tool:
      kind: http
      url: "http://x/many"
      spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: {do: retry, attempts: 3, delay: 2}}]}}
    next: {arcs: [{step: use}]}
  - {step: call, tool: {kind: playbook, path: t/c}, next: {arcs: [{step: use}]}}
  - {step: listen, tool: {kind: wait, events: [go], timers: {late: 9}}, next: {arcs: [{step: use}]}}
  - {step: later, next: {arcs: [{step: use}]}}
  - {step: quick, tool: {kind: http, url: "http://x/quick"}, next: {arcs: [{step: use}]}}
  - step: use
    spec: {policy: {join: first, cancels: [a, many, call, listen, later, quick, again]}}
    tool: {kind: http, url: "http://x/use"}
    next: {arcs: [{step: again}]}
  - {step: again, tool: {kind: http, url: "http://x/again"}}
"""

PLACES = """
executor: {spec: {concurrency: {key: k, limit: LIMIT, on_conflict: WAYS}, policy: {lifecycle: {after_s: 60}}}}
workflow:
  - step: start
    tool: [{name: a, kind: http, url: "http://x/a"}, {name: b, kind: http, url: "http://x/b"}]
    next: {arcs: [{step: call}]}
  - step: call
    loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel}}
    spec: {policy: {failure: {mode: best_effort}}}
    tool: {name: c, kind: playbook, path: t/c}
    next: {arcs: [{step: z}]}
  - {step: z, tool: {kind: noop, result: 1}}
"""

PLACED = """
executor: {spec: {concurrency: {key: KEY}}}
workflow:
  - {step: start, tool: {kind: http, url: "http://x/child"}}
"""


DECLARED = """
executor:
  spec:
    inputs: {day: {type: string, description: of the week}, n: {type: integer}}
    result: {sum: "{{ ctx.total }}", who: "{{ z }}"}
    ctx: {total: {reduce: sum}}
workload: {day: monday, n: 5}
workflow:
  - step: start
    loop: {in: [1, 2], iterator: i, spec: {mode: parallel}}
    spec: {policy: {failure: {mode: best_effort}}}
    tool:
      name: call
      kind: playbook
      path: t/c
      args: {a: "{{ iter.i }}"}
      spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {total: "{{ outcome.result.twice }}"}}}}]}}
    next: {arcs: [{step: bad}]}
  - step: bad
    tool:
      name: call
      kind: playbook
      path: t/c
      args: {a: text}
      spec: {policy: {rules: [{else: {then: {do: continue}}}]}}
    next: {arcs: [{step: z}]}
  - {step: z, tool: {kind: noop, result: "{{ bad | default('nothing', true) }}"}}
"""

DECLARING = """
executor:
  spec:
    inputs: {a: {type: integer, required: true}}
    result: {twice: "{{ 2 * workload.a }}", got: "{{ start.name }}"}
workflow:
  - {step: start, tool: {kind: http, url: "http://x/child"}}
"""


def _places(limit: int, way: str, key: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    return PLACES.replace("LIMIT", str(limit)).replace("WAYS", way), (("t/c", PLACED.replace("KEY", key)),)


ADDED = ((0.5, "add"), (1, "add"), (2, "go"), (4, "add"), (6, "stop"), (9, "last"), (10, "add"))

PLAYS = (
    Play("sequence", SEQUENCE),
    Play("join all", fork_to("all")),
    Play("join any", fork_to("any"), same="nothing"),
    Play("join first", fork_to("first"), same="ctx"),
    Play("join two", fork_to("2"), same="ctx"),
    Play("join taken", fork_to("taken")),
    Play("loop", LOOP),
    Play("nested loops", NESTED),
    Play("local loop", LOCAL),
    Play("pools", POOLS),
    Play("retry", RETRY),
    Play("failure that is handled", BAD, same="ctx"),
    Play("failure of a loop", FAILS, same="nothing"),
    Play("waits", WAITS, signals=((6, "go"),)),
    Play("calls", CALLS, (("t/c", CALLED),)),
    Play("circle", CIRCLE),
    Play("jumps", JUMPS),
    Play("time limit", LIMITED, same="nothing"),
    Play("large values", BIG),
    Play("transient waits", TRANSIENT, signals=((0.5, "go"), (2, "go"), (5, "go"), (6, "other")), same="nothing"),
    Play("ended by a step", ENDED, (("t/c", CALLED),), signals=((1, "go"),), same="nothing"),
    Play("over time", OVER_TIME, (("t/c", CALLED),), same="nothing"),
    Play("bounded iterations", BOUNDED, same="nothing"),
    Play("cancels", CANCELS, (("t/c", CALLED),), signals=((1, "go"),), same="nothing"),
    Play("locks", LOCKS, (("t/c", CALLED),), same="nothing"),
    Play("sections", SECTIONS, (("t/c", CALLED),), same="nothing"),
    Play("signals to others", SENDS, (("t/sender", SENDER),)),
    Play("join tokens", fork_to("{tokens: 2}"), same="nothing"),
    Play("phases", PHASES, (("t/c", CALLED_PHASES),), signals=((1, "go"),), same="nothing"),
    Play("reducers", REDUCED),
    Play("inputs and results", DECLARED, (("t/c", DECLARING),)),
    Play("places", *_places(1, "queue", "other")),
    Play("places of children", *_places(2, "queue", "k")),
    Play("places that others take", *_places(1, "cancel_running", "other"), same="nothing"),
    Play("a loop that grows", GROWS % ("max_in_flight: 2", "swallow"), (("t/c", CALLED),), ADDED, same="nothing"),
    Play("enough, and the rest cancelled", ENOUGH % "cancel", (("t/c", CALLED),), same="nothing"),
    Play("enough, and the rest left behind", ENOUGH % "swallow", (("t/c", CALLED),), same="nothing"),
    Play("compensation", SAGA, (("t/c", CALLED_PHASES),), same="nothing"),
    Play("interrupts", INTERRUPTED, (("t/c", CALLED),), signals=STOPS, same="nothing"),
    Play("join settled", fork_to("settled")),
    Play("settled joins", SETTLED, same="nothing"),
    Play("the mailbox", MAIL, same="nothing"),
    Play("what is undone", UNDONE),
    Play("after which ends", CAUSES, CAUSED, same="ctx"),
    Play("busy and slow", BUSY),
    Play("signals that are counted", COUNTED, (("t/counts", COUNTS),), same="ctx"),
    Play(
        "failed by a step",
        ENDED.replace("completed", "failed"),
        (("t/c", CALLED_PHASES),),
        ((1, "go"),),
        same="nothing",
    ),
    Play("places or none", *_places(1, "skip", "other"), same="nothing"),
    Play("places or a failure", *_places(1, "fail", "other"), same="nothing"),
)
FIRST = 19
"""The number of plays that there were at first."""


def number_of(seed: int) -> int:
    """The play of a seed. One that is added gets its share of every ninth seed, so that the others keep theirs."""
    if seed % 9 == 8:
        return FIRST + seed // 9 % (len(PLAYS) - FIRST)
    return seed % FIRST


def ready(play: Play) -> Ready:
    """Compile a play."""
    text = play.text
    children = [
        f"apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: c, path: {path}}}\n{body}"
        for path, body in play.children
    ]
    programs = {path: program_of(compiled(child)) for (path, _), child in zip(play.children, children, strict=True)}
    program = program_of(compiled("---\n".join([text.lstrip("\n"), *children])))
    return Ready(play, program, {**programs, "t/t": program})
