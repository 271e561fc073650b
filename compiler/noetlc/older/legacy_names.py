"""Names of older dialects and what they mean in each place (LANGUAGE §6, last paragraph).

A table maps a path, the longest that fits, to an expression; what stands behind the path stays behind it. A name that
the playbook declares itself is never touched.
"""

from collections.abc import Container, Mapping
from typing import TypeAlias

from noetl_ir.expr import Attribute, Call, Compare, Const, Expr, Item, ListOf, Name, Not, TupleOf, walk
from noetl_ir.paths import static_path
from noetlc.ast.once import Once
from noetlc.ast.playbook import Playbook, Step
from noetlc.ast.walk import loops_of
from noetlc.expr.rewrite import Replace, rewritten
from noetlc.expr.shorthand import OUTCOME_OK, compared, equal, negated, one_of, otherwise, path
from noetlc.older.absent import asked_for_error, asked_for_none, is_name_itself, none_of

LegacyPath: TypeAlias = tuple[str, ...]
ITSELF = ""
"""The end of a path that is the value itself, and not what is below."""
Meanings: TypeAlias = Mapping[LegacyPath, Expr]

ROOTS = frozenset(
    (
        "response",
        "result",
        "data",
        "this",
        "status_code",
        "error",
        "success",
        "vars",
        "attempt",
        "output",
        "_err",
        "loop",
    )
)
"""The first names of all paths that have a meaning somewhere."""

RESERVED = ROOTS - {"data", "success", "attempt", "loop"}
"""Those that the older texts reserve (formal §2.3, §11.2, formal-extended §3.2): no value of a playbook hides them."""

_EVENTS = {
    "call.done": "done",
    "call.error": "failed",
    "step.exit": "done",
    "step.finished": "done",
    "tool.processed": "done",
    "loop.finished": "loop.done",
}
_STATUSES = frozenset({("this", "status"), ("output", "status"), ("outcome", "status"), ("event", "outcome", "status")})

CTX: Meanings = {
    ("vars",): Name("ctx"),
    ("loop", "index"): path("iter", "index"),
    ("loop", "first"): compared(path("iter", "index"), "==", Const(0)),
}
"""What old names mean everywhere. `loop.index` counts from 0, unlike that of Jinja's loops, which blocks have."""


def rule_meanings(outcome: Expr, result: Expr) -> Meanings:
    """The meanings of old words where `outcome` is what a task gave and `result` its result."""
    status = below(outcome, ("http", "status"))
    return {
        **CTX,
        ("response", "status_code"): status,
        ("status_code",): status,
        # An error of http carried its status under this key; today it is the outcome's, and there for errors without
        # an answer too, as null.
        ("error", "status"): status,
        ("response",): result,
        ("result",): result,
        ("data",): result,
        # In the words of older dialects `this` is the envelope and `this.data` the result, so that the longest path
        # that fits must win: `this` alone would make a key of the outcome of it.
        ("this", "data"): result,
        ("this", "result"): result,
        ("this",): outcome,
        ("output", "data"): result,
        ("output", "result"): result,
        ("output", "response"): result,
        ("outcome", "response"): result,
        ("output", "ref"): Call(Name("ref"), (result,), ()),
        ("output",): outcome,
        ("error",): below(outcome, ("error",)),
        ("_err",): below(outcome, ("error",)),
        ("success",): OUTCOME_OK if outcome == Name("outcome") else equal(below(outcome, ("status",)), "ok"),
    }


OUTCOME_RESULT = path("outcome", "result")


def own_meanings(name: str, result: Expr = OUTCOME_RESULT) -> Meanings:
    """The meaning of a step's or task's name in its own policy, when its tool has run: the `result` that there is now.

    By its name alone it would be that of an earlier run. `x.data` and `x.result` are the whole where there is no such
    key.
    """
    # Both `fetch.rows` and `fetch.data.rows` are written of one result; the engine fell back to the whole where it
    # had no key `data`.
    parts: Meanings = {(name, key): otherwise(Attribute(result, key), result) for key in ("data", "result")}
    return {(name,): result, **parts}


def arc_meanings(result: Expr, *, loop: bool, may_be_skipped: bool) -> Meanings:
    """In the arcs of a step with that result. A loop has no outcome: it went well, or it has an error; what is skipped
    has none and went well.
    """
    found = {**rule_meanings(path("event", "outcome"), result), ("error",): path("event", "error")}
    if loop:
        for word in ("this", "output"):
            found |= {(word, key): path("event", key) for key in ("status", "error")}
        found |= {("success",): equal(path("event", "status"), "ok")}
    # A step that was skipped ran no tool, and has no outcome to read a status of. It went well, so that `success` is
    # true of it.
    elif may_be_skipped:
        status = otherwise(path("event", "outcome", "status"), Const("ok"))
        found |= {("this", "status"): status, ("output", "status"): status, ("success",): equal(status, "ok")}
    return found


def _is_old(expr: Expr) -> bool:
    match expr:
        case Name(name=name):
            return name in ROOTS
        case Attribute(of=Name(name="outcome"), name="response"):
            return True
        case Const(value=str(value)):
            return value == "success" or value in _EVENTS
        case _:
            return False


has_old_names: Once[Expr, bool] = Once(lambda expr: any(_is_old(part) for part in walk(expr)))
"""Whether an expression has any word that older dialects use."""


def declared_names(playbook: Playbook) -> frozenset[str]:
    """The names that all steps of a playbook share, and that old words give way to: its steps and its values; in a
    file with older constructs those values aside that have a reserved name.
    """
    values = frozenset([key for key, _ in playbook.workload])
    steps = frozenset([step.name for step in playbook.steps])
    # A workload key `result` never hid the result in an older engine. In a canonical file the author chose the name,
    # and nothing else has a claim to it.
    return steps | (values - RESERVED if playbook.legacy else values)


def declared_in(step: Step, shared: frozenset[str]) -> frozenset[str]:
    """The names declared within a step: its iterators come before old words too."""
    return shared if step.loop is None else shared.union(loop.iterator for loop in loops_of(step))


class DeclaredNames:
    """Names that a playbook declares: those that all steps share, and a step's own."""

    __slots__ = ("_own", "_shared")

    def __init__(self, shared: Container[str], own: Container[str]) -> None:
        self._shared = shared
        self._own = own

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._shared


def only_old(replace: Replace) -> Replace:
    """The renaming that does not look into an expression without any word that older dialects use."""
    return lambda expr: replace(expr) if has_old_names(expr) else expr


def renamed(meanings: Meanings, known: Container[str]) -> Replace:
    """Puts the meaning in the place of each old name that is not `known`."""

    def replace(expr: Expr) -> Expr | None:
        asked = asked_for_none(expr)
        # The question about none is taken as a whole: of the bare name alone an undefined value would come, of which
        # `is none` is false.
        if asked is not None and is_name_itself(static_path(asked[0]) or ("",), meanings):
            meant = replace(asked[0])
            return None if meant is None else none_of(meant, negative=asked[1])
        if (error := asked_for_error(expr, replace)) is not None:
            return error
        # Statuses were `success` where they are `ok` today. Only in a comparison with a status is that word ours;
        # elsewhere it is a text of the author's.
        if isinstance(expr, Compare):
            return _with_status(expr, lambda part: rewritten(part, replace))
        here = static_path(expr)
        if not here or here[0] in known:
            return None
        # A meaning of the value itself holds where the path ends; the keys below it may have another.
        if (itself := meanings.get((*here, ITSELF))) is not None:
            return itself
        # The longest path comes first: `output.data` is the result, `output` the envelope around it.
        for length in range(len(here), 0, -1):
            meaning = meanings.get(here[:length])
            if meaning is not None:
                return below(meaning, here[length:])
        return None

    return replace


def _with_status(expr: Compare, each: Replace) -> Expr | None:
    """A comparison of a status with the old word for `ok`."""
    if static_path(expr.first) not in _STATUSES:
        return None
    rest = tuple((op, _ok(right)) for op, right in expr.rest)
    return None if rest == expr.rest else Compare(each(expr.first) or expr.first, rest)


def _ok(expr: Expr) -> Expr:
    match expr:
        case Const(value="success"):
            return Const("ok")
        case ListOf(items=items):
            return ListOf(tuple(_ok(item) for item in items))
        case _:
            return expr


def below(expr: Expr, keys: LegacyPath) -> Expr:
    """The values under some keys of a value."""
    for key in keys:
        expr = Attribute(expr, key) if key.isidentifier() else Item(expr, Const(key))
    return expr


def named_events(expr: Expr) -> tuple[str, ...] | None:
    """The events that a comparison of `event.name` names, or a negated one; None where it is no such comparison."""
    match expr:
        case Not(of=of):
            return named_events(of)
        case Compare(first=first, rest=((op, right),)) if static_path(first) == ("event", "name"):
            match right:
                case Const(value=str(name)) if op in ("==", "!="):
                    return (name,)
                case ListOf(items=items) | TupleOf(items=items) if op in ("in", "not in"):
                    return tuple(str(item.value) for item in items if isinstance(item, Const))
    return None


def is_negative(expr: Expr) -> bool:
    """Whether a comparison asks for other events than those it names."""
    if isinstance(expr, Not):
        return not is_negative(expr.of)
    return isinstance(expr, Compare) and expr.rest[0][0] in ("!=", "not in")


def arc_events(*, loop: bool) -> Replace:
    """The old names of events in the guards of arcs."""
    # A looped step ends with `loop.done` and never with `step.done`: a guard on the old word for its end would be
    # false for ever.
    ends = {"done": "loop.done" if loop else "step.done", "failed": "step.failed", "loop.done": "loop.done"}

    def replace(expr: Expr) -> Expr | None:
        names = named_events(expr)
        if names is None or not any(name in _EVENTS for name in names):
            return None
        # Several old events become one: `in ['call.done', 'step.exit']` is a plain comparison afterwards.
        mapped = tuple(dict.fromkeys(ends[_EVENTS[name]] if name in _EVENTS else name for name in names))
        asked = one_of(path("event", "name"), mapped)
        return negated(asked) if is_negative(expr) else asked

    return replace


IN_RULES: Meanings = {**rule_meanings(Name("outcome"), path("outcome", "result")), ("attempt",): Name("_attempt")}
"""In a task's policy."""
