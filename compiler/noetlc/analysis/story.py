"""A run of the net told in the words of the playbook: steps, tasks and their outcomes, arcs taken and not taken."""

from collections.abc import Iterable, Iterator, Sequence

from noetl_ir.net import Transition
from noetl_ir.plan import Plan
from noetlc.analysis.cut_short import told_by_outcomes
from noetlc.analysis.petri import PetriMarking
from noetlc.analysis.skeleton import Skeleton
from noetlc.analysis.verdict import Story, StoryLine
from noetlc.analysis.waves import unfolded_run
from noetlc.ast.graph import reached

OUTCOMES = frozenset({"continue", "break", "fail", "retry", "jump", "jump_later", "fault"})


def story_of(skeleton: Skeleton, run: Sequence[int], end: str, related: Sequence[StoryLine] = ()) -> Story:
    """The story of a run of a skeleton."""
    transitions = told_by_outcomes(skeleton.plan, unfolded_run(skeleton, run))
    lines = [line for each in transitions if (line := _line(skeleton.plan, each)) is not None]
    return Story(tuple(lines), end, tuple(related), tuple(each.id for each in transitions))


def told_in_part(plan: Plan, story: Story, part: Sequence[Transition]) -> Story:
    """The story of a part of its run."""
    lines = [line for each in part if (line := _line(plan, each)) is not None]
    return story._replace(lines=tuple(lines), run=tuple(each.id for each in part))


def ways_to(plan: Plan, steps: Iterable[int]) -> set[int]:
    """The steps from which some steps can be reached by arcs, these included.

    A story about tokens in `steps` tells what the run did here, and leaves the rest out.
    """
    sources: list[list[int]] = [[] for _ in plan.steps]
    for arc in plan.arcs:
        if arc.target >= 0:
            sources[arc.target].append(arc.step)
    return reached(tuple([tuple(each) for each in sources]), steps)


def left_over(skeleton: Skeleton, marking: PetriMarking) -> Iterator[StoryLine]:
    """The tokens that a dead marking that is not final still holds, as the author would say it."""
    plan = skeleton.plan
    waiting: dict[int, list[str]] = {}
    for place, tokens in zip(plan.net.places, marking, strict=False):
        if not tokens:
            continue
        if place.role in ("in", "held", "dead"):
            waiting.setdefault(place.step, []).append(
                place.id[len(place.role) + len(plan.steps[place.step].name) + 2 :]
            )
        elif place.role == "merge":
            row = plan.steps[place.step]
            yield StoryLine(f"`{row.name}` has {tokens} of the {row.join.n} tokens that start it", row.span)
        elif place.role in ("gate", "parked"):
            yield StoryLine(f"a token is left at `{plan.steps[place.step].name}` ({place.role})", place.span)
    for step, sources in waiting.items():
        row = plan.steps[step]
        missing = [source for source in row.join.sources if source not in sources]
        if row.join.mode == "settled":
            yield StoryLine(
                f"`{row.name}` has a token from {_listed(sources)}, and waits for what can still come", row.span
            )
            continue
        more = f", and nothing more comes from {_listed(missing)}" if missing else ""
        yield StoryLine(f"`{row.name}` has a token from {_listed(sources)}{more}", row.span)


def forks_behind(skeleton: Skeleton, run: Sequence[int]) -> Iterator[StoryLine]:
    """The forks whose branches are still apart at the end of a run and have a token that waits at a join.

    Each token remembers the routers that it came through with others; those that meet, what they have in common.
    """
    plan, net = skeleton.plan, skeleton.net
    entrances, kept = _places(plan, "in", "fly"), _places(plan, "free", "idle", "got", "met", "slot")
    asides = kept | set(range(len(plan.net.places), len(net.places)))  # what joins, loops and guards remember
    behind: dict[int, list[tuple[int, ...]]] = {
        place: [()] * tokens for place, tokens in enumerate(net.initial) if tokens
    }
    for number in run:
        t = skeleton.transition(number)
        # Tokens of one place are alike in the net. The oldest goes first, so that the story follows one token.
        taken = [(behind[place].pop(0), place) for place, weight in net.inputs[number] for _ in range(weight)]
        # Tokens that met share only the forks that all of them came through; those in which they were parted are
        # joined now.
        forks = _common([row for row, place in taken if place not in asides])
        for place, weight in net.outputs[number]:
            splits = t.role == "take" and place in entrances and plan.steps[t.step].inclusive
            behind.setdefault(place, []).extend([(*forks, t.step) if splits else forks] * weight)
    waiting = [forks for place in sorted(_places(plan, "in", "held", "merge")) for forks in behind.get(place, ())]
    for step in dict.fromkeys(forks[-1] for forks in waiting if forks):
        yield StoryLine(f"`{plan.steps[step].name}` forks", plan.steps[step].span)


def _places(plan: Plan, *roles: str) -> frozenset[int]:
    return frozenset(number for number, place in enumerate(plan.net.places) if place.role in roles)


def _common(rows: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The words that all rows begin with."""
    found = rows[0] if rows else ()
    for row in rows[1:]:
        length = next((at for at, pair in enumerate(zip(found, row, strict=False)) if pair[0] != pair[1]), None)
        found = found[: min(len(found), len(row)) if length is None else length]
    return found


def _line(plan: Plan, t: Transition) -> StoryLine | None:
    step = plan.steps[t.step].name
    task = plan.tasks[t.task].name if t.task >= 0 else ""
    match t.role:
        case "begin" if t.level < 0:
            return StoryLine(f"`{step}` starts", t.span)
        case "expand":
            return StoryLine(f"the loop of `{step}` starts", t.span)
        case "empty":
            return StoryLine(f"the loop of `{step}` has no items", t.span)
        case "deny":
            return StoryLine(f"`{step}` is not admitted", t.span)
        case "none" if t.id.endswith(" ok"):
            return StoryLine(f"no arc of `{step}` is taken" if plan.steps[t.step].arcs else f"`{step}` ends", t.span)
        case "terminate":
            return StoryLine(f"`{step}` ends the execution", t.span)
        case "settle":
            return StoryLine(f"nothing more can come to `{step}`", t.span)
        case "force":
            return StoryLine(f"nothing else can move, and `{step}` goes on with what has come", t.span)
        case "meet":
            return StoryLine(f"the tokens for `{step}` have come together", t.span)
        case "meet_none":
            return StoryLine(f"no branch brings a token to `{step}`", t.span)
        case "interrupt":
            return StoryLine(f"`{step}` is interrupted", t.span)
        case "shut":
            return StoryLine(f"no items come to the loop of `{step}` any more", t.span)
        case "leave":
            return StoryLine(f"`{step}` goes on, and leaves the iterations that still run behind", t.span)
        case "empty_failed":
            return StoryLine(f"the loop of `{step}` has no items, which are not enough", t.span)
        case "close_failed":
            return StoryLine(f"the loop of `{step}` fails", t.span)
        case "take" | "pass":
            return _arc(plan, t)
        case role if role in OUTCOMES:
            return _outcome(plan, t, step, task)
        case _:
            return None


def _arc(plan: Plan, t: Transition) -> StoryLine | None:
    arc = plan.arcs[t.arc]
    target = plan.steps[arc.target].name if arc.target >= 0 else "end"
    verb = "takes" if t.role == "take" else "does not take"
    return StoryLine(f"`{plan.steps[t.step].name}` {verb} the arc to `{target}`", t.span)


def _outcome(plan: Plan, t: Transition, step: str, task: str) -> StoryLine | None:
    row = plan.tasks[t.task]
    plain = not row.rules and t.role == "continue"
    if plain and row.generated:
        return None
    name = f"`{step}`" if len(plan.steps[t.step].tasks) == 1 else f"`{step}`, task `{task}`"
    if plain:
        return StoryLine(f"{name} succeeds", t.span)
    if t.role == "fault":
        return StoryLine(f"{name} fails", t.span)
    target = f" to `{t.id.split(' jump ', 1)[1].removesuffix(' later')}`" if t.role.startswith("jump") else ""
    directive = "jump" if t.role.startswith("jump") else t.role
    return StoryLine(f"{name} ends {'well' if t.outcome == 'ok' else 'in an error'}: {directive}{target}", t.span)


def _listed(names: Sequence[str]) -> str:
    shown = [f"`{name}`" if name != "@entry" else "the entry" for name in names]
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))
