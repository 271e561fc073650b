"""lead_stopped: a loop over pages that stops at its number keeps what it has and goes on (REAL.md, flow): where
the only rule that leads on asks for the last page, it is asked then too.

    case: [{when: more, then: {retry: {max_attempts: 2, params: …}}}, {when: not more, then: {next: b}}]
        →  when: not more or iter.__t__more == 0   for the second rule, without `next` at the step
"""

from collections.abc import Iterator

from noetl_ir.expr import Compare, Const, Expr, Filter, Logic, Not
from noetl_ir.rows import NamedTuple
from noetlc.ast.bodies import taken
from noetlc.ast.playbook import Playbook, Step
from noetlc.ast.walk import replace_steps
from noetlc.diag.change import Note
from noetlc.expr.generated import generated_name, guard
from noetlc.expr.shorthand import both, either, equal, path, static_path
from noetlc.older.case.nodes import Case, CaseRule, Route
from noetlc.older.events import on_success
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


def lead_stopped(playbook: Playbook, note: Note) -> Playbook:
    """The playbook in which a step whose loop over pages stops goes on."""
    del note
    return replace_steps(playbook, _leading_on)


def _leading_on(step: Step) -> Step:
    """The step whose only way on is taken where a loop over its pages was stopped, too."""
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
    (only,), when = leading, leading[0].when
    flags = _flags(on_success(when.expr))
    if len(flags) != 1:  # it asks for more than that the page is the last one, or for something else
        return case
    ((about, value),) = flags
    asked = [stop.stopped for stop in stops if (about, not value) in _flags(on_success(stop.asked))]
    done = Compare(path("event", "name"), (("==", Const("call.done")),))
    made = only._replace(when=guard(either(when.expr, *(both(done, stopped) for stopped in asked)), when.span))
    return case._replace(rules=tuple([made if rule is only else rule for rule in case.rules])) if asked else case


def _flags(expr: Expr) -> list[tuple[tuple[str, ...], bool]]:
    """What a condition asks to be true or false, part by part; a part that asks something else has an empty path."""
    match expr:
        case Logic(op="and", left=left, right=right):
            return [*_flags(left), *_flags(right)]
        case Not(of=of):
            inner = _flags(of)
            return [(here, not value) for here, value in inner] if len(inner) == 1 else [((), True)]
        case Filter(of=of, name="default" | "d"):
            return _flags(of)
        case Compare(first=first, rest=((("==" | "!=") as op, Const(value=bool(value))),)):
            return [(static_path(first) or (), value is (op == "=="))]
    return [(static_path(expr) or (), True)]


def _leads(rule: CaseRule) -> bool:
    return any(isinstance(extra, Route) for task in rule.chain for extra in task.extras)
