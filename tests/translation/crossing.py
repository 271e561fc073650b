"""Random playbooks of the old dialects in which constructs stand side by side in one step.

    start (sets ctx.c) → s (the step) → a | b | c | d, which tell what reached them and what `s` gave

`CONSTRUCTS` are the constructs by the slot of the step that they take; a case takes one of each of some slots, so
that every pair is met, and triples at random. Answers have the shape that the real tool gives: http an envelope.
"""

from itertools import combinations
from random import Random
from typing import Any, NamedTuple

from translation.constructs import CONSTRUCTS
from translation.making import TARGETS, Making
from translation.playing import tool


class Crossed(NamedTuple):
    """A playbook, and what its tools answer."""

    playbook: dict[str, Any]
    outcomes: dict[str, list[dict[str, Any]]]


_APART = ({"retry list", "retry both", "case paging", "poll"}, {"named", "workbook"})
"""Constructs that do not stand side by side."""


def combinations_of(size: int) -> list[tuple[str, ...]]:
    """All sets of so many constructs that can stand side by side."""
    found = []
    for names in combinations(CONSTRUCTS, size):
        slots = {CONSTRUCTS[name][0] for name in names}
        if len(slots) == size and not any(len(apart & set(names)) > 1 for apart in _APART):
            found.append(names)
    return found


def crossed(random: Random, names: tuple[str, ...]) -> Crossed:
    """A random playbook whose step has these constructs."""
    m = Making(random, random.choice(("python", "http")), "loop" in names)
    for name in names:
        CONSTRUCTS[name][1](m)
    workload = {"w": random.randint(0, 2)}
    if m.workbook is None:
        made = tool(m.kind, m.args) | m.tool
        m.step["tool"] = made if m.named is None else [{"name": m.named, **made}]
    else:
        more = {"read": "{{ b }}"} if "read" not in m.args and random.choice((0, 1)) else {}
        if more:
            m.step.setdefault("args", {})["b"] = "{{ workload.w }}"
        m.workbook["tool"] = tool(m.kind, {**m.args, **more, **({"i": "{{ i }}"} if m.looped else {})}) | m.tool
        m.step |= _calling(m)
    start = {
        "step": "start",
        "tool": {"kind": "noop", "result": {"one": 1}},
        "vars": {"c": "{{ result.one }}", **({"visits": 0} if m.returns else {})},
        "next": [{"step": "s", "args": {"n": 9}}] if m.sends else "s",
    }
    arrived = {"got": "{{ args.x | default('none') }}", "read": "{{ s or 'none' }}"}
    if m.is_paged and "error" in f"{m.step.get('case')} {m.step.get('next')}":
        del arrived["read"]  # what pages leave where one fails is not settled
    arrivals = [{"step": name, "tool": tool("python", {"tag": name, **arrived})} for name in TARGETS]
    if m.returns:
        arrivals = [step | _BACK for step in arrivals]
    playbook: dict[str, Any] = {"workload": workload, "workflow": [start, m.step, *arrivals]}
    if m.workbook is not None:
        playbook["workbook"] = [m.workbook]
    return Crossed(playbook, _outcomes(m))


def _calling(m: Making) -> dict[str, Any]:
    """How the step calls its entry; in a loop with its number, since an entry does not know where it is called from."""
    args = {"i": "{{ loop_index }}"} if m.looped else {}
    if not args and m.one(0, 0, 1):
        return {"type": "workbook", "task": "entry"}
    if m.one(0, 0, 1):
        return {"call": {"task": "entry", **({"with": args} if args else {})}}
    return {"tool": {"kind": "workbook", m.one("name", "task"): "entry", **({"args": args} if args else {})}}


_BACK = {
    "vars": {"visits": "{{ vars.visits + 1 }}"},
    "next": [{"when": "{{ vars.visits < 2 }}", "then": [{"step": "s", "args": {"n": 6}}]}],
}
"""A rule that leads back to `s` once."""


def _outcomes(m: Making) -> dict[str, list[dict[str, Any]]]:
    tags = [f"tool/{i}" for i in range(3)] if m.looped else ["tool"]
    found = {tag: [_outcome(m.random, m.kind) for _ in range(m.one(1, 1, 2, 3, 4))] for tag in tags}
    for tag in ("p0", "p1", "p2") if "pipe" in str(m.step.get("case")) else ():
        for at in ["/0", "/1", "/2"] if m.looped else [""]:
            found[tag + at] = [_outcome(m.random, "python") for _ in range(m.one(1, 2, 3, 4))]
    for tag in ("sink", "wsink", "pagesink", "r0n0", "r0n1", "r1n0"):
        if m.one(0, 0, 0, 0, 0, 1):
            failing = [_outcome(m.random, "python") for _ in range(m.one(1, 2))]
            found |= {tag + at: failing for at in (["/0", "/1", "/2"] if m.looped else [""])}
    return found


def _outcome(random: Random, kind: str) -> dict[str, Any]:
    """An outcome as a real tool of the kind gives it."""
    body = {
        "k": random.randint(0, 2),
        "f": random.random() < 0.5,
        "items": [random.randint(0, 9)] * random.randint(0, 2),
    }
    code = random.choice(("timeout", "python.error"))
    match (kind, random.randint(0, 5)):
        case ("http", 0):
            return _http(random.choice((404, 503)), body)
        case ("http", 1) | (_, 0 | 1):
            return {"status": "error", "code": code}
        case ("http", _):
            return _http(random.choice((200, 200, 201)), body)
        case _:
            return {"status": "ok", "result": body}


def _http(status: int, body: Any) -> dict[str, Any]:
    result = {"status_code": status, "headers": {}, "data": body, "body": body}
    found = {"status": "ok" if status < 400 else "error", "result": result, "http": {"status": status}}
    return found | ({"code": "http.status"} if status >= 400 else {})
