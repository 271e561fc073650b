"""artifact: a stored result of its own execution by its reference, and values in files and buckets by their address.

What is read from an address is JSON where it is that, else text, else base64 text; a name that ends with `.gz` is of
bytes that gzip wrote (RFC 1952).
Error codes: `fields.invalid`, `ref.missing`, `file.refused`, `content.invalid`, those of `gcs`.
"""

import gzip
import hashlib
import mimetypes
import zlib

from noetl.clients.content import bytes_of, value_of
from noetl.clients.gcs_storage import outcome_of, read_object, write_object
from noetl.clients.http import BODY_BYTES
from noetl.clients.stored_results import stored
from noetl.host.confined_files import FileRefused, inside, read_file, write_file
from noetl.ports import Env, ToolCall
from noetl_ir.expr import Json
from noetl_ir.kinds import misfits
from noetl_ir.kinds.artifact import KIND
from noetl_ir.outcome import Outcome, error, ok

_BUCKET = "gs://"
_PACKED = ".gz"
_ALSO_ARGS = ("result_ref", "uri", "data")
"""Fields that older playbooks give as args."""


async def run(call: ToolCall, env: Env) -> Outcome:
    """Read or write; of a field that is not given, the arg of its name counts."""
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))
    values: dict[str, Json] = {name: call.args[name] for name in _ALSO_ARGS if name in call.args}
    values |= {name: value for name, value in call.fields.items() if value is not None or name not in values}
    uri = values.get("uri")
    writes = values.get("action") == "put"
    if uri is None:
        if writes:
            return error("fields.invalid", "`action: put` needs `uri`, the address to write to")
        whole = stored(values.get("result_ref"), "result_ref", env)
        return whole if isinstance(whole, Outcome) else ok(_with_keys(whole))
    if not isinstance(uri, str) or ("://" in uri and not uri.startswith((_BUCKET, "file://", "artifact://"))):
        return error("fields.invalid", "`uri` is no address that is supported: a file, or gs://BUCKET/NAME")
    if writes and "data" not in values:
        return error("fields.invalid", "`action: put` needs `data`, the value to write")
    try:
        return await (_put(call, env, uri, values["data"]) if writes else _get(call, env, uri))
    except FileRefused as problem:
        return error("file.refused", str(problem))


async def _get(call: ToolCall, env: Env, uri: str) -> Outcome:
    """The value at an address. Raises FileRefused."""
    limit = call.knobs.get("max_bytes")
    most = limit if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0 else BODY_BYTES

    def read(content: bytes, **more: Json) -> Outcome:
        packed = uri.endswith(_PACKED)
        try:
            whole = _unpacked(content, most) if packed else content
        except (ValueError, zlib.error) as problem:
            return error("content.invalid", f"`{uri[:200]}` cannot be unpacked: {problem}")
        data = value_of(whole)[0]
        about: dict[str, Json] = {"uri": uri, "size_bytes": len(content), "compressed": packed}
        return ok({**_with_keys(data), **about}, **more)

    if not uri.startswith(_BUCKET):
        return read(read_file(_file(uri, env), most))

    async def fetch() -> Outcome:
        content, status = await read_object(call, env, uri)
        return read(content, http={"status": status})

    return await outcome_of(fetch)


async def _put(call: ToolCall, env: Env, uri: str, data: Json) -> Outcome:
    """Write a value to an address. Raises FileRefused."""
    wanted = call.fields.get("compress")
    packed = uri.endswith(_PACKED) if wanted is None else wanted is True
    if packed and not uri.endswith(_PACKED):
        uri += _PACKED
    elif not packed and uri.endswith(_PACKED):
        # `get` goes by the name: what it calls packed has to be.
        return error("fields.invalid", "`compress: false` with a `uri` that ends with .gz: leave one of them out")
    whole = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes_of(data)
    # Without a time inside, so that the same value makes the same bytes.
    content = gzip.compress(whole, mtime=0) if packed else whole
    done = ok({
        "uri": uri,
        "size_bytes": len(content),
        "sha256": hashlib.sha256(whole).hexdigest(),
        "compressed": packed,
    })  # fmt: skip
    if not uri.startswith(_BUCKET):
        write_file(_file(uri, env), content)
        return done
    kind = call.fields.get("content_type") or mimetypes.guess_type(uri)[0] or "application/octet-stream"

    async def send() -> Outcome:
        await write_object(call, env, uri, content, str(kind))
        return done

    return await outcome_of(send)


def _file(uri: str, env: Env) -> str:
    """The file of an address. Raises FileRefused."""
    for start in ("artifact://localfs", "artifact://", "file://"):
        if uri.startswith(start):
            uri = uri.removeprefix(start)
            break
    return inside(env.root(), uri)


def _with_keys(whole: Json) -> dict[str, Json]:
    """A value as `data`, and the keys of a mapping beside it."""
    return {**(whole if isinstance(whole, dict) else {}), "data": whole}


def _unpacked(content: bytes, most: int) -> bytes:
    """The bytes that gzip packed, at most so many. Raises ValueError, zlib.error."""
    # A few kilobytes may stand for gigabytes: more than is allowed is never made.
    whole, left = b"", content
    while left:
        unpacking = zlib.decompressobj(wbits=31)
        whole += unpacking.decompress(left, most + 1 - len(whole))
        if len(whole) > most:
            raise ValueError(f"it holds more than {most} bytes")
        if not unpacking.eof:
            raise ValueError("it ends too early")
        left = unpacking.unused_data
    return whole
