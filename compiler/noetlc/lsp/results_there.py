"""The results that may be there where an expression is evaluated: of tasks and steps from which a way leads to it."""

from noetl_ir.records import NamedTuple
from noetl_ir.scopes import Site
from noetl_ir.words import COMPENSATION, MAIN, PHASES
from noetlc.ast.graph import reached
from noetlc.ast.pipeline import has_unknown_jump, sources_in
from noetlc.ast.playbook import Step, Task
from noetlc.lsp.known import PlaybookView


class ResultsThere(NamedTuple):
    """The names of the tasks of the pipeline, and of the steps, whose results may be there."""

    tasks: frozenset[str]
    steps: frozenset[str]


def results_there(view: PlaybookView, site: Site, step: Step | None, task: Task | None) -> ResultsThere:
    """The results that may be there in a place of a task or step; all where the last reading does not know it."""
    return ResultsThere(_tasks(step, task), frozenset(view.results) if step is None else _steps(view, site, step))


def _tasks(step: Step | None, task: Task | None) -> frozenset[str]:
    names = frozenset(one.name for one in step.tasks) if step is not None else frozenset[str]()
    # A jump with a misspelt target may be the one that leads here.
    if step is None or task is None or has_unknown_jump(step):
        return names
    here = next((at for at, one in enumerate(step.tasks) if one.name == task.name), -1)
    sources = sources_in(step)
    return frozenset(step.tasks[at].name for at in reached(sources, sources[here])) if here >= 0 else names


def _steps(view: PlaybookView, site: Site, step: Step) -> frozenset[str]:
    graph, steps = view.graph, view.playbook.steps
    here = graph.positions[step.name]
    # A step that nothing leads to yet is one that is being written: its arcs come later.
    if site is Site.RESULT or view.has_loose_ends or (not graph.sources[here] and here not in graph.entries):
        return frozenset(view.results)
    before = reached(graph.sources, graph.sources[here])
    # An arc is asked when its step is done, so that the step's own result is there.
    before |= {here} if site is Site.ARC else set()
    phase = _ORDER.index(view.phases.get(here, MAIN))
    earlier = {at for at in range(len(steps)) if _ORDER.index(view.phases.get(at, MAIN)) < phase} if phase else set()
    return frozenset(steps[at].name for at in before | earlier)


_ORDER = (MAIN, COMPENSATION, *PHASES)
