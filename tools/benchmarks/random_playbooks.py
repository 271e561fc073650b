"""Random playbooks of up to 100 steps, to find out what the analysis costs at worst and how often it says `unknown`.

    python3 -m benchmarks.random_playbooks FAMILY SEED > FILE

`random_playbook(family, seed)` is the same text everywhere. Most of them are wrong: joins starve, forks start steps
twice, cycles make tokens.

    acyclic     arcs lead forward only; routers of both modes, guards of all kinds, joins, loops, failures, gates
    cyclic      the same with arcs back, and jumps of tasks
    guarded     forks of guarded arcs, often into one join
    blocks      forks that join, choices that meet and cycles with a way out, one inside the other, a few arcs changed
    unbounded   forks on cycles
"""

import random
import sys
from collections.abc import Iterator
from typing import NamedTuple

FAMILIES = ("acyclic", "cyclic", "guarded", "blocks", "unbounded")
MOST_STEPS = 100

_HEAD = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {{name: {name}, path: random/{name}}}
workload: {{n: 1, kind: small, go: true, items: [1, 2], limit: 10}}
workflow:
"""
_GUARDS = (
    "workload.n > {k}",
    "workload.n == {k}",
    "workload.kind == 'small'",
    "workload.kind in ['small', 'large']",
    "workload.go",
    "not workload.go",
    "workload.go and workload.n < {k}",
    "ctx.k{k}",
    "not ctx.k{k}",
    "ctx.k{k} == {k}",
    "event.result.count > {k}",
    "event.result.ok",
)
_FAILURES = (
    "event.name == 'step.failed'",
    "event.status == 'error'",
    "event.error.code == 'x'",
)
_RULES = (
    "{{when: \"{{{{ outcome.status == 'error' }}}}\", then: {{do: retry, attempts: 3}}}}",
    "{{when: \"{{{{ outcome.status == 'error' }}}}\", then: {{do: continue}}}}",
    "{{when: \"{{{{ outcome.status == 'error' }}}}\", then: {{do: fail}}}}",
    '{{when: "{{{{ outcome.result.more }}}}", then: {{do: break}}}}',
    '{{else: {{then: {{do: continue, set_ctx: {{k{k}: "{{{{ workload.n }}}}"}}}}}}}}',
)


class _Step(NamedTuple):
    """A step: its arcs as (target, guard), whether all that match are taken, its join, and lines of its own."""

    arcs: list[tuple[int, str]]
    inclusive: bool
    join: str
    more: tuple[str, ...]


def random_playbook(family: str, seed: int) -> str:
    """The playbook of that number."""
    chance = random.Random(f"{family} {seed}")
    count = chance.choice((5, 8, 12, 20, 35, 60, MOST_STEPS))
    made = {"guarded": _guarded, "blocks": _blocks}.get(family)
    steps = made(chance, count) if made is not None else _woven(chance, count, family)
    return _HEAD.format(name=f"{family}_{seed}") + "".join(f"{line}\n" for line in _lines(chance, steps))


def _woven(chance: random.Random, count: int, family: str) -> list[_Step]:
    """Steps with arcs to the next few, and back in some families."""
    back = {"acyclic": 0.0, "cyclic": 0.15, "unbounded": 0.3}[family]
    near = chance.choice((2, 4, 10, count))
    forks = chance.choice((0.15, 0.35, 0.6))
    steps = []
    for at in range(count):
        fan = chance.choice((1, 1, 1, 2, 2, 3, 5)) if at else chance.choice((1, 2, 3, 6))
        arcs = [(min(at + chance.randint(1, near), count), "") for _ in range(fan)]
        if chance.random() < back:
            arcs.append((chance.randint(max(at - near, 0), at), ""))
            chance.shuffle(arcs)
        arcs = list(dict.fromkeys(arcs)) if family != "unbounded" else arcs
        inclusive = len(arcs) > 1 and chance.random() < forks
        jumps = family == "cyclic" and chance.random() < 0.1
        steps.append(_Step(_with_guards(chance, arcs, inclusive), inclusive, "", _more(chance, jumps)))
    return _joined(chance, steps)


def _guarded(chance: random.Random, count: int) -> list[_Step]:
    """Rows of branches, each with a guard, that meet in joins."""
    steps: list[_Step] = []
    while len(steps) < count:
        wide = min(chance.choice((2, 4, 8, 16, 40)), max(count - len(steps), 2))
        first, join = len(steps) + 1, len(steps) + wide + 1
        sure = chance.random()
        arcs = [(first + at, "" if chance.random() < sure else _guard(chance)) for at in range(wide)]
        steps.append(_Step(arcs, True, "", ()))
        steps += [_Step([(join, "" if chance.random() < 0.8 else _guard(chance))], False, "", ()) for _ in range(wide)]
        after = [(join + 1, "" if chance.random() < 0.7 else _guard(chance))]
        steps.append(_Step(after, False, chance.choice(("all", "all", "taken", "first", "2", "any")), ()))
    return steps


def _blocks(chance: random.Random, count: int) -> list[_Step]:
    """Nested blocks, of which some arcs are led elsewhere, and some guards added."""
    steps: list[_Step] = []
    while len(steps) < count:
        _block(chance, steps, max(2, min(count - len(steps), 30)), 0)
    end = len(steps)
    changed = []
    for at, step in enumerate(steps):
        arcs = [(target if target >= 0 else end, guard) for target, guard in step.arcs]
        if arcs and chance.random() < 0.04:
            arcs[chance.randrange(len(arcs))] = (min(at + chance.randint(1, 6), end), "")
        if arcs and chance.random() < 0.04:
            arcs[0] = (arcs[0][0], _guard(chance))
        changed.append(step._replace(arcs=arcs, more=_more(chance, False)))
    return changed


def _block(chance: random.Random, steps: list[_Step], room: int, deep: int) -> None:
    """Add a block, which is entered at its first step and left from its last one to the step behind."""
    kind = chance.choice(("step", "fork", "choice", "cycle", "row")) if room > 3 and deep < 4 else "step"
    first = len(steps)
    steps.append(_Step([(first + 1, "")], False, "", ()))
    if kind in ("fork", "choice"):
        wide = chance.choice((2, 3, 4))
        starts, lasts = [], []
        for _ in range(wide):
            starts.append(len(steps))
            _block(chance, steps, room // wide, deep + 1)
            lasts.append(len(steps) - 1)
        meet = len(steps)
        steps.append(_Step([(meet + 1, "")], False, "all" if kind == "fork" else "any", ()))
        for last in lasts:
            steps[last] = steps[last]._replace(arcs=[*steps[last].arcs[:-1], (meet, "")])
        guards = ["" if kind == "fork" or at == wide - 1 else _guard(chance) for at in range(wide)]
        steps[first] = steps[first]._replace(arcs=list(zip(starts, guards, strict=True)), inclusive=kind == "fork")
    elif kind == "cycle":
        _block(chance, steps, room - 1, deep + 1)
        last = len(steps)
        steps.append(_Step([(first, _guard(chance)), (last + 1, "")], False, "", ()))
    elif kind == "row":
        for _ in range(chance.choice((2, 3))):
            _block(chance, steps, room // 3, deep + 1)


def _joined(chance: random.Random, steps: list[_Step]) -> list[_Step]:
    """The steps with joins where several sources lead to one."""
    sources: dict[int, set[int]] = {}
    for at, step in enumerate(steps):
        for target, _ in step.arcs:
            sources.setdefault(target, set()).add(at)
    # The share is drawn for a whole playbook, so that some have few joins that wait and some have many.
    waits = chance.choice((0.2, 0.5, 0.8))
    found = []
    for at, step in enumerate(steps):
        many = len(sources.get(at, ())) + (at == 0)
        join = chance.choice(("all", "all", "all", "first", "2")) if many > 1 and chance.random() < waits else ""
        found.append(step._replace(join=join))
    return found


def _with_guards(chance: random.Random, arcs: list[tuple[int, str]], inclusive: bool) -> list[tuple[int, str]]:
    sure = chance.choice((0.3, 0.6, 1.0))
    found = [(target, "" if chance.random() < sure else _guard(chance)) for target, _ in arcs]
    if not inclusive:  # an arc behind one without a guard would never be taken
        found = [(target, guard or _guard(chance)) for target, guard in found[:-1]] + found[-1:]
    if chance.random() < 0.08:
        found.append((found[-1][0] if chance.random() < 0.5 else -1, chance.choice(_FAILURES)))
    return found


def _guard(chance: random.Random) -> str:
    return chance.choice(_GUARDS).format(k=chance.randint(1, 4))


def _more(chance: random.Random, jumps: bool) -> tuple[str, ...]:
    lines = []
    luck = chance.random()
    if luck < 0.08:
        lines.append('loop: {in: "{{ workload.items }}", iterator: item, spec: {mode: parallel}}')
    elif luck < 0.11:
        lines.append('spec.admit: {rules: [{when: "{{ workload.n < 9 }}", then: {allow: true}}]}')
    if jumps:
        rules = '[{when: "{{ outcome.result.again }}", then: {do: jump, to: one}}, {else: {then: {do: continue}}}]'
        lines.append(
            f"tool: [{{name: one, kind: noop}}, {{name: two, kind: noop, spec: {{policy: {{rules: {rules}}}}}}}]"
        )
    elif chance.random() < 0.25:
        rule = chance.choice(_RULES).format(k=chance.randint(1, 4))
        lines.append(f'tool: {{kind: http, url: "http://x.test", spec: {{policy: {{rules: [{rule}]}}}}}}')
    elif chance.random() < 0.3:
        lines.append('tool: {kind: http, url: "http://x.test"}')
    return tuple(lines)


def _lines(chance: random.Random, steps: list[_Step]) -> Iterator[str]:
    for at, step in enumerate(steps):
        yield f"  - step: {_name(at)}"
        policy = [f"join: {step.join}"] if step.join else []
        policy += [line.removeprefix("spec.") for line in step.more if line.startswith("spec.")]
        if policy:
            yield f"    spec: {{policy: {{{', '.join(policy)}}}}}"
        lines = [line for line in step.more if not line.startswith("spec.")]
        yield from (f"    {line}" for line in lines)
        if not any(line.startswith("tool:") for line in lines):
            yield "    tool: {kind: noop}"
        if step.arcs:
            mode = "inclusive" if step.inclusive else "exclusive"
            arcs = ", ".join(_arc(target, guard, len(steps)) for target, guard in step.arcs)
            yield f"    next: {{spec: {{mode: {mode}}}, arcs: [{arcs}]}}"


def _arc(target: int, guard: str, count: int) -> str:
    name = _name(target) if 0 <= target < count else "end"
    return f'{{step: {name}, when: "{{{{ {guard} }}}}"}}' if guard else f"{{step: {name}}}"


def _name(at: int) -> str:
    return f"s{at}" if at else "start"


if __name__ == "__main__":
    print(random_playbook(sys.argv[1], int(sys.argv[2])), end="")
