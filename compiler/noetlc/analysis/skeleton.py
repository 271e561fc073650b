"""The skeleton of a plan: its net without colours and guards, for a given number of items and slots (NET.md).

A loop has one item and one slot, or two of each where the question is what happens at once; the loop without items is
its `empty` transition. What is judged on successful runs leaves out `err`, the `none` of failure chains, and every
transition that can only lead to them: what a run does after an unhandled failure proves nothing.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from noetl_ir.expr import Call, Expr, ListOf, ListTemplate, Literal, Name, Native
from noetl_ir.locks import takes_of
from noetl_ir.net import Arc, Net, PlaceClass, Transition, Trigger, Weight
from noetl_ir.plan import MORE, Plan, asks_places
from noetl_ir.records import NamedTuple
from noetl_ir.resets import JOINING
from noetl_ir.words import DIRECTIVES
from noetlc.analysis.petri import Petri, PetriArcs, PetriMarking, arcs_of
from noetlc.analysis.sizes import written_range
from noetlc.ast.truth import KnownTexts, truth

if TYPE_CHECKING:
    from noetlc.analysis.settling import PlainNet


class Skeleton(NamedTuple):
    """A skeleton; `origin[t]` is the transition of the plan's net that transition t is.

    From the places in `doomed` there is only the way into an unhandled failure, which was left out. `hopeless` are
    transitions of the plan that were left out for that and happen by themselves, with what they take. `folded` are the
    steps whose `taken` joins are folded into their forks (`waves`). `loose` is why what steps cancel stays in its
    places, or when settled joins start is not known: then what cannot be done is all that is known. Transitions whose
    ids begin with `@` belong to the plan's transition that empties places (`resets`). `forced` are starts of settled
    joins because nothing else can move, and `shut` places of tokens at gates that do not move, each with its gate
    (`settling`).
    """

    plan: Plan
    net: Petri
    origin: tuple[int, ...]
    doomed: frozenset[int] = frozenset()
    hopeless: tuple[tuple[int, PetriArcs], ...] = ()
    folded: frozenset[int] = frozenset()
    loose: str = ""
    forced: tuple[int, ...] = ()
    shut: tuple[tuple[int, int], ...] = ()

    def is_final(self, marking: PetriMarking) -> bool:
        """Whether an execution may end here: nothing is left of control, and no counting join has half a wave.

        A marking may have more places than the plan, behind those of the plan. What is left where a step has ended the
        execution is final whatever it is (NET.md).
        """
        # That a gate opens in the end is taken for granted: a run that goes on from there is another one.
        if self._is_over(marking) or self.is_shut(marking):
            return True
        idle: set[int] = set()
        held: set[int] = set()
        # Skeletons that were folded, or know of guards, have more places behind those of the plan. These remember
        # something and hold no token of control.
        for number, (place, tokens) in enumerate(zip(self.plan.net.places, marking, strict=False)):
            if tokens and number not in self.doomed:
                if place.kind is PlaceClass.CONTROL and place.role != "warm":  # never alone
                    return False
                if place.role == "idle":
                    idle.add(place.step)
                elif place.role == "held":
                    held.add(place.step)
        return idle.isdisjoint(held)

    def is_shut(self, marking: PetriMarking) -> bool:
        """Whether a token stays at a gate that does not move, and nothing has ended the execution: a run that ends so
        is not complete.
        """
        return not self._is_over(marking) and any(marking[place] for place, _ in self.shut)

    def _is_over(self, marking: PetriMarking) -> bool:
        return bool(self.plan.terminates and marking[over_place(self.plan)])

    def gives_up(self, marking: PetriMarking) -> bool:
        """Whether a token has no way left but into an unhandled failure, so that what comes of the others proves
        nothing; to be asked where nothing more happens to it.
        """
        return any(all(marking[place] >= weight for place, weight in arcs) for _, arcs in self.hopeless)

    def transient(self) -> frozenset[int]:
        """The places that only transitions of the same turn take from, and alone: nothing lies there between turns.

        The end of an inclusive chain is one: in a cycle its tokens could pile up, were `some` not fired at once.
        """
        # A transition that needs a second token, or an event, may leave its token lying between two turns of the
        # engine. All other places are empty again before anybody can look.
        lasting: set[int] = set()
        locked = takes_of(self.plan)
        for transition in self.plan.net.transitions:
            # A token waits at the gate of a step for its locks.
            several = transition.role == "admit" and transition.step in locked
            several = several or len(transition.inputs) > 1 or any(arc.weight != 1 for arc in transition.inputs)
            if transition.trigger is not Trigger.NOW or several:
                lasting.update(arc.place for arc in transition.inputs)
        return frozenset(range(len(self.plan.net.places))) - lasting

    def transition(self, number: int) -> Transition:
        """The plan's transition that a transition of the skeleton is."""
        return self.plan.net.transitions[self.origin[number]]


def whole_skeleton(plan: Plan, size: int = 1) -> Skeleton:
    """Every run, failures included, with loops of `size` items and as many slots."""
    return _with_sets(_skeleton(plan, range(len(plan.net.transitions)), impossible(plan), size), size)


def success_skeleton(plan: Plan, size: int = 1) -> Skeleton:
    """The runs without an unhandled failure."""
    shut = impossible(plan)
    left_out = unhandled(plan, shut)
    wanted = [each for each in range(len(plan.net.transitions)) if each not in left_out]
    skeleton = _skeleton(plan, wanted, shut, size)
    open_ = {arc.place for number in skeleton.origin for arc in plan.net.transitions[number].inputs}
    failing = {arc.place for number in left_out for arc in plan.net.transitions[number].inputs}
    # A marking in which such a transition could fire looks dead without it. It is one from which a run fails by
    # itself, which proves nothing about runs that succeed.
    hopeless = [(each, _arcs(plan.net.transitions[each].inputs, size)) for each in left_out if _is_forced(plan, each)]
    found = skeleton._replace(doomed=frozenset(failing - open_), hopeless=tuple(sorted(hopeless)))
    return _with_sets(found, size)


def _has_other_items(plan: Plan, t: Transition) -> bool:
    """Whether the items of a loop are written out, and it begins with other ones than there are."""
    if t.role not in ("expand", "empty", "empty_failed"):
        return False
    if any((row.step, row.level) == (t.step, t.level) and row.verb == MORE for row in plan.loop_signals):
        return False  # it begins with none, too
    has_items = _has_items(plan, t.step, t.level)
    return has_items is not None and has_items is not (t.role == "expand")


def _has_items(plan: Plan, step: int, level: int) -> bool | None:
    """Whether a loop has items, where its list is written out; None where data decide."""
    match plan.templates[plan.steps[step].loops[level].items]:
        case Literal(value=list(items)) | ListTemplate(items=tuple(items)) | Native(expr=ListOf(items=tuple(items))):
            return bool(items)
        case Native(expr=Call(callee=Name(name="range"), args=args, named=())) if args:
            return None if (numbers := written_range(args)) is None else bool(numbers)
        case _:
            return None


AGAIN = frozenset({"lost", "retry"})
"""Roles that try a task once more, a counted number of times: no way out of a failure by themselves."""


def unhandled(plan: Plan, shut: frozenset[int] = frozenset()) -> frozenset[int]:
    """The transitions that are, or can only lead to, an unhandled failure; `shut` are those that no data let fire.

    What leads to a join, or to a lock, may get stuck there in place of that.
    """
    net = plan.net
    locked = takes_of(plan)
    meeting = frozenset(number for number, each in enumerate(net.transitions) if _meets(net, each, locked))
    takers: list[list[int]] = [[] for _ in net.places]
    makers: list[list[int]] = [[] for _ in net.places]
    for number, transition in enumerate(net.transitions):
        for arc in transition.inputs:
            takers[arc.place].append(number)
        for arc in transition.outputs:
            makers[arc.place].append(number)
    # A retry gives a failed task another chance, but after the last attempt only the failure is left. Were it a way
    # out, no failure would be unhandled, and whatever lies behind one would be judged as a success.
    counted = frozenset(number for number, each in enumerate(net.transitions) if each.role in AGAIN)
    # An arc whose guard is false of every failure takes none: it is no way out, although its router has it.
    no_ways = counted | shut
    open_ = [sum(number not in no_ways for number in each) for each in takers]
    waiting = [number for number, each in enumerate(net.transitions) if _ends_in_failure(each)]
    found = set(waiting)
    while waiting:
        number = waiting.pop()
        for arc in net.transitions[number].inputs if number not in no_ways else ():
            # A place of which every way out ends in a failure dooms those that put into it, and so on backwards.
            open_[arc.place] -= 1
            if not open_[arc.place]:
                again = [taker for taker in takers[arc.place] if taker in counted]
                fresh = [each for each in [*again, *makers[arc.place]] if each not in found and each not in meeting]
                found.update(fresh)
                waiting += fresh
    return frozenset(found)


def _meets(net: Net, t: Transition, locked: Mapping[int, frozenset[str]]) -> bool:
    """Whether a transition needs more than one token that it takes: others at its join, or a lock that is free."""
    if t.role == "admit":
        return t.step in locked
    several = len(t.inputs) > 1 or any(arc.weight != 1 for arc in t.inputs)
    return several and any(net.places[arc.place].role in JOINING for arc in t.inputs)


def impossible(plan: Plan) -> frozenset[int]:
    """Transitions that take an arc whose guard is false whenever it is asked, or pass one whose guard is true; those
    that end a task as none of its rules can; and those of a loop over no items where its list has some, or the other
    way round.
    """
    guards: dict[tuple[int, str], Expr] = {}
    for t in plan.net.transitions:
        template = plan.templates[t.guard] if t.role == "take" and t.guard >= 0 else None
        if isinstance(template, Native):
            guards[t.arc, _chain(t)] = template.expr
    found = set()
    for number, t in enumerate(plan.net.transitions):
        expr = guards.get((t.arc, _chain(t))) if t.role in ("take", "pass") else None
        # Only a guard that is decided without any data is used here. What depends on data is left to the second pass
        # (`knowledge`), so that this one proves for all data.
        if (
            (expr is not None and decided(plan, t, expr) is (t.role == "pass"))
            or (t.task >= 0 and t.outcome and _never_chosen(plan, t))
            or _has_other_items(plan, t)
        ):
            found.add(number)
    return frozenset(found)


def decided(plan: Plan, t: Transition, guard: Expr) -> bool | None:
    """The truth of the guard of the arc that a transition takes or passes, whatever the data are; None where they
    decide.
    """
    return truth(guard, _facts(plan, t))


def _never_chosen(plan: Plan, t: Transition) -> bool:
    """Whether no rule of a task can give a directive to an outcome of that status."""
    rules, directive = plan.tasks[t.task].rules, t.role.removesuffix("_later")
    if not rules or directive not in DIRECTIVES:
        return False
    facts: KnownTexts = {("outcome", "status"): t.outcome}
    for rule in rules:
        template = plan.templates[rule.when] if rule.when >= 0 else None
        asked = truth(template.expr, facts) if isinstance(template, Native) else None
        certain = True if rule.when < 0 else asked
        # A guard that may be true is enough for the directive to be possible.
        if rule.directive == directive and certain is not False:
            return False
        if certain is True and rule.directive != "retry":  # one that is used up leaves it to those behind
            return True
    return directive != "continue"  # where none matches the task goes on


def _facts(plan: Plan, t: Transition) -> KnownTexts:
    """The event as a guard of the chain that a transition belongs to sees of the event."""
    if _chain(t) == "ko":
        return {("event", "name"): "step.failed", ("event", "status"): "error"}
    name = "loop.done" if plan.steps[t.step].loops else "step.done"
    return {("event", "name"): name, ("event", "status"): "ok"}


def _chain(t: Transition) -> str:
    """The chain of a router that a transition belongs to: `ok` or `ko` (NET.md ROUTING)."""
    return t.id.rsplit(" ", 2)[1]


def _is_forced(plan: Plan, number: int) -> bool:
    t = plan.net.transitions[number]
    return t.trigger is Trigger.NOW and not t.fault


def _ends_in_failure(transition: Transition) -> bool:
    return transition.role == "err" or (transition.role == "none" and transition.id.endswith(" ko"))


def _skeleton(plan: Plan, wanted: "range | list[int]", shut: frozenset[int], size: int) -> Skeleton:
    """The skeleton of some transitions, less those that no data let fire."""
    net, initial = plan.net, [0] * len(plan.net.places)
    # Lowering makes transitions for guards that are constants and for outcomes that no rule gives. With them the net
    # has runs that no data allow, and each would be told as a fault of the playbook.
    kept = [number for number in wanted if number not in shut] if shut else wanted
    for place, tokens in net.initial:
        initial[place] = tokens
    chosen = [net.transitions[number] for number in kept]
    if plan.terminates:
        return Skeleton(plan, _ending(plan, chosen, initial, size), tuple(kept))
    petri = Petri(
        plan.name,
        tuple([place.id for place in net.places]),
        tuple([each.id for each in chosen]),
        tuple([_arcs(each.inputs, size) for each in chosen]),
        tuple([_made(each, size) for each in chosen]),
        tuple(initial),
    )
    return Skeleton(plan, petri, tuple(kept))


def chosen_of(skeleton: Skeleton, kept: Iterable[int]) -> Skeleton:
    """The skeleton of some of its transitions."""
    numbers = tuple(kept)
    net, place = skeleton.net, {number: at for at, number in enumerate(numbers)}
    fewer = net._replace(
        transitions=tuple(net.transitions[number] for number in numbers),
        inputs=tuple(net.inputs[number] for number in numbers),
        outputs=tuple(net.outputs[number] for number in numbers),
    )
    forced = tuple(place[number] for number in skeleton.forced if number in place)
    return skeleton._replace(net=fewer, origin=tuple(skeleton.origin[number] for number in numbers), forced=forced)


def unemptied_skeleton(plan: Plan, size: int = 1) -> Skeleton:
    """The whole skeleton in which steps that cancel others withdraw nothing, and each token of a settled join starts
    its step or ends; as it is where there are no such steps.

    It has every run of the other one, with as many tokens in each place or more.
    """
    if not (plan.cancels or settles(plan)):
        return whole_skeleton(plan, size)
    return _loosened(_skeleton(plan, range(len(plan.net.transitions)), impossible(plan), size))


def _loosened(plain: Skeleton) -> Skeleton:
    from noetlc.analysis.resets import loosened_resets
    from noetlc.analysis.settling import loosened_joins as loose_joins

    plan = plain.plan
    plain = plain._replace(net=loosened_resets(plan, plain.net, plain.origin))
    return _counted(plain, loose_joins(plan, plain.net, plain.origin)) if settles(plan) else plain


def settles(plan: Plan) -> bool:
    """Whether a step of a plan has a settled join."""
    return any(step.join.mode == "settled" and step.join.sources for step in plan.steps)


def has_sets(plan: Plan) -> bool:
    """Whether steps empty places, or ask whether places are empty: no arc of a plain net says that."""
    return bool(plan.cancels) or asks_places(plan) or settles(plan)


def is_forced(plan: Plan) -> bool:
    """Whether a settled join may start because nothing else can move, or it is not known that none does."""
    whole = whole_skeleton(plan)
    return bool(whole.forced or whole.loose)


def _with_sets(skeleton: Skeleton, size: int) -> Skeleton:
    """The skeleton with what steps cancel, lock and wait for to be empty."""
    moving: Mapping[int, int] = {}
    plain = skeleton
    if skeleton.plan.cancels or asks_places(skeleton.plan):
        from noetlc.analysis.resets import closed  # few playbooks cancel steps

        net, owners, loose, moving = closed(skeleton.plan, skeleton.net, skeleton.origin, size, _wider(skeleton))
        origin = (*skeleton.origin, *(skeleton.origin[row] for row in owners))
        skeleton = skeleton._replace(net=net, origin=origin, loose=loose)
    if settles(skeleton.plan):
        from noetlc.analysis.settling import PlanPart, plain_net  # and few wait for all that can come

        if skeleton.loose:
            return _loosened(plain)._replace(loose=skeleton.loose)
        part = PlanPart(skeleton.plan, skeleton.net, skeleton.origin, moving, lambda marking: _fails(skeleton, marking))
        found = plain_net(part, size)
        if found.loose:  # a join that may end its tokens anywhere would leave counts of them behind
            return _loosened(plain)._replace(loose=found.loose)
        return _counted(skeleton, found)
    return skeleton


def _fails(skeleton: Skeleton, marking: PetriMarking) -> bool:
    """Whether a run fails by itself from here."""
    return any(marking[place] for place in skeleton.doomed) or skeleton.gives_up(marking)


def _wider(skeleton: Skeleton) -> Petri:
    """The net of a skeleton, or one that is as bounded where it has settled joins."""
    if not settles(skeleton.plan):
        return skeleton.net
    from noetlc.analysis.settling import loosened_joins

    return loosened_joins(skeleton.plan, skeleton.net, skeleton.origin).net


def _counted(skeleton: Skeleton, found: "PlainNet") -> Skeleton:
    origin = (*skeleton.origin, *(skeleton.origin[row] for row in found.owners))
    return skeleton._replace(net=found.net, origin=origin, forced=found.forced, shut=found.shut)


def over_place(plan: Plan) -> int:
    """The place, behind those of the plan, that is marked once a step has ended the execution."""
    return len(plan.net.places) + 1


def _ending(plan: Plan, chosen: list[Transition], initial: list[int], size: int) -> Petri:
    """The net of a plan whose steps may end the execution: each transition needs the one token of `@live`, which
    `terminate` takes for ever, so that nothing fires behind it.

    A plain net, of which all analyses hold. Read arcs to everything leave few reductions; what stays too large is
    unknown, as the page says of such nets.
    """
    live, over = len(initial), over_place(plan)
    ins, outs = [], []
    for each in chosen:
        makes = ((over, 1),) if each.role == "terminate" else ((live, 1), *_made(each, size))
        ins.append(arcs_of(((live, 1), *_arcs(each.inputs, size))))
        outs.append(arcs_of(makes))
    places = (*[place.id for place in plan.net.places], "@live", "@over")
    return Petri(plan.name, places, tuple([each.id for each in chosen]), tuple(ins), tuple(outs), (*initial, 1, 0))


def unended(skeleton: Skeleton) -> Skeleton:
    """The skeleton in which a step that ends the execution ends its own token alone; the same one without any.

    It has every run of the other one and more: what it cannot do cannot be done, and where each of its runs comes to
    an end, each that is cut short does. It reduces as any net does.
    """
    # Where a settled join is forced to start depends on what has ended.
    if not skeleton.plan.terminates or settles(skeleton.plan):
        return skeleton
    added = {over_place(skeleton.plan) - 1, over_place(skeleton.plan)}
    net = skeleton.net

    def without(rows: tuple[PetriArcs, ...]) -> tuple[PetriArcs, ...]:
        return tuple([tuple([(place, weight) for place, weight in arcs if place not in added]) for arcs in rows])

    return skeleton._replace(net=net._replace(inputs=without(net.inputs), outputs=without(net.outputs)))


def _made(t: Transition, size: int) -> PetriArcs:
    """The tokens that a transition makes. An item that is added is one of those that the loop begins with: they may
    begin at any time later, or be skipped, which is as if they had never come.
    """
    return _arcs(t.inputs if t.role == "add" else t.outputs, size)


def _arcs(arcs: tuple[Arc, ...], size: int) -> PetriArcs:
    if len(arcs) == 1 and arcs[0].weight == 1:
        return ((arcs[0].place, 1),)
    return arcs_of([(arc.place, size if isinstance(arc.weight, Weight) else arc.weight) for arc in arcs])
