"""The names that a run brings along to where an expression is asked, and a walk over its transitions does not know: the
args of a token, and the item of an iteration.
"""

from noetl_ir.expr import Json, entries_of
from noetl_ir.plan import Plan
from noetlc.analysis.unknown import UNKNOWN


class Surroundings:
    """The names of a plan's steps whose values come with a token or an item."""

    def __init__(self, plan: Plan) -> None:
        self._steps = plan.steps
        self._args: dict[int, dict[str, Json] | None] = {}
        for arc in plan.arcs:
            here = self._args.setdefault(arc.target, {})
            keys = entries_of(plan.templates[arc.args]) if arc.args >= 0 else {}
            # What an expression gives as a whole has any keys.
            is_known = here is not None and keys is not None
            self._args[arc.target] = {**(here or {}), **dict.fromkeys(keys or (), UNKNOWN)} if is_known else None

    def args(self, step: int) -> Json:
        """The `args` of a step: those that some arc to it gives are unknown, and no others are there."""
        found = self._args.get(step, {})
        return UNKNOWN if found is None else found

    def item(self, step: int) -> dict[str, Json]:
        """The keys that `iter` has in an iteration of a step before a rule writes it; nothing without a loop."""
        return dict.fromkeys((*self.iterators(step), "index"), UNKNOWN) if self._steps[step].loops else {}

    def iterators(self, step: int) -> tuple[str, ...]:
        """The iterators of a step's loops, the innermost first."""
        return tuple(loop.iterator for loop in reversed(self._steps[step].loops))
