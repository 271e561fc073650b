"""Random steps with `next` as v1 has it, and the playbooks they stand in: s (the step) → a | b | c | d."""

from typing import Any, NamedTuple

from hypothesis import strategies as st

from translation.playing import entered, tool
from translation.world import ALWAYS_THERE, OF_RESULT, Expr, conditions, plain_answers, workloads

TARGETS = ("a", "b", "c", "d")


class Target(NamedTuple):
    """A step that a branch leads to; `style` is how it is written."""

    step: str
    sends: Expr | None
    style: str


class Branch(NamedTuple):
    """An item of `next`: `then` when `asks` is true (always, when None); `other` is its own `else`."""

    asks: Expr | None
    then: tuple[Target, ...]
    other: tuple[Target, ...]
    style: str


class Body(NamedTuple):
    """The step: a plain name or list (`branches` empty), or a ladder."""

    plain: tuple[Target, ...]
    branches: tuple[Branch, ...]
    workload: dict[str, Any]
    answers: dict[str, list[dict[str, Any]]]


@st.composite
def _targets(draw: st.DrawFn, most: int = 3) -> tuple[Target, ...]:
    names = draw(st.lists(st.sampled_from(TARGETS), min_size=1, max_size=most, unique=True))
    found = []
    for name in names:
        style = draw(st.sampled_from(("name", "step", "args", "with", "data")))
        sends = draw(st.sampled_from((*ALWAYS_THERE, *OF_RESULT))) if style not in ("name", "step") else None
        found.append(Target(name, sends, style))
    return tuple(found)


@st.composite
def _branch(draw: st.DrawFn) -> Branch:
    style = draw(st.sampled_from(("then", "then", "when", "condition", "else")))
    then = draw(_targets(1 if style in ("when", "condition") else 3))
    if style in ("when", "condition"):
        then = (then[0]._replace(style="step" if then[0].sends is None else "args"),)
    return Branch(draw(conditions), then, draw(_targets()) if style == "else" else (), style)


@st.composite
def bodies(draw: st.DrawFn) -> Body:
    """A step that ends well or not, and where it leads."""
    answers = {"tool": [draw(plain_answers)]}
    if draw(st.integers(0, 3)) == 0:
        return Body(draw(_targets()), (), draw(workloads), answers)
    branches = draw(st.lists(_branch(), min_size=1, max_size=3))
    if draw(st.booleans()):
        style = draw(st.sampled_from(("bare else", "else then", "fallback")))
        branches.append(Branch(None, draw(_targets(1 if style == "fallback" else 3)), (), style))
    return Body((), tuple(branches), draw(workloads), answers)


def playbook_of(body: Body) -> dict[str, Any]:
    """The step in a playbook, in the words of the dialect."""
    following: Any = [_branch_text(branch) for branch in body.branches]
    if body.plain:
        following = [_target(target) for target in body.plain]
        if len(following) == 1 and body.plain[0].style == "name":
            following = following[0]
    step = {"step": "s", "tool": tool("python", {"tag": "tool"}), "next": following}
    return entered(step, TARGETS, body.workload)


def _target(target: Target) -> Any:
    if target.style == "name":
        return target.step
    return {"step": target.step} | ({target.style: {"x": target.sends.template}} if target.sends is not None else {})


def _branch_text(branch: Branch) -> dict[str, Any]:
    then = [_target(target) for target in branch.then]
    match branch.style:
        case "when" | "condition":
            assert branch.asks is not None
            return {**then[0], branch.style: branch.asks.template}
        case "bare else":
            return {"else": then}
        case "else then":
            return {"else": {"then": then}}
        case "fallback":
            return then[0] if isinstance(then[0], dict) else {"step": then[0]}
        case _:
            assert branch.asks is not None
            found = {"when": branch.asks.template, "then": then}
            return found | ({"else": [_target(target) for target in branch.other]} if branch.other else {})
