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
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from noetl.contents import bytes_of, value_of
from noetl.egress import NotAllowed, address_of
from noetl.ports import Call, Env, Fence
from noetl_ir.expr import Json
from noetl_ir.kinds import limit_of, misfits, seconds_of
from noetl_ir.kinds.nats import KIND
from noetl_ir.outcome import Outcome, error, ok

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js import JetStreamContext

SECONDS = 30.0
VALUE_BYTES = 64 * 1024 * 1024
PORT = 4222
WRONG_REVISION = 10071  # JetStream's code for a last sequence that is another one

_KEY = re.compile(r"[-/_=a-zA-Z0-9]+(\.[-/_=a-zA-Z0-9]+)*")
_PATTERN = re.compile(r"([-/_=a-zA-Z0-9]+|\*)(\.([-/_=a-zA-Z0-9]+|\*))*(\.>)?|>")
_BUCKET = re.compile(r"[a-zA-Z0-9_-]+")
_SUBJECT = re.compile(r"[^\s\x00-\x20\x7f*>.]+(\.[^\s\x00-\x20\x7f*>.]+)*")
_NEEDS = {"publish": ("subject", "data"), "request": ("subject", "data"), "kv_keys": ("bucket",)}
_NEEDS |= {"kv_put": ("bucket", "key", "value"), "object_put": ("bucket", "key", "value")}


class Invalid(Exception):
    """A task that cannot be done; the text says why, in plain words."""


class TooLarge(Exception):
    """A value over the limit."""


class _Target(NamedTuple):
    """A server, without its secrets, and what to log in with."""

    scheme: str
    host: str
    port: int
    login: dict[str, str]


async def run(call: Call, env: Env) -> Outcome:
    """Do the operation on a connection of its own, closed when this returns or is cancelled."""
    try:
        import nats  # noqa: F401  (whether it is there is told before anything else)
    except ImportError:
        return error("extra.missing", "the nats tool needs the extra: pip install 'noetlc[nats]'")
    if wrong := (*misfits(KIND, call.fields), *_unfit(call.fields)):
        return error("fields.invalid", "; ".join(wrong))
    seconds = limit_of(call.timeout)
    try:
        target = _target(call.fields, env)
        async with asyncio.timeout(SECONDS if seconds is None else seconds):
            return await _connected(target, call, env.fence())
    except Invalid as problem:
        return error("fields.invalid", str(problem))
    except KeyError as problem:
        return error("credential.missing", str(problem.args[0] if problem.args else problem))
    except TimeoutError:
        return error("timeout", f"NATS took longer than {SECONDS if seconds is None else seconds:g} s", retryable=True)


def _unfit(fields: dict[str, Json]) -> list[str]:
    """What an operation needs and is not given, or cannot use, a sentence each."""
    operation = str(fields.get("operation"))
    needed = _NEEDS.get(operation, ("bucket", "key"))
    given = {name for name, value in fields.items() if value is not None or name in ("data", "value")}
    wrong = [f"{operation} needs {name}" for name in needed if name not in given]
    key = _PATTERN if operation == "kv_keys" else re.compile(r"[^\0]+") if operation.startswith("object") else _KEY
    for name, pattern in (("bucket", _BUCKET), ("stream", _BUCKET), ("subject", _SUBJECT), ("key", key)):
        value = fields.get(name)
        if value is not None and (pattern.fullmatch(str(value)) is None or not str(value).isprintable()):
            wrong.append(f"{name} is no name that NATS takes")
    return wrong


def _target(fields: dict[str, Json], env: Env) -> _Target:
    """The server and the login. Raises KeyError, Invalid."""
    auth = fields["auth"] if fields.get("auth") is not None else fields.get("credential")
    named = auth.get("credential", auth.get("name")) if isinstance(auth, dict) else auth
    given = env.credential(str(named)) if isinstance(named, str | int) else auth if isinstance(auth, dict) else {}
    url = fields.get("url")
    for name in ("nats_url", "url", "value"):
        url = given.get(name) if url is None else url
    if url is None:
        raise Invalid("nothing says which server: give url, or auth with nats_url")
    text = str(url)
    try:
        parts = urlsplit(text if "://" in text else f"nats://{text}")
        host, port = parts.hostname, parts.port or PORT
    except ValueError:
        host, port = None, 0
    if host is None or parts.scheme not in ("nats", "tls"):
        raise Invalid("a server is written nats://HOST:PORT or tls://HOST:PORT")
    login = {name: unquote(value) for name, value in (("user", parts.username), ("password", parts.password)) if value}
    for name, keys in _LOGIN.items():
        if (value := next((given[key] for key in keys if given.get(key) is not None), None)) is not None:
            login[name] = str(value)
    return _Target(parts.scheme, host, port, login)


_LOGIN = {
    "user": ("nats_user", "user", "username"),
    "password": ("nats_password", "password"),
    "token": ("nats_token", "token"),
    "creds": ("nats_creds", "creds"),
}
"""What a login has → the fields of a credential that may hold it, the first that is there."""


async def _connected(target: _Target, call: Call, fence: Fence | None) -> Outcome:
    from nats.aio.client import Client
    from nats.errors import Error, MaxPayloadError, NoRespondersError
    from nats.js.errors import APIError, NotFoundError

    try:
        host = target.host if fence is None else await address_of(target.host, target.port, fence)
    except NotAllowed as problem:
        return error("nats.refused", str(problem))
    except (OSError, UnicodeError) as problem:
        return _unreachable(target, problem)
    client = Client()
    try:
        if (failure := await _connect(client, host, target)) is not None:
            return _unreachable(target, failure)
        return await _done(client, call)
    except (TooLarge, MaxPayloadError) as problem:
        return error("nats.too_large", str(problem) or "the message is larger than the server takes")
    except NotFoundError:  # of buckets, keys, objects and streams
        return error("nats.not_found", f"there is no {_named(call.fields)}")
    except APIError as problem:
        if problem.err_code == WRONG_REVISION:
            return error("nats.revision", f"there is another revision of {_named(call.fields)}")
        return error("nats.error", f"NATS: {problem.description or problem}")
    except NoRespondersError:
        return error("nats.no_responders", f"nobody answers to {call.fields['subject']}", retryable=True)
    except (Error, OSError, ValueError) as problem:
        if isinstance(problem, TimeoutError):
            raise
        return error("nats.error", f"NATS: {problem or type(problem).__name__}")
    finally:
        with suppress(Error, OSError, AssertionError):  # the last when it was cancelled before it began to connect
            await asyncio.shield(asyncio.ensure_future(client.close()))


def _unreachable(target: _Target, problem: Exception) -> Outcome:
    reason = str(problem) or type(problem).__name__
    return error("nats.connect", f"no connection to {target.host}:{target.port}: {reason}", retryable=True)


async def _connect(client: "Client", host: str, target: _Target) -> Exception | None:
    """Connect once to a host or address; what went wrong, if anything did."""
    from nats.aio.client import RawCredentials
    from nats.errors import Error

    login = dict(target.login)
    creds = login.pop("creds", None)
    connecting = True

    async def erred(problem: Exception) -> None:
        """While connecting, the first problem ends it; later ones are raised where they are waited for."""
        if connecting:
            raise problem

    try:
        place = f"[{host}]" if ":" in host else host
        await client.connect(
            f"{target.scheme}://{place}:{target.port}", name="noetl", allow_reconnect=False, error_cb=erred,
            connect_timeout=SECONDS,  # type: ignore[arg-type]
            tls_hostname=target.host if target.scheme == "tls" else None,
            user=login.get("user"), password=login.get("password"), token=login.get("token"),
            user_credentials=None if creds is None else RawCredentials(creds),
        )  # fmt: skip
    except (Error, OSError, ValueError, ImportError) as problem:
        return client.last_error or problem
    finally:
        connecting = False
    return None


async def _done(client: "Client", call: Call) -> Outcome:
    """What an operation gives; raises what the driver raises."""
    fields = call.fields
    streams = client.jetstream(timeout=SECONDS)
    match fields["operation"]:
        case "publish" if fields.get("stream") is None:
            await client.publish(str(fields["subject"]), bytes_of(fields["data"]))
            await client.flush(timeout=int(SECONDS))
            if client.last_error is not None:  # the server says what it refuses before it answers the flush
                return error("nats.error", f"NATS: {client.last_error}")
            return ok({"subject": str(fields["subject"])})
        case "publish":
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


async def _key_value(streams: "JetStreamContext", call: Call) -> Outcome:
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
        if fields["operation"] != "kv_put":
            raise
        store = await streams.create_key_value(bucket=bucket)
    match fields["operation"]:
        case "kv_put":
            ttl = seconds_of(fields.get("ttl"))
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
                if entry is None:
                    break
                keys.append(entry.key)
            await watcher.stop()  # type: ignore[no-untyped-call]
            return ok({"bucket": bucket, "keys": keys})
    entry = await store.get(key)
    data = entry.value or b""
    if len(data) > (most := _most(call)):
        raise TooLarge(f"the value has more than {most} bytes")
    value, encoding = value_of(data)
    return ok({**where, "value": value, "revision": entry.revision}, nats={"encoding": encoding})


async def _object(streams: "JetStreamContext", call: Call) -> Outcome:
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
    info = await store.get_info(key)
    if (info.size or 0) > (most := _most(call)):
        raise TooLarge(f"the object has more than {most} bytes")
    found = await store.get(key)
    value, encoding = value_of(found.data or b"")
    return ok({**where, "value": value, "size": info.size}, nats={"encoding": encoding})


def _named(fields: dict[str, Json]) -> str:
    """What an operation is about, for messages."""
    names = ("stream", "subject") if fields.get("bucket") is None else ("key", "bucket")
    return " in ".join(f"{name} {fields[name]}" for name in names if fields.get(name) is not None)


def _for_ever(call: Call) -> float:
    """The driver wants a limit for a request; the attempt's own is shorter."""
    return (limit_of(call.timeout) or SECONDS) + 60


def _most(call: Call) -> int:
    limit = call.knobs.get("max_bytes")
    return limit if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0 else VALUE_BYTES
