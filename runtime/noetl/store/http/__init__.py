"""The store of a server over its API: its executions can be read, and asked to cancel, pause, resume or take a signal.

The server drives its executions, so nothing is appended or owned from here. A log is fetched as it is stored and folded
by the reader with the code that folds it on the server, so that both come to the same state.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote

from noetl.clients.conditions import condition_of
from noetl.ports import ALL, Append, Blobs, ExecutionRow, InboxRow, Record, Store, StoreFailure, Wanted
from noetl.ports.catalogue import EVERY, PlanRow, Versions
from noetl.ports.idempotency import KEY, StartKey
from noetl.ports.output import OutputChunk, OutputRow, Outputs, chunk_of, signed_document
from noetl.ports.places import PlaceRow
from noetl.ports.purges import Purges
from noetl.ports.queries import ExecutionAttribute, Junction, QueryTerm, pattern_for, written_query
from noetl.store.http.documents import attributes_of, micros_of, no_server_of_ours, not_from_here
from noetl.store.http.mailbox import RemoteMailbox
from noetl.store.http.own_token import TOKEN, check_privacy, token_here
from noetl.store.http.sent_plans import sent_plan
from noetl_ir import codec
from noetl_ir.expr import Json
from noetl_ir.plan_format import PlanError, digest_of
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    import httpx

    from noetl_ir.plan_sources import SourcedPlan

VERIFIED = "x-verified"
"""The header in which a server names the checks that a plan has passed, with the plan."""
MISSING = "noetl-missing"
"""The header in which a gateway names the groups of servers whose part of a list is missing."""
_NAMED = 30
"""How many ids a query names at most: it may have 2,000 characters."""
_PAGE = 500
_SECONDS = 30.0
_MOST = 256 << 20


_missing: set[str] = set()


def take_missing() -> list[str]:
    """The groups whose part was missing in what this process was told, since it was last asked: by name."""
    names = sorted(_missing)
    _missing.clear()
    return names


class ServerResponse(NamedTuple):
    """A response of the server: the status, the body, and the headers in small letters."""

    status: int
    body: bytes
    headers: Mapping[str, str]


class NotThere(StoreFailure):
    """The server does not know what was asked for; the text says what that is."""


class ServerUnreachable(StoreFailure):
    """The server does not answer, or cannot do it now: another one may, and this one later."""


class NoResponse(ServerUnreachable):
    """A request may have reached the server, and its response did not come, or the server says to try again."""


class NoPlace(StoreFailure):
    """A quota of a namespace refuses a start for now; asked again at once it does so again."""


class Connection:
    """Requests to a server at `url`. Raises StoreFailure with the server's own words where it refuses."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._client: httpx.Client | None = None

    def ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        data: Json = None,
        raw: bytes | None = None,
        key: str = "",
    ) -> ServerResponse:
        """One request; any status but those of failure and refusal comes back, 404 too. With a `key` done once."""
        body = raw if raw is not None else json.dumps(data).encode() if data is not None else None
        headers = {"content-type": "application/octet-stream" if raw is not None else "application/json"}
        if body is None:
            headers = {}
        if key:
            headers[KEY] = key
        with self._speaking() as client:
            got = client.request(method, self.url + path, params=query, content=body, headers=headers)
        return self._taken(ServerResponse(got.status_code, got.content, got.headers))

    def lines(self, path: str, query: Mapping[str, str]) -> Iterator[str]:
        """The lines of a stream of events as they come, until the server ends it. Raises StoreFailure."""
        asked = {"accept": "text/event-stream"}
        with self._speaking() as client, client.stream("GET", self.url + path, params=query, headers=asked) as got:
            if got.is_error:
                response = self._taken(ServerResponse(got.status_code, got.read(), got.headers))
                raise StoreFailure(f"{self.url}: {_detail(response)}")
            yield from got.iter_lines()

    def json(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, data: Json = None, key: str = ""
    ) -> dict[str, Json]:
        """The JSON object that is answered. Raises NotThere, StoreFailure."""
        response = self.ask(method, path, query=query, data=data, key=key)
        if response.status == 404:
            raise NotThere(f"{self.url}: {_detail(response)}")
        return {} if response.status == 204 else self.object_of(response)

    def walk(
        self, path: str, query: Mapping[str, str] | None = None, *, cursor: str = "after", limit: int = 0
    ) -> Iterator[dict[str, Json]]:
        """The rows of a list, a page after the other; at most `limit`, 0 for all. What is empty in `query` is not sent.

        `cursor` is the name under which the `next` of a page asks for those behind it.
        """
        asked, left = {**(query or {})}, limit
        while True:
            size = min(left, _PAGE) if limit else _PAGE
            words = {key: value for key, value in {**asked, "limit": str(size)}.items() if value}
            document = self.json("GET", path, query=words)
            # Each list of the API has one array under a name of its own, and `next`.
            page = next((value for value in document.values() if isinstance(value, list)), [])
            rows = [row for row in page if isinstance(row, dict)][:size]
            yield from rows
            left -= len(rows)
            asked[cursor] = str(document.get("next") or "")
            if not asked[cursor] or (limit and left <= 0):
                return

    def object_of(self, response: ServerResponse) -> dict[str, Json]:
        """The JSON object in a response."""
        try:
            value = json.loads(response.body)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise no_server_of_ours(self.url)
        return value

    @contextmanager
    def _speaking(self) -> "Iterator[httpx.Client]":
        import httpx

        try:
            yield self._opened()
        except httpx.HTTPError as error:
            # Without a connection nothing was asked, so another server may be. With one the request may have been
            # done, and only a request with a key may be repeated.
            kind = ServerUnreachable if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout) else NoResponse
            raise kind(f"{self.url} cannot be reached: {error or type(error).__name__}") from None
        except (httpx.InvalidURL, UnicodeError) as error:
            raise StoreFailure(self._unasked(error)) from None

    def _unasked(self, error: Exception) -> str:
        """Which part of a request could not even be written: the address of the server, or a name or text behind it."""
        import httpx

        try:
            httpx.URL(self.url)
        except (httpx.InvalidURL, UnicodeError):
            return f"{self.url} is no address of a server: {error}"
        return f"{self.url} cannot be asked for that: {error}"

    def _taken(self, response: ServerResponse) -> ServerResponse:
        """The response, unless it is one of failure or refusal."""
        if MISSING in response.headers:
            # Kept for the end of the command: whatever it makes of the rest is less than there is.
            _missing.update(name.strip() for name in response.headers[MISSING].split(","))
        # A failure may pass, so another server may be asked. A refusal is final, and asking again only tells the
        # same.
        if response.status == 429 and "quota" in (told := _problem_in(response)):
            from noetl.ports.namespaces import way_on  # few are refused so

            after = response.headers.get("retry-after", "1")
            more = way_on(str(told.get("namespace", "NAME")), str(told["quota"]), after)
            raise NoPlace(f"{self.url}: {_detail(response)}; {more}")
        if response.status >= 500 or response.status == 429:
            raise NoResponse(f"{self.url}: {_detail(response)}")
        if response.status == 401:
            detail = _detail(response)
            known = f"the one in {TOKEN} is none of its own" if token_here() else f"put one that it knows into {TOKEN}"
            known = f"put another one into {TOKEN}" if " expired at " in detail else known
            raise StoreFailure(f"{self.url}: {detail}; {known}")
        if response.status >= 400 and response.status != 404:
            raise StoreFailure(f"{self.url}: {_detail(response)}")
        return response

    def close(self) -> None:
        """Close what is open."""
        if self._client is not None:
            self._client.close()

    def _opened(self) -> "httpx.Client":
        if self._client is None:
            import httpx

            token = token_here()
            # Looked at before the first request: with it the token would be out already.
            if token:
                check_privacy(self.url)
            headers = {"authorization": f"Bearer {token}"} if token else {}
            self._client = httpx.Client(headers=headers, timeout=_SECONDS)
        return self._client


def open_store(url: str) -> Store:
    """The store of the server at `http(s)://HOST:PORT`."""
    return RemoteStore(Connection(url))


def open_blobs(url: str) -> Blobs:
    """The blobs of the server at `http(s)://HOST:PORT`."""
    return PassingBlobs(url)


def open_outputs(url: str) -> Outputs:
    """The task output that the server at `http(s)://HOST:PORT` keeps."""
    return RemoteOutputs(Connection(url))


class RemoteStore:
    """A `Store` that is read, and whose executions are asked, over the API."""

    dropped: str | None = None

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._verified: dict[str, str] = {}
        self.mailbox = RemoteMailbox(connection)

    def create(
        self,
        row: ExecutionRow,
        records: Sequence[tuple[str, bytes]] = (),
        *,
        key: StartKey | None = None,
        attributes: Sequence[ExecutionAttribute] = (),
    ) -> None:
        """Refused: the server does it."""
        raise self._refused()

    @property
    def purges(self) -> Purges:
        """Refused: the server purges (`POST /purge`)."""
        raise self._refused()

    def claims_key(self) -> bytes:
        """Refused: it is for servers."""
        raise self._refused()

    def started_with(self, key: str) -> tuple[str, str] | None:
        """Refused: the server looks at keys."""
        raise self._refused()

    def append(
        self,
        execution_id: str,
        expected: int,
        records: Sequence[tuple[str, bytes]],
        *,
        status: str,
        ended: int | None,
        read: int | None = None,
    ) -> int:
        """Refused: the server does it."""
        raise self._refused()

    def append_all(self, appends: Sequence[Append]) -> None:
        """Refused: the server does it."""
        raise self._refused()

    def read(self, execution_id: str, after: int = 0) -> Iterator[Record]:
        while True:
            query = {"after": str(after), "limit": str(_PAGE)}
            response = self._connection.ask("GET", f"{_of(execution_id)}/log", query=query)
            if response.status == 404:
                return
            page = _records(response.body, after, self._connection.url)
            yield from page
            # A page that is not full is the last one; this saves the request that would be answered with nothing.
            if len(page) < _PAGE:
                return
            after = page[-1].position

    def execution(self, execution_id: str) -> ExecutionRow | None:
        response = self._connection.ask("GET", f"{_of(execution_id)}/row")
        return None if response.status == 404 else self._row(self._connection.object_of(response))

    def executions(self, wanted: Wanted = ALL) -> tuple[ExecutionRow, ...]:
        """A page after the other."""
        flags = {"open": "true" if wanted.open else "", "top": "true" if wanted.top else ""}
        query = {"status": wanted.status, "parent": wanted.parent, "text": wanted.text, "rerun_of": wanted.rerun_of}
        asked = {**query, **flags, "before": wanted.before}
        # What the API has no parameter for is asked as a query: an older server refuses that, and shows not more.
        if (rest := condition_of(Wanted(started_before=wanted.started_before, query=wanted.query))) is not None:
            asked["query"] = written_query(rest)
        rows = self._connection.walk("/executions", asked, cursor="before", limit=wanted.limit)
        return tuple(map(self._row, rows))

    def tally(self, wanted: Wanted, group: str) -> tuple[tuple[str | None, int], ...]:
        """A page after the other; behind no execution."""
        condition = condition_of(wanted)
        asked = {"query": "" if condition is None else written_query(condition)}
        try:
            rows = [
                (row["value"], row["count"]) for row in self._connection.walk(f"/counts/{quote(group, safe='')}", asked)
            ]
        except KeyError:
            raise no_server_of_ours(self._connection.url) from None
        return tuple([(None if value is None else str(value), int(str(count))) for value, count in rows])

    def attributes(self, execution_ids: Sequence[str]) -> dict[str, tuple[ExecutionAttribute, ...]]:
        """As rows of lists show them, some at a time; a time is a text there."""
        found: dict[str, tuple[ExecutionAttribute, ...]] = {}
        for at in range(0, len(execution_ids), _NAMED):
            some = [QueryTerm("id", "=", pattern_for(name)) for name in execution_ids[at : at + _NAMED]]
            asked = {"query": written_query(Junction(tuple(some), any_of=True))}
            for row in self._connection.walk("/executions", asked):
                if rows := attributes_of(row):
                    found[str(row.get("execution_id"))] = rows
        return found

    def counts(self) -> dict[str, int]:
        document = self._connection.json("GET", "/counts")
        return {status: count for status, count in document.items() if isinstance(count, int)}

    def put_plan(
        self, digest: str, path: str, data: bytes, *, registered: bool = False, sources: "Sequence[SourcedPlan]" = ()
    ) -> int:
        """The server looks at the plan itself."""
        version = sent_plan(self._connection, "/playbooks", data, {plan.digest: plan.source for plan in sources})
        return found if isinstance(found := version.get("version"), int) else 0

    def keep_plan(self, digest: str, path: str, data: bytes, sources: "Sequence[SourcedPlan]" = ()) -> None:
        """Refused: the server restores."""
        raise self._refused()

    def plans(self, wanted: Versions = EVERY) -> tuple[PlanRow, ...]:
        """A page after the other."""
        after = "@".join(map(str, wanted.after)) if wanted.after is not None else ""
        asked = {"path": wanted.path, "newest": "true" if wanted.newest else "", "after": after}
        return tuple(map(self._version, self._connection.walk("/playbooks", asked, limit=wanted.limit)))

    def plan_bytes(self, digest: str) -> bytes | None:
        response = self._connection.ask("GET", f"/plans/{quote(digest, safe='')}")
        if response.status == 404:
            return None
        # Kept by digest, as the header comes with the bytes and the question (`vouches`) a moment later.
        self._verified[digest] = response.headers.get(VERIFIED, "")
        return self._checked(response, digest)

    def without_source(self, digests: Sequence[str]) -> list[str]:
        """All: the server has what it has."""
        return [*digests]

    def put_source(self, digest: str, text: bytes) -> None:
        self._connection.ask("PUT", f"/plans/{quote(digest, safe='')}/source", raw=text)

    def source(self, digest: str) -> bytes | None:
        response = self._connection.ask("GET", f"/plans/{quote(digest, safe='')}/source")
        return None if response.status == 404 else response.body

    def plan_at(self, path: str, version: int | None = None) -> tuple[str, bytes] | None:
        query = {"version": str(version)} if version is not None else None
        response = self._connection.ask("GET", f"/playbooks/{quote(path)}", query=query)
        if response.status == 404:
            return None
        digest = response.headers.get("x-digest", "")
        return digest, self._checked(response, digest)

    def vouch(self, digest: str, verifier: str) -> None:
        """The server seals what it has verified itself."""

    def vouches(self, digest: str, verifier: str) -> bool:
        """Whether the server said so with the plan. It is trusted for the log of the run, so also for its plan."""
        return bool(verifier) and self._verified.get(digest) == verifier

    def post(self, execution_id: str, verb: str, body: Json, *, once: str = "") -> int:
        """The row is the server's affair, and so is what is left only once."""
        self._connection.json("POST", f"{_of(execution_id)}/{verb}", data=body)
        return 0

    def posted(self) -> int:
        """Refused: the inbox is the server's."""
        raise self._refused()

    def inbox(self, execution_id: str, after: int) -> tuple[InboxRow, ...]:
        """Refused: the inbox is the server's."""
        raise self._refused()

    def posts(self, after: int) -> tuple[InboxRow, ...]:
        """Refused: the inbox is the server's."""
        raise self._refused()

    def places(self) -> tuple[PlaceRow, ...]:
        raise self._refused()

    def change_places(self, work: Callable[[tuple[PlaceRow, ...]], Collection[PlaceRow]]) -> None:
        raise self._refused()

    def own_new(self, execution_id: str) -> AbstractContextManager[None]:
        """Refused: the server does it."""
        raise self._refused()

    def own(self, execution_id: str) -> AbstractContextManager[None]:
        """Refused: the server owns what it drives."""
        raise self._refused()

    def is_owned(self, execution_id: str) -> bool:
        """A server that answers drives all that is not over, now or in a moment."""
        return True

    def hung(self, execution_id: str) -> str:
        """Nobody is known to."""
        return ""

    def taken_over(self) -> set[str]:
        return set()

    def owned(self, names: Collection[str]) -> set[str]:
        return {*names}

    def check_room(self, *, suspected: bool) -> None:
        """The server knows."""

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _refused(self) -> StoreFailure:
        return not_from_here(self._connection.url)

    def _checked(self, response: ServerResponse, digest: str) -> bytes:
        try:
            # Whatever server was named with `--server` is not trusted for its plans: the digest tells that it is this
            # one.
            if digest_of(response.body) == digest:
                return response.body
        except PlanError:
            pass
        raise StoreFailure(f"{self._connection.url} sent another plan than the one with digest {digest}")

    def _row(self, document: dict[str, Json]) -> ExecutionRow:
        try:
            ended, parent = document["ended"], document["parent"]
            old, error = [None if (text := document.get(name)) is None else str(text) for name in ("rerun_of", "error")]
            return ExecutionRow(
                str(document["execution_id"]), str(document["playbook"]), str(document["plan_digest"]),
                str(document["status"]), None if parent is None else str(parent), micros_of(str(document["started"])),
                None if ended is None else micros_of(str(ended)), old, error,
            )  # fmt: skip
        except (KeyError, ValueError):
            raise no_server_of_ours(self._connection.url) from None

    def _version(self, document: dict[str, Json]) -> PlanRow:
        try:
            return PlanRow(str(document["path"]), int(str(document["version"])), str(document["playbook_id"]))
        except (KeyError, ValueError):
            raise no_server_of_ours(self._connection.url) from None


class PassingBlobs:
    """`Blobs` that are read over the API, few of them, so that no connection is kept."""

    def __init__(self, url: str) -> None:
        self._url = url

    def put(self, execution_id: str, data: bytes) -> dict[str, Json]:
        """Refused: the server does it."""
        raise StoreFailure(f"nothing is written to {self._url} from here")

    def get(self, reference: Mapping[str, Json]) -> bytes:
        with closing(Connection(self._url)) as connection:
            return RemoteBlobs(connection).get(reference)

    def check_room(self, *, suspected: bool) -> None:
        """The server knows."""

    def close(self) -> None:
        """Nothing is open."""


class RemoteBlobs:
    """`Blobs` over the API, as a worker uses them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, execution_id: str, data: bytes) -> dict[str, Json]:
        response = self._connection.ask("PUT", f"/blobs/{quote(execution_id, safe='')}", raw=data)
        reference = self._connection.object_of(response).get("reference")
        if response.status == 404 or not isinstance(reference, dict):
            raise StoreFailure(f"{self._connection.url}: {_detail(response)}")
        return reference

    def get(self, reference: Mapping[str, Json]) -> bytes:
        from hashlib import sha256

        response = self._connection.ask("POST", "/blobs", data={"reference": dict(reference)})
        if response.status == 404:
            raise KeyError(_detail(response))
        if sha256(response.body).hexdigest() != reference.get("checksum"):
            raise KeyError(f"blob {reference.get('key')!r} was altered: it is not what the reference says")
        return response.body

    def check_room(self, *, suspected: bool) -> None:
        """The server knows."""

    def close(self) -> None:
        self._connection.close()


class RemoteOutputs:
    """`Outputs` of a server, over the API."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add_chunks(self, chunks: Sequence[OutputChunk]) -> None:
        self._connection.json("POST", "/logs", data={"logs": [signed_document(chunk) for chunk in chunks]})

    def read(self, execution_id: str, after: int = 0, limit: int = 0) -> list[OutputRow]:
        query = {"after": str(after)} if after else {}
        rows = self._connection.walk(f"{_of(execution_id)}/logs", query, limit=limit)
        try:
            return [OutputRow(int(str(row["position"])), chunk_of(row)) for row in rows]
        except (KeyError, ValueError):
            raise no_server_of_ours(self._connection.url) from None

    def last_position(self, execution_id: str) -> int:
        """Refused: who follows a server hears it from there (`GET /executions/ID/events?output=true`)."""
        raise not_from_here(self._connection.url)

    def close(self) -> None:
        self._connection.close()


def _of(execution_id: str) -> str:
    return f"/executions/{quote(execution_id, safe='')}"


def _records(data: bytes, after: int, url: str) -> list[Record]:
    """A page of a log. Positions are checked: a page that lacks one is no log."""
    try:
        rows = codec.unpack(data, max_bytes=_MOST)
        found = []
        for at, row in enumerate(rows if isinstance(rows, list) else [None], after + 1):
            if not isinstance(row, list) or len(row) != 3:
                raise ValueError("no row")
            position, event_id, body = row
            found.append(Record(at, str(event_id), bytes.fromhex(str(body))))
            if position != at:
                raise ValueError("a gap")
        return found
    except (codec.CodecError, ValueError, TypeError) as error:
        raise StoreFailure(f"{url} sent a log that cannot be read: {error}") from None


def _detail(response: ServerResponse) -> str:
    """The text of a problem document, or its status where it is none."""
    return str(_problem_in(response).get("detail", f"answered {response.status}"))


def _problem_in(response: ServerResponse) -> dict[str, Json]:
    try:
        value = json.loads(response.body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
