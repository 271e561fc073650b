"""Reading the locks of a step (`policy.lock`), and lists of steps that a policy names (EXTENSIONS.md §3)."""

from collections.abc import Sequence as Listed

from noetlc.ast.graph import END, StepGraph
from noetlc.ast.playbook import Lock, Step, StepName
from noetlc.reading.reader import Reader, Table, take_all, unknown
from noetlc.reading.shapes import missing, name_of, reference_of, sequence_of
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence


class _Draft:
    """A lock as a mapping."""

    __slots__ = ("name", "through")

    def __init__(self) -> None:
        self.name: str | None = None
        self.through: list[StepName] = []


def read_locks(r: Reader, node: Node) -> list[Lock]:
    """The locks of a step: a name, `{name, through: [STEP, …]}`, or a list of these."""
    entries: Listed[Node] = node.items if isinstance(node, Sequence) else [node]
    if not entries:
        r.report("NL104", "`lock`: a list without a name", node.span, help="name a lock, or leave it out")
    found: dict[str, Lock] = {}
    for entry in entries:
        lock = _lock(r, entry)
        if lock is not None and lock.name in found:
            r.report("NL104", f"`lock`: `{lock.name}` is named twice", entry.span, help="leave one of them out")
        elif lock is not None:
            found[lock.name] = lock
    return [*found.values()]


def _lock(r: Reader, node: Node) -> Lock | None:
    if not isinstance(node, Mapping):
        name = name_of(r, node, "a lock")
        return None if name is None else Lock(name, node.span)
    draft = _Draft()
    take_all(r, "lock", _KEYS, draft, node)
    if draft.name is None:
        missing(r, "the `name` of a lock", node.span, help="name the lock")
        return None
    return Lock(draft.name, node.span, tuple(draft.through))


def _name(r: Reader, draft: _Draft, key: Scalar, node: Node) -> None:
    draft.name = name_of(r, node, "a lock")


def _through(r: Reader, draft: _Draft, key: Scalar, node: Node) -> None:
    draft.through = steps_named(r, node, "`through`")
    if isinstance(node, Sequence) and not node.items:
        r.report("NL104", "`through`: a list without a step", node.span, help="name the steps, or leave it out")


_KEYS: Table[_Draft] = {"name": _name, "through": _through}


def steps_named(r: Reader, node: Node, what: str) -> list[StepName]:
    """A list of steps, none twice; one name is the list of it: there is nothing else that it could mean."""
    if isinstance(node, Scalar) and node.value is not None:
        entries: Listed[Node] = [node]
    else:
        sequence = sequence_of(r, node, what, "steps")
        entries = sequence.items if sequence is not None else []
    found: dict[str, StepName] = {}
    for entry in entries:
        name = reference_of(r, entry, f"a step in {what}")
        if name in found:
            r.report("NL104", f"{what}: `{name}` is named twice", entry.span, help="leave one of them out")
        elif name is not None:
            found[name] = StepName(name, entry.span)
    return [*found.values()]


def check_named(r: Reader, step: Step, graph: StepGraph, names: Listed[str]) -> None:
    """Report names in `cancels` and `through` that no step has, and locks held `through` the step that takes them."""
    for target in step.spec.cancels:
        _check_name(r, "`cancels`", target, graph, names)
    for lock in step.spec.locks:
        for target in lock.through:
            _check_name(r, "`through`", target, graph, names)
            if target.name == step.name:
                message = f"`through`: `{step.name}` holds `{lock.name}` anyway, and takes it anew for each token"
                r.report("NL104", message, target.span, help="leave it out, or name the steps behind it")


def _check_name(r: Reader, what: str, target: StepName, graph: StepGraph, names: Listed[str]) -> None:
    if target.name not in graph.positions:
        message = f"{what} names `{target.name}`, and there is no such step"
        # Made for a finding only: made for each step, it would be a walk over all names each time.
        known = tuple(name for name in names if name != END)
        unknown(r, "NL203", message, target.span, name=target.name, known=known)
