"""lead_stopped: a loop over pages that stops at its number keeps what it has and goes on (REAL.md, flow): where
the only rule that leads on asks for the last page, it is asked then too.

    case: [{when: more, then: {retry: {max_attempts: 2, params: …}}}, {when: not more, then: {next: b}}]
        →  when: not more or iter.__t__more == 0   for the second rule, without `next` at the step and without `else`
"""

from collections.abc import Iterator

from noetl_ir.expr import Compare, Const, Expr, Filter, Not
from noetl_ir.paths import static_path
from noetl_ir.records import NamedTuple
from noetlc.ast.bodies import taken
from noetlc.ast.playbook import Playbook, Step
from noetlc.ast.walk import replace_steps
from noetlc.diag.change import RecordChange
from noetlc.expr.generated import generated_name, guard
from noetlc.expr.shorthand import both, conjuncts, either, equal, path
from noetlc.older.case.nodes import Case, CaseRule, Route
from noetlc.older.events import events_in, on_success
from noetlc.older.page_nodes import Pages, repeats_success
from noetlc.older.targets import Targets


class Stop(NamedTuple):
    """A loop over pages that a number bounds: what is true where it stopped there, and what it asks of a page."""

    stopped: Expr
    asked: Expr


def stops_of(pages: Pages, task: str) -> Iterator[Stop]:
    """The bounded loops among the policies of a task."""
    more = path("iter", generated_name(task, "more"))
    for number, page in enumerate(pages.policies):
        if page.when is not None and page.next_call and page.is_bounded and repeats_success(page):
            yield Stop(equal(more, number), page.when.expr)


def lead_stopped(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which a step goes on when a loop over its pages stops at the number of pages that it may read.

    Nothing is recorded: the `case` that is changed here is recorded when it becomes arcs or tasks.
    """
    del record
    return replace_steps(playbook, _leading_on)


def _leading_on(step: Step) -> Step:
    """The step whose only leading rule is also true when a loop over its pages was stopped."""
    if not any(isinstance(extra, Case) for extra in step.extras):
        return step
    found = [(taken(task, Pages)[0], task.name) for task in step.tasks]
    stops = [stop for pages, name in found if pages is not None for stop in stops_of(pages, name)]
    if not stops or step.loop is not None or step.router is not None:
        return step
    if any(isinstance(extra, Targets) for extra in step.extras):
        return step
    extras = tuple([_case(extra, stops) if isinstance(extra, Case) else extra for extra in step.extras])
    return step._replace(extras=extras)


def _case(case: Case, stops: list[Stop]) -> Case:
    leading = [rule for rule in case.rules if _leads(rule)]
    if len(leading) != 1 or leading[0].when is None:
        return case
    if any(rule.when is None and rule.chain for rule in case.rules):
        return case  # `else` says what happens then
    (only,), when = leading, leading[0].when
    asked = [stop.stopped for stop in stops if _is_opposite(on_success(when.expr), on_success(stop.asked))]
    done = Compare(path("event", "name"), (("==", Const("call.done")),))
    if events_in(when.expr):
        expr = either(when.expr, *(both(done, stopped) for stopped in asked))
    else:  # once a part names an event, what does not would be asked on failures too
        expr = both(done, either(when.expr, *asked))
    made = only._replace(when=guard(expr, when.span))
    return case._replace(rules=tuple([made if rule is only else rule for rule in case.rules])) if asked else case


def _is_opposite(rule: Expr, loop: Expr) -> bool:
    """Whether a rule asks for the last page: for the opposite of one thing that the loop asks, and for nothing else.

    What both ask (`response is defined`) held where the loop stopped, so it is not asked again.
    """
    asked = list(conjuncts(loop))
    own = [part for part in conjuncts(rule) if part not in asked]
    flag = _flag(own[0]) if len(own) == 1 else None
    return flag is not None and (flag[0], not flag[1]) in map(_flag, asked)


def _flag(expr: Expr) -> tuple[tuple[str, ...], bool] | None:
    """The path that a condition asks to be true or false, and which of both; None where it asks something else."""
    match expr:
        case Not(of=of):
            inner = _flag(of)
            return (inner[0], not inner[1]) if inner else None
        case Filter(of=of, name="default" | "d"):
            return _flag(of)
        case Compare(first=first, rest=((("==" | "!=") as op, Const(value=bool(value))),)):
            here = static_path(first)
            return (here, value is (op == "==")) if here else None
    here = static_path(expr)
    return (here, True) if here else None


def _leads(rule: CaseRule) -> bool:
    return any(isinstance(extra, Route) for task in rule.chain for extra in task.extras)
