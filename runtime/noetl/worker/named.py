"""Everything that code may read by name where its task stands: `context` of the kind `python` (LANGUAGE §7)."""

from collections.abc import Callable, Iterator, Mapping

from noetl_ir.expr import Json
from noetl_ir.scopes.play import PlayScope
from noetl_ir.scopes.values import Undefined, plain

_STATE = ("ctx", "iter", "workload", "execution_id", "args", "job")
_HIDDEN = frozenset({"keychain", "now", "ref"})


class NamedValues(Mapping[str, Json]):
    """The values of names: an arg of the task, else what the name means in an expression of the task's fields.

    `restore` puts secrets back into a value; into `args` they are put back already. A stored result is fetched when
    its name is read; Fault `ref.missing` when it is gone.
    """

    __slots__ = ("_args", "_names", "_restore")

    def __init__(self, names: PlayScope, args: dict[str, Json], restore: Callable[[Json], Json]) -> None:
        self._names = names
        self._args = args
        self._restore = restore

    def __getitem__(self, name: str) -> Json:
        if name in self._args:
            return self._args[name]
        if name == "args":
            return self._args
        if name == "job":
            execution_id = self._names.lookup("execution_id")
            return dict.fromkeys(("uuid", "id", "execution_id"), execution_id)  # type: ignore[arg-type]
        # `keychain` would show secrets to code that did not ask for them by name; `now` and `ref` are functions of
        # expressions.
        value = Undefined(name) if name in _HIDDEN else plain(self._names.lookup(name))
        if isinstance(value, Undefined):
            raise KeyError(name)
        return self._restore(value)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[str]:
        every = dict.fromkeys([*_STATE, *self._args, *self._names.names()])
        return (name for name in every if not name.startswith("_") and name not in _HIDDEN)

    def __len__(self) -> int:
        return sum(1 for _ in self)
