"""The template that an error is about, and its place in the source."""

from __future__ import annotations

from noetl.app.source_places import FailedTemplate, lines_in, span_of_row, span_within, template_under
from noetl.engine.program import Program
from noetl_ir.expr import NULL, Json, Literal, Template
from noetl_ir.plan import Plan, Rule, Step, fields_of
from noetl_ir.span import Span

_IN_RULES = {"then.delay": "delay", "then.max_delay": "max_delay", "then.code": "code", "then.message": "message"}
"""Key of a rule → its column in the plan."""


def exact_span(program: Program, error: dict[str, Json], around: Span) -> Span | None:
    """The place of what failed, in the part of the source that an error is about; None where it cannot be told."""
    key, part = error.get("key"), error.get("part")
    if (code := _code_line(program.plan, error)) and (source := program.source()) is not None:
        return span_of_row(lines_in(source), around, code)
    if not isinstance(key, str) or not key or (source := program.source()) is None:
        return None
    template, last = _template_at(program, error, key) or (NULL, key.rpartition(".")[2])
    number = part if isinstance(part, int) else -1
    return span_within(lines_in(source), around, FailedTemplate(template, last, number, str(error.get("message"))))


def _code_line(plan: Plan, error: dict[str, Json]) -> str:
    """The line of the code of a task in which it failed; "" where the error names none, or the code is computed."""
    number, step = error.get("line"), next((row for row in plan.steps if row.name == error.get("step")), None)
    if step is None or not isinstance(number, int) or isinstance(number, bool):
        return ""
    task = next((plan.tasks[row] for row in step.tasks if plan.tasks[row].name == error.get("task")), None)
    fields = fields_of(plan, task) if task is not None else None
    code = (fields or {}).get("code")
    rows = code.value.splitlines() if isinstance(code, Literal) and isinstance(code.value, str) else []
    return rows[number - 1].strip() if 0 < number <= len(rows) else ""


def line_of(program: Program, error: Json) -> str:
    """The line of the source that the place of a located error is in; "" where that is no more than its task's."""
    at = error.get("at") if isinstance(error, dict) else None
    if not isinstance(at, dict) or "end_line" not in at or (source := program.source()) is None:
        return ""
    return lines_in(source)[int(str(at["line"])) - 1]


def _template_at(program: Program, error: dict[str, Json], key: str) -> tuple[Template, str] | None:
    """The template that an error names, and the key that it stands under."""
    plan = program.plan
    step = next((row for row in plan.steps if row.name == error.get("step")), None)
    if step is None:
        return None
    arc, rule = error.get("arc"), error.get("rule")
    if isinstance(arc, int) and 0 <= arc < len(step.arcs):
        return _of_arc(program, step.arcs[arc], key)
    for task in (plan.tasks[number] for number in step.tasks):
        if task.name != error.get("task"):
            continue
        if isinstance(rule, int) and 0 <= rule < len(task.rules):
            return _of_rule(plan, task.rules[rule], key)
        for name, row in (("args", task.args), ("spec", task.knobs)):
            if (inner := _behind(key, name)) is not None:
                return _under(plan, row, inner, name)
        is_limit = key == "timeout" and task.timeout >= 0
        return _at(plan, task.timeout, key) if is_limit else _under(plan, task.fields, key, "")
    return _of_step(program, step, key)


def _of_arc(program: Program, arc: int, key: str) -> tuple[Template, str] | None:
    plan, row = program.plan, program.plan.arcs[arc]
    if key == "when":
        return _at(plan, _guard_of(program, "arcs", arc), key)
    if key == "spec.delay":
        return _at(plan, row.delay, "delay")
    inner = _behind(key, "args")
    return _under(plan, row.args, inner, "args") if inner is not None else None


def _of_rule(plan: Plan, rule: Rule, key: str) -> tuple[Template, str] | None:
    if key == "when":
        return _at(plan, rule.when, key)
    if key in _IN_RULES:
        return _at(plan, int(getattr(rule, _IN_RULES[key])), key.rpartition(".")[2])
    for name, pairs in (("then.set_ctx", rule.set_ctx), ("then.set_iter", rule.set_iter)):
        inner = _behind(key, name) or ""
        # A key of `ctx` may hold dots: the longest one that fits is meant.
        for own, row in sorted(pairs, key=lambda pair: -len(pair[0])):
            if (rest := _behind(inner, own)) is not None:
                return _under(plan, row, rest, own)
    return None


def _of_step(program: Program, step: Step, key: str) -> tuple[Template, str] | None:
    plan = program.plan
    if key == "spec.policy.admit":
        return _at(plan, _guard_of(program, "steps", program.step_numbers[step.name]), "when")
    loops = [each for each in key.split(".") if each == "loop"]
    if not 0 < len(loops) <= len(step.loops):
        return None
    loop, inner = step.loops[len(loops) - 1], key.removeprefix("loop." * len(loops))
    if (rest := _behind(inner, "in")) is not None:
        return _under(plan, loop.items, rest, "in")
    return _at(plan, loop.in_flight, "max_in_flight") if inner == "spec.max_in_flight" else None


def _guard_of(program: Program, table: str, number: int) -> int:
    """The template of the guard of an arc, or of a step's gate; -1 for none."""
    rows = program.columns.transitions
    wanted = "take" if table == "arcs" else "admit"
    found = zip(getattr(rows, table), rows.roles, rows.guards, strict=True)
    return next((guard for row, role, guard in found if row == number and role == wanted), -1)


def _behind(key: str, name: str) -> str | None:
    """The rest of a key behind a first part; None where it begins otherwise."""
    rest = key.removeprefix(name)
    return rest.removeprefix(".") if key.startswith(name) and rest[:1] in ("", ".", "[") else None


def _at(plan: Plan, row: int, key: str) -> tuple[Template, str] | None:
    return (plan.templates[row], key) if row >= 0 else None


def _under(plan: Plan, row: int, path: str, key: str) -> tuple[Template, str] | None:
    """The template under a path of that of a row, which stands under a key itself."""
    found = template_under(plan.templates[row], path) if row >= 0 else None
    return None if found is None else (found[0], found[1] or key)
