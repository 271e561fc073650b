"""Which fork a `taken` join belongs to (LANGUAGE §3).

`taken` waits for the branches that a fork took, so that must be one inclusive router that dominates the
join; each of its arcs starts its own branch; each branch ends in exactly one source of the join; no cycle
crosses a branch. An arc that only a failure can take (`event.name == 'step.failed'`) is no branch.
"""

from collections.abc import Iterator

from noetl_ir.expr import Attribute, Compare, Const, Name
from noetl_ir.records import NamedTuple
from noetlc.ast.playbook import Guard, Playbook, Step
from noetlc.diag.codes import finding
from noetlc.diag.diagnostic import Diagnostic
from noetlc.expr.shorthand import conjuncts


class Fork(NamedTuple):
    """The fork of a `taken` join: the step that routes, for each of its branches (arc number, source), and the steps of
    all of them.
    """

    step: str
    branches: tuple[tuple[int, str], ...]
    inside: frozenset[str]


class Illegal(NamedTuple):
    """Why a join cannot be `taken`."""

    reason: str


def taken_joins(playbook: Playbook) -> dict[str, Fork | Illegal]:
    """Each step whose join is `taken`, with its fork or the reason why it has none."""
    joins = [step for step in playbook.steps if step.spec.join == "taken"]
    if not joins:
        return {}
    graph = _Graph(playbook)
    return {step.name: graph.fork_of(step) for step in joins}


def could_be_taken(playbook: Playbook, step: Step) -> bool:
    """Whether `taken` is the right join for a step: it has a fork, a guard of which may leave out a branch, and each
    branch that is taken surely leads to the step.
    """
    fork = _Graph(playbook).fork_of(step)
    if isinstance(fork, Illegal):
        return False
    routers = {each.name: each.router for each in playbook.steps}
    head = routers[fork.step]
    arcs = head.arcs if head is not None else ()
    return any(arcs[number].when is not None for number, _ in fork.branches) and all(
        router is not None
        and any(arc.when is None for arc in router.arcs)
        and all(arc.target in fork.inside or arc.target == step.name for arc in router.arcs)
        for router in map(routers.get, fork.inside)
    )


def dead_places(playbook: Playbook) -> dict[tuple[str, int], tuple[tuple[int, str], ...]]:
    """(step, arc number) → the dead tokens that are made when the step's router does not take that arc.

    Each is given by the index of the join's step, and the source of the join that it stands for.
    """
    found: dict[tuple[str, int], tuple[tuple[int, str], ...]] = {}
    numbers = {step.name: index for index, step in enumerate(playbook.steps)}
    for join, fork in taken_joins(playbook).items():
        if isinstance(fork, Fork):
            for number, source in fork.branches:
                key = (fork.step, number)
                found[key] = (*found.get(key, ()), (numbers[join], source))
    return found


class _Graph:
    """The step graph of a playbook, read in both directions."""

    def __init__(self, playbook: Playbook) -> None:
        # Lint asks every playbook for such joins, and few have any.
        from noetl_ir.plan import ENTRY
        from noetlc.ast.dominators import dominators_of
        from noetlc.ast.graph import later_of
        from noetlc.codegen.sources import entry_of, sources_of

        self._token = ENTRY
        self._steps = {step.name: step for step in playbook.steps}
        self._before = sources_of(playbook)
        self._after = {
            step.name: [arc.target for arc in step.router.arcs if arc.target in self._steps]
            if step.router is not None
            else []
            for step in playbook.steps
        }
        # Each phase begins at a step of its own, and no step is in two of them; only a declared `end` is main's.
        self._dominators: dict[str, str] = {}
        for entry in (*(phase.step for phase in later_of(playbook)), entry_of(playbook)):
            self._dominators.update(dominators_of(entry, self._after))

    def fork_of(self, join: Step) -> Fork | Illegal:
        """The fork of a `taken` join."""
        sources = self._before[join.name]
        # Nothing routes the entry token, so no fork could say that it will not come.
        if self._token in sources:
            return Illegal("the entry token is a source of it")
        # Only a step that every way goes through knows of every token what it took.
        head = self._dominators.get(join.name)
        if head is None:
            return Illegal("nothing leads to it")
        fork = self._steps[head]
        if fork.router is None or fork.router.mode != "inclusive":
            return Illegal(f"no inclusive router dominates it: its branches begin at {head!r}")
        owners: dict[str, int] = {}
        branches: list[tuple[int, str]] = []
        for number, arc in enumerate(fork.router.arcs):
            # A failed step ends its run unless such an arc is there, and then no branch was taken at all.
            if _only_on_failure(arc.when):
                continue
            end = self._branch(fork.name, arc.target, join.name, number, owners)
            if isinstance(end, Illegal):
                return end
            branches.append((number, end))
        reached = [source for _, source in branches]
        for source in sources:
            if reached.count(source) != 1:
                return Illegal(f"{reached.count(source)} branches of {head!r} end in its source {source!r}")
        return self._crossed(fork.name, owners, branches) or Fork(fork.name, tuple(branches), frozenset(owners))

    def _branch(self, fork: str, first: str, join: str, number: int, owners: dict[str, int]) -> str | Illegal:
        """The one source that the branch behind an arc ends in; marks the branch's steps in `owners`."""
        if first == join:
            return fork
        ends: dict[str, None] = {}
        waiting = [first] if first in self._steps else []
        while waiting:
            here = waiting.pop()
            if here == fork:
                return Illegal(f"a cycle leads from the branch at {first!r} back to {fork!r}")
            # The branch may fork and meet within itself.
            if owners.get(here) == number:
                continue
            # A meeting of two branches before the join would let one token stand for both.
            if here in owners:
                return Illegal(f"two branches of {fork!r} meet in {here!r}")
            owners[here] = number
            for target in self._after[here]:
                if target == join:
                    ends[here] = None
                else:
                    waiting.append(target)
        if len(ends) != 1:
            named = " and ".join(repr(end) for end in sorted(ends)) or "none"
            return Illegal(f"the branch at {first!r} must end in one source of the join; it ends in {named}")
        return next(iter(ends))

    def _crossed(self, fork: str, owners: dict[str, int], branches: list[tuple[int, str]]) -> Illegal | None:
        """Whether something leads into a branch from outside of it."""
        for name, number in owners.items():
            for source in self._before[name]:
                # A token from outside would arrive at the join without its fork having sent it.
                if source != fork and owners.get(source) != number:
                    return Illegal(f"{source!r} leads into the branch of {fork!r} at {name!r}")
        return None


def _only_on_failure(guard: Guard | None) -> bool:
    """Whether a guard holds on `step.failed` at most, as far as its conjuncts tell."""
    for part in conjuncts(guard.expr) if guard is not None else ():
        match part:
            case Compare(first=first, rest=(("==", second),)) if {first, second} == {_EVENT_NAME, _FAILED}:
                return True
    return False


_EVENT_NAME, _FAILED = Attribute(Name("event"), "name"), Const("step.failed")


# Rules are folded into one conditional, each a level deeper; expressions are bounded at a hundred levels.
MAX_ADMISSION_RULES = 64


def refusals_of(playbook: Playbook) -> Iterator[Diagnostic]:
    """Errors that stop the build, in any order."""
    joins, steps = taken_joins(playbook), {step.name: step for step in playbook.steps}
    for name, fork in joins.items():
        if isinstance(fork, Illegal):
            step = steps[name]
            yield finding(
                "NL650",
                f"`{name}` cannot wait for the branches that were taken: {fork.reason}",
                step.spec.join_span or step.name_span,
                help="write `join: all` to wait for every source, or let one inclusive router fork into "
                "branches that each end in one source of the join",
            )
    yield from _torn_branches(joins, steps)
    if any(lock.through for step in playbook.steps for lock in step.spec.locks):
        from noetlc.codegen.sections import ways_past  # few playbooks have sections

        yield from ways_past(playbook)
    for step in playbook.steps:
        admit = step.spec.admit
        if admit is not None and len(admit.rules) > MAX_ADMISSION_RULES:
            yield finding(
                "NL651",
                f"`{step.name}` has {len(admit.rules)} admission rules, and {MAX_ADMISSION_RULES} are the most",
                admit.span,
                help="put the conditions of one verdict into one rule",
            )


def _torn_branches(joins: dict[str, Fork | Illegal], steps: dict[str, Step]) -> Iterator[Diagnostic]:
    """Cancellations of a part of the branches that a `taken` join waits for: it would wait for ever for the rest."""
    cancelling: dict[str, list[Step]] = {}
    for step in steps.values():
        for target in step.spec.cancels:
            cancelling.setdefault(target.name, []).append(step)
    for join, fork in joins.items() if cancelling else ():
        if isinstance(fork, Illegal):
            continue
        inside = fork.inside | {join}
        for step in {step.name: step for name in sorted(inside) for step in cancelling.get(name, ())}.values():
            left = inside - {target.name for target in step.spec.cancels} - {step.name}
            if left:
                also = ", ".join(f"`{name}`" for name in sorted(left))
                yield finding(
                    "NL653",
                    f"`{step.name}` cancels a part of the branches that `{join}` waits for",
                    step.spec.cancels[0].span,
                    help=f"cancel {also}, too, or join with `all` and let the branches bring their tokens",
                )
