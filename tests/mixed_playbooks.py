"""Random playbooks in which every construct may stand beside every other, small enough that all their runs can be seen.

A seed decides all of one. Steps are named by number, the first one `start`; a phase behind main has steps of its own.
Guards of arcs ask a key each, or whether the step failed.
"""

import random

from nets import sections_of, steps

FAILED = "when: \"{{ event.name == 'step.failed' }}\""
GATE = 'admit: {on_deny: wait, rules: [{when: "{{ ctx.open | default(false) }}", then: {allow: true}}]}'
LATER = ("on_failure", "finally", "undo")
WAITS = (
    "events: [a]",
    "events: [a, b], transient: true",
    "timers: {t: 5}",
    "events: [a], timers: {t: {at: '2031-01-01T00:00:00Z'}}",
    "events: [a], correlation: k, timers: {t: 5}",
)
SIGNALS = ("to: parent", "to: children", "to: e7", "key: k", 'key: "k {{ execution_id }}", keep_for: 2d')
DELAYS = (
    "delay: '{{ outcome.http.retry_after }}'",
    "delay: '{{ outcome.http.retry_after | default(2, true) }}'",
    "delay: 2, backoff: exponential",
)
RETRY = "rules: [{{when: \"{{{{ outcome.status == 'error' }}}}\", then: {{do: retry, attempts: 2, {}}}}}]"
WRITES = "rules: [{else: {then: {do: continue, set_ctx: {open: '{{ workload.k }}', n: 1, of: [1], map: {a: 1}}}}}]"
TOLD = (
    '{a: "{{ [args.status, args.error, args.step, args.result] }}", '
    'b: "{{ [args.args, args.iter, args.index] | default(none) }}"}'
)
LOOPS = (
    "policy: {enough: 1, rest: REST}",
    'policy: {enough: "{{ event.done > 0 }}", rest: REST}',
    'policy: {enough: "{{ event.ok + event.failed == event.total }}", rest: REST}',
    "policy: {lifecycle: {timeout_s: 5}}, timeout: 4",
    "policy: {enough: 2, rest: REST, lifecycle: {timeout_s: 5}}",
    "mode: parallel, more: {events: [m]}, close: {events: [c]}",
    "more: {events: [m]}, complete: {events: [s], timers: {t: 5}}, policy: {rest: REST}",
    "complete: {events: [s]}, policy: {rest: REST}",
    "more: {events: [m]}, close: {timers: {t: 5}}, policy: {enough: 1, rest: REST}",
)


def playbook_of(seed: int) -> str:
    """The playbook of a seed, without its head: two to four steps in main, one or two in each phase behind it."""
    chance = random.Random(seed)
    phases = chance.choice(((), (), (), ("finally",), ("undo",), ("on_failure", "undo"), LATER))
    # By a stream of its own, so that a seed has the same playbook with or without.
    more = random.Random(f"{seed} more")
    fork = _Fork(more) if more.random() < 0.25 else None
    parts = [_Part(chance, "s", chance.randint(2, 3 if phases else 4), phases, fork)]
    parts += [_Part(chance, phase, chance.randint(1, 2), ()) for phase in phases]
    if more.random() < 0.3:
        parts[more.randrange(len(parts))].calls = more
    body = "".join(part.text() for part in parts) + ("" if fork is None else fork.text())
    asked = body.count("workload.x ")
    for number in range(asked):
        body = body.replace("workload.x ", f"workload.x{number} ", 1)
    values = ", ".join(["k: 1", *(f"x{number}: 1" for number in range(asked))])
    return f"{_executor(chance, phases)}workload: {{{values}}}\nworkflow:\n{body}"


CHILD = """---
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: c, path: t/c}
executor: {spec: {entry_step: c0, finally: c2}}
workflow:
  - {step: c0, spec: {policy: {compensate: c3}}, tool: {kind: http, url: 'http://x/'}, next: {arcs: [{step: c1}]}}
  - {step: c1, tool: [{name: w, kind: wait, events: [a], timers: {t: 3}}, {name: b, kind: http, url: 'http://x/'}]}
  - {step: c2, tool: {kind: http, url: 'http://x/'}}
  - {step: c3, tool: {kind: http, url: 'http://x/'}}
"""
"""The playbook that tasks of random playbooks call, as a document behind theirs."""
CHILD_STEPS = ("c0", "c1", "c2", "c3")


class _Fork:
    """A fork with guards, the branches that it opens, and the join that waits for those that were taken; perhaps a step
    that cancels all of it. Some step of main leads to it, and it leads to none.
    """

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.branches = [
            [f"b{at}{n}" for n in range(chance.choice((1, 1, 2)))] for at in range(chance.choice((2, 2, 3)))
        ]
        self.stops = chance.random() < 0.3

    def text(self) -> str:
        """The steps, as lines of the workflow."""
        chance, every = self.chance, self.chance.random() < 0.2
        guards = ["" if every or chance.random() < 0.2 else "when: '{{ workload.x }}', " for _ in self.branches]
        arcs = [f"{{{guard}step: {branch[0]}}}" for guard, branch in zip(guards, self.branches, strict=True)]
        rows = [f"step: fork, next: {{spec: {{mode: inclusive}}, arcs: [{', '.join(arcs)}]}}"]
        for branch in self.branches:
            rows += [self._inside(name, to) for name, to in zip(branch, [*branch[1:], "met"], strict=True)]
        rows.append("step: met, spec: {policy: {join: taken}}")
        if self.stops:
            names = ", ".join([name for branch in self.branches for name in branch] + ["met"])
            rows.append(f"step: stop, spec: {{policy: {{cancels: [{names}]}}}}")
        return steps(*rows).removeprefix("workflow:\n")

    def _inside(self, name: str, to: str) -> str:
        chance = self.chance
        policies = ("lock: a", "lifecycle: {timeout_s: 60}", "interrupt: {events: [x]}", "join: any", "join: any", GATE)
        tools = (
            "", "", ", tool: {kind: http, url: 'http://x/'}", ", tool: {kind: wait, events: [a], timers: {t: 5}}",
            ", tool: {kind: playbook, path: t/c}", ", tool: {kind: fail, code: mine}",
        )  # fmt: skip
        loop = ', loop: {in: "{{ [1, 2] }}", iterator: i}' if chance.random() < 0.2 else ""
        caught = f"{{{FAILED}, step: {to}}}, " if chance.random() < 0.4 else ""
        spec = f"spec: {{policy: {{{chance.choice(policies)}}}}}"
        return f"step: {name}, {spec}{loop}{chance.choice(tools)}, next: {{arcs: [{caught}{{step: {to}}}]}}"


class _Part:
    """The steps of a phase. `rows` are the arcs of each by number, `caught` the step that takes its failure, 0 none."""

    def __init__(
        self, chance: random.Random, name: str, count: int, phases: tuple[str, ...], fork: _Fork | None = None
    ) -> None:
        self.chance = chance
        self.calls: random.Random | None = None  # decides which steps call a child
        self.name = name
        self.count = count
        self.phases = phases
        self.is_main = name == "s"
        # Most without a way back: with one, spaces are soon too large to be seen whole.
        back = chance.random() < 0.25
        self.rows: list[list[int]] = []
        for at in range(count):
            low = int(self.is_main) if back and at else at + 1
            arcs = chance.choice((2, 2, 3)) if self.is_main and not at else chance.choice((0, 1, 1, 2))
            self.rows.append([chance.randint(low, count) for _ in range(arcs)])
        self.caught = [chance.choice((0, *range(at + 1, count + 1))) for at in range(count)]
        self.ends = [bool(at or not self.is_main) and chance.random() < 0.06 for at in range(count)]
        self.rows = [[] if ends else row for row, ends in zip(self.rows, self.ends, strict=True)]
        takers: set[int] = set()
        if self.is_main and chance.random() < 0.25:
            takers = set(chance.sample(range(count), chance.randint(1, 2)))
        self.more: dict[int, list[str]] = {}
        if fork is not None:
            able = [0]  # what start leads to: where nothing leads to a fork, no join belongs to it
            for at in able:  # grows while it is walked
                ways = [*self.rows[at], self.caught[at]]
                able += [to for to in dict.fromkeys(ways) if 0 < to < count and to not in able and not self.ends[to]]
            self.more = {at: [] for at in able}
            self.more[fork.chance.choice(able)].append("fork")
            if fork.stops:
                self.more[fork.chance.choice(able)].append("stop")
        ways = [[*row, *([to] if to else [])] for row, to in zip(self.rows, self.caught, strict=True)]
        self.ways = ways
        self.takers, self.inside = takers, sections_of(ways, takers, set(range(1, count))) if takers else set()

    def text(self) -> str:
        """The steps, as lines of the workflow."""
        return steps(*(self._step(at) for at in range(self.count))).removeprefix("workflow:\n")

    def name_of(self, number: int) -> str:
        """The name of a step; one beyond the last is `end`."""
        return "end" if number == self.count else "start" if self.is_main and not number else f"{self.name}{number}"

    def _step(self, at: int) -> str:
        chance = self.chance
        exclusive = chance.random() < 0.4
        by = chance.choice(("", ", args: {by: '{{ event.error.event }}'}"))
        arcs = [f"{{{FAILED}, step: {self.name_of(self.caught[at])}{by}}}"] if self.caught[at] else []
        guard = "when: '{{ workload.x }}', " if exclusive else ""
        arcs += [f"{{{guard}step: {self.name_of(to)}}}" for to in self.rows[at]]
        arcs += [f"{{{guard}step: {name}}}" for name in self.more.get(at, ())]
        mode = "exclusive" if exclusive else "inclusive"
        routes = f", next: {{spec: {{mode: {mode}}}, arcs: [{', '.join(arcs)}]}}" if arcs else ""
        # What a phase is told changes nothing of what can happen.
        told = "" if self.is_main or at else f", tool: {{kind: noop, args: {TOLD}}}"
        loop = self._loop("i") if chance.random() < 0.25 else ""
        tool = f", tool: {{{self._tool()}}}" if chance.random() < 0.5 else told
        if self.is_main and not at:
            # A key that nobody writes is known to be undefined, and a gate that asks it never opens.
            tool = f", tool: {{kind: noop, spec: {{policy: {{{WRITES}}}}}}}"
        elif self.calls is not None and self.calls.random() < 0.5:
            tool = f", tool: {{kind: playbook, path: t/c{self.calls.choice(('', ', spec: {timeout: 4}'))}}}"
        return f"step: {self.name_of(at)}, spec: {{policy: {{{', '.join(self._policy(at))}}}}}{loop}{tool}{routes}"

    def _policy(self, at: int) -> list[str]:
        chance = self.chance
        sources = sum(at in row for row in self.ways) + (at == 0)
        joins = ("all", "any", "first", "settled", "settled", "2", "{tokens: 2}")
        found = [f"join: {chance.choice(joins) if sources > 1 else 'any'}"]
        locks = ["lock: a", "lock: [a, b]", "lock: z"]
        if at in self.takers and self.inside:
            through = ", ".join(self.name_of(to) for to in sorted(self.inside))
            found.append(f"lock: {{name: z, through: [{through}]}}")
            locks = []
        names = [self.name_of(to) for to in range(self.count) if to or not self.is_main]
        several = chance.sample(names, min(len(names), chance.randint(1, 2)))
        more = [f"cancels: [{', '.join(several)}]", f"cancels: {several[0]}", "lifecycle: {timeout_s: 60}",
                "interrupt: {events: [x]}", "interrupt: {timers: {t: 5}}",
                "interrupt: {events: [a], timers: {t: 5}}"]  # fmt: skip
        more += [GATE] if at or not self.is_main else []
        if self.ends[at]:
            found.append(chance.choice(("terminate: completed", "terminate: failed")))
        if chance.random() < 0.5:
            found.append(chance.choice([*locks, *more]))
        if "undo" in self.phases and (not at or chance.random() < 0.6):
            found.append(chance.choice(("compensate: undo0", "compensate: {step: undo0, on: started}",
                                        "compensate: {step: undo0, on: done}")))  # fmt: skip
        return found

    def _tool(self) -> str:
        chance = self.chance
        match chance.randint(0, 6):
            case 0 | 1:
                return f"kind: wait, {chance.choice(WAITS)}"
            case 2:
                return f"kind: signal, signal: a, data: '{{{{ action_id }}}}', {chance.choice(SIGNALS)}"
            case 3:
                return f"kind: fail, code: mine{chance.choice(('', ', message: at {{ action_id }}'))}".replace(
                    "at {{ action_id }}", "'at {{ action_id }}'"
                )
            case 4:
                return f"kind: http, url: 'http://x/', spec: {{policy: {{{RETRY.format(chance.choice(DELAYS))}}}}}"
            case 5:
                return "kind: http, url: 'http://x/', spec: {timeout: 3}"
        return f"kind: noop, spec: {{policy: {{{WRITES}}}}}"

    def _loop(self, iterator: str) -> str:
        chance = self.chance
        rest = chance.choice(("cancel", "finish", "swallow") if iterator == "i" else ("cancel", "finish"))
        spec = chance.choice(LOOPS).replace("REST", rest)
        deeper = self._loop("j") if iterator == "i" and chance.random() < 0.15 else ""
        return f', loop: {{in: "{{{{ [1, 2] }}}}", iterator: {iterator}, spec: {{{spec}}}{deeper}}}'


SEARCH = "search: {" + ", ".join(
    f'{kind}: {{value: "{{{{ workload.k }}}}", type: {kind}}}' for kind in ("string", "number", "bool", "time")
) + "}"  # fmt: skip
"""Search attributes of each type; nothing of a run follows from them."""


def _executor(chance: random.Random, phases: tuple[str, ...]) -> str:
    """The keys of the whole playbook; but for its phases, none of them changes what a net can do."""

    def some() -> bool:
        return chance.random() < 0.2

    spec = [f"{phase}: {phase}0" for phase in phases if phase != "undo"]
    if "undo" in phases and chance.random() < 0.5:
        causes = chance.sample(("failed", "blocked", "cancelled"), chance.randint(1, 2))
        spec.append(f"compensate_on: {causes[0] if len(causes) == 1 else '[' + ', '.join(causes) + ']'}")
    if some():
        spec.append("inputs: {k: {type: integer, description: how many}, must: {type: string, required: true}}")
    if some():
        spec.append('result: "{{ workload.k }}"')
    if some():
        spec.append("timeout: 9")
    if some():
        spec.append(f"tasks: {{http: {{spec: {{timeout: 8, policy: {{{RETRY.format('delay: 1')}}}}}}}}}")
    if some():
        initial = chance.choice(("", ", initial: 3"))
        ctx = [f"n: {{reduce: {chance.choice(('sum', 'min', 'max', 'count'))}{initial}}}"]
        ctx += [f"of: {{reduce: {chance.choice(('append', 'union'))}}}", "map: {reduce: merge}"]
        spec.append(f"ctx: {{{', '.join(ctx)}}}")
    if some():
        way = chance.choice(("queue", "skip", "cancel_running", "fail"))
        spec.append(f'concurrency: {{key: "k {{{{ workload.k }}}}", limit: 2, on_conflict: {way}}}')
        spec.append(SEARCH)
    life = ["timeout_s: 90"] if some() else []
    life += ["after_s: 30"] if phases and some() else []
    if life:
        spec.append(f"policy: {{lifecycle: {{{', '.join(life)}}}}}")
    return f"executor: {{spec: {{{', '.join(spec)}}}}}\n" if spec else ""
