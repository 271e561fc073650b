"""The facts of a plan, one fact for each thing that can be changed: an address of names, a value as text, and a class.

Two plans that say the same have the same facts, whatever the order of their steps, the writing of their expressions and
the places in their files. A value is told to people, and compared as text.

    run       what can happen: steps, tasks, arcs, guards, joins, gates, bounds
    data      what is computed: fields, arguments, workload, what rules set
    cosmetic  without any effect: the name
"""

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import TypeAlias

from noetl_ir.expr import Block, ListTemplate, Literal, MapTemplate, Native, Template, Text
from noetl_ir.kinds import seconds_of
from noetl_ir.plan import Arc, Interrupt, Join, Limits, Loop, LoopSignal, Plan, Rule, Step, Task
from noetl_ir.records import NamedTuple
from noetl_ir.span import NOWHERE, Span
from noetl_ir.words import CAUSES
from noetlc.expr.unparse import unparse


class Class(StrEnum):
    """The subjects of a difference, the heaviest first."""

    RUN = "run"
    RESUME = "resume"
    DATA = "data"
    COSMETIC = "cosmetic"


FactAddress: TypeAlias = tuple[str, ...]
"""The names that lead to something, each with its word: `("step fetch", "task get", "url")`."""


class Fact(NamedTuple):
    """One thing that a plan says. `value` is "" where there is nothing to say but that it is there."""

    klass: Class
    value: str
    span: Span


def facts_of(plan: Plan) -> dict[FactAddress, Fact]:
    """The facts of a plan, in its order."""
    return dict(_Facts(plan).all())


def template_text(template: Template) -> str:
    """A template as canonical text: equal where the values are."""
    match template:
        case Literal(value=value):
            return json.dumps(value, ensure_ascii=False)
        case Native(expr=expr):
            return f"{{{{ {unparse(expr)} }}}}"
        case Text(parts=parts):
            return "".join(part if isinstance(part, str) else f"{{{{ {unparse(part)} }}}}" for part in parts)
        case Block(text=text):
            return text
        case MapTemplate(items=items):
            return "{" + ", ".join(f"{key}: {template_text(value)}" for key, value in items) + "}"
        case ListTemplate(items=entries):
            return "[" + ", ".join(template_text(entry) for entry in entries) + "]"


def duration_text(template: Template) -> str:
    """A duration, in whatever unit it is written."""
    seconds = seconds_of(template.value) if isinstance(template, Literal) else None
    return template_text(template) if seconds is None else f"{seconds:g} s"


class _Facts:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._ends = dict(plan.terminates)
        self._undone = {
            step: f"{plan.steps[target].name}{', also where it only started' if started else ''}"
            for step, target, started in plan.compensations
        }
        self._cancelled = {step: ", ".join(plan.steps[each].name for each in targets) for step, targets in plan.cancels}
        locks = {step: [*names] for step, names in plan.locks}
        for step, name, through in plan.sections:
            told = ", ".join(plan.steps[each].name for each in through)
            locks.setdefault(step, []).append(f"{name} through {told}")
        self._locks = {step: ", ".join(names) for step, names in locks.items()}
        self._interrupts = {row.step: self._heard(row) for row in plan.interrupts}
        self._limits = {(step, level): timeout for step, level, timeout in plan.iteration_limits}
        self._loop_ends = {(step, level): (enough, rest) for step, level, enough, rest in plan.loop_ends}
        self._loop_signals: dict[tuple[int, int], list[LoopSignal]] = {}
        for heard in plan.loop_signals:
            self._loop_signals.setdefault((heard.step, heard.level), []).append(heard)
        transitions = plan.net.transitions
        self._guards = {t.arc: t.guard for t in transitions if t.role == "take" and not t.id.startswith("take+")}
        self._gates = {t.step: (t.guard, t.span) for t in transitions if t.role == "admit" and t.guard >= 0}

    def all(self) -> Iterator[tuple[FactAddress, Fact]]:
        plan = self._plan
        yield ("name",), Fact(Class.COSMETIC, plan.name, NOWHERE)
        yield ("path",), Fact(Class.RUN, plan.path, NOWHERE)
        yield ("first step",), Fact(Class.RUN, plan.steps[plan.entry].name, plan.steps[plan.entry].span)
        for name, bound in zip(Limits._fields, plan.limits, strict=True):
            yield (f"limit {name}",), Fact(Class.RUN, str(bound), NOWHERE)
        if plan.timeout >= 0:
            yield ("timeout",), Fact(Class.RUN, self._time(plan.timeout), NOWHERE)
        if plan.compensate_on != CAUSES:
            yield ("compensation after",), Fact(Class.RUN, ", ".join(plan.compensate_on), NOWHERE)
        for phase in plan.phases:
            yield (phase.name,), Fact(Class.RUN, plan.steps[phase.step].name, plan.steps[phase.step].span)
        if plan.after >= 0:
            yield ("timeout of phases behind main",), Fact(Class.RUN, self._time(plan.after), NOWHERE)
        yield ("best effort",), Fact(Class.RUN, str(plan.best_effort), NOWHERE)
        yield ("executor",), Fact(Class.DATA, json.dumps(plan.executor, sort_keys=True), NOWHERE)
        yield from self._parts((), "workload ", plan.workload, NOWHERE)
        if plan.result >= 0:
            span = plan.template_spans[plan.result]
            yield ("result",), Fact(Class.DATA, template_text(plan.templates[plan.result]), span)
        if (place := plan.concurrency) is not None:
            key = template_text(plan.templates[place.key])
            text = f"{place.limit} at once under {key}, else {place.on_conflict}"
            yield ("concurrency",), Fact(Class.RUN, text, plan.template_spans[place.key])
        for name, text in plan.labels:
            yield (f"label {name}",), Fact(Class.COSMETIC, text, NOWHERE)
        for sought in plan.search:
            text = f"{template_text(plan.templates[sought.value])}, a {sought.type}"
            yield (f"search attribute {sought.name}",), Fact(Class.COSMETIC, text, plan.template_spans[sought.value])
        for row in plan.reducers:
            initial = f" from {template_text(plan.templates[row.initial])}" if row.initial >= 0 else ""
            yield (f"reducer {row.key}",), Fact(Class.DATA, f"{row.reduce}{initial}", NOWHERE)
        for one in plan.inputs or ():
            said = json.dumps(one.schema, sort_keys=True, ensure_ascii=False)
            yield (f"input {one.name}",), Fact(Class.DATA, f"{'required ' if one.required else ''}{said}", one.span)
        if plan.inputs is not None:
            yield ("inputs",), Fact(Class.DATA, "only those that are declared", NOWHERE)
        for entry in plan.keychain:
            value = f"{entry.kind} {self._text(entry.fields)}".strip()
            yield (f"credential {entry.name}",), Fact(Class.DATA, value, entry.span)
        for child in plan.children:
            yield (f"child {child.path}",), Fact(Class.RUN, child.digest, NOWHERE)
        for number, step in enumerate(plan.steps):
            yield from self._step(number, step)

    def _step(self, number: int, step: Step) -> Iterator[tuple[FactAddress, Fact]]:
        at = (f"step {step.name}",)
        yield at, Fact(Class.RUN, "", step.span)
        yield (*at, "join"), Fact(Class.RUN, join_text(step.join), step.span)
        for what, rows in (
            ("cancels", self._cancelled),
            ("locks", self._locks),
            ("is interrupted by", self._interrupts),
        ):
            if number in rows:
                yield (*at, what), Fact(Class.RUN, rows[number], step.span)
        guard, span = self._gates.get(number, (-1, None))
        if step.gated or step.waits:
            waits = "waits for " if step.waits else ""
            yield (*at, "gate"), Fact(Class.RUN, f"{waits}{self._text(guard) or 'always'}", span or step.span)
        for level, loop in enumerate(step.loops):
            name = f"loop {level + 1}" if level else "loop"
            yield from self._loop((*at, name), loop)
            if (number, level) in self._limits:
                yield (*at, name, "timeout"), Fact(Class.RUN, self._time(self._limits[number, level]), loop.span)
            for heard in self._loop_signals.get((number, level), ()):
                yield (*at, name, heard.verb), Fact(Class.RUN, self._heard(heard), loop.span)
            if (number, level) in self._loop_ends:
                enough, rest = self._loop_ends[number, level]
                if enough >= 0:  # one that is only completed from outside is never asked
                    yield (*at, name, "enough"), Fact(Class.RUN, self._text(enough), loop.span)
                yield (*at, name, "rest"), Fact(Class.RUN, rest, loop.span)
        if step.timeout >= 0:
            yield (*at, "timeout"), Fact(Class.RUN, self._time(step.timeout), step.span)
        yield (*at, "best effort"), Fact(Class.RUN, str(step.best_effort), step.span)
        if number in self._undone:
            yield (*at, "is undone by"), Fact(Class.RUN, self._undone[number], step.span)
        if number in self._ends:
            yield (*at, "ends the execution"), Fact(Class.RUN, self._ends[number], step.span)
        yield (*at, "pool"), Fact(Class.DATA, step.pool, step.span)
        tasks = [self._plan.tasks[index] for index in step.tasks]
        yield (*at, "order of tasks"), Fact(Class.RUN, ", ".join(task.name for task in tasks), step.span)
        for task in tasks:
            yield from self._task((*at, f"task {task.name}"), task)
        yield from self._arcs(at, step)

    def _heard(self, row: LoopSignal | Interrupt) -> str:
        events = ", ".join(sorted(row.events)) or "no signal"
        return f"{events}, timers {self._text(row.timers)}" if row.timers >= 0 else events

    def _loop(self, at: FactAddress, loop: Loop) -> Iterator[tuple[FactAddress, Fact]]:
        mode = "one after the other" if loop.sequential else f"at once, at most {self._text(loop.in_flight) or 'all'}"
        yield at, Fact(Class.RUN, "", loop.span)
        yield (*at, "iterations"), Fact(Class.RUN, mode, loop.span)
        yield (*at, "items"), Fact(Class.DATA, self._text(loop.items), loop.span)
        yield (*at, "iterator"), Fact(Class.DATA, loop.iterator, loop.span)
        yield (*at, "exec"), Fact(Class.DATA, loop.exec, loop.span)

    def _task(self, at: FactAddress, task: Task) -> Iterator[tuple[FactAddress, Fact]]:
        yield at, Fact(Class.RUN, "", task.span)
        yield (*at, "kind"), Fact(Class.RUN, task.kind, task.span)
        yield from self._parts(at, "", task.fields, task.span)
        yield from self._parts(at, "argument ", task.args, task.span)
        yield from self._parts(at, "spec ", task.knobs, task.span)
        if task.timeout >= 0:
            yield (*at, "timeout"), Fact(Class.RUN, self._time(task.timeout), task.span)
        rules = [self._rule(rule) for rule in task.rules]
        rest = ["else continue" if task.passes_errors else "else an error fails"] if rules else []
        yield (*at, "rules"), Fact(Class.RUN, "; ".join([*rules, *rest]) or "an error fails", task.span)
        for number, rule in enumerate(task.rules):
            for scope, pairs in (("iter", rule.set_iter), ("ctx", rule.set_ctx)):
                for key, value in pairs:
                    yield (*at, f"{scope}.{key} in rule {number + 1}"), Fact(Class.DATA, self._text(value), rule.span)

    def _rule(self, rule: Rule) -> str:
        when = f"when {self._text(rule.when)}" if rule.when >= 0 else "else"
        words = [when, rule.directive]
        if rule.directive == "retry":
            words.append(f"{rule.attempts} attempts")
            # `none` alone reads as if there were no attempts, and it is what holds where nothing is written.
            words += [f"{rule.backoff} backoff"] if rule.backoff != "none" else []
            words += [f"x {rule.multiplier:g}"] if rule.backoff == "exponential" else []
            words += ["with jitter"] if rule.jitter else []
        if rule.to >= 0:
            words.append(f"to {self._plan.tasks[rule.to].name}")
        for word, index in (("after", rule.delay), ("at most", rule.max_delay)):
            words += [f"{word} {self._time(index)}"] if index >= 0 else []
        for word, index in (("code", rule.code), ("message", rule.message)):
            words += [f"{word} {self._text(index)}"] if index >= 0 else []
        return " ".join(words)

    def _arcs(self, at: FactAddress, step: Step) -> Iterator[tuple[FactAddress, Fact]]:
        # Arcs go by their targets and not by their numbers, or one that is put in first would change all behind it.
        called = self._names([(index, self._plan.arcs[index]) for index in step.arcs])
        if step.arcs:
            yield (*at, "router"), Fact(Class.RUN, "inclusive" if step.inclusive else "exclusive", step.span)
        if len(step.arcs) > 1 and not step.inclusive:
            yield (*at, "order of arcs"), Fact(Class.RUN, ", ".join(called.values()), step.span)
        for index, name in called.items():
            arc, here = self._plan.arcs[index], (*at, name)
            yield here, Fact(Class.RUN, "", arc.span)
            yield (*here, "guard"), Fact(Class.RUN, self._text(self._guards.get(index, -1)) or "always", arc.span)
            if arc.delay >= 0:
                yield (*here, "delay"), Fact(Class.RUN, self._time(arc.delay), arc.span)
            yield (*here, "priority"), Fact(Class.RUN, str(arc.priority), arc.span)
            yield from self._parts(here, "argument ", arc.args, arc.span)

    def _names(self, arcs: list[tuple[int, Arc]]) -> Mapping[int, str]:
        """The names of a step's arcs: by their target, further ones to the same target by number too."""
        found: dict[int, str] = {}
        seen: dict[str, int] = {}
        for index, arc in arcs:
            target = self._plan.steps[arc.target].name if arc.target >= 0 else "end"
            seen[target] = seen.get(target, 0) + 1
            found[index] = f"arc to {target}" + (f" ({seen[target]})" if seen[target] > 1 else "")
        return found

    def _parts(self, at: FactAddress, word: str, index: int, span: Span) -> Iterator[tuple[FactAddress, Fact]]:
        """A fact for each key of a mapping."""
        if index < 0:
            return
        template = self._plan.templates[index]
        if isinstance(template, MapTemplate):
            for key, value in template.items:
                # `60 s` and `1 m` are one duration. Their texts differ, and would be told as a change.
                text = duration_text(value) if key == "timeout" and not word else template_text(value)
                yield (*at, f"{word}{key}"), Fact(Class.DATA, text, span)
        elif isinstance(template, Literal) and isinstance(template.value, dict):
            for key, plain in template.value.items():
                text = duration_text(Literal(plain)) if key == "timeout" and not word else template_text(Literal(plain))
                yield (*at, f"{word}{key}"), Fact(Class.DATA, text, span)
        else:
            yield (*at, word.strip() or "fields"), Fact(Class.DATA, template_text(template), span)

    def _time(self, index: int) -> str:
        return duration_text(self._plan.templates[index]) if index >= 0 else ""

    def _text(self, index: int) -> str:
        return template_text(self._plan.templates[index]) if index >= 0 else ""


def join_text(join: Join) -> str:
    """A join in words, its sources sorted."""
    sources = ", ".join(sorted(join.sources)) or "nothing"
    if join.mode == "tokens":
        return f"{join.n} tokens of {sources}"
    return f"{join.n} of {sources}" if join.mode == "count" else f"{join.mode} of {sources}"
