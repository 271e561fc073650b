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
    IterationLimit,
    Locks,
    LoopEnd,
    LoopSignal,
    Phase,
    Plan,
    Reducer,
    Terminate,
    extensions_of,
)
from noetl_ir.plan_format.columns import Malformed, Plain
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span


class _Form(NamedTuple):
    write: Callable[[object], Plain]
    read: Callable[[object], object]


def written(plan: Plan) -> dict[str, Plain]:
    """The section of a plan."""
    return {name: _FORMS[name].write(value) for name, value in extensions_of(plan).items()}


def read(section: object) -> dict[str, object]:
    """The fields of a plan that a section gives. Raises Malformed."""
    if not isinstance(section, dict) or not section:
        raise Malformed("the extensions are no mapping")
    for name in section:
        if name not in EXTENSIONS:
            raise Malformed(f"it has {str(name)[:40]!r}, which this version does not know")
    # In the order in which they are written: one plan has one form.
    if [*section] != [name for name in EXTENSIONS if name in section]:
        raise Malformed("the extensions are out of order")
    return {name: _FORMS[name].read(value) for name, value in section.items()}


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


def _write_terminates(value: object) -> Plain:
    return [[step, status] for step, status in cast("tuple[Terminate, ...]", value)]


def _read_terminates(value: object) -> tuple[Terminate, ...]:
    if not isinstance(value, list) or not value:
        raise Malformed("the terminations are no list")
    return tuple([_terminate(row) for row in value])


def _terminate(row: object) -> Terminate:
    match row:
        case [int(step), str(status)] if type(step) is int:
            return Terminate(step, status)
    raise Malformed("a termination is damaged")


def _write_cancels(value: object) -> Plain:
    return [[step, list(targets)] for step, targets in cast("tuple[Cancel, ...]", value)]


def _write_locks(value: object) -> Plain:
    return [[step, list(names)] for step, names in cast("tuple[Locks, ...]", value)]


def _read_locks(value: object) -> tuple[Locks, ...]:
    if not isinstance(value, list) or not value:
        raise Malformed("the locks are no list")
    return tuple([_locks(row) for row in value])


def _locks(row: object) -> Locks:
    match row:
        case [int(step), list(names)] if type(step) is int and {*map(type, names)} == {str}:
            return Locks(step, tuple(names))
    raise Malformed("a step's locks are damaged")


def _read_cancels(value: object) -> tuple[Cancel, ...]:
    if not isinstance(value, list) or not value:
        raise Malformed("the cancellations are no list")
    return tuple([_cancel(row) for row in value])


def _cancel(row: object) -> Cancel:
    match row:
        case [int(step), list(targets)] if {*map(type, (step, *targets))} == {int}:
            return Cancel(step, tuple(targets))
    raise Malformed("a cancellation is damaged")


def _read_timeout(value: object) -> int:
    if type(value) is not int or value < 0:
        raise Malformed("the timeout is no template")
    return value


def _write_rows(value: object) -> Plain:
    return [list(row) for row in cast("tuple[IterationLimit | LoopEnd, ...]", value)]


def _read_limits(value: object) -> tuple[IterationLimit, ...]:
    if not isinstance(value, list) or not value:
        raise Malformed("the limits of iterations are no list")
    for row in value:
        if not isinstance(row, list) or [*map(type, row)] != [int, int, int]:
            raise Malformed("a limit of iterations is damaged")
    return tuple([IterationLimit(*row) for row in value])


def _read_loop_ends(value: object) -> tuple[LoopEnd, ...]:
    if not isinstance(value, list) or not value:
        raise Malformed("the ends of loops are no list")
    for row in value:
        if not isinstance(row, list) or [*map(type, row)] != [int, int, int, str]:
            raise Malformed("an end of a loop is damaged")
    return tuple([LoopEnd(*row) for row in value])


def _write_loop_signals(value: object) -> Plain:
    rows = cast("tuple[LoopSignal, ...]", value)
    return [[step, level, verb, list(events), timers] for step, level, verb, events, timers in rows]


def _read_loop_signals(value: object) -> tuple[LoopSignal, ...]:
    if not isinstance(value, list) or not value:
        raise Malformed("the signals of loops are no list")
    for row in value:
        if not isinstance(row, list) or [*map(type, row)] != [int, int, str, list, int]:
            raise Malformed("a signal of a loop is damaged")
        if not all(type(name) is str for name in row[3]):
            raise Malformed("a signal of a loop is damaged")
    return tuple([LoopSignal(step, level, verb, tuple(events), timers) for step, level, verb, events, timers in value])


def _read_index(value: object) -> int:
    # A truth value is a number to Python.
    if type(value) is not int:
        raise Malformed("a number of a template is damaged")
    return value


def _write_phases(value: object) -> Plain:
    return [list(row) for row in cast("tuple[Phase, ...]", value)]


def _read_phases(value: object) -> tuple[Phase, ...]:
    if not isinstance(value, list) or not value:
        raise Malformed("the phases are no list")
    return tuple([_phase(row) for row in value])


def _phase(row: object) -> Phase:
    match row:
        case [str(name), int(step)] if type(step) is int:
            return Phase(name, step)
    raise Malformed("a phase is damaged")


def _write_reducers(value: object) -> Plain:
    return [list(row) for row in cast("tuple[Reducer, ...]", value)]


def _read_reducers(value: object) -> tuple[Reducer, ...]:
    if not isinstance(value, list) or not value:
        raise Malformed("the reducers are no list")
    for row in value:
        if not isinstance(row, list) or [*map(type, row)] != [str, str, int]:
            raise Malformed("a reducer is damaged")
    return tuple([Reducer(*row) for row in value])


def _read_compensations(value: object) -> tuple[Compensation, ...]:
    if not isinstance(value, list) or not value:
        raise Malformed("the compensations are no list")
    for row in value:
        if not isinstance(row, list) or [*map(type, row)] != [int, int, bool]:
            raise Malformed("a compensation is damaged")
    return tuple([Compensation(*row) for row in value])


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
    "terminates": _Form(_write_terminates, _read_terminates),
    "timeout": _Form(lambda value: value, _read_timeout),
    "iteration_limits": _Form(_write_rows, _read_limits),
    "result": _Form(lambda value: value, _read_index),
    "phases": _Form(_write_phases, _read_phases),
    "after": _Form(lambda value: value, _read_index),
    "reducers": _Form(_write_reducers, _read_reducers),
    "loop_ends": _Form(_write_rows, _read_loop_ends),
    "compensations": _Form(_write_rows, _read_compensations),
    "compensate_on": _Form(lambda value: list(cast("tuple[str, ...]", value)), _read_causes),
    "cancels": _Form(_write_cancels, _read_cancels),
    "concurrency": _Form(lambda value: list(cast("Concurrency", value)), _read_concurrency),
    "loop_signals": _Form(_write_loop_signals, _read_loop_signals),
    "locks": _Form(_write_locks, _read_locks),
}
