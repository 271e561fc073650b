"""The part of `verify` about the net: each transition has the shape of its role, and what must balance does.

`SHAPES` is NET.md as a table: the roles of the places before and after a transition of each role.

A net of 1,000 steps has 30,000 transitions but only some fifty different shapes, so each shape is judged once and
everything is seen to in one walk over the transitions.
"""

from collections.abc import Iterator
from typing import TypeAlias

from noetl_ir.net import PlaceClass, Transition, Trigger, Weight
from noetl_ir.plan import Plan
from noetl_ir.verify.tables import guard_problems

_Found: TypeAlias = Iterator[tuple[str, str]]
_Side: TypeAlias = str | tuple[tuple[str, int | Weight, bool], ...]
"""What is on one side of a transition. Mostly it is the role alone of one place of the transition's own step, at
weight 1; else the role of each place, the arc's weight, and whether the place is of the transition's own step."""

_Shape: TypeAlias = tuple[str, Trigger, _Side, _Side]
"""Role, trigger, and both sides of a transition."""

_RUNNING = ("run", "parked")
_ASKED = ("c", "n", "s")
_CHOOSING = ("done", "failed", *_ASKED)

SHAPES: dict[str, tuple[tuple[str, str], ...]] = {
    "enter": (("in", "gate"),),
    "arrive": (
        ("in", "merge"),
        ("in", "got held"),
        ("free in", "got held"),
        ("cold free in", "got held warm"),
        ("free in warm", "got held warm"),
    ),
    "arrive_dead": (("dead free", "got held"),),
    "settle": (("got idle", "got pick"),),
    "force": (("got idle", "got pick"),),
    "gather": (("got held pick", "pick"),),
    "lack": (("pick", "pick"),),
    "meet": (
        ("in", "gate"),
        ("merge", "gate"),
        ("pick", "gate idle"),
        ("got idle", "gate met"),
        ("got held warm", "cold free gate"),
    ),
    "meet_none": (("cold got held", "cold free"),),
    "rearm": (("got held met", "free idle"), ("held met", "free idle")),
    "admit": (("gate", "ready"),),
    "deny": (("gate", ""),),
    "admit_fault": (("gate", "failed"),),
    "expand": (("ready", "loop slot todo"),),
    "empty": (("ready", "done"),),
    "expand_fault": (("ready", "failed"),),
    "begin": (("ready", "at"), ("slot todo", "at"), ("slot todo", "ready")),
    "skip": (("todo", "fin"),),
    "stop": tuple((here, "fin slot") for here in ("at", "run", "due", "parked")),
    "out": (("out", "done"), ("out", "fin slot"), ("done", "fin slot")),
    "bad": (("bad", "failed"), ("bad", "fin slot"), ("failed", "fin slot")),
    "add": (("loop", "loop todo"), ("loop", "loop slot todo")),
    "shut": (("loop", "closing"),),
    "close": (("fin loop slot", "done"), ("closing fin slot", "done")),
    "close_failed": (("fin loop slot", "failed"), ("closing fin slot", "failed")),
    "empty_failed": (("ready", "failed"),),
    "leave": (("loop", "done rest"), ("closing", "done rest")),
    "rested": (("fin rest slot", ""),),
    "start": (("at", "run"),),
    "lost": (("run", "at"),),
    "park": (("run", "parked"),),
    "wake": (("due", "at"),),
    "continue": tuple((here, to) for here in _RUNNING for to in ("at", "out")),
    "break": tuple((here, "out") for here in _RUNNING),
    "fail": tuple((here, "bad") for here in _RUNNING),
    "retry": tuple((here, "due") for here in _RUNNING),
    "jump": tuple((here, "at") for here in _RUNNING),
    "jump_later": tuple((here, "due") for here in _RUNNING),
    "fault": tuple((here, "bad") for here in _RUNNING),
    **dict.fromkeys(("expire", "interrupt"), tuple((here, "bad") for here in ("at", "run", "due", "parked"))),
    "take": tuple((here, to) for here in _CHOOSING for to in ("", "in", "fly", "s", "in s", "fly s")),
    "pass": tuple((here, to) for here in _CHOOSING for to in ("c", "n", "s", "dead n", "dead s")),
    "none": tuple((here, "") for here in ("done", "failed", "c", "n")),
    "some": (("s", ""),),
    "terminate": (("done", ""),),
    "err": (("done", ""), ("failed", "")),
    "land": (("fly", "in"),),
}
"""Role → the (input roles, output roles) that it may have, each sorted and named once."""

TRIGGERS: dict[str, frozenset[Trigger]] = {
    **dict.fromkeys(("start", "park"), frozenset({Trigger.REPORT})),
    **dict.fromkeys(("lost", "wake", "land", "expire"), frozenset({Trigger.TIME})),
    **dict.fromkeys(
        ("continue", "break", "fail", "retry", "jump", "jump_later", "fault"),
        frozenset({Trigger.REPORT, Trigger.SIGNAL}),
    ),
    "admit": frozenset({Trigger.NOW, Trigger.CTX}),
    **dict.fromkeys(("add", "shut", "interrupt"), frozenset({Trigger.SIGNAL})),
}
"""Role → its triggers; all others fire in the same turn."""

_SAME_TURN = frozenset({Trigger.NOW})
JOINING = frozenset({"arrive", "arrive_dead", "meet", "meet_none", "rearm", "settle", "force", "gather", "lack"})
COUNTING = frozenset({"meet", "meet_none", "rearm"})
BRANCHING = frozenset({"take", "pass"})
DECIDING = frozenset({"take", "pass", "none", "some", "terminate", "admit", "deny", "expand", "empty"})
"""Roles that are tried in order at one place."""

SEEN = JOINING | DECIDING
"""Roles that `_Decisions` judges, beside all transitions that take a fault."""

ASKING = frozenset({"take", "admit"})
"""Roles that may have a guard."""

MEMORY = frozenset({"free", "held", "got", "idle", "met", "cold", "warm"})
MARKED = frozenset({"free", "idle", "cold"})
"""Roles of a join's places, and of those that hold a token from the start."""


def net_problems(plan: Plan) -> _Found:
    """(element id, what is wrong with it) for the net of a plan whose tables are sound."""
    decisions = _Decisions(plan)
    for part in (_places(plan), _transitions(plan, decisions), decisions.problems()):  # each relies on those before it
        found = False
        for problem in part:
            found = True
            yield problem
        if found:
            return


def _places(plan: Plan) -> _Found:
    steps, tasks, entry = len(plan.steps), len(plan.tasks), f"in {plan.steps[plan.entry].name} @entry"
    ids: set[str] = set()
    expected: dict[int, int] = {}
    for index, (id, kind, role, step, task, _, span, maker) in enumerate(plan.net.places):
        ids.add(id)
        if not (0 <= step < steps and -1 <= task < tasks):
            yield id, "is of no step or task"
        if span is None and not maker:
            yield id, "has neither a span nor a maker"
        if (role == "slot") != (kind is PlaceClass.SLOT) or (kind is PlaceClass.MEMO and role not in MEMORY):
            yield id, f"is a {role} of the class {kind.value}"
        if role in MARKED or id == entry:
            expected[index] = 1
    if len(ids) != len(plan.net.places):
        yield "places", "have one id twice"
    if dict(plan.net.initial) != expected or len(plan.net.initial) != len(expected) or entry not in ids:
        yield "initial", "is not one token at the entry and one in each join's free and idle places"


def _transitions(plan: Plan, decisions: "_Decisions") -> _Found:
    """The faults that each transition shows by itself. `decisions` are told of those with which nothing is wrong."""
    places = plan.net.places
    roles, owners = list[str](), list[int]()
    for _, _, role, step, *_ in places:  # one walk: the rows of a plan that was read are made for it
        roles.append(role)
        owners.append(step)
    size, steps, tasks = len(places), len(plan.steps), len(plan.tasks)
    arcs, pool = len(plan.arcs), len(plan.templates)
    ids: set[str] = set()
    judged: dict[_Shape, str] = {}
    for t in plan.net.transitions:
        id, trigger, role, inputs, outputs, guard, fault, step, task, _, arc, _, span, maker = t
        ids.add(id)
        if not (0 <= step < steps and -1 <= task < tasks and -1 <= arc < arcs and -1 <= guard < pool):
            yield id, "is of no step, task, arc or guard"
        elif guard >= 0:
            if role in ASKING:
                yield from guard_problems(plan, id, guard)
            else:
                yield id, f"has a guard, which {role!r} has not"
        if span is None and not maker:
            yield id, "has neither a span nor a maker"
        sides: list[_Side] = []
        for side in (inputs, outputs):
            if len(side) == 1:
                ((place, weight),) = side
                if weight == 1 and 0 <= place < size and owners[place] == step:
                    sides.append(roles[place])
                    continue
            if side and not all(0 <= place < size for place, _ in side):
                yield id, "has an arc to no place"
                return
            sides.append(tuple([(roles[place], weight, owners[place] == step) for place, weight in side]))
        shape = (role, trigger, sides[0], sides[1])
        # Some fifty shapes for 30,000 transitions: this lookup is most of what `verify` costs.
        problem = judged.get(shape)
        if problem is None:
            problem = judged[shape] = _judgement(shape)
        if problem:
            yield id, problem
        elif fault or role in SEEN:
            decisions.see(t)
    # Asked at the end, once: a set that is too small says that there is one, and the readable case pays nothing to
    # find which.
    if len(ids) != len(plan.net.transitions):
        yield "transitions", "have one id twice"


def _judgement(shape: _Shape) -> str:
    """The fault of all transitions of a shape; "" for nothing."""
    role, trigger = shape[:2]
    before, after = [((side, 1, True),) if isinstance(side, str) else side for side in shape[2:]]
    ins, outs = [place for place, _, _ in before], [place for place, _, _ in after]
    if not ins or (" ".join(sorted(set(ins))), " ".join(sorted(set(outs)))) not in SHAPES.get(role, ()):
        return f"has not the shape of {role!r}"
    # A router that tells many joins of a dead branch has several arcs of one role; nothing else has.
    if role not in JOINING and (len(set(ins)) != len(ins) or (role != "pass" and len(set(outs)) != len(outs))):
        return f"has not the shape of {role!r}"
    if trigger not in TRIGGERS.get(role, _SAME_TURN):
        return f"waits for {trigger.value}, which {role!r} does not"
    for place, weight, at_home in before + after:
        if not at_home and role not in BRANCHING and role != "land":
            return "joins places of different steps"
        expected = _LOOPING.get(place, 1) if role in ("expand", "close", "close_failed", "rested") else 1
        if weight != expected and not (place in _COUNTED and role in COUNTING):
            return f"has an arc of weight {weight} where it must be {expected}"
    return ""


_COUNTED = frozenset({"got", "merge"})
_LOOPING: dict[str, Weight] = {"todo": Weight.ITEMS, "fin": Weight.ITEMS, "slot": Weight.SLOTS}


def _counts(plan: Plan, t: Transition) -> _Found:
    if t.role in COUNTING:
        expected = _counted(plan, t)
        for arc in t.inputs:
            if plan.net.places[arc.place].role in _COUNTED and arc.weight != expected:
                yield t.id, f"has an arc of weight {arc.weight} where it must be {expected}"


def _balance(plan: Plan, t: Transition) -> _Found:
    change: dict[str, int] = {}
    settles = plan.steps[t.step].join.mode == "settled"
    for sign, arcs in ((-1, t.inputs), (1, t.outputs)):
        for arc in arcs:
            place = plan.net.places[arc.place]
            if settles:
                # Its sources have no memory: one token is in `idle` or in one of the places where sources are asked.
                if place.role in ("idle", "pick"):
                    change[""] = change.get("", 0) + sign
            elif place.role in MEMORY and place.role != "got":
                of = place.id.partition(" ")[2]
                change[of] = change.get(of, 0) + sign
    if any(change.values()):
        yield t.id, "makes or loses a token of the join's memory"


def _counted(plan: Plan, t: Transition) -> int:
    join = plan.steps[t.step].join
    if join.mode == "tokens":
        return join.n
    if join.mode != "count":
        return len(join.sources)
    return len(join.sources) - join.n if t.role == "rearm" else join.n


class _Decisions:
    """The checks for which the shape of a transition is not enough; they see all transitions in the order of the net.

    Joins: the weights are the numbers that the tables give, and the sums free+held of a source and idle+met or
    cold+warm of a join stay one. Choices: the last alternative at a place has no guard, and where an alternative
    evaluates an expression another one takes its fault.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._joins: list[tuple[str, str]] = []
        self._last: dict[int, str] = {}  # the id of the last one where that has a guard
        self._head: dict[int, int] = {}
        self._asked: dict[int, str] = {}
        self._caught: set[int] = set()

    def see(self, t: Transition) -> None:
        """Take the next transition in."""
        role = t[2]
        if role in JOINING:
            self._joins += [*_counts(self._plan, t), *_balance(self._plan, t)]
        if t[6]:  # a fault
            self._caught.add(t.inputs[0].place)
        elif role in DECIDING:
            place = t.inputs[0].place
            here = self._head.get(place, place)
            # At a gate that waits for ctx the token can stay, so that its last alternative may have a guard.
            if t.trigger is Trigger.NOW:
                self._last[place] = t.id if t.guard >= 0 else ""
            if role in BRANCHING:
                for following, _ in t.outputs:
                    if self._plan.net.places[following].role in _ASKED:
                        # A chain of choices is one decision: its fault is taken at its first place, wherever along
                        # the chain an expression fails.
                        self._head[following] = here
            if t.guard >= 0 or role == "expand" or _asks(self._plan, t):
                self._asked.setdefault(here, t.id)

    def problems(self) -> _Found:
        """The faults, once all transitions were seen; faults of choices only where joins have none."""
        yield from self._joins
        if self._joins:
            return
        for id in filter(None, self._last.values()):
            yield id, "is the last choice at its place and has a guard"
        for here, id in self._asked.items():
            if here not in self._caught:
                yield id, f"asks an expression, and nothing takes its fault at {self._plan.net.places[here].id}"


def _asks(plan: Plan, t: Transition) -> bool:
    if t.role != "take" or t.arc < 0:
        return False
    arc = plan.arcs[t.arc]
    return arc.args >= 0 or arc.delay >= 0
