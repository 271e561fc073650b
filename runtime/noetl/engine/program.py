"""A plan made ready to run: the net with its consumers by place, and expressions compiled when first asked.

Nothing here decides; it only finds. Transitions are found by their role and tables, as `noetl_ir.net` names them. Those
of a step stand together in the net, and what takes from a place is of the step of the place (`noetl_ir.assembly`, which
`verify` holds every plan against): so each step is indexed once it is asked for.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from noetl.engine.columns import Columns, field
from noetl_ir import evaluate
from noetl_ir.emptiness import Emptiness, together
from noetl_ir.expr import Json, Native, Template, entries_of
from noetl_ir.locks import lock_places, sections_of, takes_of, tests_of
from noetl_ir.plan import LoopEnd, LoopSignal, Plan
from noetl_ir.resets import Reset, resets_of
from noetl_ir.settling import Settled, settled_joins, settled_tests

if TYPE_CHECKING:
    from noetl_ir.plan_sources import SourcedPlan


class Missing(Exception):
    """The net has no such transition: the plan and the event do not belong together."""


# One transition for each phase of a pipeline that it can be taken out of.
_BY_PHASE = frozenset({"fault", "stop", "expire", "interrupt"})
_BY_TARGET = frozenset({"jump", "jump_later"})
_BY_ENDS = _BY_PHASE | _BY_TARGET
_ENTERING = frozenset({"enter", "meet", "arrive", "arrive_dead"})


NO_LOCKS: frozenset[str] = frozenset()

_UNKNOWN = -2
"""The first choice at a place whose step is not indexed yet."""

_Key = tuple[str, int, str]


class _Tables(dict[_Key, "array[int]"]):
    """By key, the first transition at each of `size` steps or tasks, -1 for none."""

    __slots__ = ("_none",)

    def __init__(self, size: int) -> None:
        super().__init__()
        self._none = array("i", [-1]) * size

    def __missing__(self, key: _Key) -> "array[int]":
        table = self[key] = self._none[:]
        return table


class Program:
    """A plan with its indices. Shared by all executions of the plan; compiled templates are the only thing that grows.

    `data` are the plan's bytes; `blocks` renders block templates, on a worker. `locks` are what a step takes,
    `run_locks` those of them that its run holds; the others are `sections`, each with where its steps hold it.
    `source` gives the text that the plan was compiled from, None where nobody has it; `sourced` the plans with sources
    that come into a store with it, where it was compiled as a run needed it.
    """

    __slots__ = (
        "_blocks",
        "_choices",
        "_columns",
        "_counting",
        "_entrances",
        "_first",
        "_guards",
        "_indexed",
        "_jumps",
        "_landings",
        "_loop_ends",
        "_loop_signals",
        "_of_steps",
        "_of_tasks",
        "_resets",
        "_settled",
        "_templates",
        "_tests",
        "bytes",
        "cancels",
        "compensations",
        "digest",
        "interrupts",
        "lock_places",
        "locks",
        "plan",
        "reducers",
        "run_locks",
        "sections",
        "source",
        "sourced",
        "step_numbers",
    )

    def __init__(self, plan: Plan, digest: str, data: bytes = b"", blocks: evaluate._Blocks | None = None) -> None:
        self.plan = plan
        self.source: Callable[[], bytes | None] = lambda: None
        self.sourced: Callable[[], Sequence[SourcedPlan]] = lambda: ()
        self.bytes = data
        self._blocks = blocks
        self.digest = digest
        self.cancels = dict(plan.cancels)
        self.compensations = {row.step: row for row in plan.compensations}
        self.reducers = {row.key: row.reduce for row in plan.reducers}
        self._templates: dict[int, Callable[[evaluate.Scope], Json]] = {}
        self._guards: dict[int, Callable[[evaluate.Scope], bool]] = {}
        self.step_numbers = {name: number for number, name in enumerate(field(plan.steps, 0, lambda step: step.name))}
        self._first = array("i", [_UNKNOWN]) * len(plan.net.places)
        self._choices: dict[int, tuple[int, ...]] = {}
        self._of_steps = _Tables(len(plan.steps))
        self._of_tasks = _Tables(len(plan.tasks))
        self._jumps: dict[tuple[_Key, int, int], int] = {}
        self._landings: dict[int, int] = {}
        self._entrances: dict[int, list[int]] = {}
        self._counting: tuple[int, ...] | None = None
        self._loop_ends = {(end.step, end.level): end for end in plan.loop_ends}
        self._loop_signals: dict[tuple[int, int], dict[str, LoopSignal]] = {}
        for row in plan.loop_signals:
            self._loop_signals.setdefault((row.step, row.level), {})[row.verb] = row
        self._columns: Columns | None = None
        self._resets: Mapping[int, Reset] | None = None
        self._tests: dict[int, Emptiness] | None = None
        self._settled: tuple[Settled, ...] | None = None
        self.locks = takes_of(plan)
        of_runs = {step: self.locks.get(step, NO_LOCKS) & {*names} for step, names in plan.locks}
        self.run_locks = {step: names for step, names in of_runs.items() if names}
        self.interrupts = {row.step: row for row in plan.interrupts}
        self.lock_places = lock_places(plan)
        self.sections = sections_of(plan)
        self._indexed = bytearray(len(plan.steps))

    @property
    def counting(self) -> tuple[int, ...]:
        """The steps with a counting join."""
        if self._counting is None:
            joins = field(self.plan.steps, 1, lambda step: step.join)
            self._counting = tuple(n for n, join in enumerate(joins) if join.mode == "count" and join.sources)
        return self._counting

    @property
    def columns(self) -> Columns:
        """The net by its columns; made for the first execution."""
        if self._columns is None:
            self._columns = Columns(self.plan.net)
            for number in (*self.resets, *self.tests):  # a firing that empties or tests places is no plain move
                self._columns.moves.targets[number] = -1
        return self._columns

    @property
    def tests(self) -> Mapping[int, Emptiness]:
        """Transition → the places that have to be empty; most plans have none."""
        if self._tests is None:
            self._tests = {number: together(tests) for number, tests in tests_of(self.plan).items()}
            if self.settled:
                self._tests.update(settled_tests(self.plan))
        return self._tests

    @property
    def settled(self) -> tuple[Settled, ...]:
        """The settled joins; most plans have none."""
        if self._settled is None:
            # The roles are there already: no row of the net is made to find that there is none.
            self._settled = settled_joins(self.plan) if "pick" in self.columns.places.roles else ()
        return self._settled

    @property
    def resets(self) -> Mapping[int, Reset]:
        """Transition → the places that it empties; most plans have none."""
        if self._resets is None:
            self._resets = resets_of(self.plan)
        return self._resets

    def _index(self, step: int) -> None:
        """Make the transitions of a step findable: by role, level and outcome among those of the step or of the task,
        jumps by the task that they lead to, `fault stop expire interrupt` by the phase that they leave.
        """
        if not 0 <= step < len(self._indexed) or self._indexed[step]:
            return
        columns = self.columns
        rows, sources = columns.transitions, columns.moves.sources
        # Found in the packed column, as the net has its transitions in the order of the steps.
        start = bisect_left(rows.steps, step)
        stop = bisect_right(rows.steps, step, start)
        # Written close together, and each column read once for all: a run through a chain does nothing else so often.
        fields = (rows.roles, rows.by_itself, rows.tasks, rows.levels, rows.outcomes, sources)
        stretch = zip(range(start, stop), *(column[start:stop] for column in fields), strict=True)
        for number, role, by_itself, task, level, outcome, source in stretch:
            if by_itself:
                for place in (source,) if source >= 0 else columns.sources(number):
                    self._choose(place, number)
            if role in _BY_ENDS:
                self._index_by_ends(number)
                continue
            if task >= 0:
                table, at = self._of_tasks[role, -1, outcome], task
            else:
                table, at = self._of_steps[role, level, outcome], step
                if role == "land":
                    self._landings[rows.arcs[number]] = number
                elif role in _ENTERING:
                    self._record_entrances(step, columns.sources(number))
            if table[at] < 0:
                table[at] = number
        self._indexed[step] = 1

    def _index_by_ends(self, number: int) -> None:
        """Make a transition findable by the task that it leads to, or by the phase that it leaves."""
        columns = self.columns
        places, rows = columns.places, columns.transitions
        role, task = rows.roles[number], rows.tasks[number]
        if role in _BY_TARGET:
            target = places.tasks[columns.targets(number)[0]]
            self._jumps.setdefault(((role, -1, rows.outcomes[number]), task, target), number)
            return
        phase = places.roles[columns.sources(number)[0]]
        table = self._of_tasks[f"{role}_{phase}", -1, ""]
        if table[task] < 0:
            table[task] = number

    def _record_entrances(self, step: int, sources: Sequence[int]) -> None:
        roles = self.columns.places.roles
        # Transitions come in file order of the sources, so this list does too.
        known = self._entrances.setdefault(step, [])
        # A source with two arcs into a join has one place; several transitions name it.
        known.extend(place for place in sources if roles[place] in ("in", "dead") and place not in known)

    def _choose(self, place: int, number: int) -> None:
        """Most places have one choice: only what more there are is kept as a list."""
        if self._first[place] < 0:
            self._first[place] = number
        else:
            self._choices[place] = (*self._choices.get(place, (self._first[place],)), number)

    def choices(self, place: int) -> tuple[int, ...]:
        """The transitions that may fire by themselves and take from a place, in the order of the net."""
        if self._first[place] == _UNKNOWN:
            self._index(self.columns.places.steps[place])
            self._first[place] = max(self._first[place], -1)
        many = self._choices.get(place)
        if many is not None:
            return many
        first = self._first[place]
        return (first,) if first >= 0 else ()

    def transition(
        self, role: str, step: int, task: int = -1, *, level: int = -1, outcome: str = "", target: int = -1
    ) -> int:
        """The index of the transition with this role; raises Missing."""
        if not 0 <= step < len(self._indexed) or not self._indexed[step]:
            self._index(step)
        key, found = (role, level, outcome), -1
        if target >= 0:
            found = self._jumps.get((key, task, target), -1)
        elif task >= 0:
            if (table := self._of_tasks.get(key)) is not None and task < len(table):
                found = table[task]
        elif (table := self._of_steps.get(key)) is not None and 0 <= step < len(table):
            found = table[step]
        if found < 0:
            name = self.plan.steps[step].name if 0 <= step < len(self.plan.steps) else "?"
            raise Missing(f"the net has no `{role} {outcome}` of step `{name}`, task {task}, level {level}")
        return found

    def parks(self, task: int) -> bool:
        """Whether a task waits for something that is not a tool."""
        self._index(self.plan.tasks[task].step if task < len(self.plan.tasks) else -1)
        table = self._of_tasks.get(("park", -1, ""))
        return table is not None and task < len(table) and table[task] >= 0

    def find(self, role: str, step: int) -> int:
        """The index of a step's transition with this role, -1 when it has none."""
        self._index(step)
        table = self._of_steps.get((role, -1, ""))
        return table[step] if table is not None and 0 <= step < len(table) else -1

    def idle_place(self, step: int) -> int:
        """The place that says a counting join is waiting for its wave, -1 for other joins."""
        if step not in self.counting:
            return -1
        return self.plan.net.transitions[self.transition("meet", step)].inputs[1].place

    def landing(self, arc: int) -> int:
        """The transition that lands the delayed token of an arc."""
        self._index(self.plan.arcs[arc].step)
        return self._landings[arc]

    def entrances(self, step: int) -> list[int]:
        """The places where tokens reach a step, in file order of their sources."""
        self._index(step)
        return self._entrances.get(step, [])

    def entry_place(self, step: int) -> int:
        """The place that the entry token of main or of a later phase comes to; raises Missing."""
        ids = ((place, self.plan.net.places[place].id) for place in self.entrances(step))
        found = next((place for place, name in ids if name.endswith(" @entry")), -1)
        if found < 0:
            raise Missing(f"nothing begins at step {step}")
        return found

    def loop_signals(self, step: int, level: int) -> dict[str, LoopSignal]:
        """The signals and timers that a loop level listens for, by what they do."""
        return self._loop_signals.get((step, level)) or {}

    def loop_end(self, step: int, level: int) -> LoopEnd | None:
        """How a loop level may end before its items are over; None where it may not."""
        return self._loop_ends.get((step, level))

    def iterators(self, step: int, levels: int) -> tuple[str, ...]:
        """The iterators of a step's outer `levels` loops, innermost first."""
        return tuple(loop.iterator for loop in reversed(self.plan.steps[step].loops[:levels]))

    def gives_result(self, task: int) -> bool:
        """Whether a task is a noop with `result`: a generated one replaces the step's result (LANGUAGE §2)."""
        row = self.plan.tasks[task]
        return (
            row.kind == "noop" and row.fields >= 0 and "result" in (entries_of(self.plan.templates[row.fields]) or ())
        )

    def value(self, index: int) -> Callable[[evaluate.Scope], Json]:
        """The compiled template at a pool index."""
        compiled = self._templates.get(index)
        if compiled is None:
            compiled = self._templates[index] = evaluate.compile_template(self.plan.templates[index], self._blocks)
        return compiled

    def part(self, template: Template) -> Callable[[evaluate.Scope], Json]:
        """The compiled form of a part of a template of the pool."""
        return evaluate.compile_template(template)

    def text(self, index: int) -> str:
        """A template of the pool as the author wrote it."""
        return getattr(self.plan.templates[index], "text", "")

    def guard(self, index: int) -> Callable[[evaluate.Scope], bool]:
        """The compiled guard at a pool index."""
        compiled = self._guards.get(index)
        if compiled is None:
            template = self.plan.templates[index]
            if not isinstance(template, Native):
                raise Missing(f"template {index} is no guard")
            compiled = self._guards[index] = evaluate.compile_guard(template.expr)
        return compiled
