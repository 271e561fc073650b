"""Random playbooks that are sound by construction: steps in a row, forks that join, choices that meet, cycles with a
way out, one inside the other. And mutations of them, each with the verdict that it must turn.
"""

from collections.abc import Iterator
from typing import NamedTuple

from hypothesis import strategies as st


class Block(NamedTuple):
    """`kind` is `step`, `row`, `fork`, `choice` or `cycle`."""

    kind: str
    parts: tuple["Block", ...] = ()


class Written(NamedTuple):
    """A step: its join, its router's mode, and its arcs as (target, guard)."""

    join: str
    mode: str
    arcs: tuple[tuple[str, str], ...]
    loops: bool = False


Steps = dict[str, Written]

_LEAF = st.just(Block("step"))


def _around(inner: st.SearchStrategy[Block]) -> st.SearchStrategy[Block]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        several.map(lambda parts: Block("row", parts)),
        several.map(lambda parts: Block("fork", parts)),
        several.map(lambda parts: Block("choice", parts)),
        inner.map(lambda part: Block("cycle", (part,))),
    )


BLOCKS = st.recursive(_LEAF, _around, max_leaves=8)


def steps_of(block: Block) -> Steps:
    """The steps of a block, behind a step `start`; the last ends the run."""
    found: Steps = {}
    first = _written(block, "end", found)
    found["start"] = Written("any", "exclusive", ((first, ""),))
    return found


def _written(block: Block, after: str, found: Steps) -> str:
    """Add a block's steps, the last of which leads to `after`; the name of the first."""
    name = f"s{len(found)}"
    match block.kind:
        case "step":
            found[name] = Written("any", "exclusive", ((after, ""),), loops=len(found) % 3 == 2)
            return name
        case "row":
            for part in reversed(block.parts):
                after = _written(part, after, found)
            return after
        case "cycle":
            found[name] = Written("any", "exclusive", ())
            first = _written(block.parts[0], name, found)
            found[name] = Written("any", "exclusive", ((first, f"ctx.{name}"), (after, "")))
            return first
        case kind:
            last = f"{name}end"
            forks = kind == "fork"
            found[last] = Written("all" if forks else "any", "exclusive", ((after, ""),))
            firsts = [_written(part, last, found) for part in block.parts]
            guards = ["" if forks or part is firsts[-1] else f"ctx.{part}" for part in firsts]
            found[name] = Written("any", "inclusive" if forks else "exclusive", tuple(zip(firsts, guards, strict=True)))
            return name


def playbook_text(steps: Steps) -> str:
    """The playbook of some steps."""
    lines = ["apiVersion: noetl.io/v2", "kind: Playbook", "metadata: {name: t, path: t/t}", "workflow:"]
    for name, step in steps.items():
        lines.append(f"  - step: {name}")
        if step.join != "any":
            lines.append(f"    spec: {{policy: {{join: {step.join}}}}}")
        if step.loops:
            lines.append('    loop: {in: "{{ workload.items }}", iterator: item, spec: {mode: parallel}}')
        lines.append("    tool: {kind: noop}")
        if step.arcs:
            lines.append(
                f"    next: {{spec: {{mode: {step.mode}}}, arcs: [{', '.join(_arc(*arc) for arc in step.arcs)}]}}"
            )
    return "\n".join(lines) + "\n"


def _arc(target: str, guard: str) -> str:
    return f"{{step: {target}, when: '{{{{ {guard} }}}}'}}" if guard else f"{{step: {target}}}"


def mutations(steps: Steps) -> Iterator[tuple[str, Steps]]:
    """Steps with one defect each, and the question that it refutes."""
    yield "every part can run", {**steps, "lost": Written("any", "exclusive", (("end", ""),))}
    for name, step in steps.items():
        if step.mode == "inclusive":
            guarded = tuple((target, "" if at else "ctx.x") for at, (target, _) in enumerate(step.arcs))
            yield "nothing can get stuck", {**steps, name: step._replace(mode="exclusive", arcs=guarded)}
        if name.endswith("end") and step.join == "all":
            source = next(each for each, other in steps.items() if any(target == name for target, _ in other.arcs))
            ended = tuple(("end" if target == name else target, guard) for target, guard in steps[source].arcs)
            more = (*ended[:-1], (name, "ctx.never"), ended[-1])
            yield "nothing can get stuck", {**steps, source: steps[source]._replace(arcs=more)}
        if (
            len(step.arcs) == 2
            and step.mode == "exclusive"
            and not name.endswith("end")
            and step.arcs[0][1] == f"ctx.{name}"
        ):
            yield "every cycle has an exit", {**steps, name: step._replace(arcs=((step.arcs[0][0], ""),))}
