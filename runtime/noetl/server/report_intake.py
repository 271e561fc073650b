"""The intake of reports: sorted by execution, heartbeats answered at once, reports for other servers handed on."""

from collections.abc import Callable, Mapping

from noetl.messages.encoding import UnreadableMessage, read_report
from noetl.ports import Blobs, Store
from noetl.ports.bus import Bus, ReportDelivery
from noetl.server.execution import OwnedExecution
from noetl.server.workers.tracker import WorkerTracker
from noetl_ir.orders import Answer, ClaimCheck, LeaseHeartbeat, Order, Report, Said
from noetl_ir.records import NamedTuple


class HeardReport(NamedTuple):
    """A report, and the delivery that it came by."""

    delivery: ReportDelivery[Said, Answer]
    report: Report


def lets_go(report: Report) -> bool:
    """Whether the answer to a report lets an effect begin, of a tool or of a wait outside of any worker. Such an answer
    must not go out before the report is on disk.
    """
    return report.events[-1].event_type == "task.started"


class ReportIntake:
    """Takes reports and heartbeats from the bus. `executions` are those that are driven here. `refused` counts messages
    from senders that were not given the order; `say` is called with a line about them.
    """

    def __init__(
        self,
        bus: Bus[Order, Said, Answer],
        *,
        store: Store,
        blobs: Blobs,
        executions: Mapping[str, OwnedExecution],
        tracker: WorkerTracker,
        say: Callable[[str], None],
    ) -> None:
        self.refused = 0
        self._late: dict[str, list[HeardReport]] = {}
        self._say = say
        self._bus = bus
        self._store = store
        self._blobs = blobs
        self._executions = executions
        self._tracker = tracker

    def reports(self) -> dict[str, list[HeardReport]]:
        """The reports that wait, by execution. A heartbeat changes nothing in the log, so it is answered here."""
        found, self._late = self._late, {}
        # This comes before anything is taken from the bus: a lease may only end by what was not said until now.
        self._tracker.listen()
        for delivery in self._bus.reports():
            said = self._inside(delivery.body)
            if said is None:
                delivery.dead_letter("what lies outside for it cannot be read")
            # The code is checked before anything is looked up, so that a forger learns nothing of which executions
            # there are.
            elif not self._tracker.is_fit(said):
                self._refuse(delivery, said)
            elif isinstance(said, Report):
                found.setdefault(said.execution_id, []).append(HeardReport(delivery, said))
            else:
                self._feel(delivery, said)
        return found

    def put_off(self, execution_id: str, heard: list[HeardReport]) -> None:
        """Reports of an execution wait for the next round."""
        if heard:
            self._late[execution_id] = heard

    def clear(self) -> None:
        """Forget what was put off: whoever said it says it again."""
        self._late.clear()

    def hand_on(self, delivery: ReportDelivery[Said, Answer], execution_id: str) -> None:
        """A report about an execution that is not driven here: it is over, or another server's."""
        row = self._store.execution(execution_id)
        # A worker whose execution is over has to be told, else it sends its report again until its process ends.
        if row is None or row.ended is not None:
            delivery.answer(Answer(0))
        else:
            delivery.pass_on(Answer(0))

    def _refuse(self, delivery: ReportDelivery[Said, Answer], said: Report | LeaseHeartbeat) -> None:
        """Somebody speaks of a claim without its order: an answer would tell whether there is such a claim."""
        self.refused += 1
        if self.refused & (self.refused - 1) == 0:  # the 1st, 2nd, 4th, 8th, …: a flood does not fill the log
            what = "report" if isinstance(said, Report) else "heartbeat"
            who = ascii(said.sender)[1:60]
            self._say(
                f"a {what} on execution {said.execution_id[:64]!a} from {who} is refused, as it has not the code of its"
                f" claim ({self.refused} so far): somebody speaks on the bus who was given no order"
            )
        delivery.answer(Answer(0))

    def _feel(self, delivery: ReportDelivery[Said, Answer], heartbeat: LeaseHeartbeat) -> None:
        owned = self._executions.get(heartbeat.execution_id)
        if owned is None:
            self.hand_on(delivery, heartbeat.execution_id)
            return
        has_claim = owned.is_at_claim(heartbeat.run, heartbeat.claim)
        if has_claim:
            self._tracker.hear_heartbeat(heartbeat)
        delivery.answer(Answer(int(has_claim)))

    def _inside(self, said: Said) -> Report | LeaseHeartbeat | None:
        """The message that was too large for the bus is fetched; None where it cannot be read."""
        if not isinstance(said, ClaimCheck):
            return said
        try:
            found = read_report(self._blobs.get(said.reference))
        except (KeyError, UnreadableMessage):
            return None
        # A blob that holds a claim check again could lead around in a circle, and one about another execution is none
        # that the worker of this one put there.
        return None if isinstance(found, ClaimCheck) or found.execution_id != said.execution_id else found
