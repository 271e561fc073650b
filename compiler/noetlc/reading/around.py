"""What is declared around an expression: the names that a step's expressions may use bare."""

from noetlc.ast.playbook import Playbook, Step
from noetlc.ast.walk import loops_of
from noetlc.ast.workbook import pairs_of
from noetlc.expr.check import Names


class Around:
    """The declared names of a playbook; those that no step shares are made once."""

    ANYTHING: frozenset[str] = frozenset({"*"})
    """The known keys of args that only the run knows."""

    __slots__ = ("_arriving", "_outside")

    def __init__(self, playbook: Playbook) -> None:
        tasks = [task for step in playbook.steps for task in step.tasks]
        written = frozenset(key for task in tasks for rule in task.rules for key, _ in rule.set_ctx)
        self._outside = Names(
            steps=frozenset(step.name for step in playbook.steps),
            ctx=written,
            workload=frozenset(key for key, _ in playbook.workload),
        )
        self._arriving = _arriving(playbook)

    def outside(self) -> Names:
        """The names outside of any step."""
        return self._outside

    def names(self, step: Step) -> Names:
        """The names in the tasks of a step."""
        loops = loops_of(step)
        scratch = [key for task in step.tasks for rule in task.rules for key, _ in rule.set_iter]
        return self._outside._replace(
            iterators=tuple(loop.iterator for loop in reversed(loops)),
            tasks=frozenset([task.name for task in step.tasks]),
            args=self._arriving.get(step.name, frozenset()),
            iter=frozenset(scratch),
        )


def _arriving(playbook: Playbook) -> dict[str, frozenset[str]]:
    """Step → the keys of the args that arcs bring to it; `ANYTHING` where an arc computes them."""
    found: dict[str, frozenset[str]] = {}
    for step in playbook.steps:
        for arc in step.router.arcs if step.router is not None else ():
            if arc.args is None:
                continue
            pairs = pairs_of(arc.args.template)
            before = found.get(arc.target, frozenset())
            if pairs is None or before is Around.ANYTHING:
                found[arc.target] = Around.ANYTHING
            else:
                found[arc.target] = before | pairs.keys()
    return found
