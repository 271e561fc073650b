"""Parts of the canonical tree beside the same parts as they were read, and what can be said of the two."""

from bisect import bisect_left
from functools import cache

from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.playbook import Value
from noetlc.ast.printing import Keys, Placed, Tree, as_tree, plain_tree
from noetlc.dialects.v10 import DIALECT
from noetlc.source.nodes import Mapping, Node

# Which keys are canonical where: a key that the canonical text leaves out stays only if it is one.
DOCUMENT, STEP = "document", "step"

_INSIDE = {
    DOCUMENT: {"executor": "executor", "workflow": STEP, "workbook": "task"},
    "executor": {"spec": "executor_spec"},
    "executor_spec": {"policy": "executor_policy"},
    STEP: {"spec": "step_spec", "loop": "loop", "tool": "task", "next": "next"},
    "step_spec": {"policy": "step_policy"},
    "step_policy": {"admit": "admit"},
    "loop": {"spec": "loop_spec", "loop": "loop"},
    "loop_spec": {"policy": "loop_policy"},
    "task": {"spec": "task_spec"},
    "task_spec": {"policy": "task_policy"},
    "task_policy": {"rules": "rule"},
    "admit": {"rules": "rule"},
    "rule": {"then": "then", "else": "branch"},
    "branch": {"then": "then"},
    "next": {"spec": "next_spec", "arcs": "arc"},
    "arc": {"spec": "arc_spec"},
}
_WHOLE = frozenset({"rule", "branch"})
"""Scopes whose keys are all written: any other is none of theirs."""


def inside(scope: str, key: str) -> str:
    """The scope of what stands under a key; "" for data."""
    return _INSIDE.get(scope, {}).get(key, "")


@cache
def keys_of(scope: str) -> frozenset[str] | None:
    """The canonical keys of a scope; None where any key may be data."""
    if scope in _WHOLE:
        return frozenset()
    return frozenset(getattr(DIALECT.tables, scope)) if scope else None


class Touched(NamedTuple):
    """Sorted offsets in the text: where legacy constructs begin, and where sugar of today does."""

    legacy: list[int]
    sugar: list[int]

    def has_legacy(self, start: int, stop: int) -> bool:
        """Whether a legacy construct begins between two offsets."""
        return _any_between(self.legacy, start, stop)

    def has_sugar(self, start: int, stop: int) -> bool:
        """Whether sugar of today begins between two offsets."""
        return _any_between(self.sugar, start, stop)


def _any_between(offsets: list[int], start: int, stop: int) -> bool:
    at = bisect_left(offsets, start)
    return at < len(offsets) and offsets[at] < stop


class Here(NamedTuple):
    """A part of the canonical tree, the same part as it was read (None where it stood nowhere), and its scope.

    `moved` says that values may have come into it from the mapping around it. `default` is the name that the only task
    of the step around it has when none is written.
    """

    tree: Tree
    read: Tree
    scope: str
    moved: bool
    default: str = ""

    def under(self, key: str, *, moved: bool) -> "Here":
        """The part under one of its keys."""
        read = self.read.get(key) if isinstance(self.read, dict) else None
        assert isinstance(self.tree, dict)
        name = self.tree.get("step")
        default = f"{name}_task" if self.scope == STEP else self.default
        return Here(self.tree[key], read, inside(self.scope, key), moved, default)

    def implies(self, key: str) -> bool:
        """Whether a key need not be written, since it was read without being written and says the same now."""
        if not isinstance(self.read, dict) or key not in self.read:
            return False
        assert isinstance(self.tree, dict)
        return is_same(plain_tree(self.tree[key]), plain_tree(self.read[key]))

    def opened(self) -> "Here":
        """The parts of a value; a value that is a mapping or list of templates is one of their texts."""
        tree, read = _opened(self.tree), _opened(self.read)
        return self if tree is self.tree else self._replace(tree=tree, read=read)

    def single(self, *, new: bool = False) -> "Here":
        """Where the only task of a step has its default name: the task without the name, as `tool` may be one mapping.

        Else the part itself. `new` says that the step had no `tool` before.
        """
        task, was = _only(self.tree), _only(self.read)
        if task is None or self.scope != inside(STEP, "tool") or task.get("name") != self.default:
            return self
        if task.get("kind") == "workbook" and (not new or task.get("task") is None):  # there `name` is the entry
            return self
        # Only where the name was implied before, too, does the old text serve without it.
        same = was is not None and was.get("name") == self.default
        return self._replace(tree=_unnamed(task), read=_unnamed(was) if was is not None and same else None)

    def lone(self, node: Mapping) -> "Here | None":
        """The only task of a step, if `node` is its mapping and its name did not change; else None."""
        if not isinstance(self.tree, list) or not isinstance(self.read, list):
            return None
        if len(self.tree) != 1 or len(self.read) != 1:
            return None
        task, was = self.tree[0], self.read[0]
        if not isinstance(task, Placed) or not isinstance(was, Placed) or task.get("name") != was.get("name"):
            return None
        # A mapping elsewhere, as the labelled one inside, is not the task's own.
        if node.span not in (task.span, was.span):
            return None
        return self._replace(tree=task, read=was)


def _opened(tree: Tree) -> Tree:
    plain = plain_tree(tree) if isinstance(tree, Value) else None
    return as_tree(plain) if isinstance(plain, dict | list) else tree


def _only(tree: Tree) -> "Placed | None":
    """The only item of a list, where it is a construct."""
    item = tree[0] if isinstance(tree, list) and len(tree) == 1 else None
    return item if isinstance(item, Placed) else None


def _unnamed(task: Placed) -> Placed:
    found = Placed(task.span)
    found.update((key, value) for key, value in task.items() if key != "name")
    return found


def in_order(wanted: list[str], there: list[str]) -> list[str]:
    """The keys of `there` in their order, and each other key of `wanted` behind the last of those before it there."""
    found = list(there)
    for number, key in enumerate(wanted):
        if key not in found:
            before = set(wanted[:number])
            behind = [place for place, other in enumerate(found, 1) if other in before]
            # The author's own order of keys stays as it is.
            found.insert(behind[-1] if behind else 0, key)
    return found


def by_place(tree: Tree) -> dict[Span, Keys]:
    """The items of a list by where they stand; of several in one place the first."""
    found: dict[Span, Keys] = {}
    for item in tree if isinstance(tree, list) else ():
        if isinstance(item, Placed):
            found.setdefault(item.span, item)
    return found


def claims_of(trees: list[Tree], was: dict[Span, Keys]) -> dict[Span, int]:
    """Place → number of the item in `trees` that continues the item of that place: the one with its name, else the
    first.
    """
    found: dict[Span, int] = {}
    for number, item in enumerate(trees):
        if isinstance(item, Placed):
            before = was.get(item.span, {})
            # Lowering makes several items in the place of one; that of the old name is what its comments are about.
            if item.span not in found or item.get("name", "") == before.get("name"):
                found[item.span] = number
    return found


def place_of(node: Node) -> Span:
    """Where the construct of an item stands: inside of its label, if it has one."""
    if isinstance(node, Mapping) and len(node.entries) == 1 and isinstance(node.entries[0][1], Mapping):
        return node.entries[0][1].span
    return node.span


def item_at(tree: Tree, number: int) -> Tree:
    """An item of a list; None where there is none."""
    return tree[number] if isinstance(tree, list) and number < len(tree) else None


def is_same(one: Json, other: Json) -> bool:
    """Equal, and of the same types all through."""
    # `1`, `1.0` and `true` are equal to Python, and three values in a file.
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return one == other
