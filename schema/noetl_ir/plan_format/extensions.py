"""The last section of plans of format 4 and later: a mapping with what the plan has of `EXTENSIONS`.

A plan has what its playbook uses and nothing else, so that another extension changes no plan that does not have it. A
name that this version does not know is refused: it would change what the plan means.
"""

from collections.abc import Callable
from typing import cast

from noetl_ir.expr import Json
from noetl_ir.plan import (
    EXTENSIONS,
    Cancel,
    Compensation,
    Concurrency,
    Input,
    Interrupt,
    IterationLimit,
    Locks,
    LoopEnd,
    LoopSignal,
    Phase,
    Plan,
    Reducer,
    SearchAttribute,
    Section,
    Terminate,
    extensions_of,
)
from noetl_ir.plan_format.columns import Malformed, Plain
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span


class _Form(NamedTuple):
    write: Callable[[object], Plain]
    read: Callable[[object], object]


def written_section(plan: Plan) -> dict[str, Plain]:
    """The section of a plan."""
    return {name: _FORMS[name].write(value) for name, value in extensions_of(plan).items()}


def read(section: object) -> dict[str, object]:
    """The fields of a plan that a section gives. Raises Malformed."""
    # An empty section is refused: the plan would be format 3, and have two forms.
    if not isinstance(section, dict) or not section:
        raise Malformed("the extensions are no mapping")
    for name in section:
        if name not in EXTENSIONS:
            raise Malformed(f"it has {str(name)[:40]!r}, which this version does not know")
    # In the order in which they are written: one plan has one form.
    if [*section] != [name for name in EXTENSIONS if name in section]:
        raise Malformed("the extensions are out of order")
    return {name: _FORMS[name].read(value) for name, value in section.items()}


def _listed(value: object, wrong: str) -> list[object]:
    """The rows of a table, which has one at least. Raises Malformed, saying what is `wrong`."""
    # Empty tables are not written, so that a plan has one form.
    if not isinstance(value, list) or not value:
        raise Malformed(wrong)
    return value


def _plain_rows(make: Callable[..., object], types: list[type], *, table: str, row: str) -> _Form:
    """The form of a table of rows that have one value of each of some types. `table` and `row` say what is wrong."""

    def write(value: object) -> Plain:
        return [list(each) for each in cast("tuple[tuple[Plain, ...], ...]", value)]

    def read_rows(value: object) -> tuple[object, ...]:
        found = []
        for each in _listed(value, table):
            # Exact types: a truth value is a number to Python.
            if not isinstance(each, list) or [*map(type, each)] != types:
                raise Malformed(row)
            found.append(make(*each))
        return tuple(found)

    return _Form(write, read_rows)


def _write_inputs(value: object) -> Plain:
    return [[name, required, schema, list(span)] for name, required, schema, span in cast("tuple[Input, ...]", value)]


def _read_inputs(value: object) -> tuple[Input, ...]:
    if not isinstance(value, list):
        raise Malformed("the inputs are no list")
    return tuple([_input(row) for row in value])


def _input(row: object) -> Input:
    match row:
        case [str(name), bool(required), dict(schema), [int(line), int(column), int(end_line), int(end_column)]]:
            return Input(name, required, cast("dict[str, Json]", schema), Span(line, column, end_line, end_column))
    raise Malformed("an input is damaged")


def _write_cancels(value: object) -> Plain:
    return [[step, list(targets)] for step, targets in cast("tuple[Cancel, ...]", value)]


def _write_locks(value: object) -> Plain:
    return [[step, list(names)] for step, names in cast("tuple[Locks, ...]", value)]


def _read_locks(value: object) -> tuple[Locks, ...]:
    return tuple([_locks(row) for row in _listed(value, "the locks are no list")])


def _locks(row: object) -> Locks:
    match row:
        case [int(step), list(names)] if type(step) is int and {*map(type, names)} == {str}:
            return Locks(step, tuple(names))
    raise Malformed("a step's locks are damaged")


def _write_sections(value: object) -> Plain:
    return [[step, name, list(through)] for step, name, through in cast("tuple[Section, ...]", value)]


def _read_sections(value: object) -> tuple[Section, ...]:
    return tuple([_section(row) for row in _listed(value, "the sections are no list")])


def _section(row: object) -> Section:
    match row:
        case [int(step), str(name), list(through)] if {*map(type, (step, *through))} == {int}:
            return Section(step, name, tuple(through))
    raise Malformed("a section is damaged")


def _read_cancels(value: object) -> tuple[Cancel, ...]:
    return tuple([_cancel(row) for row in _listed(value, "the cancellations are no list")])


def _cancel(row: object) -> Cancel:
    match row:
        case [int(step), list(targets)] if {*map(type, (step, *targets))} == {int}:
            return Cancel(step, tuple(targets))
    raise Malformed("a cancellation is damaged")


def _read_timeout(value: object) -> int:
    if type(value) is not int or value < 0:
        raise Malformed("the timeout is no template")
    return value


def _write_loop_signals(value: object) -> Plain:
    rows = cast("tuple[LoopSignal, ...]", value)
    return [[step, level, verb, list(events), timers] for step, level, verb, events, timers in rows]


def _read_loop_signals(value: object) -> tuple[LoopSignal, ...]:
    return tuple([_loop_signal(row) for row in _listed(value, "the signals of loops are no list")])


def _loop_signal(row: object) -> LoopSignal:
    if isinstance(row, list) and [*map(type, row)] == [int, int, str, list, int]:
        step, level, verb, events, timers = row
        if all(type(name) is str for name in events):
            return LoopSignal(step, level, verb, tuple(events), timers)
    raise Malformed("a signal of a loop is damaged")


def _write_interrupts(value: object) -> Plain:
    return [[step, list(events), timers] for step, events, timers in cast("tuple[Interrupt, ...]", value)]


def _read_interrupts(value: object) -> tuple[Interrupt, ...]:
    return tuple([_interrupt(row) for row in _listed(value, "the interrupts are no list")])


def _interrupt(row: object) -> Interrupt:
    if isinstance(row, list) and [*map(type, row)] == [int, list, int]:
        step, events, timers = row
        if all(type(name) is str for name in events):
            return Interrupt(step, tuple(events), timers)
    raise Malformed("an interrupt is damaged")


def _read_index(value: object) -> int:
    # A truth value is a number to Python.
    if type(value) is not int:
        raise Malformed("a number of a template is damaged")
    return value


def _read_causes(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise Malformed("the causes of compensation are no texts")
    return tuple(value)


def _read_concurrency(value: object) -> Concurrency:
    if not isinstance(value, list) or [*map(type, value)] != [int, int, str]:
        raise Malformed("the concurrency is damaged")
    return Concurrency(*value)


_FORMS = {
    "inputs": _Form(_write_inputs, _read_inputs),
    "terminates": _plain_rows(
        Terminate, [int, str], table="the terminations are no list", row="a termination is damaged"
    ),
    "timeout": _Form(lambda value: value, _read_timeout),
    "iteration_limits": _plain_rows(
        IterationLimit,
        [int, int, int],
        table="the limits of iterations are no list",
        row="a limit of iterations is damaged",
    ),
    "result": _Form(lambda value: value, _read_index),
    "phases": _plain_rows(Phase, [str, int], table="the phases are no list", row="a phase is damaged"),
    "after": _Form(lambda value: value, _read_index),
    "reducers": _plain_rows(Reducer, [str, str, int], table="the reducers are no list", row="a reducer is damaged"),
    "loop_ends": _plain_rows(
        LoopEnd, [int, int, int, str], table="the ends of loops are no list", row="an end of a loop is damaged"
    ),
    "compensations": _plain_rows(
        Compensation, [int, int, bool], table="the compensations are no list", row="a compensation is damaged"
    ),
    "compensate_on": _Form(lambda value: list(cast("tuple[str, ...]", value)), _read_causes),
    "cancels": _Form(_write_cancels, _read_cancels),
    "concurrency": _Form(lambda value: list(cast("Concurrency", value)), _read_concurrency),
    "loop_signals": _Form(_write_loop_signals, _read_loop_signals),
    "locks": _Form(_write_locks, _read_locks),
    "interrupts": _Form(_write_interrupts, _read_interrupts),
    "sections": _Form(_write_sections, _read_sections),
    "labels": _plain_rows(
        lambda name, text: (name, text), [str, str], table="the labels are no list", row="a label is damaged"
    ),
    "search": _plain_rows(
        SearchAttribute,
        [str, str, int],
        table="the search attributes are no list",
        row="a search attribute is damaged",
    ),
}
