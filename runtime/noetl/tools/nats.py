"""nats: key-value buckets, object stores, messages and requests over NATS (LANGUAGE §7).

Text is stored as it is, another value as JSON; text that would be read back as JSON is stored as a JSON text, so that
every value comes back as it went in. What others stored is parsed where it is JSON, else it is text, else base64
text; `outcome.nats.encoding` says which (`json`, `text`, `base64`, `none`). A message to a stream carries the task's
`action_id` as its id, so that the stream drops a repeat of it.
Error codes: `nats.connect`, `nats.refused` (a server may not connect there), `nats.not_found`, `nats.revision`
(another value is there), `nats.no_responders`, `nats.too_large`, `nats.error`, `timeout`, `fields.invalid`,
`credential.missing`, `extra.missing`.
"""

import asyncio
import re
from typing import TYPE_CHECKING

from noetl.clients.auth import login_of
from noetl.clients.content import bytes_of, value_of
from noetl.clients.egress import NotAllowed
from noetl.clients.nats import EXTRA, SECONDS, NatsLogin, NatsUnreachable, cancellable, connected, is_there, target_of
from noetl.ports import Env, Fence, ToolCall
from noetl_ir.expr import Json
from noetl_ir.kinds import limit_of, misfits, seconds_of
from noetl_ir.kinds.nats import KIND
from noetl_ir.outcome import Outcome, error, ok

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js import JetStreamContext

VALUE_BYTES = 64 * 1024 * 1024
MOST_KEYS = 100_000
WRONG_REVISION = 10071  # JetStream's code for a last sequence that is another one

_KEY = re.compile(r"[-/_=a-zA-Z0-9]+(\.[-/_=a-zA-Z0-9]+)*")
_PATTERN = re.compile(r"([-/_=a-zA-Z0-9]+|\*)(\.([-/_=a-zA-Z0-9]+|\*))*(\.>)?|>")
_BUCKET = re.compile(r"[a-zA-Z0-9_-]+")
_SUBJECT = re.compile(r"[^\s\x00-\x20\x7f*>.]+(\.[^\s\x00-\x20\x7f*>.]+)*")
_NEEDS = {"publish": ("subject", "data"), "request": ("subject", "data"), "kv_keys": ("bucket",)}
_NEEDS |= {"kv_put": ("bucket", "key", "value"), "object_put": ("bucket", "key", "value")}


class ValueTooLarge(Exception):
    """A value over the limit."""


async def run(call: ToolCall, env: Env) -> Outcome:
    """Do the operation on a connection of its own, closed when this returns or is cancelled."""
    if not is_there():
        return error("extra.missing", f"the nats tool {EXTRA}")
    if wrong := (*misfits(KIND, call.fields), *_unfit(call.fields)):
        return error("fields.invalid", "; ".join(wrong))
    seconds = limit_of(call.timeout)
    try:
        target = await _target(call.fields, env)
        async with asyncio.timeout(SECONDS if seconds is None else seconds):
            return await cancellable(_outcome(target, call, env.fence()))
    except ValueError as problem:
        return error("fields.invalid", str(problem))
    except KeyError as problem:
        return error("credential.missing", str(problem.args[0] if problem.args else problem))
    except TimeoutError:
        return error("timeout", f"NATS took longer than {SECONDS if seconds is None else seconds:g} s")


def _unfit(fields: dict[str, Json]) -> list[str]:
    """The fields that an operation needs and is not given, or cannot use, a sentence each."""
    operation = str(fields.get("operation"))
    needed = _NEEDS.get(operation, ("bucket", "key"))
    # Null is a value that may be sent or stored; of all other fields it means that they are not given.
    present = {name for name, value in fields.items() if value is not None or name in ("data", "value")}
    wrong = [f"{operation} needs {name}" for name in needed if name not in present]
    key = _PATTERN if operation == "kv_keys" else re.compile(r"[^\0]+") if operation.startswith("object") else _KEY
    for name, pattern in (("bucket", _BUCKET), ("stream", _BUCKET), ("subject", _SUBJECT), ("key", key)):
        value = fields.get(name)
        if value is not None and (pattern.fullmatch(str(value)) is None or not str(value).isprintable()):
            wrong.append(f"{name} is no name that NATS takes")
    return wrong


async def _target(fields: dict[str, Json], env: Env) -> NatsLogin:
    """The server and the login. Raises KeyError, ValueError."""
    auth = fields["auth"] if fields.get("auth") is not None else fields.get("credential")
    login = await login_of(auth, env)
    return target_of(fields.get("url"), login)


async def _outcome(target: NatsLogin, call: ToolCall, fence: Fence | None) -> Outcome:
    from nats.errors import Error, MaxPayloadError, NoRespondersError
    from nats.js.errors import APIError, NotFoundError

    try:
        async with connected(target, fence) as client:
            return await _done(client, call)
    except NotAllowed as problem:
        return error("nats.refused", str(problem))
    except NatsUnreachable as problem:
        return error("nats.connect", str(problem))
    except (ValueTooLarge, MaxPayloadError) as problem:
        return error("nats.too_large", str(problem) or "the message is larger than the server takes")
    except NotFoundError:  # of buckets, keys, objects and streams
        return error("nats.not_found", f"there is no {_named(call.fields)}")
    except APIError as problem:
        if problem.err_code == WRONG_REVISION:
            return error("nats.revision", f"there is another revision of {_named(call.fields)}")
        return error("nats.error", f"NATS: {problem.description or problem}")
    except NoRespondersError:
        return error("nats.no_responders", f"nobody answers to {call.fields['subject']}")
    except (Error, OSError, ValueError) as problem:
        # The driver's own error of that name is a TimeoutError too: it has the code `timeout`, as the task's limit.
        if isinstance(problem, TimeoutError):
            raise
        return error("nats.error", f"NATS: {problem or type(problem).__name__}")


async def _done(client: "Client", call: ToolCall) -> Outcome:
    """The outcome of an operation; raises what the driver raises."""
    fields = call.fields
    streams = client.jetstream(timeout=SECONDS)
    match fields["operation"]:
        case "publish" if fields.get("stream") is None:
            await client.publish(str(fields["subject"]), bytes_of(fields["data"]))
            # A plain message has no answer. That the server has it shows by the answer to a ping that was sent behind
            # it.
            await client.flush(timeout=int(SECONDS))
            if client.last_error is not None:  # the server says what it refuses before it answers the flush
                return error("nats.error", f"NATS: {client.last_error}")
            return ok({"subject": str(fields["subject"])})
        case "publish":
            # The stream drops a second message of one id, so that a repeat after a lost claim is one message.
            headers = {"Nats-Msg-Id": call.action_id}
            done = await streams.publish(
                str(fields["subject"]), bytes_of(fields["data"]), stream=str(fields["stream"]), headers=headers
            )
            return ok({"subject": str(fields["subject"]), "stream": done.stream, "sequence": done.seq})
        case "request":
            message = await client.request(str(fields["subject"]), bytes_of(fields["data"]), timeout=_for_ever(call))
            value, encoding = value_of(message.data)
            return ok({"subject": str(fields["subject"]), "value": value}, nats={"encoding": encoding})
        case "object_get" | "object_put":
            return await _object(streams, call)
    return await _key_value(streams, call)


async def _key_value(streams: "JetStreamContext", call: ToolCall) -> Outcome:
    from nats.js.errors import NotFoundError

    fields = call.fields
    bucket, key = str(fields["bucket"]), str(fields.get("key") or ">")
    where: dict[str, Json] = {"bucket": bucket, "key": key}
    headers = {}
    if fields.get("revision") is not None:
        headers["Nats-Expected-Last-Subject-Sequence"] = str(fields["revision"])
    try:
        store = await streams.key_value(bucket)
    except NotFoundError:
        # To read from a bucket that is not there must not make it: a slip in its name would look like an empty
        # bucket.
        if fields["operation"] != "kv_put":
            raise
        store = await streams.create_key_value(bucket=bucket)
    match fields["operation"]:
        case "kv_put":
            ttl = seconds_of(fields.get("ttl"))
            # The driver's own `put` knows neither a time to live nor an expected revision; a bucket is a stream, and
            # a key a subject of it.
            done = await streams.publish(f"$KV.{bucket}.{key}", bytes_of(fields["value"]), msg_ttl=ttl, headers=headers)
            return ok({**where, "revision": done.seq})
        case "kv_delete":
            headers["KV-Operation"] = "DEL"
            await streams.publish(f"$KV.{bucket}.{key}", headers=headers)
            return ok(where)
        case "kv_keys":
            watcher = await store.watch(key, ignore_deletes=True, meta_only=True)
            keys: list[Json] = []
            async for entry in watcher:
                # The driver's mark that all keys that were there at the start have come; what follows are changes,
                # without an end.
                if entry is None:
                    break
                if len(keys) == MOST_KEYS:
                    raise ValueTooLarge(f"the bucket has more than {MOST_KEYS} keys of this pattern")
                keys.append(entry.key)
            await watcher.stop()  # type: ignore[no-untyped-call]
            return ok({"bucket": bucket, "keys": keys})
    entry = await store.get(key)
    data = entry.value or b""
    if len(data) > (most := _most(call)):
        raise ValueTooLarge(f"the value has more than {most} bytes")
    value, encoding = value_of(data)
    return ok({**where, "value": value, "revision": entry.revision}, nats={"encoding": encoding})


async def _object(streams: "JetStreamContext", call: ToolCall) -> Outcome:
    from nats.js.errors import NotFoundError

    fields = call.fields
    bucket, key = str(fields["bucket"]), str(fields["key"])
    where: dict[str, Json] = {"bucket": bucket, "key": key}
    try:
        store = await streams.object_store(bucket)
    except NotFoundError:
        if fields["operation"] != "object_put":
            raise
        store = await streams.create_object_store(bucket)
    if fields["operation"] == "object_put":
        done = await store.put(key, bytes_of(fields["value"]))
        return ok({**where, "size": done.size})
    # Asked before it is fetched: the driver reads all of an object before it gives any of it.
    info = await store.get_info(key)
    if (info.size or 0) > (most := _most(call)):
        raise ValueTooLarge(f"the object has more than {most} bytes")
    found = await store.get(key)
    value, encoding = value_of(found.data or b"")
    return ok({**where, "value": value, "size": info.size}, nats={"encoding": encoding})


def _named(fields: dict[str, Json]) -> str:
    """The object of an operation, for messages."""
    names = ("stream", "subject") if fields.get("bucket") is None else ("key", "bucket")
    return " in ".join(f"{name} {fields[name]}" for name in names if fields.get(name) is not None)


def _for_ever(call: ToolCall) -> float:
    """The driver wants a limit for a request; the attempt's own is shorter."""
    return (limit_of(call.timeout) or SECONDS) + 60


def _most(call: ToolCall) -> int:
    limit = call.knobs.get("max_bytes")
    return limit if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0 else VALUE_BYTES
