"""The executions that a control plane drives: their states, their order in a round, their ownership in the store."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count

from noetl.ports import Append, Store
from noetl.server.execution import OwnedExecution


class OwnedExecutions:
    """The owned executions by id. The ownership in the store begins with `own` and ends with `let_go`; an execution may
    be owned before its state is in `executions`.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._numbers = count()
        self._ranks: dict[str, int] = {}
        self._owned: dict[str, ExitStack] = {}
        self.executions: dict[str, OwnedExecution] = {}

    def add_execution(self, execution_id: str, owned: OwnedExecution) -> None:
        """An execution is driven here from now on."""
        self.executions[execution_id] = owned
        self._ranks[execution_id] = next(self._numbers)

    def amend(self, execution_id: str, append: Append) -> Append:
        """The last turn of an execution made anew, after the store refused its end (`OwnedExecution.amend_end`)."""
        return self.executions[execution_id].amend_end(append)

    def rank(self, execution_id: str) -> tuple[int, str]:
        """The sort key of an execution in a round: by when it came or was put last; one that is not driven here comes
        first.
        """
        return self._ranks.get(execution_id, 0), execution_id

    def put_last(self, execution_id: str) -> None:
        """Let all others come before an execution from now on, since it had a long turn."""
        if execution_id in self._ranks:
            self._ranks[execution_id] = next(self._numbers)

    def own(self, execution_id: str, *, is_new: bool = False) -> None:
        """Become the owner of an execution. Raises Owned when another process owns it."""
        # An ownership ends in another method than it begins in, so a `with` statement cannot hold it.
        owning = ExitStack()
        owning.enter_context(self._store.own_new(execution_id) if is_new else self._store.own(execution_id))
        self._owned[execution_id] = owning

    @contextmanager
    def owning(self, execution_id: str, give_up: Callable[[str], None], *, is_new: bool = False) -> Iterator[None]:
        """Own an execution; where the body of the `with` raises, `give_up` it. Raises Owned."""
        self.own(execution_id, is_new=is_new)
        try:
            yield
        except BaseException:
            give_up(execution_id)
            raise

    def owned(self) -> list[str]:
        """The ids of the executions that are owned here."""
        return [*self._owned]

    def is_owned(self, execution_id: str) -> bool:
        """Whether it is owned here."""
        return execution_id in self._owned

    def root_of(self, execution_id: str) -> str:
        """The outermost caller that is driven here."""
        while (owned := self.executions.get(execution_id)) is not None:
            parent = owned.execution.parent
            # The caller may be driven by another server, or be over; then this one is the root of what is here.
            if parent is None or parent[0] not in self.executions:
                break
            execution_id = parent[0]
        return execution_id

    def path_of(self, execution_id: str) -> str:
        """The path of the playbook of the outermost caller that is driven here."""
        owned = self.executions.get(self.root_of(execution_id))
        return "" if owned is None else owned.program.plan.path or owned.program.plan.name

    def family_of(self, execution_id: str) -> list[OwnedExecution]:
        """An execution with its callers and all their children, as far as they are driven here."""
        root = self.root_of(execution_id)
        return [owned for name, owned in self.executions.items() if self.root_of(name) == root]

    def let_go(self, execution_id: str) -> None:
        """Forget an execution, and give back its ownership."""
        self.executions.pop(execution_id, None)
        self._ranks.pop(execution_id, None)
        owning = self._owned.pop(execution_id, None)
        if owning is not None:
            owning.close()

    def clear(self) -> None:
        """Let go of everything."""
        # One may be owned and have no state yet (its log could not be read); one that was handed to `start` or
        # `resume` is owned by whoever called.
        for execution_id in {**self.executions, **self._owned}:
            self.let_go(execution_id)
