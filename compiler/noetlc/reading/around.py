"""Declarations around an expression: the names that a step's expressions may use bare."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from noetl_ir.expr import Native, Template
from noetl_ir.paths import static_path
from noetl_ir.records import NamedTuple
from noetlc.ast.playbook import Playbook, Step, Task
from noetlc.ast.walk import loops_of, tasks_in
from noetlc.ast.workbook import pairs_of, workbook_name
from noetlc.ast.workload import workload_names
from noetlc.expr.check import Names
from noetlc.expr.paths import Access


class WorkbookEntry(NamedTuple):
    """An entry of the workbook, with the names that are known wherever it is called.

    `is_idle` says that nothing calls it. `overruled` are the keys of its own args that every call gives: their values
    in the entry are never used.
    """

    task: Task
    names: Names
    is_idle: bool
    overruled: frozenset[str]


class Around:
    """The names that are declared around expressions of a playbook; what steps have in common is computed once."""

    # Always compared by `is`, so that no key of a playbook can be taken for it.
    ANYTHING: frozenset[str] = frozenset({"*"})
    """Stands for the keys of args that are computed, so that any key may be among them."""

    def __init__(self, playbook: Playbook) -> None:
        tasks = [task for step in playbook.steps for task in step.tasks]
        written = frozenset(key for task in tasks for rule in task.rules for key, _ in rule.set_ctx)
        written |= {one.key for one in playbook.executor.reducers}
        self._outside = Names(
            steps=frozenset(step.name for step in playbook.steps),
            ctx=written,
            workload=workload_names(playbook),
        )
        into = _ways_into(playbook)
        # Made once for all steps, since every task of a step asks for them.
        self._arriving = {name: _union(_keys(made, step, into) for step, made in arcs) for name, arcs in into.items()}
        others, unknown = _others(into)
        self._alike = {
            name: frozenset() if name in unknown else frozenset(keys - others.get(name, set()))
            for name, keys in self._arriving.items()
        }
        self._playbook = playbook

    def outside(self) -> Names:
        """The names outside of any step."""
        return self._outside

    def names(self, step: Step) -> Names:
        """The names in the tasks of a step."""
        loops = loops_of(step)
        # Keys of any rule count, whether or not it ran: whether a key is surely set is for the lint rules to say.
        scratch = [key for task in step.tasks for rule in task.rules for key, _ in rule.set_iter]
        return self._outside._replace(
            iterators=tuple(loop.iterator for loop in reversed(loops)),
            tasks=frozenset([task.name for task in step.tasks]),
            args=self._arriving.get(step.name, frozenset()),
            alike=self._alike.get(step.name, frozenset()),
            iter=frozenset(scratch),
            step=step.name,
        )

    def entries(self) -> Iterator[WorkbookEntry]:
        """The entries of the workbook. A name is known in an entry if it is known at one of its calls, by the args of
        the call or in the step around it.
        """
        calls = self._calls()
        called: dict[str, frozenset[str]] = {}
        loops: dict[str, list[tuple[str, ...]]] = {}
        differ: dict[str, set[str]] = {}
        for step in self._playbook.steps:
            for task in step.tasks:
                if (name := workbook_name(task)) is not None:
                    names = self.names(step)
                    bare = _union([names.args, names.tasks, names.iter, frozenset(names.iterators), _arg_keys(task)])
                    called[name] = _union([called.get(name, frozenset()), bare])
                    pairs = pairs_of(task.args.template) if task.args is not None else None
                    alike = {key for key, value in (pairs or {}).items() if says_itself(key, value)}
                    # An arg of the call hides the arg of the same name that an arc brought.
                    alike |= names.alike - set(pairs or ())
                    differ.setdefault(name, set()).update(bare - alike)
                    loops.setdefault(name, []).append(names.iterators)
        for _ in self._playbook.workbook:  # an entry may stand for another
            for own, task in self._playbook.workbook:
                # Each round carries names one call further. As many rounds as there are entries are enough, in
                # whatever order they stand in the file.
                if own in called and (name := workbook_name(task)) is not None:
                    called[name] = _union([called.get(name, frozenset()), called[own], _arg_keys(task)])
                    differ.setdefault(name, set()).update(called[name])
        for name, task in self._playbook.workbook:
            levels = loops.get(name, [()])
            iterators = levels[0] if all(levels) else ()  # `iter.index` is there where all that call it are loops
            args = called.get(name, frozenset())
            same = args - differ.get(name, set())
            names = self._outside._replace(args=args, iterators=iterators, alike=same)
            callers = calls.get(name, calls.get("", []))
            overruled = frozenset[str].intersection(*callers) if callers else frozenset[str]()
            yield WorkbookEntry(task, names, not callers, overruled)

    def _calls(self) -> dict[str, list[frozenset[str]]]:
        """Entry → for each of its calls the keys of the args that it gives; a call of a computed name stands under "".

        Calls in entries count even if nothing calls these entries.
        """
        found: dict[str, list[frozenset[str]]] = {}
        for task in tasks_in(self._playbook):
            if (name := workbook_name(task)) is not None:
                keys = _arg_keys(task)
                # Computed args bring no key for certain, so that they overrule nothing.
                found.setdefault(name, []).append(frozenset() if keys is Around.ANYTHING else keys)
        return found


def _arg_keys(task: Task) -> frozenset[str]:
    """The keys of a task's args; `Around.ANYTHING` where they are computed."""
    if task.args is None:
        return frozenset()
    pairs = pairs_of(task.args.template)
    return Around.ANYTHING if pairs is None else frozenset(pairs)


_Into: TypeAlias = dict[str, list[tuple[Step, Template]]]
"""Step → the steps with arcs to it, and the args that these give."""


def _ways_into(playbook: Playbook) -> _Into:
    into: _Into = {}
    for step in playbook.steps:
        for arc in step.router.arcs if step.router is not None else ():
            if arc.args is not None:
                into.setdefault(arc.target, []).append((step, arc.args.template))
    return into


def says_itself(key: str, template: Template | None) -> bool:
    """Whether an arg only passes on a value of its own name: `k`, `workload.k` or `args.k`."""
    return isinstance(template, Native) and static_path(template.expr) in ((key,), ("workload", key), ("args", key))


def _others(into: _Into) -> tuple[dict[str, set[str]], set[str]]:
    """(Step → the args that may have another value there than the bare name has without the arg, the steps at which
    nothing is known about any arg).
    """
    found: dict[str, set[str]] = {}
    unknown: set[str] = set()
    passing: dict[str, list[tuple[str, str | None]]] = {}
    for name, arcs in into.items():
        for step, template in arcs:
            pairs = pairs_of(template)
            if pairs is None:
                # `args: "{{ args }}"` hands the token's args on whole.
                if isinstance(template, Native) and static_path(template.expr) == ("args",):
                    passing.setdefault(step.name, []).append((name, None))
                else:
                    unknown.add(name)
                continue
            for key, value in pairs.items():
                if says_itself(key, value):
                    passing.setdefault(step.name, []).append((name, key))
                else:
                    found.setdefault(name, set()).add(key)
    # An arg with another value keeps it wherever it is passed on. A step is looked at again only when its set grew, so
    # that the work is linear in the arcs, and circles end.
    waiting = [*found, *unknown]
    while waiting:
        name = waiting.pop()
        for target, passed in passing.get(name, ()):
            here = found.setdefault(target, set())
            if passed is None and name in unknown and target not in unknown:
                unknown.add(target)
                waiting.append(target)
            if passed is None:
                new = found.get(name, set()) - here
            else:
                new = {passed} - here if name in unknown or passed in found.get(name, ()) else set()
            if new:
                here |= new
                waiting.append(target)
    return found, unknown


def step_read(access: Access, names: Names, when: str) -> str:
    """The step whose result is read `before` the tasks of a step, by a `task` or an `arc`; "" where the name means
    something else.
    """
    name = access.root.name
    if name == "steps":
        return str(access.keys[0]) if access.keys else ""
    stronger = [names.args, names.ctx, names.workload, *([] if when == "before" else [names.iter])]
    if names.args is Around.ANYTHING or any(name in keys for keys in stronger):
        return ""
    # Tasks and iterators hide a step of their name in the pipeline only.
    return "" if when == "task" and (name in names.tasks or name in names.iterators) else name


def _keys(template: Template, step: Step, into: _Into, seen: frozenset[str] = frozenset()) -> frozenset[str]:
    """The keys of the args that an arc of a step gives; for a generated step that passes its args on, those it is
    given.

    `seen` are the generated steps that were passed already.
    """
    pairs = pairs_of(template)
    if pairs is not None:
        return frozenset(pairs)
    here = static_path(template.expr) if isinstance(template, Native) else ()
    from noetlc.expr.generated import PREFIX  # most arcs pass no args on

    # Only generated steps are looked through: of an author's own expression nobody knows which keys it gives.
    if here[:1] != ("args",) or len(here) > 2 or not step.name.startswith(PREFIX) or step.name in seen:
        return Around.ANYTHING
    arcs, seen = into.get(step.name, []), seen | {step.name}
    if len(here) == 1:
        return _union(_keys(brought, source, into, seen) for source, brought in arcs)
    found = [(source, (pairs_of(brought) or {}).get(here[1])) for source, brought in arcs]
    return _union(Around.ANYTHING if under is None else _keys(under, source, into, seen) for source, under in found)


def _union(parts: Iterable[frozenset[str]]) -> frozenset[str]:
    found = list(parts)
    if any(part is Around.ANYTHING for part in found):
        return Around.ANYTHING
    return frozenset[str]().union(*found)
