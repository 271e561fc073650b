"""Places under keys, as a store keeps them (EXTENSIONS.md §2, `concurrency`): who has one, and who waits for one."""

from noetl_ir.records import NamedTuple


# Rows of those that wait, too, and not only a count: who is next is decided by the store's order, in whatever process.
class PlaceRow(NamedTuple):
    """A place that is held or waited for by an execution that is not over. `number` is the order in which they were
    asked for, 0 before a store has it.

    `root` is whose place it is: the execution itself, or the caller under whose place it runs, which holds the place as
    long as any of these is not over. `above` are all executions under whose places it runs. `on_conflict` as in the
    plan, empty of one that others have ended.
    """

    key: str
    execution_id: str
    root: str
    placed: bool
    limit: int = 1
    on_conflict: str = "queue"
    above: tuple[str, ...] = ()
    number: int = 0
