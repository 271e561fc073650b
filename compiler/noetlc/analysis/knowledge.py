"""The skeleton with what guards have shown: the second pass, after free choices.

For each variable (`guards`) there is a place for each of its values and one for "nothing is known", and one token among
them. A transition that takes or passes an arc gets one variant for each combination of values with which the arc's
guard decides so. Firing a variant makes its values known, so that later guards over the same variables can only agree.

    (done a) + (x unknown) → (in b a) + (x true)        (done a) + (x true) → (in b a) + (x true)

How long it is known (NET.md): `workload` for the whole run; a key of `ctx` from the start, when it is not set, until a
rule that writes it fires, and on where that writes a constant; what `event`, `outcome`, `args` and `iter` show, only
inside one router: it is forgotten when the step ends, and never remembered of a step of which two runs can be in
flight. Every run of the playbook is one of this net, so what it proves is proved.
"""

from collections.abc import Iterator, Sequence
from itertools import product

from noetl_ir.expr import Expr, Literal, Native
from noetl_ir.net import Transition
from noetl_ir.paths import static_path
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetlc.analysis.concurrency import concurrency_of
from noetlc.analysis.guards import GuardCase, Variables
from noetlc.analysis.petri import Petri, PetriArcs, arcs_of
from noetlc.analysis.reductions import reduced
from noetlc.analysis.skeleton import Skeleton, decided
from noetlc.analysis.starts import starts_of

MAX_VARIANTS = 256
"""Variants of one transition; one that would have more stays free."""

MAX_VARIABLES = 24
LOCAL = frozenset({"event", "outcome", "args", "iter"})
ENDING = frozenset({
    "out", "bad", "close", "close_failed", "leave", "empty", "empty_failed", "admit_fault", "expand_fault",
})  # fmt: skip
_CLOSING = frozenset({"close", "close_failed", "leave"})
UNKNOWN = ""
NO_STEP = -2
"""For gates: what a token shows there is forgotten at once, for another one may ask next."""


class _Kept(NamedTuple):
    """A variable that is remembered: of one step's router (`step`), or of the run (-1)."""

    variable: int
    step: int


def informed(skeleton: Skeleton) -> Skeleton:
    """The skeleton with knowledge; the same one where there is nothing to know."""
    # What is remembered of a router would stay where a token that it is about is withdrawn, or where nothing moves.
    return skeleton if skeleton.plan.cancels or skeleton.forced else _Informing(skeleton).skeleton()


class _Informing:
    def __init__(self, skeleton: Skeleton) -> None:
        self._old = skeleton
        self._plan = skeleton.plan
        self._reducers = {row.key for row in skeleton.plan.reducers}
        self._starts = starts_of(self._plan)
        # A phase behind main begins with what main has left, and a start that is computed is not known.
        self._open = _written_elsewhere(self._plan) | (self._reducers - self._starts.keys())
        self._variables = Variables()
        self._guards = _guards(self._plan)
        for expr in self._guards.values():
            self._variables.add_guard(expr)
        # Only guards make variables, and only those that are remembered get places: each value is a place more in
        # every marking.
        self._kept = self._remembered()
        self._places: dict[tuple[_Kept, str], int] = {}
        self._names: list[str] = []
        for kept in self._kept:
            for value in (UNKNOWN, *self._variables.values(kept.variable)):
                self._places[kept, value] = len(skeleton.net.places) + len(self._names)
                self._names.append(f"@{kept.variable}.{kept.step} {value or 'unknown'}")

    def skeleton(self) -> Skeleton:
        old = self._old.net
        if not self._kept and all(self._asked(self._old.transition(each)) is None for each in range(len(old.inputs))):
            return self._old
        ids, inputs, outputs, origin = list[str](), list[PetriArcs](), list[PetriArcs](), list[int]()
        for number, id in enumerate(old.transitions):
            for before, after in self._variants(self._old.transition(number)):
                ids.append(id)
                inputs.append(arcs_of((*old.inputs[number], *((place, 1) for place in before))))
                outputs.append(arcs_of((*old.outputs[number], *((place, 1) for place in after))))
                origin.append(self._old.origin[number])
        first = {self._places[kept, self._first(kept)] for kept in self._kept}
        count = len(old.places)
        tokens = tuple(int(count + index in first) for index in range(len(self._names)))
        net = Petri(
            old.name,
            (*old.places, *self._names),
            tuple(ids),
            tuple(inputs),
            tuple(outputs),
            (*old.initial, *tokens),
        )
        hopeless = [
            (number, arcs_of((*arcs, *((place, 1) for place in before))))
            for number, arcs in self._old.hopeless
            for before, _ in self._variants(self._plan.net.transitions[number])
        ]
        return self._old._replace(net=net, origin=tuple(origin), hopeless=tuple(hopeless))

    def _variants(self, t: Transition) -> Iterator[tuple[list[int], list[int]]]:
        """The places of knowledge that each variant of a transition takes from and puts into."""
        # What is forgotten must lose its token whatever value it has, so that there is a variant for each.
        forgotten = self._forgotten(t)
        if forgotten:
            yield from self._forgetting(forgotten, t)
            return
        asked = self._asked(t)
        if asked is None:
            yield [], []
            return
        found = dict.fromkeys(
            move for case in asked for move in self._learning(t.step if t.arc >= 0 else NO_STEP, case)
        )
        for before, after in found:
            yield list(before), list(after)

    def _asked(self, t: Transition) -> list[GuardCase] | None:
        """The cases in which a transition may fire; None when nothing is asked, or too much."""
        expr = self._guards.get(_key(t))
        if expr is None or t.role not in ("take", "pass", "admit", "deny"):
            return None
        # What its event alone decides is decided whatever is known: the other way is not in the net, so that a run
        # would be stuck here with a value that no event has.
        if t.arc >= 0 and decided(self._plan, t, expr) is not None:
            return None
        cases = self._variables.cases(expr, t.role in ("take", "admit"))
        # A guard with too many cases stays free. That allows runs that data do not, so that it may cost a proof and
        # never makes a wrong one.
        if cases is None:
            return None
        step = t.step if t.arc >= 0 else NO_STEP
        mine = [
            tuple((variable, value) for variable, value in case if self._place(variable, step) is not None)
            for case in cases
        ]
        fewer = list(dict.fromkeys(mine))
        # A case in which nothing is remembered allows the transition whatever is known. Each variable of the others
        # may be known already or not, hence the power of two.
        return None if () in fewer or sum(2 ** len(case) for case in fewer) > MAX_VARIANTS else fewer

    def _learning(self, step: int, case: GuardCase) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        kept = [(found, value) for variable, value in case if (found := self._place(variable, step)) is not None]
        after = tuple(self._places[each, value] for each, value in kept)
        for known in product((False, True), repeat=len(kept)):
            yield (
                tuple(
                    self._places[each, value if there else UNKNOWN]
                    for (each, value), there in zip(kept, known, strict=True)
                ),
                after,
            )

    def _forgotten(self, t: Transition) -> list[_Kept]:
        """The keys no longer known after a transition: keys that it may write, and what its step's last router knew."""
        found = [kept for kept in self._kept if kept.step == t.step and t.role in ENDING and t.level <= 0]
        # One iteration stands for all of a loop, so that whatever any of them may write is open from its start on.
        # What iterations contribute to an ordered reducer may be applied when a loop is over, and not before.
        whole = t.role == "expand" or (t.role in _CLOSING and self._reducers)
        tasks = self._plan.steps[t.step].tasks if whole else (t.task,) if t.task >= 0 else ()
        if tasks:
            written = {key for task in tasks for rule in self._plan.tasks[task].rules for key, _ in rule.set_ctx}
            for kept in self._kept:
                variable = self._variables.known[kept.variable]
                if (
                    variable.root == "ctx"
                    and (t.outcome or whole)
                    and (variable.key in written or (written and not variable.key))
                ):
                    found.append(kept)
        return found

    def _first(self, kept: _Kept) -> str:
        """The value that a variable has before anything runs: `ctx` has what reducers start with, and nothing else."""
        variable = self._variables.known[kept.variable]
        if variable.root != "ctx":
            return UNKNOWN
        if variable.key in self._open or (self._open and not variable.key):
            return UNKNOWN
        found = self._variables.value_at_start(kept.variable, self._starts)
        return UNKNOWN if found is None else found

    def _written(self, kept: _Kept, t: Transition) -> str:
        """The value that a variable has after a transition: one that is known where each rule writes the same."""
        variable = self._variables.known[kept.variable]
        if variable.root != "ctx" or static_path(variable.expr) != ("ctx", variable.key):
            return UNKNOWN
        # In a loop one iteration stands for all of them, and another one may have written last.
        if t.task < 0 or self._plan.steps[t.step].loops or variable.key in self._reducers:
            return UNKNOWN
        rules = self._plan.tasks[t.task].rules
        if t.role == "continue" and rules[-1].when >= 0:
            return UNKNOWN  # none may match
        found = set()
        for rule in rules:
            if rule.directive == t.role.removesuffix("_later"):
                row = dict(rule.set_ctx).get(variable.key, -1)
                template = self._plan.templates[row] if row >= 0 else None
                match template:
                    case Literal(value=value):
                        found.add(self._variables.value_of(kept.variable, value))
                    case _:
                        found.add(UNKNOWN)
        # Several rules may give the same directive. What the key is afterwards is known only where all of them write
        # one constant.
        return found.pop() if len(found) == 1 else UNKNOWN

    def _forgetting(self, kept: Sequence[_Kept], t: Transition) -> Iterator[tuple[list[int], list[int]]]:
        after = [self._places[each, self._written(each, t)] for each in kept]
        values = [(UNKNOWN, *self._variables.values(each.variable)) for each in kept]
        for combination in product(*values):
            yield [self._places[each, value] for each, value in zip(kept, combination, strict=True)], after

    def _place(self, variable: int, step: int) -> _Kept | None:
        for kept in (_Kept(variable, -1), _Kept(variable, step)):
            if (kept, UNKNOWN) in self._places:
                return kept
        return None

    def _remembered(self) -> list[_Kept]:
        found: dict[_Kept, None] = {}
        twice: set[int] | None = None  # not asked where no guard is about what a router is told
        for (step, arc), expr in self._guards.items():
            for variable in self._variables.variables_of(expr):
                root = self._variables.known[variable].root
                if root in ("workload", "ctx"):
                    found[_Kept(variable, -1)] = None
                # Of two runs in flight each has its own `event`. One token for both would let the guard of one
                # exclude what the other does, and prove what is not so.
                elif root in LOCAL and arc >= 0:
                    twice = _twice(self._old) if twice is None else twice
                    if step not in twice:
                        found[_Kept(variable, step)] = None
        # In the order of the plan, so that the same variables are left out everywhere. One that is left out may be
        # anything.
        return list(found)[:MAX_VARIABLES]


def _written_elsewhere(plan: Plan) -> set[str]:
    """The keys of `ctx` that steps write of which the net has nothing: those of other phases."""
    here = {t.step for t in plan.net.transitions}
    others = [task for number, step in enumerate(plan.steps) if number not in here for task in step.tasks]
    return {key for task in others for rule in plan.tasks[task].rules for key, _ in rule.set_ctx}


def _guards(plan: Plan) -> dict[tuple[int, int], Expr]:
    """(step, arc) → the guard of an arc; (step, -1) → that of a gate."""
    found: dict[tuple[int, int], Expr] = {}
    for t in plan.net.transitions:
        if t.guard >= 0 and t.role in ("take", "admit"):
            template = plan.templates[t.guard]
            if isinstance(template, Native):
                found[_key(t)] = template.expr
    return found


def _key(t: Transition) -> tuple[int, int]:
    return t.step, t.arc


def _twice(skeleton: Skeleton) -> set[int]:
    """The steps of which two runs may be in flight."""
    places = skeleton.plan.net.places
    ends = frozenset(
        number for number, place in enumerate(places) if place.role in ("done", "failed") and place.level == 0
    )
    small = reduced(skeleton.net, ends)
    relation = concurrency_of(small.net)
    where = {place: number for number, place in enumerate(small.places)}
    return {
        places[one].step
        for one in ends
        for other in ends
        if places[one].step == places[other].step and relation.together(where[one], where[other])
    }
