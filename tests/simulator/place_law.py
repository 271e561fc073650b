"""The law of places under keys: never more at once than whoever takes one allows, and nobody before who asked first.

It follows from the logs alone, in the order in which they are committed, and knows nothing of the rows that a store
keeps about places.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from noetl.store.memory import MemoryStore
from noetl_ir.events import read_event


class _Asked(NamedTuple):
    """A place that an execution asks for."""

    key: str
    limit: int
    way: str


class PlacesSeen:
    """Who holds a place, who waits for one, and who is over, as the events say that were committed so far."""

    def __init__(self) -> None:
        self._callers: dict[str, str] = {}
        self._asked: dict[str, _Asked] = {}
        self._queued: dict[str, set[str]] = {}
        self._before: dict[str, frozenset[str]] = {}
        self._placed: set[str] = set()
        self._over: set[str] = set()
        self._copied: set[str] = set()

    def see(self, name: str, event_type: str, data: Any) -> str:
        """Take in an event that an execution has committed; what is wrong with it, empty for nothing."""
        match event_type:
            case "playbook.execution.requested" if "rerun_of" in data:
                self._copied.add(name)
            case "playbook.placed" | "playbook.queued" if name in self._copied:
                pass  # the place of another execution
            case "playbook.execution.requested" if "parent" in data and not data.get("detached"):
                self._callers[name] = data["parent"][0]
            case "playbook.request.evaluated" | "playbook.rerun" if "place" in data:
                self._copied -= {name} if event_type == "playbook.rerun" else set()
                place = data["place"]
                self._asked[name] = asked = _Asked(place["key"], place["limit"], place["on_conflict"])
                self._before[name] = frozenset(self._queued.get(asked.key, ()))
            case "playbook.queued":
                self._queued.setdefault(self._asked[name].key, set()).add(name)
            case "playbook.placed":
                return self._place(name)
            case "playbook.processed":
                self._over.add(name)
                if name in self._asked:
                    self._queued.get(self._asked[name].key, set()).discard(name)
        return ""

    def _place(self, name: str) -> str:
        asked = self._asked[name]
        self._queued.get(asked.key, set()).discard(name)
        others = [one for one in sorted(self._placed) if self._asked[one].key == asked.key and self._holds(one)]
        self._placed.add(name)
        if len(others) >= asked.limit:
            return f"{name} begins with a limit of {asked.limit} under {asked.key!r}, where {others} hold places"
        passed = self._before[name] & self._queued.get(asked.key, set())
        # One that ends others of its kind goes before them, and they may hear of it later.
        ended = {one for one in passed if asked.way == self._asked[one].way == "cancel_running"}
        return f"{name} begins before {sorted(passed - ended)}, who asked first" if passed - ended else ""

    def _holds(self, root: str) -> bool:
        """Whether an execution, or a child that is waited for, is not over."""
        if root not in self._over:
            return True
        return any(child not in self._over and self._is_under(child, root) for child in self._callers)

    def _is_under(self, child: str, root: str) -> bool:
        above: str | None = child
        while above is not None and above != root:
            above = self._callers.get(above)
        return above == root


class WatchedStore(MemoryStore):
    """A store in memory whose commits are held against the law; `wrong` is the first breach, empty for none."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.wrong = ""
        self._seen = PlacesSeen()

    def _extend(self, execution_id: str, records: Sequence[tuple[str, bytes]]) -> None:
        super()._extend(execution_id, records)
        for _, body in records:
            event = read_event(body)
            wrong = self._seen.see(execution_id, event.event_type, event.data)
            self.wrong = self.wrong or wrong
