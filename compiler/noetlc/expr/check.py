"""Whether the names of an expression mean something in the place where it stands (`noetl_ir.scopes`)."""

from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import pairwise, takewhile

from noetl_ir.expr import Expr
from noetl_ir.nearest import nearest
from noetl_ir.records import NamedTuple
from noetl_ir.scopes import EVENT_ATTRIBUTES, LAYERS, LOOP_COUNTS, PLACES, RESERVED, PlaceRules, Site
from noetl_ir.scopes.vocabulary import FUNCTIONS, LEGACY_FUNCTIONS
from noetlc.expr.paths import Access, accesses

_NONE: frozenset[str] = frozenset()
_AROUND = frozenset({Site.LOOP, Site.ENOUGH})
"""Places whose loops are those around the one that they are about."""


class Names(NamedTuple):
    """The names declared around an expression.

    `iterators` are those of the loops around, innermost first; `args`, `ctx`, `iter` and `workload` the keys
    that are known of these scopes; `tasks` those of the same pipeline. `alike` are the keys of `args` that were given
    what the bare name means without them, so that it is the same value whichever is meant. `step` is the step around,
    whose own result is not there yet.
    """

    iterators: tuple[str, ...] = ()
    tasks: frozenset[str] = _NONE
    steps: frozenset[str] = _NONE
    args: frozenset[str] = _NONE
    ctx: frozenset[str] = _NONE
    iter: frozenset[str] = _NONE
    workload: frozenset[str] = _NONE
    alike: frozenset[str] = _NONE
    step: str = ""

    def layer(self, name: str) -> frozenset[str]:
        """The known keys of one of `scopes.LAYERS`."""
        return {"args": self.args, "ctx": self.ctx, "iter": self.iter, "workload": self.workload}[name]


class NameProblemKind(Enum):
    """The sort of problem that a name is."""

    OUT_OF_PLACE = "out-of-place"
    UNKNOWN = "unknown"
    ATTRIBUTE = "attribute"
    NO_LOOP = "no-loop"
    DYNAMIC_STEP = "dynamic-step"
    AMBIGUOUS = "ambiguous"
    LEGACY_FUNCTION = "legacy-function"


class NameProblem(NamedTuple):
    """A name that means nothing, or two things. `start` and `end` are offsets in the expression's template.

    `free` is the bare name that nothing declares, where it is one.
    """

    message: str
    start: int
    end: int
    help: str
    kind: NameProblemKind
    free: str = ""


def check_names(expr: Expr, place: Site, names: Names, bound: frozenset[str] = _NONE) -> Iterator[NameProblem]:
    """The faults of the names of an expression that stands in `place`, in the order of the text.

    `bound` are names that a block template around it gives a meaning of its own.
    """
    row = PLACES[place]
    # Names that the template binds itself are no names of the playbook, even where they are spelt like one.
    found = [access for access in accesses(expr) if access.root.name not in bound]
    dashed = dict(_dashed(found, names))
    for access in found:
        word = access.root.name
        # Dashed names come first: their parts are names, too, and each would be reported as unknown.
        if access.root.start in dashed:
            yield from dashed[access.root.start]
        elif access.called:
            yield from _function(access, row)
        elif word == "event" and word in row.names:
            yield from _event(access, LOOP_COUNTS if place is Site.ENOUGH else EVENT_ATTRIBUTES)
        elif word in ("iter", "loop_index") and word in row.names:
            yield from _iter(access, row, names)
        elif word == "steps" and word in row.names:
            yield from _steps(access, names)
        # A payload key `env` is the author's own and hides the environment.
        elif word == "env" and word in row.names and word not in names.workload:
            yield from _env(access)
        elif word in RESERVED:
            if word not in row.names:
                yield _out_of_place(access, row)
        else:
            yield from _bare(access, row, names)


def _problem(access: Access, message: str, help: str, kind: NameProblemKind) -> NameProblem:
    return NameProblem(message, access.root.start, access.root.end, help, kind)


def _function(access: Access, row: PlaceRules) -> Iterator[NameProblem]:
    word = access.root.name
    if word in LEGACY_FUNCTIONS:
        yield _problem(
            access,
            f"`{word}()` is a function of old playbooks",
            "declare a keychain entry",
            NameProblemKind.LEGACY_FUNCTION,
        )
    elif word in FUNCTIONS and word not in row.functions:
        yield _problem(access, f"`{word}()` is not known in {row.place.value}", "", NameProblemKind.OUT_OF_PLACE)


def _event(access: Access, known: frozenset[str]) -> Iterator[NameProblem]:
    if not access.keys or access.keys[0] in known:
        return
    key, node = str(access.keys[0]), access.nodes[0]
    help = _meant(key, sorted(known)) or f"it has {', '.join(sorted(known))}"
    yield NameProblem(f"`event` has no `{key}`", node.end - len(key), node.end, help, NameProblemKind.ATTRIBUTE)


def _iter(access: Access, row: PlaceRules, names: Names) -> Iterator[NameProblem]:
    loops = len(names.iterators)
    if row.place in _AROUND and not loops:
        yield _problem(access, "`iter` is not known here: there is no outer loop", "", NameProblemKind.OUT_OF_PLACE)
        return
    if access.root.name == "loop_index":
        if not loops:
            yield _problem(access, "`loop_index` needs a loop", "", NameProblemKind.NO_LOOP)
        return
    if not loops:
        if access.keys and access.keys[0] in ("index", "parent"):
            end = access.nodes[0].end
            yield NameProblem(
                f"`iter.{access.keys[0]}` needs a loop", access.root.start, end, "", NameProblemKind.NO_LOOP
            )
        return
    # The keys up to the first that is no `parent`: what follows is a key of that level.
    parents = list(takewhile(lambda key: key == "parent", access.keys))
    # A child called by a task of a loop sees its caller's `iter` above its own outermost loop.
    if len(parents) > loops:
        message = f"`iter.parent` goes {len(parents)} levels up, and the loops nest {loops} deep"
        yield NameProblem(message, access.root.start, access.nodes[loops].end, "", NameProblemKind.NO_LOOP)


def _steps(access: Access, names: Names) -> Iterator[NameProblem]:
    if not access.keys:
        if access.dynamic is not None:
            node = access.dynamic
            message = "the subscript of `steps` is a literal name"
            yield NameProblem(message, node.start, node.end, "write `steps['a/b']`", NameProblemKind.DYNAMIC_STEP)
        return
    step, node = str(access.keys[0]), access.nodes[0]
    if step not in names.steps:
        help = _meant(step, sorted(names.steps))
        yield NameProblem(f"there is no step `{step}`", access.root.start, node.end, help, NameProblemKind.UNKNOWN)


def _env(access: Access) -> Iterator[NameProblem]:
    if not access.keys:
        message = "`env` is read by name: the environment as a whole is no value"
        yield _problem(access, message, "write `env.NAME`", NameProblemKind.UNKNOWN)


def _out_of_place(access: Access, row: PlaceRules) -> NameProblem:
    word = access.root.name
    others = [other.place.value for other in PLACES.values() if word in other.names]
    help = f"it is known in {'; '.join(others)}"
    if word == "outcome" and row.place is Site.ARC:
        help = "write `event.outcome`; of a failure, `event.status == 'error'` and `event.error`"
    return _problem(access, f"`{word}` is not known in {row.place.value}", help, NameProblemKind.OUT_OF_PLACE)


def _bare(access: Access, row: PlaceRules, names: Names) -> Iterator[NameProblem]:
    word = access.root.name
    meanings = [what for what, known in _scopes(row, names) if word in known]
    # A name with two meanings is harmless where both are the same value, or one of them is not there yet.
    same = {_OF_ARGS: word in names.alike, _RESULT: word == names.step and not _hides(word, row, names)}
    differ = [what for what in meanings if not same.get(what)]
    # Said of names that work, too: a playbook that grows would else change what they mean without a word.
    if len(differ) > 1:
        message = f"`{word}` is {_listed(meanings)}"
        yield _problem(access, message, f"it means {meanings[0]}: write the scope out", NameProblemKind.AMBIGUOUS)
    if meanings:
        return
    # A name that exists elsewhere gets a better text than "there is none", and no hint to a name that is spelt like
    # it.
    hidden = _hidden(word, row, names)
    if hidden:
        yield _problem(access, *hidden, NameProblemKind.OUT_OF_PLACE)
        return
    if word in FUNCTIONS:
        yield _problem(access, f"`{word}` is a function", f"write `{word}(…)`", NameProblemKind.UNKNOWN)
        return
    known = [name for _, some in _scopes(row, names) for name in sorted(some)]  # the author's own names first
    help = _meant(word, [*known, *sorted(row.names)]) or f"a key of the payload is `workload.{word}`"
    if constant := _CONSTANTS.get(word.lower()):
        help = f"write `{constant}`"
    yield _problem(access, f"there is no `{word}`", help, NameProblemKind.UNKNOWN)._replace(free=word)


_CONSTANTS = {"null": "none", "nil": "none", "undefined": "none", "yes": "true", "no": "false"}
"""Words by which other languages call a constant, and what templates write."""


def _hides(word: str, row: PlaceRules, names: Names) -> bool:
    """Whether what came before the run hides what it gave: in its arcs, where the result is there."""
    return row.place is Site.ARC and word in names.workload | (names.args - names.alike)


_OF_ARGS, _RESULT = "a key of `args`", "a step's result"


def _scopes(row: PlaceRules, names: Names) -> Iterator[tuple[str, frozenset[str]]]:
    """The meanings that a bare name can have in a place, the strongest first."""
    if row.tasks or (row.place in _AROUND and names.iterators):
        yield "an iterator", frozenset(names.iterators)
    if row.tasks:
        yield "a task's result", names.tasks
    for layer in LAYERS:
        if layer in row.names:
            yield f"a key of `{layer}`", names.layer(layer)
    if row.results:
        yield _RESULT, names.steps


def _hidden(word: str, row: PlaceRules, names: Names) -> tuple[str, str] | None:
    """Why a name that exists is not known in this place, and what to write."""
    where = row.place.value
    if word in names.tasks:
        return f"the result of task `{word}` is not known in {where}", "use the step's result, or `set_iter` it"
    if word in names.iterators:
        return f"the iterator `{word}` is not known in {where}", ""
    if word in names.steps:
        return f"the result of step `{word}` is not known in {where}", ""
    for layer in LAYERS:
        if word in names.layer(layer):
            return f"`{layer}.{word}` is not known in {where}", ""
    return None


def _dashed(found: list[Access], names: Names) -> Iterator[tuple[int, list[NameProblem]]]:
    """Names with a dash that are read as a subtraction: one problem at the first part, none at the others."""
    # Names with nothing but one character between them are rare, so that nearly all expressions stop here.
    if not any(left.root.end + 1 == right.root.start for left, right in pairwise(found)):
        return
    known = {name for name in names.steps | names.tasks if "-" in name}
    at = 0
    while known and at < len(found):
        # The longest name first: with steps `a-b` and `a-b-c`, the text `a-b-c` is the second.
        for last in range(len(found) - 1, at, -1):
            run = found[at : last + 1]
            tight = all(left.root.end + 1 == right.root.start for left, right in pairwise(run))
            name = "-".join(access.root.name for access in run)
            if tight and name in known and not any(access.keys for access in run[:-1]):
                help = (
                    f"write `steps['{name}']`" if name in names.steps else f"rename it, as `{name.replace('-', '_')}`"
                )
                message = f"`{name}` is read as a subtraction"
                yield run[0].root.start, [_problem(run[0], message, help, NameProblemKind.UNKNOWN)]
                for access in run[1:]:
                    # An empty list silences the other parts without a problem of their own.
                    yield access.root.start, []
                at = last
                break
        at += 1


_LIKENESS = 0.75
"""How alike a name is to one that its author mistyped: `target` is no slip for `start`, nor `city` for `city_loop`."""


def _meant(word: str, known: Iterable[str]) -> str:
    near = nearest(word, known, _LIKENESS)
    return f"did you mean `{near}`?" if near else ""


def _listed(meanings: list[str]) -> str:
    return " and ".join([", ".join(meanings[:-1]), meanings[-1]])
