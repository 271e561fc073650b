"""The part of a state that is about the mailbox: waits that it knows, and news that it is to be told."""


class Mail:
    """The correspondence of an execution with the mailbox: `listed` are the calls of waits that it knows, by token key,
    `returned` the inbox rows of its signals that were not taken. What it is to be told passes with each turn.
    """

    __slots__ = ("_over", "_settled", "listed", "returned")

    def __init__(self) -> None:
        self.listed: dict[str, str] = {}
        self.returned: set[int] = set()
        self._over: list[str] = []
        self._settled: list[tuple[int, bool]] = []

    def unlist(self, key: str) -> None:
        """A wait listens no more, if it did."""
        if (call := self.listed.pop(key, None)) is not None:
            self._over.append(call)

    def unlist_all(self) -> None:
        """No wait listens any more."""
        self._over += self.listed.values()
        self.listed.clear()

    def settle(self, row: int, *, is_taken: bool) -> None:
        """The signal that came by a row was taken by its wait, or not."""
        self._settled.append((row, is_taken))
        if not is_taken:
            self.returned.add(row)

    @property
    def has_news(self) -> bool:
        """Whether the mailbox is to be told of anything."""
        return bool(self._over or self._settled)

    def take_news(self) -> tuple[tuple[str, ...], tuple[tuple[int, bool], ...]]:
        """The calls of waits that listen no more, and rows with whether their signals were taken; they are told."""
        news = tuple(self._over), tuple(self._settled)
        self._over.clear()
        self._settled.clear()
        return news
