"""The agenda of a control plane: when the next timer of each execution is due, and which executions wait for a worker.

It is brought up to date after each turn. So a round costs as much as there is to do, and not as much as there is: ten
thousand executions that wait are looked at only when their time comes.
"""

from heapq import heapify, heappop, heappush


class Agenda:
    """Due times by execution (microseconds of the steady clock), and the executions that wait for a worker."""

    def __init__(self) -> None:
        self._due: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []
        self.waiting: set[str] = set()

    def schedule(self, execution_id: str, due: int | None, *, waiting: bool) -> None:
        """Note when the next timer of an execution is due (None without one), and whether it waits for a worker."""
        if waiting:
            self.waiting.add(execution_id)
        else:
            self.waiting.discard(execution_id)
        if due is None:
            self._due.pop(execution_id, None)
        elif self._due.get(execution_id) != due:
            self._due[execution_id] = due
            heappush(self._heap, (due, execution_id))
            # A heap cannot drop an entry in its middle, so a timer that was moved or called off stays in it. Without
            # this a loop of retries would grow it for as long as the server runs.
            if len(self._heap) > 64 and len(self._heap) > 4 * len(self._due):
                self._heap = [(due, name) for name, due in self._due.items()]
                heapify(self._heap)

    def forget(self, execution_id: str) -> None:
        """The execution is over, or not driven here any more."""
        self.schedule(execution_id, None, waiting=False)

    def next(self) -> int | None:
        """When the next timer is due."""
        heap = self._heap
        # The dictionary has the truth: an entry whose time is another one was scheduled anew since, and is thrown
        # away here.
        while heap and self._due.get(heap[0][1]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def ripe(self, now: int) -> list[str]:
        """The executions with a timer that is due, the earliest first. They stay until they are scheduled anew."""
        found: dict[str, None] = {}
        while (due := self.next()) is not None and due <= now:
            # Scheduled for one time, for another one, and for the first again, it lies in the heap twice.
            found[heappop(self._heap)[1]] = None
        # The caller schedules them anew after their turn. If that turn fails, they are still here, and no timer is
        # lost.
        for name in found:
            heappush(self._heap, (self._due[name], name))
        return [*found]

    def clear(self) -> None:
        """Forget everything."""
        self._due.clear()
        self._heap.clear()
        self.waiting.clear()
