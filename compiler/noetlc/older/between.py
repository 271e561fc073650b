"""Steps between: what a loop sets when it is done, and what an arc sets when it is taken (LANGUAGE §6, D10).

    loop: …, set: {ctx.n: …}, next: a          →  the step __s__set between the loop and `a`, which sets ctx.n
    next: {arcs: [{step: a, set: {ctx.n: …}}]}  →  the step __s__arc0 between, which sets ctx.n

What can only be read at the end of the step itself (its `event`, its token's `args`, its `iter`) is asked there, and
the token of the step between carries it.
"""

from collections.abc import Container

from noetl_ir.expr import Const, Expr, Filter, MapTemplate, Name, Template
from noetl_ir.paths import static_path
from noetl_ir.span import Span
from noetlc.ast.playbook import Arc, Pairs, Router, Rule, Step, Value
from noetlc.ast.truth import LOOP_DONE_FACTS
from noetlc.ast.walk import expressions_in
from noetlc.ast.workbook import template_of_pairs
from noetlc.expr.generated import PLAIN_SPEC, PREFIX, computed, generated_name, guard, noop
from noetlc.expr.paths import accesses
from noetlc.expr.rewrite import Replace
from noetlc.expr.shorthand import FALSE, TRUE, both, equal, otherwise, path, result_of
from noetlc.expr.templates import all_with, native, pairs_with
from noetlc.older.events import DONE, LOOP, assuming, events_in, on_failed, reads_failure
from noetlc.older.failing_arcs import may_fail
from noetlc.older.legacy_names import Meanings, arc_meanings, below, renamed, rule_meanings
from noetlc.older.skips import may_be_skipped

_EVERYWHERE = frozenset({"ctx", "workload", "execution_id", "steps"})
"""What is the same in a step and in the one behind it, beside the results of steps and the values of the playbook."""
_EVENT = path("event", "name")


def after_loop(step: Step, name: str, span: Span, patch: Rule, known: Container[str]) -> tuple[Step, Step]:
    """The loop, and the step `name` behind it, which applies the patch and has the loop's arcs for successes.

    Arcs for failures stay at the loop.
    """
    arcs = step.router.arcs if step.router is not None else ()
    # A loop that fails sets nothing: `set` is applied on success only. An arc that takes failures must not lead by
    # way of the step between, which would set all the same.
    staying, onward = list[Arc](), list[Arc]()
    brought: dict[str, Template] = {}
    behind = _behind(step, brought, known)
    for arc in arcs:
        at_failure, at_success = _ways_of(arc)
        if at_failure is not None:
            staying.append(at_failure)
        if at_success is not None:
            onward.append(all_with(at_success, behind))
    mode = step.router.mode if step.router is not None else "exclusive"
    task = noop(f"{name}__task", span, (patch,))
    router = Router(mode, tuple(onward), span) if onward else None
    between = Step(name, span, span, "", PLAIN_SPEC, None, (task,), router)
    args = Value(MapTemplate(tuple(brought.items())), span, None) if brought else None
    # Among exclusive arcs the way to the step between is the last, and takes what the failing ones leave. Inclusive
    # arcs are all asked, so that one needs a guard of its own.
    on_success = guard(equal(_EVENT, "loop.done"), span) if mode != "exclusive" and staying else None
    way = Arc(name, span, on_success, args, None, 0, span)
    return step._replace(router=Router(mode if staying else "exclusive", (*staying, way), span)), between


def _ways_of(arc: Arc) -> tuple[Arc | None, Arc | None]:
    """The arc as a failure takes it, and as a success does; None where it takes none."""
    # An arc without a guard is for success only in older dialects; the engines took it on errors too, and marked the
    # run failed.
    if arc.when is None:
        return None, arc
    asked, span = arc.when.expr, arc.when.span
    failing = on_failed(asked) if events_in(asked) else asked if reads_failure(asked) else FALSE
    succeeding = assuming(asked, lambda name, _: TRUE if name in DONE | LOOP else FALSE)
    # A guard that is false of every loop that went well would leave a dead arc behind the step between.
    if LOOP_DONE_FACTS.verdict(succeeding) is False:
        return arc, None
    onward = arc._replace(when=None if succeeding == TRUE else guard(succeeding, span))
    if failing == FALSE:
        return None, onward
    failed = equal(_EVENT, "step.failed")
    return arc._replace(when=guard(failed if failing == TRUE else both(failed, failing), span)), onward


def _behind(step: Step, brought: dict[str, Template], known: Container[str]) -> Replace:
    """A replacement for expressions that move from the loop's arcs to those of the step between.

    The loop's result is read by the name of the loop. What only the loop itself could read is put into `brought`: the
    token of the step between carries it as an arg.
    """
    result = result_of(step.name)
    of_result = {
        words: meaning for words, meaning in rule_meanings(Name("outcome"), result).items() if meaning == result
    }
    # In the arcs of the step between, `event` is the event of that step. The author asked about the event of the loop,
    # whose name, status and error are certain here: the loop went well.
    certain: Meanings = {**_CERTAIN, ("event", "step"): Const(step.name)}
    named = renamed({**of_result, ("event", "result"): result, ("output",): result, **certain}, known)

    def replace(expr: Expr) -> Expr | None:
        # An arg is carried together with its default: an absent value would arrive as null, and the default not hold.
        arg = expr.of if isinstance(expr, Filter) and expr.name in ("default", "d") else expr
        here = static_path(arg)
        key = _carried_as(here) if here[:2] not in certain else None
        if key is None or (arg is not expr and here[:1] != ("args",)):
            return named(expr)
        asked = native(otherwise(expr, Const(None)) if arg is expr and here[0] != "event" else expr)
        # Two arcs may read `args.k` with different defaults. Under one name the second would get the default of the
        # first.
        if brought.get(key, asked) != asked:
            key = f"{PREFIX}{key.removeprefix(PREFIX)}_{len(brought)}"
        brought[key] = asked
        return path("args", key)

    return replace


_CERTAIN: Meanings = {
    ("event", "name"): Const("loop.done"),
    **{(root, "status"): Const("ok") for root in ("event", "this", "output")},
    **{(root, "error"): Const(None) for root in ("event", "this", "output")},
}
"""What is certain behind a loop that went well."""
_KEPT_OF_OUTPUT = frozenset(("output", key) for key in ("status", "error", "http", "meta"))


def _carried_as(here: tuple[str, ...]) -> str | None:
    """The arg of the token that carries the value of a path from the end of a step; None for a path that is not
    carried.
    """
    match here:
        case ("args",):
            return "__args"
        case ("args", key):
            return key
        case ("iter", key) if key.startswith(PREFIX):
            return key
        case ("event", key) if key != "result":
            return f"{PREFIX}event_{key}"
    return None


def on_arc(step: Step, arc: Arc, pairs: Pairs, span: Span, number: int, known: Container[str]) -> tuple[Arc, Step]:
    """The arc to the step between, which sets the pairs and leads on with what the arc gives."""
    name, result = generated_name(step.name, f"arc{number}"), result_of(step.name)
    meanings = arc_meanings(result, loop=step.loop is not None, may_be_skipped=may_be_skipped(step))
    meant: Meanings = {**meanings, ("output",): result, **_meant_by_arcs(step, meanings)}
    # A step that may run again keeps the result of its latest good run under its name. On an arc for failures that is
    # an earlier run's, so `result` stays, and the arc's own pass decides.
    if may_fail(arc, known):  # which run is meant is for the arc itself to say
        meant = {words: meaning for words, meaning in meant.items() if meaning != result} | {
            ("output",): Name("result")
        }
    there = pairs_with(pairs, renamed(meant, known))
    args = arc.args
    onward: Value | None = computed(Name("args"), arc.span)
    # A value that only the arc can read is evaluated there and carried in the token's args under `set`. The author's
    # own args go below `given`, so that his keys never clash with ours.
    if not all(_is_everywhere(value, step, known) for _, value in there):
        carried = {"set": template_of_pairs({key: value.template for key, value in there})}
        if args is not None:
            carried["given"] = args.template
        onward = computed(path("args", "given"), arc.span) if args is not None else None
        args = Value(template_of_pairs(carried), span, None)
        there = tuple((key, computed(below(path("args", "set"), (key,)), value.span)) for key, value in there)
    task = noop(f"{name}__task", span, (Rule(None, "continue", span, set_ctx=there),))
    router = Router("exclusive", (Arc(arc.target, arc.target_span, None, onward, None, 0, arc.span),), arc.span)
    between = Step(name, arc.span, arc.span, "", PLAIN_SPEC, None, (task,), router)
    return arc._replace(target=name, target_span=arc.span, args=args, extras=()), between


def _meant_by_arcs(step: Step, meanings: Meanings) -> Meanings:
    """Paths below `output` that are left as they are, so that the pass for arcs gives them their meaning, as it does in
    guards. Of a loop they get it here.
    """
    asked: Meanings = {words: path(*words) for words in _KEPT_OF_OUTPUT}
    return asked if step.loop is None else {words: meanings.get(words, own) for words, own in asked.items()}


def _is_everywhere(value: Value, step: Step, known: Container[str]) -> bool:
    """Whether a value is the same in the step between as at the end of the step itself."""
    roots = {one.root.name for expr, _ in expressions_in(value) for one in accesses(expr) if not one.called}
    return all(name in _EVERYWHERE or name == step.name or name in known for name in roots)
