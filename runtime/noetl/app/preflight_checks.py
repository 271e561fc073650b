"""Preflight on the worker's side, and the pools that a server asks: can the secrets that a plan declares be
resolved?
"""

from collections.abc import Callable

from noetl.app.secret_resolver import lacking
from noetl.engine.program import Program
from noetl.ports import Clock, Fence
from noetl.ports.bus import Broadcasts
from noetl.ports.needs import Needs, Waiting
from noetl.server.workers.preflight import WITHIN
from noetl.server.workers.tracker import pool_of
from noetl_ir.expr import Block, Json, ListTemplate, Literal, MapTemplate, Name, Template, expressions_of, walk
from noetl_ir.orders import Broadcast, Check, Checked
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetl_ir.secret_fields import NAMING

MOST_WAITING = 100
"""Checks that wait at a worker; what comes beyond that is not looked at."""

MOST_PROBLEMS, LONGEST_PROBLEM = 20, 500
"""Bounds of what a check tells: sentences, and characters of each."""


def secret_pools(plan: Plan) -> list[str]:
    """The pools whose workers may need a secret: those of the steps with a task that names one."""
    return sorted(
        {
            pool_of(step)
            for step in plan.steps
            for task in (plan.tasks[index] for index in step.tasks)
            if any(_names_a_secret(plan.templates[at]) for at in (task.fields, task.args) if at >= 0)
        }
    )


def _names_a_secret(template: Template) -> bool:
    match template:
        case Literal(value=value):
            return _has_naming_key(value)
        case Block(text=text):
            # A block of Jinja is not parsed here. A word too many costs one question to a pool that needs no secret.
            return "keychain" in text
        case MapTemplate(items=items):
            return any(key in NAMING or _names_a_secret(part) for key, part in items)
        case ListTemplate(items=entries):
            return any(map(_names_a_secret, entries))
    parts = (part for expr in expressions_of(template) for part in walk(expr))
    return any(isinstance(part, Name) and part.name == "keychain" for part in parts)


def _has_naming_key(value: Json) -> bool:
    match value:
        case dict():
            return any(key in NAMING or _has_naming_key(part) for key, part in value.items())
        case list():
            return any(map(_has_naming_key, value))
    return False


class CheckedWorker(NamedTuple):
    """The worker that is checked: its name and pool, and where its secrets lie."""

    worker: str
    pool: str
    secrets_path: str
    root: str
    fence: Fence | None


class _ReceivedCheck(NamedTuple):
    """A check that is made, and until when (microseconds) somebody waits for its result."""

    check_run: Waiting[None]
    until: int


class PreflightChecks:
    """Makes the preflight checks of servers. `needs` gives those of one more check, and `load` the program of a
    digest, for such needs. `clock` is monotonic.
    """

    def __init__(
        self,
        broadcasts: Broadcasts,
        place: CheckedWorker,
        needs: Callable[[], Needs],
        load: Callable[[str, Needs], Program],
        clock: Clock,
    ) -> None:
        self._broadcasts = broadcasts
        self._place = place
        self._needs = needs
        self._load = load
        self._clock = clock
        self._waiting: list[_ReceivedCheck] = []

    def hear(self, broadcast: Broadcast) -> None:
        """Take in a broadcast that may be a check of this worker."""
        if isinstance(broadcast, Check) and self._place.pool in broadcast.pools and len(self._waiting) < MOST_WAITING:
            until = self._clock.now() + int(WITHIN * 1_000_000)
            self._waiting.append(_ReceivedCheck(Waiting(self._check(broadcast, self._needs())), until))

    def step(self) -> None:
        """Make the checks that can be made now; one that nobody waits for any more is forgotten."""
        waiting, self._waiting = self._waiting, []
        for received in waiting:
            try:
                if not received.check_run.step() and self._clock.now() < received.until:
                    self._waiting.append(received)
            except Exception:  # whatever hinders it here says nothing: the run itself will tell
                continue

    async def _check(self, check: Check, needs: Needs) -> None:
        place = self._place
        program = await needs.met(lambda: self._load(check.digest, needs))

        def found() -> tuple[str, ...]:
            return lacking(
                program, check.execution_id, check.workload,
                path=place.secrets_path, root=place.root, fence=place.fence,
            )  # fmt: skip

        problems = await needs.met(lambda: needs.get(("check", check.execution_id), found))
        # What is too large for the bus would be none at all.
        told = [problem[:LONGEST_PROBLEM] for problem in problems[:MOST_PROBLEMS]]
        self._broadcasts.say(Checked(check.execution_id, place.worker, place.pool, told))
