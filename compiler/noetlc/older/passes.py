"""The order of lowering, and the loop that runs it: sugar of today and of older dialects to canonical form.

A pass is a row of a table. The order is written there and checked, never solved: `after` names passes, and a test
holds the table to it. The loop, and only the loop, tells the observer and checks what must hold between passes: sugar
that a pass removes never comes back.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Protocol

from noetl_ir import registry
from noetl_ir.rows import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.bodies import Choose, Until, While
from noetlc.ast.placeholders import without_placeholders
from noetlc.ast.playbook import Playbook
from noetlc.ast.sugar import Sugar
from noetlc.ast.walk import sugar_in, sugar_kinds
from noetlc.diag.change import Change, Note
from noetlc.older.case.nodes import Case, CaseSetting
from noetlc.older.loop_nodes import Cursor, EndLoop, Frame, LoopOnError, Slicing, Where
from noetlc.older.name_nodes import AskedLists, OldBlocks, OldNames, OldRequest, OldSecrets
from noetlc.older.repeat_nodes import OnError, Pages, Poll, Retry
from noetlc.older.sink_nodes import Sink
from noetlc.older.skip_nodes import Skip
from noetlc.older.state_nodes import ArcSet, Assign, Result, RootVars, StepArgs, StepSet
from noetlc.older.target_nodes import FirstEntry, ImplicitEnd, Targets

OLDER, CASE, TODAY = "noetlc.older", "noetlc.older.case", "noetlc.lower"
"""The packages that passes stand in."""


class Observer(Protocol):
    """Told of every pass."""

    def begun(self, stage: str) -> None: ...
    def ended(self, stage: str, result: Playbook | None) -> None: ...


class BrokenPass(AssertionError):
    """A pass did what none may do: an error of ours."""


class Lowering(NamedTuple):
    """A row of `LOWERING`: `fn` maps a playbook to itself and notes its changes.

    `removes` are the sugar nodes that are gone after it. Where none of them, nor of `among`, is in a playbook, the
    pass has nothing to do and is not run.
    """

    fn: Callable[[Playbook, Note], Playbook]
    removes: tuple[type[Sugar], ...] = ()
    after: tuple[str, ...] = ()
    among: tuple[type[Sugar], ...] = ()

    @property
    def name(self) -> str:
        """What `dump --after` and notes call it."""
        return self.fn.__name__


def _part(name: str, package: str = OLDER) -> Callable[[Playbook, Note], Playbook]:
    """The pass that the module `name` of a package exports under that name, imported when it has something to do:
    canonical playbooks start sooner.
    """

    def run(playbook: Playbook, note: Note) -> Playbook:
        return registry.load(package, name, name, FunctionType)(playbook, note)  # type: ignore[no-any-return]

    run.__name__ = name
    return run


LOWERING: tuple[Lowering, ...] = (
    Lowering(_part("complete_http_paths")),
    Lowering(_part("share_workbook"), among=(Sink, Retry, Pages, Poll, Assign, OnError)),
    Lowering(_part("lower_args"), removes=(StepArgs,)),
    Lowering(_part("lower_loop"), removes=(Slicing, Where, LoopOnError), among=(Pages,)),
    Lowering(_part("lower_event_case", CASE), among=(Case, CaseSetting)),
    Lowering(_part("lower_retry"), removes=(Retry, OnError), among=(Pages, Poll, Case)),
    Lowering(_part("lower_poll"), removes=(Poll,), after=("lower_retry",)),
    Lowering(_part("lower_pages"), removes=(Pages,), after=("lower_retry",)),
    Lowering(_part("lower_vars"), removes=(Assign,), after=("lower_retry", "lower_poll")),
    Lowering(_part("lower_sink"), removes=(Sink,), after=("lower_vars",)),
    Lowering(
        _part("lower_inclusive_case", CASE),
        after=("lower_retry", "lower_sink", "lower_event_case"),
        among=(Case,),
    ),
    Lowering(_part("lower_case", CASE), removes=(Case, CaseSetting), after=("lower_inclusive_case",)),
    Lowering(_part("lower_next"), removes=(Targets,), after=("lower_case",)),
    Lowering(_part("lower_set"), removes=(StepSet, Result, ArcSet), after=("lower_sink", "lower_next")),
    Lowering(_part("lower_cursor"), removes=(Cursor, Frame), after=("lower_case", "lower_sink")),
    Lowering(_part("lower_root_vars"), removes=(RootVars,), after=("lower_vars", "lower_case", "lower_set")),
    Lowering(_part("lower_skip"), removes=(Skip,), after=("lower_set",)),
    Lowering(_part("enter_sugar", TODAY), among=(Choose, While, Until)),
    Lowering(_part("lower_choose", TODAY), removes=(Choose,), after=("enter_sugar",)),
    Lowering(_part("lower_until", TODAY), removes=(Until,), after=("enter_sugar",)),
    Lowering(_part("lower_while", TODAY), removes=(While,), after=("enter_sugar",)),
    Lowering(
        _part("lower_end_loop"), removes=(EndLoop,), after=("lower_next", "lower_set", "lower_skip", "lower_while")
    ),
    Lowering(_part("lower_entry"), removes=(FirstEntry,)),
    Lowering(_part("lower_end"), removes=(ImplicitEnd,), after=("lower_next", "lower_sink")),
    Lowering(_part("lower_blocks"), removes=(OldBlocks,), after=("lower_next", "lower_set", "lower_skip", "lower_end")),
    Lowering(
        _part("name_request"),
        removes=(OldRequest,),
        after=("lower_sink", "lower_set", "lower_root_vars", "lower_until", "lower_while"),
    ),
    Lowering(_part("lower_env"), after=("name_request",), among=(OldSecrets,)),
    Lowering(_part("lower_secrets"), removes=(OldSecrets,), after=("lower_root_vars", "lower_until", "lower_while")),
    Lowering(_part("rename_names"), removes=(OldNames,), after=("lower_next", "lower_until", "lower_while")),
    Lowering(_part("bind_lists"), removes=(AskedLists,), after=("lower_args", "rename_names")),
)
"""Playbook to playbook, sugar to canonical form."""

AUTHORING = frozenset({"lower_choose", "lower_while", "lower_until"})
"""Passes for what people write today: their changes are no notes."""


def lowered(playbook: Playbook, note: Note, observer: Observer) -> Playbook:
    """The playbook after all passes; without any sugar, itself."""
    there, gone = sugar_kinds(playbook), frozenset[type[Sugar]]()
    for row in LOWERING:
        concerned = {*row.removes, *row.among}
        observer.begun(row.name)
        if there & concerned or not concerned:
            before, playbook = playbook, row.fn(playbook, note)
            there = there if playbook is before else sugar_kinds(playbook)
            gone |= frozenset(row.removes)
            back = sorted(kind.__name__ for kind in there & gone)
            if back:
                raise BrokenPass(f"after {row.name} there is a {back[0]} again")
        observer.ended(row.name, playbook)
    for node in sugar_in(playbook) if there else ():
        span: Span = getattr(node, "span")  # noqa: B009 - every sugar node has one
        note(Change("read", span, f"`{type(node).__name__.lower()}` here", "refused", "no pass takes it at this place"))
    return without_placeholders(playbook) if gone else playbook
