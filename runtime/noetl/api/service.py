"""The service behind the API of a server: what the API asks for, answered from the store and by the service beside it.

Looking reads the store from the caller's thread. Changing is left to the thread that drives: a start is handed to it
and answered once it is on disk, requests to an execution go through its inbox, and the service is woken.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from noetl.api.notifier import Notifier
from noetl.api.problems import Faulty, OtherPlan, Rejected, Unknown
from noetl.api.refused_starts import refusals_counted
from noetl.api.scoping import check_path, check_plan, check_start
from noetl.app.documents import (
    execution_document,
    mail_document,
    moment_document,
    moment_of,
    replay_document,
    row_document,
    verdict_of,
    version_document,
)
from noetl.app.kept_folds import Behind
from noetl.app.picture import rows_of
from noetl.app.preflight_checks import secret_pools
from noetl.app.programs import WORTH
from noetl.app.runtime import Runtime
from noetl.app.secret_resolver import SecretsAtStart, secrets_at_start, workload_of
from noetl.app.snapshot_cache import SnapshotCache
from noetl.app.snapshots import UnreadableExecution, events_of, program_of, result_of
from noetl.app.start_checks import unknown_playbook
from noetl.app.verifier import verifier
from noetl.app.workers import EVERY_POOL, hindrance, pool_documents, worker_document
from noetl.engine.inputs import undeclared
from noetl.engine.program import Program
from noetl.engine.retyped import retyped
from noetl.engine.signals import unheard
from noetl.engine.starting import Request, unmet
from noetl.engine.unread import unread
from noetl.host.measures import Measures
from noetl.host.runnable_kinds import unable
from noetl.ports import STATUSES, Busy, ExecutionRow, MailboxFull, NoRoom, Over, Owned, Record, Taken, Wanted
from noetl.ports.actors import acting, starting
from noetl.ports.catalogue import Versions
from noetl.ports.idempotency import StartKey, other
from noetl.ports.mailbox import Letter, OtherLetter, WantedMail
from noetl.ports.namespaces import Namespaced
from noetl.ports.output import OutputChunk
from noetl.secrets.credentials import CredentialProblem, Credentials
from noetl.server.children import NotFound, root_of
from noetl.server.control import ControlPlane
from noetl.server.namespaces.shares import most_at_work
from noetl.server.service import Service, ServiceState
from noetl.server.workers.macs import Macs
from noetl.server.workers.registry import WorkerRegistry
from noetl.server.workers.tracker import DEFAULT_POOL
from noetl_ir.envelope import Origin, envelope_of, origin_of
from noetl_ir.events import iso_of
from noetl_ir.expr import Json
from noetl_ir.orders import Check, WorkerHeartbeat
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    from noetl.clients.compiler import CompiledPlaybook

DRAIN = 30_000_000
"""Microseconds that what is in flight has to finish when the server stops."""

_LOOKS = 0.1
"""Seconds that a list looks into executions for what they do: those whose logs are long are known a few pages later,
since what was folded is kept and gone on with. As long one looks whether a moment is the newest.
"""
_MORE = 100
"""How many things that one does are looked at for that."""

Compile: TypeAlias = "Callable[[bytes, str], CompiledPlaybook]"
"""Compiles the source of a playbook with a name; raises Faulty."""


class Start(NamedTuple):
    """A start: the plan, by `digest`, or by `path` and `version` (None: the newest), and the payload.

    All starts with one `key` are one; without a key each is its own.
    """

    digest: str
    path: str
    version: int | None
    payload: dict[str, Json]
    key: StartKey | None = None
    strict_inputs: bool = False
    """Whether names that are no keys of `workload` are refused."""
    started_by: dict[str, Json] | None = None
    """What starts it where that is no person."""
    labels: dict[str, str] | None = None
    """Texts that it is found by."""
    only: str = ""
    """The digest of the one plan that it may be of; empty for any."""


class StartedExecution(NamedTuple):
    """The execution of a start; `fresh` is False where an earlier start with the same key has begun it."""

    execution_id: str
    fresh: bool = True


class Prepared(NamedTuple):
    """A start that can be made.

    - `lacking`: a future of the secrets that cannot be had, a sentence each.
    - `begin`: makes the execution; its future is done once the first events are on disk.
    - `warnings`: sentences about what is strange in the request.
    """

    lacking: Future[tuple[str, ...]]
    begin: Callable[[], Future[StartedExecution]]
    warnings: tuple[str, ...] = ()


class ApiService:
    """The operations of the API over a runtime and its service. Each may be called from any thread, and blocks, but for
    a start, which returns futures. Raises Unknown, Rejected, Faulty, StoreFailure, Busy.

    `registry` has the workers where they are other processes. `asked` is a set that executions are added to when
    somebody asks something of them, for a service that takes up no others (`noetl ui`).
    """

    def __init__(
        self,
        runtime: Runtime,
        service: Service,
        notifier: Notifier,
        compiler: Compile,
        registry: WorkerRegistry | None = None,
        asked: set[str] | None = None,
    ) -> None:
        self._registry = registry
        self._asked = asked
        self.runtime = runtime
        self._snapshots = SnapshotCache(runtime)
        self._macs = Macs(runtime.store.claims_key)
        self._service = service
        self.compiled = compiler
        self.listen = notifier.listen
        self._notify = notifier.notify

    @property
    def measures(self) -> Measures:
        """The figures that the server counts."""
        return self._service.measures

    def standing(self) -> ServiceState:
        """How the thread that drives stands."""
        return self._service.standing()

    def counts(self) -> dict[str, int]:
        """How many executions stand how."""
        return {**dict.fromkeys(STATUSES, 0), **self.runtime.store.counts()}

    def executions(self, wanted: Wanted, *, now: bool = False) -> list[dict[str, Json]]:
        """The rows of a list, as documents; `now` adds what each that is not over does and waits for."""
        rows = self.runtime.store.executions(wanted)
        roots = {row.execution_id: root_of(self.runtime.store, row) for row in rows if row.ended is None}
        # One question for the whole page: a child is driven by the owner of its root, and a page of a thousand would
        # ask a thousand times.
        owned = self.runtime.store.owned({*roots.values()}) if roots else frozenset[str]()
        found_by = self.runtime.store.attributes([row.execution_id for row in rows])
        documents = [
            row_document(row, owned=roots.get(row.execution_id) in owned, attributes=found_by.get(row.execution_id, ()))
            for row in rows
        ]
        if now:
            until = time.monotonic() + _LOOKS
            for row, document in zip(rows, documents, strict=True):
                if row.ended is None and time.monotonic() < until:
                    document["now"] = self._now(row, until, owned=bool(document["owned"]))
        return documents

    def _now(self, row: ExecutionRow, until: float, *, owned: bool) -> Json:
        """The thing that an execution waits for, else does, in a few words, and how many more things there are; None
        where that is not known `until` then.
        """
        try:
            with self._snapshots.at(row, until) as snapshot:
                rows = rows_of(snapshot.program, snapshot.execution, driven=owned, why=partial(self._hindrance, row))
                found = [*islice(rows, _MORE)]
        except (UnreadableExecution, NotFound):  # whoever opens it is told
            return None
        if not found:
            return None
        # A step that runs and its task that waits are two rows: what somebody can do something about comes first.
        first = next((each for each in found if each.what not in ("step", "signal", "interrupt")), found[0])
        due = iso_of(first.due) if first.due is not None else None
        more = sum(each.place.partition(" / ")[0] != first.place.partition(" / ")[0] for each in found)
        return {"what": first.what, "text": f"{first.place}: {first.text}", "due": due, "more": more}

    def row(self, execution_id: str) -> dict[str, Json]:
        """The row of an execution in lists."""
        row = self.execution_row(execution_id)
        return row_document(row, owned=self._is_owned(row))

    def execution(self, execution_id: str) -> dict[str, Json]:
        """How it stands, what it does now and waits for."""
        row = self.execution_row(execution_id)
        with faults_told(), self._snapshots.at(row) as snapshot:
            return execution_document(
                self.runtime, snapshot, owned=self._is_owned(row), why=partial(self._hindrance, row)
            )

    def moment(self, execution_id: str, position: int, step: str) -> dict[str, Json]:
        """How it stood behind the event at a position, and the args of the newest run of a step until then."""
        row = self.execution_row(execution_id)
        with faults_told():
            # Whoever follows an execution asks for its newest moment again and again, and that is kept.
            if not step:
                with suppress(Behind), self._snapshots.at(row, time.monotonic() + _LOOKS) as snapshot:
                    if snapshot.execution.position <= position:
                        return moment_document(snapshot, None)
            return moment_of(self.runtime, row, position, step)

    def ctx(self, execution_id: str) -> dict[str, Json]:
        """The `ctx` of an execution."""
        with faults_told(), self._snapshots.at(self.execution_row(execution_id)) as snapshot:
            return snapshot.execution.ctx

    def result(self, execution_id: str, step: str, position: int | None = None) -> Json:
        """The result of a step's latest success, of the last step when `step` is empty; references followed."""
        with faults_told():
            return result_of(self.runtime, self.execution_row(execution_id), step or None, position)

    def replay(self, execution_id: str) -> dict[str, Json]:
        """Whether its log is a legal run of its plan, and the state it leads to."""
        with faults_told():
            return replay_document(*verdict_of(self.runtime, self.execution_row(execution_id)))

    def events(self, execution_id: str, after: int, limit: int) -> list[dict[str, Json]]:
        """Envelopes behind a position."""
        row = self.execution_row(execution_id)
        with faults_told():
            plan = program_of(self.runtime, execution_id).plan
            # From the beginning of the log, its first event comes along with the page.
            origin = self._origin(row) if after else None
            found = []
            for position, event in islice(events_of(self.runtime, execution_id, after), limit):
                origin = origin or origin_of(execution_id, event)
                found.append(envelope_of(plan, origin, event, position))
            return found

    def log(self, execution_id: str, after: int, limit: int) -> Sequence[Record]:
        """The events as stored, for those who fold them."""
        self.execution_row(execution_id)
        return tuple(islice(self.runtime.store.read(execution_id, after), limit))

    def is_over(self, execution_id: str) -> bool:
        """Whether an execution has ended."""
        return self.execution_row(execution_id).ended is not None

    def ask(self, execution_id: str, verb: str, body: Json) -> None:
        """Cancel, pause, resume or signal."""
        row = self.execution_row(execution_id)
        if row.ended is not None:
            raise Rejected(f"execution {execution_id} is over ({row.status}): there is nothing to {verb}")
        if self._asked is not None:  # with its caller, whose owner drives both
            self._asked |= {execution_id, root_of(self.runtime.store, row)}
        # Posted first, then woken: the thread that drives looks into the store, and what it has read there is all
        # that counts after a crash.
        with self.storing():
            try:
                self.runtime.store.post(execution_id, verb, body)
            except Over:  # it ended meanwhile
                raise Rejected(f"execution {execution_id} is over: there is nothing to {verb}") from None
        self._service.wake()

    def unheard(self, execution_id: str, name: str) -> str:
        """Why nothing in the playbook of an execution ever takes a signal; empty where something may."""
        row = self.execution_row(execution_id)
        with faults_told():
            return unheard(program_of(self.runtime, row.execution_id), name)

    def post_letter(self, letter: Letter) -> bool:
        """Send a signal to whoever waits under its key; whether somebody does. Raises Rejected."""
        with self.storing():
            try:
                is_delivered = self.runtime.store.mailbox.post_letter(letter)
            except (MailboxFull, OtherLetter) as problem:
                raise Rejected(str(problem)) from None
        self._service.wake()
        return is_delivered

    def mail(self, wanted: WantedMail) -> list[dict[str, Json]]:
        """The rows of the mailbox, as documents."""
        return [mail_document(row) for row in self.runtime.store.mailbox.rows(wanted)]

    def retry_fault(self, execution_id: str) -> None:
        """Go on with an execution that a mistake of the engine ended. Raises Unknown, Rejected."""
        row = self.execution_row(execution_id)
        with faults_told():
            with self._snapshots.at(row) as snapshot:
                faulted = snapshot.execution.fault is not None
            if row.ended is None or not faulted:
                raise Rejected(f"execution {execution_id} did not end by engine.fault: it is {row.status}")
            program = program_of(self.runtime, execution_id)
        try:
            self._service.do(lambda control: control.take_up(execution_id, program, retry_fault=True)).result()
        except Owned:
            raise Rejected(f"execution {execution_id} is driven by another process") from None

    def prepare(self, start: Start) -> Prepared:
        """All that a start needs, but for the start itself."""
        if start.key is not None and (there := self.runtime.store.started_with(start.key.key)) is not None:
            known, nothing = Future[StartedExecution](), Future[tuple[str, ...]]()
            known.set_result(_again(start.key, *there))
            nothing.set_result(())
            return Prepared(nothing, lambda: known)
        with faults_told():
            program = self.runtime.programs.load(self.digest_of_start(start))
            if start.only not in ("", program.digest):
                raise OtherPlan(f"nothing was started: `{start.path}` is another plan here: {program.digest}")
            check_start(self.runtime, program)
            execution_id = self.runtime.new_execution_id()
            variables = self.runtime.settings.environment.variables_for(program)
            # The start is made by the thread that drives, for whoever asks here.
            actor = starting(execution_id)
            request = Request(start.payload, env=variables, started_by=start.started_by, labels=start.labels)
            # Refused before an execution is made: a start that cannot come to anything would only leave a failed run
            # behind.
            told = unmet(program, execution_id, request)
            if start.strict_inputs:
                told = (*undeclared(program, start.payload), *told)
            told = (*told, *self.unable(program))
            if told:
                raise Rejected("; ".join(["nothing was started", *told]))

            def begin(control: ControlPlane) -> StartedExecution:
                try:
                    with acting(actor), refusals_counted(self.measures):
                        control.own_and_start(program, execution_id, request, start.key)
                except Taken as taken:  # somebody was quicker
                    assert start.key is not None
                    return _again(start.key, taken.execution_id, taken.request)
                return StartedExecution(execution_id)

            lacking, exposed = self._secrets_of(program, execution_id, request)
            strange = (*unread(program, start.payload), *retyped(program, start.payload))
            return Prepared(
                lacking,
                partial(self._service.do, begin),
                (*strange, *exposed),
            )

    def unable(self, program: Program) -> tuple[str, ...]:
        """Why a playbook cannot run here, a sentence each; where the workers are elsewhere they have what it takes, or
        not.
        """
        return unable(program.plan) if self.has_worker else ()

    @property
    def has_worker(self) -> bool:
        """Whether the server runs tasks itself, and has their secrets."""
        return self._registry is None

    def take_up(self, execution_id: str, program: Program) -> None:
        """Go on with an execution that was put into the store; sooner than by the next look for what nobody drives."""
        if self._asked is not None:
            self._asked.add(execution_id)
        with suppress(Busy):
            self._service.do(lambda control: control.take_up(execution_id, program))

    def playbooks(self, wanted: Versions) -> list[dict[str, Json]]:
        """The catalogue, by path, the newest version first."""
        return [version_document(row) for row in self.runtime.store.plans(wanted)]

    def plan_bytes(self, digest: str) -> bytes:
        """The bytes of a plan."""
        data = self.runtime.store.plan_bytes(digest)
        if data is None:
            raise Unknown(f"there is no plan with the digest {digest}")
        return data

    def source(self, digest: str) -> bytes:
        """The source that a plan was compiled from."""
        found = self.runtime.store.source(digest)
        if found is None:
            raise Unknown(f"of the plan with the digest {digest} no source was given")
        return found

    def put_source(self, digest: str, text: bytes) -> None:
        """Keep the source of a plan that is here; the first that was given stays."""
        self.plan_bytes(digest)
        with self.storing():
            self.runtime.store.put_source(digest, text)

    def plan_with_verifier(self, digest: str) -> tuple[bytes, str]:
        """The bytes of a plan, and the name of the checks that this version has sealed for it, empty for none."""
        data = self.plan_bytes(digest)
        name = verifier() if len(data) >= WORTH else ""
        return data, name if name and self.runtime.store.vouches(digest, name) else ""

    def plan_at(self, path: str, version: int | None) -> tuple[str, bytes]:
        """The digest and bytes of a version of a path, the newest when none is given."""
        found = self.runtime.store.plan_at(path, version)
        if found is None:
            raise Unknown(unknown_playbook(self.runtime.store, path, version))
        return found

    def blob(self, reference: Mapping[str, Json]) -> bytes:
        """The bytes of a value that lies outside the log."""
        try:
            return self.runtime.blobs.get(reference)
        except KeyError as problem:
            raise Unknown(str(problem.args[0])) from None

    def check_open(self, execution_id: str) -> None:
        """Raises Unknown, and Rejected where the execution is over."""
        row = self.execution_row(execution_id)
        if row.ended is not None:
            raise Rejected(f"execution {execution_id} is over ({row.status}): it takes no more values")

    def put_blob(self, execution_id: str, data: bytes) -> dict[str, Json]:
        """Keep a value of an execution that is not over outside of its log; its reference.

        Nothing else comes of it: it is found by its hash, and a report that counts has to name it.
        """
        self.check_open(execution_id)
        with self.storing():
            return self.runtime.blobs.put(execution_id, data)

    def add_output(self, chunks: Sequence[OutputChunk]) -> int:
        """Keep what tasks print, of executions that are here, and of whose attempt the sender has the order; also of
        executions that are over, whose tools end last. How many chunks those are.
        """
        known: dict[str, Mapping[str, int] | None] = {}
        fit = []
        for chunk in chunks:
            if (name := chunk.execution_id) not in known:
                known[name] = self._steps_of(name)
            step = (known[name] or {}).get(chunk.step)
            if step is not None and self._macs.is_output_fit(chunk, step):
                fit.append(chunk._replace(mac=""))
        with self.storing():
            self.runtime.outputs.add_chunks(fit)
        for name in {chunk.execution_id for chunk in fit}:
            self._notify(name)
        return len(fit)

    def _steps_of(self, execution_id: str) -> Mapping[str, int] | None:
        """The numbers of the steps of an execution's plan; None of one that is not here."""
        try:
            return self.runtime.program_of(execution_id).step_numbers
        except (LookupError, NotFound):
            return None

    def output_end(self, execution_id: str) -> int:
        """The position of what a task of an execution printed last."""
        return self.runtime.outputs.last_position(execution_id)

    @contextmanager
    def storing(self) -> Iterator[None]:
        """A value stored beside the service, which is told where there is no room for that."""
        try:
            yield
        except NoRoom as problem:
            self._service.lacks_room(problem)
            raise

    def workers(self, after: str, limit: int) -> list[dict[str, Json]]:
        """Workers whose names come behind one, by name. Where there is no other process, the one of this process."""
        workers = (row for row in self._workers() if row[0].worker > after)
        return [worker_document(*row) for row in islice(workers, limit)]

    def pools(self, after: str, limit: int) -> list[dict[str, Json]]:
        """Pools whose names come behind one, by name."""
        found = pool_documents(self.heartbeats(), self.runtime.settings.limits)
        return [*islice((row for row in found if str(row["name"]) > after), limit)]

    def credentials(self) -> list[dict[str, Json]]:
        """The credentials beside the store, by name, without what they hold. Raises Rejected."""
        try:
            rows = Credentials(self.runtime.secrets_path).list()
        except CredentialProblem as problem:
            raise Rejected(str(problem)) from None
        return [{"name": row.name, "type": row.type, "changed": iso_of(row.changed)} for row in rows]

    def drain(self, worker: str) -> None:
        """Have a worker take no more, finish what it has, and end."""
        registry = self._registry
        if registry is None:
            raise Rejected("the only worker is the server itself: stop the server")
        if not self._service.do(lambda _: registry.drain(worker)).result():
            raise Unknown(f"there is no worker `{worker}`")

    def stop(self) -> None:
        """Begin nothing new, let what is in flight finish, then end."""
        self._service.stop(DRAIN)

    def heartbeats(self) -> Sequence[WorkerHeartbeat]:
        """All workers, as they say of themselves."""
        return [heartbeat for heartbeat, _ in self._workers()]

    def _workers(self) -> Sequence[tuple[WorkerHeartbeat, int]]:
        if self._registry is not None:
            return self._registry.workers()
        stand, slots = self._service.standing(), self.runtime.settings.slots
        return [(WorkerHeartbeat("server", EVERY_POOL, slots, stand.busy, stand.stopping), 0)]

    def _hindrance(self, row: ExecutionRow, pool: str) -> str:
        """Why no worker begins anything of an execution in a pool now."""
        if not self.standing().reaches:
            return "the bus to the workers cannot be reached"
        if told := hindrance(pool, self.heartbeats(), {}):
            return told
        store, name = self.runtime.store, pool or DEFAULT_POOL
        if isinstance(store, Namespaced) and (rows := store.namespaces.rows()):
            root = store.execution(root_of(store, row)) or row
            if (found := most_at_work(rows, root.playbook, name)) is not None:
                return f"at most {found[1]} of namespace `{found[0]}` run at once in pool `{name}`"
        return hindrance(pool, self.heartbeats(), self.runtime.settings.limits)

    def execution_row(self, execution_id: str) -> ExecutionRow:
        """The row of an execution as the store has it. Raises Unknown."""
        row = self.runtime.store.execution(execution_id)
        if row is None:
            raise Unknown(f"there is no execution `{execution_id}`")
        return row

    def _is_owned(self, row: ExecutionRow) -> bool:
        return row.ended is None and self.runtime.store.is_owned(root_of(self.runtime.store, row))

    def _origin(self, row: ExecutionRow) -> Origin:
        first = next(events_of(self.runtime, row.execution_id), None)
        if first is None:
            return Origin(row.execution_id, row.execution_id, row.parent_execution_id)
        return origin_of(row.execution_id, first[1])

    def _secrets_of(
        self, program: Program, execution_id: str, request: Request
    ) -> tuple[Future[tuple[str, ...]], tuple[str, ...]]:
        """Nothing starts that could not get at the secrets it declares; workers elsewhere are asked. A name in a task's
        `auth` that nothing declares is looked up when the task runs, which may never be. The inputs that hold a secret
        are told where this process has the secrets.
        """
        if self._registry is not None and (workload := workload_of(program, execution_id, request)) is not None:
            pools = secret_pools(program.plan)
            return self._registry.preflight.ask(Check(execution_id, pools, program.digest, workload)), ()
        known: Future[tuple[str, ...]] = Future()
        found, settings = SecretsAtStart(), self.runtime.settings
        if self._registry is None:
            found = secrets_at_start(
                program, execution_id, request,
                path=self.runtime.secrets_path, root=str(settings.root), fence=settings.fence,
            )  # fmt: skip
        known.set_result(found.lacking)
        return known, found.exposed

    def digest_of_start(self, start: Start) -> str:
        """The digest of the plan that a start names. Raises Unknown."""
        if start.digest:
            self.plan_bytes(start.digest)
            check_plan(self.runtime, start.digest)
            return start.digest
        check_path(start.path)
        found = self.runtime.store.plan_at(start.path, start.version)
        if found is None:
            raise Unknown(unknown_playbook(self.runtime.store, start.path, start.version))
        return found[0]


def _again(key: StartKey, execution_id: str, request: str) -> StartedExecution:
    """The execution that a key has started. Raises Rejected where it was another start."""
    # A key that comes again with another body is a mistake of the client (draft-ietf-httpapi-idempotency-key-header).
    # To answer with the old run would hide it.
    if request != key.request:
        raise Rejected(other(key, execution_id))
    return StartedExecution(execution_id, fresh=False)


@contextmanager
def faults_told() -> Iterator[None]:
    """The fault of an execution or plan, as the API says it."""
    try:
        yield
    except UnreadableExecution as problem:
        raise Rejected(str(problem)) from None
    except NotFound as problem:
        raise Faulty(str(problem)) from None
