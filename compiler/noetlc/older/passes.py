"""The order of lowering, and the loop that runs it: sugar of today and of older dialects to canonical form.

A pass is a row of a table. The order is written there and checked, never solved: `after` names passes, and a test
holds the table to it. The loop, and only the loop, tells the observer and checks what must hold between passes: sugar
that a pass removes never comes back.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Protocol

from noetl_ir import registry
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.placeholders import without_placeholders
from noetlc.ast.playbook import Playbook
from noetlc.ast.python_code import code_of
from noetlc.ast.walk import sugar_in, sugar_kinds
from noetlc.diag.change import Change, RecordChange
from noetlc.older.dialects import CASE, OLDER

TODAY = "noetlc.lower"
"""The package of the passes for what people write today."""

BLOCKS = ("Choose", "Until", "While")
"""The blocks in task lists that people write today, as their nodes in `ast.bodies` are called; `lower_<name>` has each
of them.
"""


class PassObserver(Protocol):
    """Told of every pass."""

    def stage_begun(self, stage: str) -> None: ...
    def stage_ended(self, stage: str, result: Playbook | None) -> None: ...


class BrokenPass(AssertionError):
    """A pass did what none may do: an error of ours."""


class Lowering(NamedTuple):
    """A row of `LOWERING`: `fn` maps a playbook to itself and records its changes.

    `removes` names the sugar nodes that are gone after it, as their classes are called, so that none is imported for
    the table. Where none of them, nor of `among`, is in a playbook, the pass has nothing to do and is not run; nor one
    without them where `where` is untrue.
    """

    fn: Callable[[Playbook, RecordChange], Playbook]
    removes: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    among: tuple[str, ...] = ()
    where: Callable[[Playbook], bool] | None = None

    @property
    def name(self) -> str:
        """The name by which `dump --after` and notes call it."""
        return self.fn.__name__


def _part(name: str, module: str, package: str = OLDER) -> Callable[[Playbook, RecordChange], Playbook]:
    """The pass of that name in a construct's file, which is imported when it has something to do:
    canonical playbooks start sooner.
    """

    def run(playbook: Playbook, record: RecordChange) -> Playbook:
        return registry.load(package, module, name, FunctionType)(playbook, record)  # type: ignore[no-any-return]

    run.__name__ = name
    return run


def _may_call_http(playbook: Playbook) -> bool:
    """Whether some task is, or may be in a construct that is still to be lowered, one of http."""
    return any(task.kind == "http" for _, task in playbook.workbook) or any(
        step.extras or task.extras or task.kind == "http" for step in playbook.steps for task in step.tasks
    )


def _has_limits(playbook: Playbook) -> bool:
    """Whether some step of a file with older forms has a limit for attempts."""
    return playbook.legacy and any(step.spec.timeout is not None for step in playbook.steps)


def _has_braced_code(playbook: Playbook) -> bool:
    """Whether some code of a file with older forms has double braces."""
    return playbook.legacy and any(
        task.kind == "python" and "{{" in (code_of(task) or "")
        for tasks in (*(step.tasks for step in playbook.steps), tuple(task for _, task in playbook.workbook))
        for task in tasks
    )


LOWERING: tuple[Lowering, ...] = (
    Lowering(_part("drop_declared", "drop_declared", TODAY), removes=("Declared",)),
    Lowering(_part("lower_storage", "storage"), removes=("Storage", "StoredNames")),
    Lowering(_part("complete_http_paths", "http_paths"), after=("lower_storage",), where=_may_call_http),
    Lowering(_part("name_task_results", "task_results"), removes=("TaskResults",)),
    Lowering(_part("shorten_sql_paths", "sql_paths"), removes=("SqlData",)),
    Lowering(_part("widen_sinks", "sinks"), among=("Sink", "Case")),
    Lowering(_part("share_workbook", "workbook"), where=lambda playbook: bool(playbook.workbook)),
    Lowering(_part("lower_args", "args"), removes=("StepArgs", "Saved")),
    Lowering(_part("lower_loop", "loops"), removes=("Slicing", "Where", "LoopOnError"), among=("Pages",)),
    Lowering(_part("lower_event_case", "lower_event_case", CASE), among=("Case", "CaseSetting")),
    Lowering(
        _part("lower_retry", "retry"), removes=("Retry", "OnError", "NotRetried"), among=("Pages", "Poll", "Case")
    ),
    Lowering(_part("lower_poll", "poll"), removes=("Poll",), after=("lower_retry",)),
    Lowering(_part("lead_stopped", "stops", CASE), after=("lower_retry",), among=("Case",)),
    Lowering(_part("lower_pages", "pages"), removes=("Pages",), after=("lower_retry",)),
    Lowering(
        _part("lower_vars", "variables"), removes=("Assign",), after=("lower_retry", "lower_poll"), among=("StepSet",)
    ),
    Lowering(_part("lower_sink", "sinks"), removes=("Sink",), after=("lower_vars",)),
    Lowering(
        _part("lower_inclusive_case", "lower_inclusive_case", CASE),
        after=("lower_retry", "lower_sink", "lower_event_case"),
        among=("Case",),
    ),
    Lowering(_part("lower_case", "lower_case", CASE), removes=("Case", "CaseSetting"), after=("lower_inclusive_case",)),
    Lowering(_part("lower_next", "targets"), removes=("Targets", "NextMode"), after=("lower_case",)),
    Lowering(
        _part("lower_set", "variables"), removes=("StepSet", "Result", "ArcSet"), after=("lower_sink", "lower_next")
    ),
    Lowering(_part("lower_entering", "entering", CASE), removes=("Entering",), after=("lower_set",)),
    Lowering(_part("lower_cursor", "cursors"), removes=("Cursor", "Frame"), after=("lower_case", "lower_sink")),
    Lowering(
        _part("lower_root_vars", "variables"), removes=("RootVars",), after=("lower_vars", "lower_case", "lower_set")
    ),
    Lowering(_part("lower_skip", "skips"), removes=("Skip",), after=("lower_set",)),
    Lowering(_part("enter_sugar", "enter_sugar", TODAY), among=BLOCKS),
    *(
        Lowering(
            _part(f"lower_{block.lower()}", f"lower_{block.lower()}", TODAY), removes=(block,), after=("enter_sugar",)
        )
        for block in BLOCKS
    ),
    Lowering(_part("keep_limits", "parked"), after=("lower_event_case", "lower_sink"), where=_has_limits),
    Lowering(
        _part("lower_end_loop", "end_loop"),
        removes=("EndLoop",),
        after=("lower_next", "lower_set", "lower_skip", "lower_while"),
    ),
    Lowering(_part("lower_entry", "ends"), removes=("FirstEntry",)),
    Lowering(_part("lower_end", "ends"), removes=("ImplicitEnd",), after=("lower_next", "lower_sink")),
    Lowering(
        _part("lower_blocks", "blocks"),
        removes=("OldBlocks",),
        after=("lower_next", "lower_set", "lower_skip", "lower_end"),
    ),
    Lowering(_part("bind_texts", "brace_texts"), after=("lower_next", "lower_sink"), where=_has_braced_code),
    Lowering(
        _part("name_request", "request"),
        removes=("OldRequest",),
        after=("lower_sink", "lower_set", "lower_root_vars", "lower_until", "lower_while"),
    ),
    Lowering(_part("lower_env", "environment"), after=("name_request",), among=("OldSecrets",)),
    Lowering(
        _part("lower_secrets", "secrets"),
        removes=("OldSecrets",),
        after=("lower_root_vars", "lower_until", "lower_while"),
    ),
    Lowering(_part("name_previous", "previous"), after=("lower_next",), among=("OldNames",)),
    Lowering(_part("rename_names", "names"), removes=("OldNames",), after=("lower_next", "lower_until", "lower_while")),
    Lowering(_part("bind_lists", "bind_lists"), removes=("AskedLists",), after=("lower_args", "rename_names")),
    Lowering(_part("bind_json", "bind_json"), removes=("AskedJson",), after=("lower_args", "rename_names")),
    Lowering(_part("bind_loops", "bind_loops"), removes=("AskedLoops",), after=("lower_args", "rename_names")),
)
"""Playbook to playbook, sugar to canonical form."""

AUTHORING = frozenset(f"lower_{block.lower()}" for block in BLOCKS)
"""Passes for what people write today: their changes are no notes."""


def lowered(playbook: Playbook, record: RecordChange, observer: PassObserver) -> Playbook:
    """The playbook after all passes; without any sugar, itself."""
    there, gone = _kinds_in(playbook), frozenset[str]()
    for row in LOWERING:
        concerned = {*row.removes, *row.among}
        observer.stage_begun(row.name)
        if there & concerned or (row.where is not None and row.where(playbook)):
            before, playbook = playbook, row.fn(playbook, record)
            there = there if playbook is before else _kinds_in(playbook)
            gone |= frozenset(row.removes)
            back = sorted(there & gone)
            if back:
                raise BrokenPass(f"after {row.name} there is a {back[0]} again")
        observer.stage_ended(row.name, playbook)
    for node in sugar_in(playbook) if there else ():
        span: Span = getattr(node, "span")  # noqa: B009 - every sugar node has one
        record(
            Change("read", span, f"`{type(node).__name__.lower()}` here", "refused", "it means nothing at this place")
        )
    return without_placeholders(playbook) if gone else playbook


def is_asked_whole(playbook: Playbook) -> bool:
    """Whether some pass has to be run to know if it changes a playbook, whatever sugar there is."""
    return any(row.where is not None and row.where(playbook) for row in LOWERING)


def _kinds_in(playbook: Playbook) -> frozenset[str]:
    return frozenset(kind.__name__ for kind in sugar_kinds(playbook))
