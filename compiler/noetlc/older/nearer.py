"""Names that an author binds nearer than results of steps: args, keys of `ctx` and `iter`, of `workload`, iterators.

    step `each` with a loop, and an arc: {step: sum, args: {each: [7]}}   →   in `sum`, `each` is that arg

LANGUAGE §2: a bare name is looked up in args, `ctx`, `iter` and `workload`, and then among the results. A pass that
takes a name for the result of a step, or an old word for nothing, asks here first. `x: "{{ x }}"` binds nothing nearer:
it passes on what the name means where it stands.

The constructs of older dialects may still be there, or be lowered already.
"""

from collections.abc import Iterable, Iterator, Set
from typing import TypeAlias

from noetl_ir.expr import Native, Template
from noetl_ir.paths import static_path
from noetl_ir.span import Span
from noetlc.ast.playbook import Arc, Guard, Playbook, Step, Value
from noetlc.ast.walk import loops_of
from noetlc.ast.workbook import pairs_of

_Pairs: TypeAlias = tuple[tuple[str, Value], ...]

_RESULT = frozenset({"result", "response"})
_OUTCOMES = frozenset({"outcome", "output", "this", "event"})


class NamesUnion(Set[str]):
    """A union of sets that copies none of them: the names of all steps are shared by the sets of each step."""

    __slots__ = ("_sets",)

    def __init__(self, *sets: frozenset[str]) -> None:
        self._sets = sets

    @classmethod
    def _from_iterable(cls, it: Iterable[str]) -> Set[str]:  # type: ignore[override]  # what operators of `Set` make
        return frozenset(it)

    def __contains__(self, name: object) -> bool:
        return any(name in names for names in self._sets)

    def __iter__(self) -> Iterator[str]:
        return iter(frozenset().union(*self._sets))

    def __len__(self) -> int:
        return len(frozenset().union(*self._sets))

    def __or__(self, other: Set[str]) -> "NamesUnion":  # type: ignore[override]
        return NamesUnion(*self._sets, frozenset(other))


class Nearer:
    """The names that are bound nearer than results: in the whole playbook (`ctx`, `workload`), and in each step (args
    and `iter`).
    """

    __slots__ = ("_ctx", "_inside", "everywhere")

    def __init__(self, playbook: Playbook) -> None:
        ctx = set[str]()
        inside = {step.name: set[str]() for step in playbook.steps}
        brought: list[tuple[str, str, dict[str, Template] | None, Template]] = []
        for step in playbook.steps:
            for here in _nodes((step,)):
                if isinstance(here, Arc) and here.args is not None:
                    brought.append((step.name, here.target, pairs_of(here.args.template), here.args.template))
                ctx.update(_set_by(here, step.name))
                inside[step.name].update(_own(here))
        for here in _nodes(playbook.extras):
            ctx.update(_set_by(here, ""))
        _spread(brought, inside)
        self._ctx = frozenset(ctx)
        self.everywhere = self._ctx.union([key for key, _ in playbook.workload])
        self._inside = {name: frozenset(found) for name, found in inside.items()}

    def within(self, step: Step) -> NamesUnion:
        """All names that are bound nearer than results in a step, its iterators among them."""
        return NamesUnion(self.brought(step), self.everywhere, frozenset([loop.iterator for loop in loops_of(step)]))

    def brought(self, step: Step) -> frozenset[str]:
        """The args that tokens bring to a step, its own args, and its keys of `iter`."""
        return self._inside.get(step.name, frozenset())

    def args_and_ctx(self, step: Step) -> NamesUnion:
        """The args that a step is given, and the keys of `ctx`."""
        return NamesUnion(self.brought(step), self._ctx)


def _nodes(roots: tuple[object, ...]) -> Iterator[object]:
    """The nodes within some, themselves among them, that bind names."""
    waiting: list[tuple[object, ...]] = [root for root in roots if isinstance(root, tuple)]
    while waiting:
        here = waiting.pop()
        kind = type(here)
        binds = _BINDS.get(kind)
        # The class decides, and is asked once: this walk sees every node of a playbook, for several passes each.
        if binds is None:
            binds = _BINDS[kind] = (
                kind is Arc or kind.__name__ in _BINDING or hasattr(kind, "set_ctx") or hasattr(kind, "set_iter")
            )
        if binds:
            yield here
        waiting += [part for part in here if isinstance(part, tuple) and part and type(part) not in _GROUND]


_GROUND: frozenset[type] = frozenset({Span, Value, Guard})
_BINDING = frozenset({"RootVars", "StepArgs"})
_BINDS: dict[type, bool] = {}
"""Of each class of nodes that was met, whether its nodes bind names."""


def arcs_within(steps: tuple[Step, ...]) -> Iterator[Arc]:
    """The arcs of steps, those of older constructs too."""
    return (node for node in _nodes(steps) if isinstance(node, Arc))


def _set_by(here: object, step: str) -> Iterator[str]:
    """The keys of `ctx` that a node sets, but for those that it sets to the result of the step of that name."""
    pairs: _Pairs = getattr(here, "set_ctx", ())
    if type(here).__name__ == "RootVars":
        pairs = getattr(here, "pairs", ())
    # A key that is given what its name means anyway hides nothing: authors write `set: {fetch: "{{ fetch }}"}` to
    # keep a result, and the name still is the step's result.
    return (key for key, value in pairs if not _is_result_of(key, value.template, step))


def _own(here: object) -> Iterator[str]:
    """The keys that a node of a step binds in it alone: its scratch and its own args."""
    pairs: _Pairs = getattr(here, "set_iter", ())
    if type(here).__name__ == "StepArgs":
        pairs = getattr(here, "pairs", ())
    return (key for key, value in pairs if not says_itself(key, value.template))


def says_itself(key: str, template: Template) -> bool:
    """Whether the value of a key is just the bare name of the key, as in `x: "{{ x }}"`, or `steps.x`."""
    return isinstance(template, Native) and static_path(template.expr) in ((key,), ("steps", key))


def _passes_on(key: str, template: Template) -> bool:
    """Whether an arg passes on a value of its own name: `x`, `steps.x`, `args.x` or `workload.x`."""
    return says_itself(key, template) or (
        isinstance(template, Native) and static_path(template.expr) in (("args", key), ("workload", key))
    )


def _is_result_of(key: str, template: Template, step: str) -> bool:
    """Whether a value of `ctx` is the result of the step with the key's name."""
    if says_itself(key, template):
        return True
    here = static_path(template.expr) if key == step and isinstance(template, Native) else ()
    return here[-1:] != () and here[-1] in _RESULT and (len(here) == 1 or (len(here) == 2 and here[0] in _OUTCOMES))


def _spread(brought: list[tuple[str, str, dict[str, Template] | None, Template]], inside: dict[str, set[str]]) -> None:
    """Add the args that arcs bring to the names of the steps that they lead to, along whole chains of steps.

    An arg that only passes on its own name binds nothing, unless the name was bound in the step before.
    """
    leading: dict[str, list[tuple[str, dict[str, Template] | None, Template]]] = {name: [] for name in inside}
    for source, target, pairs, whole in brought:
        leading[source].append((target, pairs, whole))
    # A step is looked at again only when it got a new name. Rounds over all steps would be quadratic for a long chain
    # that is written from its end.
    waiting = [*reversed(inside)]
    while waiting:
        source = waiting.pop()
        before = inside[source]
        for target, pairs, whole in leading[source]:
            found = inside.get(target)
            if found is None:
                continue
            if pairs is not None:
                new = {key for key, value in pairs.items() if key in before or not _passes_on(key, value)}
            else:
                passed = isinstance(whole, Native) and static_path(whole.expr) == ("args",)
                new = set(before) if passed else set()
            if not new <= found:
                found |= new
                waiting.append(target)
