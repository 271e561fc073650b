"""Arcs that ask for a failure in old words: such an arc takes the failure, as a rule of `case` does (REAL.md, flow).

    when: "{{ output.status == 'error' }}"     →  event.status == 'error'
    when: "{{ output.error != None }}"         →  not event.error | default(none) is none
    when: "{{ output.http.status == 404 }}"    →  event.name in ['step.done', 'step.failed'] and …

Where a rule of the step lets an error pass there are two arcs, for such a success and for the failure. Guards that
only a success makes true stay as they are, for success alone (LANGUAGE §3).
"""

from collections.abc import Callable, Container

from noetl_ir.expr import Compare, Conditional, Const, Expr, ListOf, Test, walk
from noetl_ir.paths import static_path
from noetlc.ast.components import components_of
from noetlc.ast.graph import graph_of, reached
from noetlc.ast.pipeline import lets_errors_pass
from noetlc.ast.playbook import Arc, Guard, Playbook, Step, Task
from noetlc.expr.generated import guard
from noetlc.expr.paths import accesses
from noetlc.expr.rewrite import rewritten
from noetlc.expr.shorthand import FALSE, TRUE, both, equal, one_of, path, result_of
from noetlc.expr.templates import arc_with
from noetlc.older.events import constants_folded, events_in, on_failed, on_failure
from noetlc.older.legacy_names import LegacyPath, Meanings, arc_meanings, has_old_names, only_old, renamed
from noetlc.older.page_nodes import tool_before_branches
from noetlc.older.skips import may_be_skipped

_EVENT = path("event", "name")
_STATUSES = frozenset({("this", "status"), ("output", "status")})
_ERRORS = frozenset({("error",), ("_err",), ("this", "error"), ("output", "error")})
_OF_HTTP = frozenset({("status_code",), ("response", "status_code"), ("output", "http"), ("this", "http")})


def meant_arcs(
    step: Step, tasks: tuple[Task, ...], known: Container[str], *, again: bool
) -> Callable[[Arc], tuple[Arc, ...]]:
    """The arcs that an arc of a step becomes, with canonical names; `tasks` are those of the step with theirs, and
    `again` says whether the step may run more than once.
    """

    def made(result: Expr) -> Callable[[Arc], tuple[Arc, ...]]:
        is_loop = step.loop is not None
        found = arc_meanings(result, loop=is_loop, may_be_skipped=may_be_skipped(step))
        if is_loop:
            usual = only_old(renamed(found, known))
            return lambda arc: (arc_with(arc, usual),)
        passes = any(map(lets_errors_pass, tasks))
        is_last = tool_before_branches(tasks) in (-1, len(tasks) - 1)
        return lambda arc: _arcs(arc, found, known, passes, is_last)

    # A step that runs once has no earlier result that could be taken for this run's: the plain name is right then,
    # and what an author would write.
    usual = made(result_of(step.name))
    if not again:
        return usual
    at_failure = made(of_this_run(step))

    def meant(arc: Arc) -> tuple[Arc, ...]:
        found = usual(arc)
        if not any(map(takes_failures, found)):
            return found
        # The result of a run that failed is undefined, not that of the run before. With the plain name, an arc for
        # failures would send a stale value on.
        careful = at_failure(arc)
        return tuple(new if takes_failures(old) else old for old, new in zip(found, careful, strict=True))

    return meant


def may_fail(arc: Arc, known: Container[str]) -> bool:
    """Whether an arc may be taken when its step failed, as its guard says in old words or in those of today."""
    return arc.when is not None and (takes_failures(arc) or _at_failure(arc.when.expr, known) != FALSE)


def _arcs(arc: Arc, found: Meanings, known: Container[str], passes: bool, is_last: bool) -> tuple[Arc, ...]:
    """The arc, or the two for success and for failure."""
    usual = arc_with(arc, only_old(renamed(found, known)))
    failing = FALSE if arc.when is None else _at_failure(arc.when.expr, known)
    # A failure takes an arc only if its guard asks about `event` (LANGUAGE §3). Most guards are about successes, and
    # stay as they are.
    if failing == FALSE:
        return (usual,)
    of_end = arc_with(arc, only_old(renamed({**found, **_OF_END}, known)))
    assert usual.when is not None and of_end.when is not None
    # Where no task lets an error pass, the outcome and the end of the step tell the same, and one arc on `event`
    # serves both.
    if not passes and not _reads_outcome(of_end.when):
        return (of_end,)
    asked, span = usual.when.expr, usual.when.span
    failed = equal(_EVENT, "step.failed")
    # The outcome of the last task is there for failures too. Naming both events in the guard has it asked in both
    # cases, which is shorter than two arcs.
    if is_last and not passes:
        return (of_end._replace(when=guard(both(one_of(_EVENT, ("step.done", "step.failed")), asked), span)),)
    # Behind a task that lets errors pass, the step may end well although its tool failed. The arc for the step's own
    # failure therefore is another one.
    also = failed if failing == TRUE else both(failed, rewritten(failing, renamed({**found, **_OF_END}, known)))
    return usual, of_end._replace(when=guard(also, span))


_OF_END: Meanings = {
    **{(word, key): path("event", key) for word in ("this", "output") for key in ("status", "error")},
    ("success",): equal(path("event", "status"), "ok"),
}
"""What is meant where the step has failed, or where no error passes."""


def _at_failure(expr: Expr, known: Container[str]) -> Expr:
    """The guard where the step has failed; false where it is no question in old words, or one for success only."""
    if not has_old_names(expr) or events_in(expr) or not any(_tells(static_path(part), known) for part in walk(expr)):
        return FALSE
    return constants_folded(rewritten(on_failure(expr), _failed))


def _tells(here: LegacyPath, known: Container[str]) -> bool:
    return bool(here) and here[0] not in known and any(here[:n] in _TELLING for n in (1, 2))


_TELLING = _STATUSES | _ERRORS | _OF_HTTP | {("success",)}


def _failed(expr: Expr) -> Expr | None:
    """The facts that are certain of a failure."""
    match expr:
        case Compare(first=first, rest=(("==" | "!=" as op, Const(value=str(word))),)):
            if static_path(first) in _STATUSES:
                return TRUE if (word == "error") == (op == "==") else FALSE
        case Compare(first=first, rest=(("==" | "!=" as op, Const(value=None)),)) if static_path(first) in _ERRORS:
            return TRUE if op == "!=" else FALSE
        case Compare(first=first, rest=(("in", ListOf(items=items)),)) if static_path(first) in _STATUSES:
            return TRUE if Const("error") in items else FALSE
        case Test(of=of, name="defined" | "none" | "undefined" as name) if static_path(of) in _ERRORS:
            return TRUE if name == "defined" else FALSE
    return None


def _reads_outcome(asked: Guard) -> bool:
    return any(static_path(part)[:2] == ("event", "outcome") for part in walk(asked.expr))


# Below: the result of a step in its own arcs, where the step may run more than once and fail then.
#
# The name of a step means the result of its latest run that went well (LANGUAGE §2). The author who wrote `result` into
# an arc meant the run that has just ended. Where that run failed there is no result, and an earlier one would be wrong.
#
#     when: "{{ error is defined }}", args: {x: "{{ result.k }}"}   →   x: "{{ (s if event.status == 'ok').k }}"
_FAILING = frozenset({"status", "error"})


def run_again(playbook: Playbook) -> frozenset[str]:
    """The steps that may run more than once: those on a cycle, and what a fork leads to."""
    graph = graph_of(playbook)
    forks = [
        at
        for at, step in enumerate(playbook.steps)
        if step.router is not None and step.router.mode == "inclusive" and len(step.router.arcs) > 1
    ]
    # Behind a fork several tokens may come to one step, each of which runs it, where no join waits for them.
    behind = reached(graph.successors, forks)
    again = {
        at
        for members in components_of(graph.successors)
        for at in members
        if len(members) > 1 or at in graph.successors[at]
    }
    return frozenset(playbook.steps[at].name for at in again | behind)


def takes_failures(arc: Arc) -> bool:
    """Whether the engine asks an arc, with a guard in canonical names, when its step failed (LANGUAGE §3)."""
    if arc.when is None:
        return False
    asked = {access.keys[0] for access in accesses(arc.when.expr) if access.root.name == "event" and access.keys}
    return bool(asked & _FAILING) or (bool(events_in(arc.when.expr)) and on_failed(arc.when.expr) != FALSE)


def of_this_run(step: Step) -> Expr:
    """The result of the run that has ended, which is undefined where it has failed."""
    return Conditional(equal(path("event", "status"), "ok"), result_of(step.name), None)
