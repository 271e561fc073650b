"""The part of `verify` about the net: each transition has the shape of its role, and what must balance does.

`SHAPES` is NET.md as a table: the roles of the places before and after a transition of each role.
"""

from collections.abc import Iterator

from noetl_ir.net import Place, PlaceClass, Transition, Trigger, Weight
from noetl_ir.plan import Plan

Found = Iterator[tuple[str, str]]

_RUNNING = ("run", "parked")
_CHOOSING = ("done", "failed", "c", "n", "s")

SHAPES: dict[str, tuple[tuple[str, str], ...]] = {
    "enter": (("in", "gate"),),
    "arrive": (("free in", "got held"), ("cold free in", "got held warm"), ("free in warm", "got held warm")),
    "arrive_dead": (("dead free", "got held"),),
    "meet": (("in", "gate"), ("got idle", "gate met"), ("got held warm", "cold free gate")),
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
    "stop": (("at", "fin slot"), ("due", "fin slot"), ("parked", "fin slot")),
    "out": (("out", "done"), ("out", "fin slot"), ("done", "fin slot")),
    "bad": (("bad", "failed"), ("bad", "fin slot"), ("failed", "fin slot")),
    "close": (("fin loop slot", "done"),),
    "close_failed": (("fin loop slot", "failed"),),
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
    "expire": tuple((here, "bad") for here in ("at", "run", "due", "parked")),
    "take": tuple((here, to) for here in _CHOOSING for to in ("", "in", "fly", "s", "in s", "fly s")),
    "pass": tuple((here, to) for here in _CHOOSING for to in ("c", "n", "s", "dead n", "dead s")),
    "none": tuple((here, "") for here in ("done", "failed", "c", "n")),
    "some": (("s", ""),),
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
}
"""Role → its triggers; all others fire in the same turn."""

_SAME_TURN = frozenset({Trigger.NOW})
JOINING = frozenset({"arrive", "arrive_dead", "meet", "meet_none", "rearm"})
MEMORY = frozenset({"free", "held", "got", "idle", "met", "cold", "warm"})
SINGLE = SHAPES.keys() - JOINING - {"take", "pass"}
"""Roles that take one token from each place before them and put one into each place after, loops aside."""
BRANCHING = frozenset({"take", "pass"})


def net_problems(plan: Plan) -> Found:
    """(element id, what is wrong with it) for the net of a plan whose tables are sound."""
    for part in (_elements, _shapes, _initial, _choices):  # each relies on those before it
        found = False
        for problem in part(plan):
            found = True
            yield problem
        if found:
            return


def _elements(plan: Plan) -> Found:
    net = plan.net
    for kind, ids in (("place", [p.id for p in net.places]), ("transition", [t.id for t in net.transitions])):
        if len(set(ids)) != len(ids):
            seen: set[str] = set()
            twice = next(id for id in ids if id in seen or seen.add(id))  # type: ignore[func-returns-value]
            yield twice, f"is the id of two elements: a {kind}"
    steps, tasks, arcs, pool = len(plan.steps), len(plan.tasks), len(plan.arcs), len(plan.templates)
    for id, kind, role, step, task, _, span, maker in net.places:
        if not 0 <= step < steps or not -1 <= task < tasks:
            yield id, "is of no step or task"
        if span is None and not maker:
            yield id, "has neither a span nor a maker"
        expected = PlaceClass.SLOT if role == "slot" else PlaceClass.CONTROL
        if kind is not expected and not (kind is PlaceClass.MEMO and role in MEMORY):
            yield id, f"is a {role} of the class {kind}"
    for t in net.transitions:
        if not (0 <= t.step < steps and -1 <= t.task < tasks and -1 <= t.arc < arcs and -1 <= t.guard < pool):
            yield t.id, "is of no step, task, arc or guard"
        if t.span is None and not t.maker:
            yield t.id, "has neither a span nor a maker"


def _shapes(plan: Plan) -> Found:
    places = plan.net.places
    roles, steps = [place.role for place in places], [place.step for place in places]
    known: dict[tuple[str, ...], bool] = {}
    size = len(places)
    for t in plan.net.transitions:
        inputs, outputs = t.inputs, t.outputs
        for arc in inputs + outputs:
            if not 0 <= arc.place < size:
                yield t.id, "has an arc to no place"
                return
        key = (t.role, *[roles[arc.place] for arc in inputs], "→", *[roles[arc.place] for arc in outputs])
        if key not in known:
            known[key] = _has_shape(key)
        if not known[key]:
            yield t.id, f"has not the shape of {t.role!r}"
            continue
        if t.trigger not in TRIGGERS.get(t.role, _SAME_TURN):
            yield t.id, f"waits for {t.trigger.value}, which {t.role!r} does not"
        if t.role not in BRANCHING and t.role != "land":
            for arc in inputs + outputs:
                if steps[arc.place] != t.step:
                    yield t.id, "joins places of different steps"
        yield from _weights(plan, t, roles)
        if t.role in JOINING:
            yield from _balance(t, places)


def _has_shape(key: tuple[str, ...]) -> bool:
    role, arrow = key[0], key.index("→", 1)
    before, after = key[1:arrow], key[arrow + 1 :]
    if not before or role not in SHAPES:
        return False
    if role in SINGLE and (len(set(before)) != len(before) or len(set(after)) != len(after)):
        return False
    if role == "take" and len(set(after)) != len(after):
        return False
    return (" ".join(sorted(set(before))), " ".join(sorted(set(after)))) in SHAPES[role]


_LOOPING: dict[str, Weight] = {"todo": Weight.ITEMS, "fin": Weight.ITEMS, "slot": Weight.SLOTS}


def _weights(plan: Plan, t: Transition, roles: list[str]) -> Found:
    for arc in t.inputs + t.outputs:
        expected: int | Weight = 1
        if t.role in ("expand", "close", "close_failed"):
            expected = _LOOPING.get(roles[arc.place], 1)
        elif roles[arc.place] == "got" and t.role in ("meet", "meet_none", "rearm"):
            join = plan.steps[t.step].join
            whole = len(join.sources)
            counted = join.mode == "count"
            expected = (whole - join.n if t.role == "rearm" else join.n) if counted else whole
        if arc.weight != expected:
            yield t.id, f"has an arc of weight {arc.weight} where it must be {expected}"


def _balance(t: Transition, places: tuple[Place, ...]) -> Found:
    """free+held of a source, and idle+met or cold+warm of a join, stay what they are: one."""
    change: dict[str, int] = {}
    for sign, arcs in ((-1, t.inputs), (1, t.outputs)):
        for arc in arcs:
            place = places[arc.place]
            if place.role in MEMORY and place.role != "got":
                of = place.id.partition(" ")[2]
                change[of] = change.get(of, 0) + sign
    if any(change.values()):
        yield t.id, "makes or loses a token of the join's memory"


def _initial(plan: Plan) -> Found:
    entry = f"in {plan.steps[plan.entry].name} @entry"
    expected = {
        index: 1
        for index, place in enumerate(plan.net.places)
        if place.role in ("free", "idle", "cold") or place.id == entry
    }
    if dict(plan.net.initial) != expected or len(plan.net.initial) != len(expected):
        yield "initial", "is not one token at the entry and one in each join's free and idle places"
    if not any(place.id == entry for place in plan.net.places):
        yield "initial", "has no place for the entry's token"


def _choices(plan: Plan) -> Found:
    """The last of the alternatives at a place is unguarded, and one takes the fault of any that asks."""
    places = plan.net.places
    head = list(range(len(places)))
    last: dict[int, Transition] = {}
    asked: dict[int, Transition] = {}
    caught: set[int] = set()
    for t in plan.net.transitions:
        if t.trigger is not Trigger.NOW and t.trigger is not Trigger.CTX:
            continue
        here = head[t.inputs[0].place]
        if t.fault:
            caught.add(here)
            continue
        if t.role in BRANCHING:
            for arc in t.outputs:
                if places[arc.place].role in ("c", "n", "s"):
                    head[arc.place] = here
        if t.trigger is Trigger.NOW and t.role not in ("stop", "skip"):
            last[t.inputs[0].place] = t
        if t.guard >= 0 or t.role == "expand" or _asks(plan, t):
            asked.setdefault(here, t)
    for t in last.values():
        if t.guard >= 0:
            yield t.id, "is the last choice at its place and has a guard"
    for here, t in asked.items():
        if here not in caught:
            yield t.id, "asks an expression, and nothing takes its fault"


def _asks(plan: Plan, t: Transition) -> bool:
    if t.role != "take" or t.arc < 0:
        return False
    arc = plan.arcs[t.arc]
    return arc.args >= 0 or arc.delay >= 0
