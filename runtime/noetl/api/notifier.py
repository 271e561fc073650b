"""Tells those who follow an execution that there is more in its log."""

from collections.abc import Callable
from threading import Lock


class Notifier:
    """Rings for those who listen to an execution; from any thread."""

    def __init__(self) -> None:
        self._listeners: dict[str, dict[object, Callable[[], None]]] = {}
        self._lock = Lock()

    def notify(self, execution_id: str) -> None:
        """Call them back: there is more in its log."""
        if execution_id not in self._listeners:  # as nearly always, and this is called for each event
            return
        with self._lock:
            # A copy, so that no callback runs under the lock: one that listens or forgets in it would wait for
            # itself.
            callbacks = [*self._listeners.get(execution_id, {}).values()]
        for callback in callbacks:
            callback()

    def listen(self, execution_id: str, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back at each ring, until what is returned is called."""
        key = object()
        with self._lock:
            self._listeners.setdefault(execution_id, {})[key] = callback
        return lambda: self._forget(execution_id, key)

    def _forget(self, execution_id: str, key: object) -> None:
        with self._lock:
            listeners = self._listeners.get(execution_id, {})
            listeners.pop(key, None)
            # A server sees many executions in its life: the empty ones go, else each that was ever followed would
            # stay.
            if not listeners:
                self._listeners.pop(execution_id, None)
