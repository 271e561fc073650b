"""`data` of a request of the first dialects, where its author reads the names of it beside it:

    {step: ask, tool: http, endpoint: "https://example.com/{{ id }}", data: {id: 7, more: 5}}

Law: only what nothing else can have given is taken from `data`. A name that a step, the workload, a loop or an arc has,
too, was found there by the engine of these files, and `data` was what it sent.
"""

from collections.abc import Iterable

from noetl_ir.scopes import RESERVED
from noetl_ir.scopes.vocabulary import FUNCTIONS
from noetlc.reading.reader import Reader
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, all_nodes, key_as, mapping_at

_ARGS = ("args", "data", "with", "payload", "input")
"""Keys under which an arc gives names to its step."""

_CARRIERS = ("with", "input")
"""Other keys of args beside a tool."""

_ITERATORS = ("iterator", "element", "item", "as")
"""Keys under which a loop names its element."""

_SETTERS = ("vars", "set", "set_ctx")
"""Keys under which any part of a step gives names to all steps."""

_NOBODYS = RESERVED | FUNCTIONS | {"vars"}
"""Names that no value of a playbook hides."""


def with_names(r: Reader, step: Mapping, entries: list[tuple[Scalar, Node]]) -> list[tuple[Scalar, Node]]:
    """The keys of a request. `data` whose names are read beside it are args; it is sent only where some of them are not
    read and there is no `payload`.

    Its engine sent `data` also then, and looked for the names elsewhere, so that such a request asked for nothing.
    """
    keys = {key.text: (key, value) for key, value in entries}
    key, data = keys.get("data", (None, None))
    if key is None or not isinstance(data, Mapping) or "args" in keys:
        return entries
    names = {name.text for name, _ in data.entries}
    read = names & _read_in(value for other, value in entries if other is not key)
    if not read:
        return entries
    taken = names
    if "payload" not in keys:  # beside one it is not sent, whatever its names are found in
        # `{id: "{{ id }}"}` says itself that the name is found elsewhere.
        taken = read - _NOBODYS - _read_in([data]) - _own_names(step) - r.names_in_scope(_text(step.get("step")))
    taken = taken.difference(*(_keys_of(keys[name][1]) for name in _CARRIERS if name in keys))
    if not taken:
        return entries
    is_sent = "payload" not in keys and taken != names
    said = "`args`, whose names are read beside it" + (", and what is sent" if is_sent else "")
    r.respelt(key.span, "`data` of a request", said, "review")
    args = data
    if taken != names:
        # A name that is found elsewhere must not be hidden by what is sent. It stands at the key, since where `data`
        # stands migration would copy all of it.
        args = mapping_at([entry for entry in data.entries if entry[0].text in taken], key.span)
    if is_sent:
        return [*entries, (key_as(key, "args"), args)]
    return [(key_as(key, "args"), args) if other is key else (other, value) for other, value in entries]


class NamesInScope:
    """The names that a document gives to its steps, found when they are first asked for."""

    def __init__(self, document: Mapping) -> None:
        self._document = document
        self._by_step: dict[str, set[str]] | None = None

    def __call__(self, step: str) -> frozenset[str]:
        """The names that every step has and those that arcs give to this one."""
        if self._by_step is None:
            self._by_step = self._found()
        return frozenset(self._by_step[""] | self._by_step.get(step, set()))

    def _found(self) -> dict[str, set[str]]:
        spec = _below(self._document, "executor", "spec")
        declared = (_below(self._document, "workload"), _below(self._document, "vars"))
        everywhere = set[str]().union(*map(_keys_of, (*declared, _below(spec, "ctx"), _below(spec, "inputs"))))
        found = {"": everywhere}
        workflow = self._document.get("workflow")
        for step in workflow.items if isinstance(workflow, Sequence) else ():
            if not isinstance(step, Mapping):
                continue
            everywhere.add(_text(step.get("step")))
            for key, value in step.entries:
                if key.text in _SETTERS:
                    everywhere |= _keys_of(value)
                for inside in all_nodes(value, keys=False):
                    if not isinstance(inside, Mapping):
                        continue
                    everywhere.update(*(_keys_of(inside.get(name)) for name in _SETTERS))
                    if gathered := _text(inside.get("into")):
                        everywhere.add(gathered.rpartition(".")[2])
                    if (target := _text(inside.get("step"))) and inside.get("tool") is None:
                        found.setdefault(target, set()).update(*(_keys_of(inside.get(name)) for name in _ARGS))
        return found


def _own_names(step: Mapping) -> set[str]:
    """The names of the elements that a step loops over."""
    loop = step.get("loop")
    return {_text(loop.get(name)) for name in _ITERATORS} if isinstance(loop, Mapping) else set()


def _read_in(nodes: Iterable[Node]) -> set[str]:
    """The names that the templates below some nodes read."""
    from noetlc.expr.block_names import free_names  # few files have such a request

    scalars = [part for node in nodes for part in all_nodes(node, keys=False) if isinstance(part, Scalar)]
    return {name.name for scalar in scalars for name in free_names(scalar.text)}


def _below(node: Node | None, *keys: str) -> Node | None:
    """The node below some keys, one in the other."""
    for key in keys:
        node = node.get(key) if isinstance(node, Mapping) else None
    return node


def _keys_of(node: Node | None) -> set[str]:
    """The keys of a mapping, each without the scope before it (`ctx.total`)."""
    return {key.text.rpartition(".")[2] for key, _ in node.entries} if isinstance(node, Mapping) else set()


def _text(node: Node | None) -> str:
    return node.text if isinstance(node, Scalar) else ""
