"""Which dialect a playbook is mostly written in, for reports.

Constructs of all dialects mix and each is read for itself; the name is that of the newest or most telling construct
that the file has, by an ordered list of questions.
"""

from collections.abc import Callable, Iterator

from noetl_ir.records import NamedTuple
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, all_nodes
from noetlc.source.yaml_reader import read_yaml

CANONICAL, NEARLY = "canonical", "canonical but for a few keys"
_LOCAL_KINDS = frozenset({"shell", "playbook", "http", "duckdb", "rhai"})


class _Form(NamedTuple):
    """The parts of a file that are asked about: the root, its steps, their tasks, every key anywhere, and whether
    routers and rules are.
    """

    root: Mapping
    steps: tuple[Mapping, ...]
    tasks: tuple[Mapping, ...]
    keys: frozenset[str]
    labelled: bool

    @property
    def is_routed(self) -> bool:
        """Whether it has arcs or policies with rules."""
        return bool(self.keys & {"arcs", "rules"})

    def has_text(self, part: str) -> bool:
        """Whether a template has these characters."""
        return any(
            isinstance(node, Scalar) and "{{" in node.text and part in node.text for node in all_nodes(self.root)
        )


def dialect_of_file(name: str, data: bytes) -> str:
    """The names of the dialects of a file's documents, each once; "" where none is a playbook."""
    found = [dialect_of(node) for node in read_yaml(name, data).documents]
    return ", ".join(dict.fromkeys(dialect for dialect in found if dialect))


def dialect_of(node: Node | None) -> str:
    """The name of the dialect of a document that is not canonical, "" where it is no playbook."""
    if not isinstance(node, Mapping) or node.get("workflow") is None:
        return ""
    form = _form(node)
    return next((name for name, asked in _QUESTIONS if asked(form)), NEARLY)


def _form(root: Mapping) -> _Form:
    steps = tuple(item for item in _items(root.get("workflow")) if isinstance(item, Mapping))
    listed = [item for step in steps for item in _items(step.get("tool")) if isinstance(item, Mapping)]
    labels = [item.entries[0][1] for item in listed if _is_labelled(item)]
    lone = [tool for step in steps if isinstance(tool := step.get("tool"), Mapping)]
    tasks = (*lone, *(item for item in [*listed, *labels] if isinstance(item, Mapping)))
    return _Form(root, steps, tasks, frozenset(_keys(root)), bool(labels))


def _items(node: Node | None) -> list[Node]:
    return list(node.items) if isinstance(node, Sequence) else []


def _is_labelled(item: Mapping) -> bool:
    return len(item.entries) == 1 and isinstance(item.entries[0][1], Mapping)


def _keys(root: Mapping) -> Iterator[str]:
    return (key.text for node in all_nodes(root) if isinstance(node, Mapping) for key, _ in node.entries)


def _is_word(step: Mapping, key: str) -> bool:
    return isinstance(step.get(key), Scalar)


def _sets(form: _Form) -> bool:
    words = {"set", "input"} & form.keys
    return form.is_routed and (bool(words) or form.has_text("output"))


def _is_local(form: _Form) -> bool:
    kinds = {kind.text for task in form.tasks if isinstance(kind := task.get("kind"), Scalar)}
    return _has_list(form) and (form.root.get("executor") is not None or (bool(kinds) and kinds <= _LOCAL_KINDS))


def _has_list(form: _Form) -> bool:
    return any(isinstance(step.get("next"), Sequence | Scalar) for step in form.steps)


_QUESTIONS: tuple[tuple[str, Callable[[_Form], bool]], ...] = (
    ("call", lambda form: any(step.get("call") is not None for step in form.steps) and "type" not in form.keys),
    ("pipe", lambda form: "pipe" in form.keys),
    ("eval", lambda form: bool({"eval", "expr"} & form.keys) or (form.labelled and not form.is_routed)),
    ("labelled", lambda form: form.labelled),
    ("tool as a word", lambda form: any(_is_word(step, "tool") for step in form.steps)),
    ("type", lambda form: any(_is_word(step, "type") for step in form.steps)),
    ("case", lambda form: any(step.get("case") is not None for step in form.steps)),
    ("cursor", lambda form: "cursor" in form.keys),
    ("set and input", _sets),
    ("local", lambda form: not form.is_routed and _is_local(form)),
    ("lists of next steps", _has_list),
    ("formal", lambda form: bool({"vars", "sink", "retry", "pagination"} & form.keys)),
)
"""In the order in which they are asked: the first that is true names the dialect."""
