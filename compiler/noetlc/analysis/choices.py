"""The choices of a router's arcs together: which can fire, which cannot, and whether one always does."""

from collections.abc import Mapping

from noetl_ir.expr import Attribute, Compare, Const, Expr, Literal, Name
from noetl_ir.records import NamedTuple
from noetlc.ast.playbook import Arc, Guard, Playbook, Step
from noetlc.ast.truth import FactPath, path_of, takes_part_on_failure, truth

_Truths = tuple[bool, ...]

_KNOWN_ROOTS = ("event", "outcome")


class Choice(NamedTuple):
    """Guards in order, and the truths they can have together with an example of each; None where nobody knows."""

    guards: tuple[Expr, ...]
    truths: Mapping[_Truths, Mapping[Expr, str]] | None

    def may(self, number: int) -> bool:
        """Whether a guard can be true."""
        return self.truths is None or any(each[number] for each in self.truths)

    def always(self, number: int) -> bool:
        """Whether a guard cannot be false."""
        return self.truths is not None and all(each[number] for each in self.truths)

    def first(self, number: int) -> bool:
        """Whether a guard can be the first that is true."""
        return self.truths is None or any(each[number] and not any(each[:number]) for each in self.truths)

    @property
    def covers(self) -> bool:
        """Whether some guard is true whatever the data are, guards that raise aside."""
        return self.truths is not None and all(any(each) for each in self.truths)

    def both(self, one: int, other: int) -> list[Mapping[Expr, str]]:
        """Examples in which both guards are true."""
        return [example for each, example in (self.truths or {}).items() if each[one] and each[other]]


class Choices:
    """The choices of a playbook; equal ones are worked out once."""

    def __init__(self, playbook: Playbook) -> None:
        self._numbers = frozenset(
            ("workload", key)
            for key, value in playbook.workload
            # The exact type: a boolean is an `int` for Python, and no number that guards order.
            if isinstance(value.template, Literal) and type(value.template.value) in (int, float)
        )
        self._known: dict[tuple[tuple[Expr, ...], str], Choice] = {}

    def on_success(self, step: Step) -> Choice:
        """All arcs of a router when the step has succeeded."""
        arcs = step.router.arcs if step.router is not None else ()
        return self.choice_of([arc.when for arc in arcs], "step.done" if step.loop is None else "loop.done")

    def on_failure(self, step: Step) -> tuple[list[Arc], Choice]:
        """The arcs of a router that take part when the step has failed."""
        arcs = [arc for arc in (step.router.arcs if step.router is not None else ()) if takes_part_on_failure(arc)]
        return arcs, self.choice_of([arc.when for arc in arcs], "step.failed")

    def choice_of(self, guards: list[Guard | None], moment: str) -> Choice:
        """Guards that are asked at a moment: of an event or outcome (`ok`, `error`) so named, or at `any` time."""
        exprs = tuple([guard.expr if guard is not None else Const(True) for guard in guards])
        key = (exprs, moment)
        if key not in self._known:
            self._known[key] = choice_of(exprs, moment, self._numbers)
        return self._known[key]


def choice_of(exprs: tuple[Expr, ...], moment: str, numbers: frozenset[FactPath]) -> Choice:
    """The choice between guards at a moment; `numbers` are paths at which a number stands."""
    known = _facts(moment)
    found = [truth(expr, known) for expr in exprs]
    # A guard that the moment decides is a constant, and needs no variable: `event.name == 'step.done'` is true for
    # all data when a step is done.
    plain = tuple([expr if sure is None else Const(sure) for expr, sure in zip(exprs, found, strict=True)])
    return Choice(exprs, _truths(plain, moment, numbers))


def _truths(
    exprs: tuple[Expr, ...], moment: str, numbers: frozenset[FactPath]
) -> Mapping[_Truths, Mapping[Expr, str]] | None:
    guarded = [expr for expr in exprs if expr != Const(True)]
    if not guarded:
        return {(True,) * len(exprs): {}}
    # A single test of something unknown can go both ways, and the machinery for several guards is not loaded.
    if len(guarded) == 1 and _is_open(guarded[0]):
        return {tuple([expr is not guarded[0] or truth for expr in exprs]): {} for truth in (True, False)}
    from noetlc.analysis.routers import truths_of  # a file without such routers starts sooner

    return truths_of(exprs, _facts(moment), numbers)


def _is_open(guard: Expr) -> bool:
    """Whether a guard is one test of something that nothing is known of."""
    tested = guard.first if isinstance(guard, Compare) and len(guard.rest) == 1 else guard
    root = path_of(tested)[:1]
    return isinstance(tested, Name | Attribute) and bool(root) and root[0] not in _KNOWN_ROOTS


def _facts(moment: str) -> dict[FactPath, str]:
    match moment:
        case "step.done" | "loop.done":
            return {("event", "name"): moment, ("event", "status"): "ok"}
        case "step.failed":
            return {("event", "name"): moment, ("event", "status"): "error"}
        case "ok" | "error":
            return {("outcome", "status"): moment}
        case _:
            return {}
