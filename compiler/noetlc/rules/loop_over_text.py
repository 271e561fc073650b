"""loop-over-text: a loop goes over a value of the workload that is no list.

Why it matters
    Only a list or a mapping has items: unless a payload brings one, the run fails at this step with `loop.in`. Only a
    list has parts and an order (`limit`, `chunk`, `order_by`).
Example
    workload: {cities: "lisbon, oslo"}
    loop: {in: "{{ workload.cities }}", iterator: city}
Instead
    workload: {cities: [lisbon, oslo]}
    Or make a list of the text: `in: "{{ workload.cities.split(', ') }}"`.
When to ignore
    Where every payload brings a list. Leave the default null then, which says so.
"""

from collections.abc import Iterator

from noetl_ir.expr import Expr, Filter, Json, Literal, Native, Slice
from noetlc.ast.walk import loops_of
from noetlc.diag.diagnostic import Diagnostic, Related, Severity
from noetlc.expr.check import Names
from noetlc.expr.paths import accesses
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Loops whose items are a path into the workload at which a text, a number or a boolean is written."""
    written = {k: v.template.value for k, v in unit.playbook.workload if isinstance(v.template, Literal)}
    places, around = dict(unit.playbook.workload_spans), None
    for step in unit.playbook.steps if written else ():
        for loop in loops_of(step):
            template = loop.items.template
            if not isinstance(template, Native):
                continue
            # Made for files with such loops only.
            around = around or unit.around
            sliced = _sliced(template.expr)
            keys = _path(sliced or template.expr, around.names(step))
            value = _at(written, keys) if keys else None
            if sliced is not None and isinstance(value, dict):
                yield RULE.finding(
                    f"the default of `workload.{'.'.join(keys)}` is a mapping, and only a list has parts and an order",
                    loop.items.span,
                    help="write a list, or make one of `[key, value]`: `{{ … | items | list }}`",
                    related=(Related(places[keys[0]], "the default"),) if keys[0] in places else (),
                )
            elif sliced is None and isinstance(value, str | int | float):
                yield RULE.finding(
                    f"the default of `workload.{'.'.join(keys)}` is {_noun(value)}, and a loop goes over a list",
                    loop.items.span,
                    help="write a list, or make one: `{{ … .split(',') }}`"
                    if isinstance(value, str)
                    else "write a list",
                    related=(Related(places[keys[0]], "the default"),) if keys[0] in places else (),
                )


def _sliced(expr: Expr) -> Expr | None:
    """The list that a loop takes a part of; None where it goes over all of something."""
    # These take a list and give one, so that what is under them must have been one.
    while isinstance(expr, Filter) and expr.name in ("sort", "batch", "list"):
        expr = expr.of
    return expr.of if isinstance(expr, Slice) else None


def _path(expr: Expr, names: Names) -> list[str]:
    """The keys below the workload that an expression is, [] where it is anything else."""
    found = list(accesses(expr))
    if len(found) != 1 or found[0].called or found[0].dynamic is not None:
        return []
    access = found[0]
    last = access.nodes[-1] if access.nodes else access.root
    if last is not expr:
        return []
    name, keys = access.root.name, [str(key) for key in access.keys]
    if name == "workload":
        return keys
    # A bare name may mean something stronger than the workload, of which nothing is known here.
    stronger = (names.args, names.ctx, names.iter, names.tasks, names.iterators)
    return [] if any(name in each for each in stronger) or name not in names.workload else [name, *keys]


def _at(written: dict[str, Json], keys: list[str]) -> Json:
    value: Json = dict(written)
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _noun(value: str | float) -> str:
    return "a text" if isinstance(value, str) else "a boolean" if isinstance(value, bool) else "a number"


RULE = LintRule("NL412", Severity.WARNING, "ast", check, about=("loop",))
