"""Bundles: a family of executions in one file, with all that a store keeps of them.

A bundle is a ZIP. `bundle.json` says what is in it; `plans/DIGEST.ir` and `sources/DIGEST` are as in the catalogue;
`executions/N/log-K` are the pages of a log as the API sends them (msgpack, lists of [position, event id, body in hex]);
`executions/N/values/CHECKSUM` and `executions/N/output.jsonl` what lies beside it. Whatever reads one takes nothing for
granted: sizes are bounded, the log has no gaps, values have their checksums, and a plan that is opened is verified.
"""

import hashlib
import json
import os
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO

from noetl.app.retention import OVER, remove_rest
from noetl.app.runtime import Runtime
from noetl.app.store_check import LAST
from noetl.clients.object_storage import fetch, is_object, put
from noetl.host.confined_files import file_name_of
from noetl.host.engine_files import force_folder, make_folder
from noetl.ports import Collectable, Conflict, Damaged, ExecutionRow, Owned, StoreFailure
from noetl.ports.output import OutputChunk, chunk_document, chunk_of
from noetl.ports.queries import LABEL, SEARCH, ExecutionAttribute, faulty_labels, is_name
from noetl.server.execution import code_of
from noetl_ir import codec
from noetl_ir.events import read_event
from noetl_ir.expr import Json
from noetl_ir.plan_format import PlanError, digest_of, digests_in
from noetl_ir.plan_sources import sourced_plans
from noetl_ir.records import NamedTuple

ENDING = ".noetl"
"""The ending of a bundle's name."""

FORMAT, VERSION = "noetl-bundle", 1

_PAGE = 1_000
_MOST_MANIFEST = 64 << 20
_MOST_MEMBER = 512 << 20
_MOST_LINE = 1 << 20
_HEX = frozenset("0123456789abcdef")
_SHA256 = 64


LEFT_AFTER = 86_400.0
"""Seconds after which an unfinished bundle is one of a process that was killed."""


class RestoredBundle(NamedTuple):
    """The executions of a bundle, callers first, and those of them that were there already, as a whole."""

    executions: tuple[str, ...]
    already: tuple[str, ...]


class BadBundle(Exception):
    """The file is no bundle, or not what was written; the text says why."""


def write_bundle(runtime: Runtime, rows: Sequence[ExecutionRow], folder: str) -> str:
    """Write a family to `FOLDER/ID.noetl`, the first execution giving its name; returns the path. It is on disk, and
    whole, when this returns; one of that name is replaced. Raises OSError, StoreFailure, and Damaged where nobody could
    restore what would be in it.
    """
    path = os.path.join(folder, file_name_of(rows[0].execution_id) + ENDING)
    part = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.part"
    make_folder(folder)
    try:
        handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(handle, "r+b") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
                _write(runtime, rows, archive)
            file.flush()
            os.fsync(file.fileno())
        os.rename(part, path)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise
    force_folder(folder or ".")
    return path


def _write(runtime: Runtime, rows: Sequence[ExecutionRow], archive: zipfile.ZipFile) -> None:
    described = [_write_execution(runtime, row, f"executions/{at}", archive) for at, row in enumerate(rows)]
    named = set[str]()
    for digest in dict.fromkeys([row.plan_digest for row in rows]):
        # A run that lost its plan can be read by nobody, and is kept as it is.
        if (plan := runtime.store.plan_bytes(digest)) is None:
            continue
        archive.writestr(f"plans/{digest}.ir", plan)
        for own in digests_in(plan):
            if own not in named and (source := runtime.store.source(own)) is not None:
                archive.writestr(f"sources/{own}", source)
                named.add(own)
    manifest = {"format": FORMAT, "version": VERSION, "executions": described}
    archive.writestr("bundle.json", json.dumps(manifest, indent=1))


def _write_execution(runtime: Runtime, row: ExecutionRow, under: str, archive: zipfile.ZipFile) -> dict[str, Json]:
    """Write all of an execution; returns what the manifest says of it."""
    events, page, end = 0, list[Json](), LogEnd()
    for record in runtime.store.read(row.execution_id):
        try:
            end.read(record.body)
        except codec.CodecError as error:  # as of an event that a newer version wrote
            what = f"event {record.position} of {row.execution_id} cannot be read: {error}"
            raise Damaged("the store", what) from None
        page.append([record.position, record.event_id, record.body.hex()])
        events = record.position
        if len(page) == _PAGE:
            archive.writestr(f"{under}/log-{(events - 1) // _PAGE}", codec.pack(page))
            page = []
    if page:
        archive.writestr(f"{under}/log-{(events - 1) // _PAGE}", codec.pack(page))
    if wrong := end.wrong(row):
        raise Damaged("the store", wrong)
    folder, values = file_name_of(row.execution_id), list[Json]()
    if isinstance(runtime.blobs, Collectable):
        for name in sorted(runtime.blobs.names(folder)):
            data = runtime.blobs.content(folder, name)
            if hashlib.sha256(data).hexdigest() != name:
                raise Damaged("the store", f"a value of {row.execution_id} was altered: {name}")
            archive.writestr(f"{under}/values/{name}", data)
            values.append(name)
    printed = 0
    with archive.open(f"{under}/output.jsonl", "w", force_zip64=True) as lines:
        for chunk in _output_of(runtime, row.execution_id):
            lines.write(json.dumps(chunk_document(chunk)).encode() + b"\n")
            printed += 1
    attributes: list[Json] = [
        list(each) for each in runtime.store.attributes([row.execution_id]).get(row.execution_id, ())
    ]
    found_by: dict[str, Json] = {"attributes": attributes} if attributes else {}
    return {**row._asdict(), "events": events, "values": values, "output": printed, **found_by}


def _output_of(runtime: Runtime, execution_id: str) -> Iterator[OutputChunk]:
    after = 0
    while rows := runtime.outputs.read(execution_id, after, _PAGE):
        for row in rows:
            yield row.chunk
        after = rows[-1].position


def read_bundle(runtime: Runtime, path: str) -> RestoredBundle:
    """Put what a bundle has into a store. What is there already is left as it is, so that one which was cut off goes on
    when it is read again. A plan becomes a version of its playbook only where
    the store knows no version of it. Raises BadBundle, also where another execution has one of the ids, and
    StoreFailure.
    """
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            return _read(runtime, archive)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, codec.CodecError) as error:
        raise BadBundle(f"it cannot be read: {error}") from None
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError, PlanError) as error:
        raise BadBundle(f"it is not what was written: {error}") from None


def _read(runtime: Runtime, archive: zipfile.ZipFile) -> RestoredBundle:
    manifest = json.loads(_member(archive, "bundle.json", _MOST_MANIFEST))
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise BadBundle("it is no bundle of executions")
    if manifest.get("version") != VERSION:
        raise BadBundle(f"a newer noetl wrote it (version {manifest.get('version')}, this one knows {VERSION})")
    described = [*enumerate(manifest["executions"])]
    rows = [_row(document) for _, document in described]
    _check_family(rows)
    for row in rows:
        _read_plan(runtime, archive, row)
    already = list[str]()
    # Those that were called first: nobody finds an execution whose children are not there yet.
    for (at, document), row in reversed([*zip(described, rows, strict=True)]):
        try:
            with runtime.store.own(row.execution_id):
                if _read_execution(runtime, archive, row, f"executions/{at}", document):
                    already.append(row.execution_id)
        except Conflict:
            raise BadBundle(f"execution {row.execution_id} is there already, and is another one") from None
        except Owned:
            raise BadBundle(f"somebody is at work on execution {row.execution_id}: try again") from None
    return RestoredBundle(tuple([row.execution_id for row in rows]), tuple(reversed(already)))


def _read_plan(runtime: Runtime, archive: zipfile.ZipFile, row: ExecutionRow) -> None:
    if f"plans/{row.plan_digest}.ir" not in archive.namelist():
        return
    data = _member(archive, f"plans/{row.plan_digest}.ir")
    if digest_of(data) != row.plan_digest:
        raise ValueError(f"the plan {row.plan_digest} has other bytes")
    there = set(archive.namelist())
    digests = [digest for digest in digests_in(data) if f"sources/{digest}" in there]
    sources = {digest: _member(archive, f"sources/{digest}") for digest in runtime.store.without_source(digests)}
    found = [*sourced_plans(data, sources)] if sources else []
    runtime.store.keep_plan(row.plan_digest, row.playbook, data, found)


def _read_execution(
    runtime: Runtime, archive: zipfile.ZipFile, row: ExecutionRow, under: str, document: dict[str, Json]
) -> bool:
    """Put an execution into a store; whether it was there already, to its end."""
    row = _checked_log(archive, row, under, document)
    was_there = _is_whole(runtime, row, document)
    remove_rest(runtime, row.execution_id)  # a purge that was cut off would take away what is restored
    # Values before the events that name them, as when they were made.
    for name in document["values"]:  # type: ignore[union-attr]
        if not isinstance(name, str) or len(name) != _SHA256 or not _HEX.issuperset(name):
            raise ValueError("a value has no checksum as its name")
        data = _member(archive, f"{under}/values/{name}")
        if hashlib.sha256(data).hexdigest() != name:
            raise ValueError(f"the value {name} has another checksum")
        runtime.blobs.put(row.execution_id, data)
    # As over from the first moment on: no server takes it for one that is to go on.
    runtime.store.create(row, attributes=_attributes(document))
    position = 0
    for page in _pages(archive, under, document):
        runtime.store.append(row.execution_id, position, page, status=row.status, ended=row.ended)
        position += len(page)
    with archive.open(f"{under}/output.jsonl") as lines:
        for chunks in _chunks(lines, row.execution_id):
            runtime.outputs.add_chunks(chunks)
    return was_there


def _is_whole(runtime: Runtime, row: ExecutionRow, document: dict[str, Json]) -> bool:
    """Whether the log of an execution is there, with its last event."""
    if runtime.store.execution(row.execution_id) is None:
        return False
    try:
        return any(True for _ in runtime.store.read(row.execution_id, int(str(document["events"])) - 1))
    except Conflict:  # it ends before
        return False


def _pages(archive: zipfile.ZipFile, under: str, document: dict[str, Json]) -> Iterator[list[tuple[str, bytes]]]:
    """The pages of a log. Raises ValueError where it has not as many events as the manifest says."""
    events, position = document["events"], 0
    if type(events) is not int or events < 1:
        raise ValueError("the number of events is none")
    while position < events:
        page = _page(_member(archive, f"{under}/log-{position // _PAGE}"), position)
        position += len(page)
        if position > events:
            raise ValueError("the log has another length")
        yield page


def _checked_log(archive: zipfile.ZipFile, row: ExecutionRow, under: str, document: dict[str, Json]) -> ExecutionRow:
    """The row of an execution, with the code of its failure, which older manifests have not. Raises ValueError where a
    log does not end as the manifest says, before anything of it is stored.
    """
    end = LogEnd()
    for page in _pages(archive, under, document):
        for _, body in page:
            end.read(body)
    if wrong := end.wrong(row):
        raise ValueError(wrong)
    return row if row.error is not None or not end.code else row._replace(error=end.code)


def _check_family(rows: Sequence[ExecutionRow]) -> None:
    """Raises ValueError for what is no family, callers first: one that nobody called, and what it called."""
    known = set[str]()
    for row in rows:
        if not row.execution_id or row.execution_id in known:
            raise ValueError("an execution has no id of its own")
        if (row.parent_execution_id in known) is not bool(known) or bool(row.parent_execution_id) is not bool(known):
            raise ValueError(f"the caller of {row.execution_id} is not there")
        known.add(row.execution_id)


def _row(document: dict[str, Json]) -> ExecutionRow:
    """The row of an execution in a manifest. Raises ValueError for what is none, or not over."""
    defaults = ExecutionRow._field_defaults  # a bundle may be of a version before
    values = {name: document[name] for name in ExecutionRow._fields if name in document or name not in defaults}
    row = ExecutionRow(**values)  # type: ignore[arg-type]
    texts = row.execution_id, row.playbook, row.plan_digest, row.status
    links = row.parent_execution_id, row.rerun_of, row.error
    if not all(isinstance(text, str) for text in texts) or not all(isinstance(link, str | None) for link in links):
        raise ValueError("an execution has no names")
    if type(row.started) is not int or type(row.ended) is not int or row.status not in OVER:
        raise ValueError("an execution is not over")
    return row


def _attributes(document: dict[str, Json]) -> list[ExecutionAttribute]:
    """The attributes of an execution in a manifest. Raises ValueError."""
    found = list[ExecutionAttribute]()
    rows = document.get("attributes", [])
    for row in rows if isinstance(rows, list) else [None]:
        match row:
            case [str(name), "string", str(text), None] | [str(name), "number" | "bool" | "time", str(text), float()]:
                if (
                    not name.startswith((LABEL, SEARCH))
                    or not is_name(name.partition(".")[2])
                    or faulty_labels({"text": text})
                ):
                    raise ValueError("an attribute is damaged")
                found.append(ExecutionAttribute(name, str(row[1]), text, row[3] if isinstance(row[3], float) else None))
            case _:
                raise ValueError("an attribute is damaged")
    if len({each.name for each in found}) != len(found):
        raise ValueError("an attribute is there twice")
    return found


def _page(data: bytes, after: int) -> list[tuple[str, bytes]]:
    """The events of a page behind a position."""
    rows = codec.unpack(data, max_bytes=_MOST_MEMBER)
    found = []
    for at, row in enumerate(rows if isinstance(rows, list) and rows else [None], after + 1):
        if not isinstance(row, list) or len(row) != 3 or row[0] != at or not isinstance(row[1], str):
            raise ValueError(f"event {at} is missing")
        found.append((row[1], bytes.fromhex(str(row[2]))))
    return found


def _chunks(lines: IO[bytes], execution_id: str) -> Iterator[list[OutputChunk]]:
    """The chunks of an output, some at a time."""
    some = list[OutputChunk]()
    while line := lines.readline(_MOST_LINE):
        some.append(chunk_of(json.loads(line))._replace(execution_id=execution_id))
        if len(some) == _PAGE:
            yield some
            some = []
    yield some


def _member(archive: zipfile.ZipFile, name: str, most: int = _MOST_MEMBER) -> bytes:
    """The content of a member. Raises ValueError for one that is longer than it may be, whatever the ZIP says of it."""
    with archive.open(name) as member:
        data = member.read(most + 1)
    if len(data) > most:
        raise ValueError(f"{name} has more than {most:,} bytes")
    return data


class LogEnd:
    """The end of a log that is read event by event, and whether it is that of an execution."""

    def __init__(self) -> None:
        self._status = self._last = self.code = ""

    def read(self, body: bytes) -> None:
        """The next event."""
        event = read_event(body)
        self._last = event.event_type
        if self._last == "workflow.finished":
            self._status = str(event.data.get("status"))
            error = event.data.get("error")
            self.code = code_of(error) or "" if isinstance(error, dict) else ""

    def wrong(self, row: ExecutionRow) -> str:
        """Why it is not the end of this execution; empty where it is."""
        is_end = self._last == LAST and self._status == row.status
        return "" if is_end else f"the log of {row.execution_id} does not say that it is {row.status}"


class Archive:
    """Writes families to bundles in a folder, or in object storage (`s3://BUCKET/…`). Raises StoreFailure where it
    cannot; Damaged, where it is the family that could be restored by nobody.
    """

    def __init__(self, runtime: Runtime, folder: str) -> None:
        self._runtime = runtime
        self._folder = folder
        self._is_swept = False

    def __call__(self, rows: Sequence[ExecutionRow]) -> str:
        """Write a family; the path of its bundle, or its URL. The first one also removes what killed processes left."""
        try:
            if is_object(self._folder):
                return self._put(rows)
            if not self._is_swept:
                _sweep(self._folder)
                self._is_swept = True
            return write_bundle(self._runtime, rows, self._folder)
        except (OSError, KeyError) as error:
            raise StoreFailure(f"{self._folder}: the bundle cannot be written [{error}]") from error

    def _put(self, rows: Sequence[ExecutionRow]) -> str:
        """Write a family to object storage, by way of a file: a ZIP is written here and there."""
        with tempfile.TemporaryDirectory(prefix="noetl-") as folder:
            path = write_bundle(self._runtime, rows, folder)
            url = f"{self._folder.rstrip('/')}/{os.path.basename(path)}"
            put(url, path)
        return url


@contextmanager
def fetched_bundle(place: str) -> Iterator[str]:
    """The file of a bundle at a path or in object storage, which goes again. Raises StoreFailure."""
    if not is_object(place):
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="noetl-") as folder:
        path = os.path.join(folder, "fetched" + ENDING)
        fetch(place, path)
        yield path


def _sweep(folder: str) -> None:
    """Remove unfinished bundles that nobody writes to any more. Raises OSError."""
    with suppress(FileNotFoundError):
        for entry in os.scandir(folder):
            is_unfinished = f"{ENDING}." in entry.name and entry.name.endswith(".part")
            if is_unfinished and time.time() - entry.stat().st_mtime > LEFT_AFTER:
                os.unlink(entry.path)
