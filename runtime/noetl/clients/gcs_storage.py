"""Google Cloud Storage over its JSON API, as `gcs` and `artifact` speak to it.

A service account signs for an access token, which is asked for by each task; a credential with a token is used as it
is. Error codes: `gcs.error` (with `outcome.http.status`), `gcs.not_found`, `gcs.auth`, those of `noetl.clients.http`,
`file.refused`, `fields.invalid`, `credential.missing`, `extra.missing`.
"""

import os
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from urllib.parse import quote

from noetl.clients.auth import login_of
from noetl.clients.content import json_of
from noetl.clients.google import UnusableAccount, account_of, token_request
from noetl.clients.http import BODY_BYTES, SECONDS, HttpRequest, HttpResponse, RequestLimits, exchange, is_there
from noetl.host.confined_files import FileRefused
from noetl.ports import Env, Fence, InvalidFields, ToolCall
from noetl_ir.expr import Json
from noetl_ir.kinds import limit_of
from noetl_ir.outcome import Outcome, error
from noetl_ir.records import NamedTuple

ENDPOINT = "https://storage.googleapis.com"
"""Where it is when nobody says."""

SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"


class StorageFailed(Exception):
    """The storage did not do it; `outcome` says so."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome


class GcsStorage(NamedTuple):
    """Where the storage is, and how it is spoken to."""

    endpoint: str
    headers: dict[str, str]
    bounds: RequestLimits
    fence: Fence | None

    async def request(self, method: str, path: str, content: bytes | None = None, **more: str) -> HttpResponse:
        """Its response to a request, which says that it was done. Raises Failed."""
        headers = dict(self.headers)
        if (kind := more.pop("content_type", None)) is not None:
            headers["Content-Type"] = kind
        request = HttpRequest(method, f"{self.endpoint}{path}", headers, list(more.items()), content)
        return _done(await exchange(request, self.bounds, self.fence))


async def outcome_of(operate: Callable[[], Awaitable[Outcome]]) -> Outcome:
    """The outcome of what is done with the storage, or of why it is not."""
    if not is_there():
        return error("extra.missing", "the gcs tool needs the extra: pip install 'noetlc[gcs]'")
    try:
        return await operate()
    except StorageFailed as problem:
        return problem.outcome
    except (InvalidFields, UnusableAccount) as problem:
        return error("fields.invalid" if isinstance(problem, InvalidFields) else "gcs.auth", str(problem))
    except FileRefused as problem:
        return error("file.refused", str(problem))
    except KeyError as problem:
        return error("credential.missing", str(problem.args[0] if problem.args else problem))


async def read_object(call: ToolCall, env: Env, uri: str) -> tuple[bytes, int]:
    """The bytes of `gs://BUCKET/NAME` and the status of the response, for `outcome_of`."""
    bucket, name = object_of({"operation": "download", "key": uri})
    response = await (await storage_of(call, env)).request("GET", path_of(bucket, name), alt="media")
    return response.content, response.status


async def write_object(call: ToolCall, env: Env, uri: str, content: bytes, content_type: str) -> None:
    """Write `gs://BUCKET/NAME`, for `outcome_of`."""
    bucket, name = object_of({"operation": "upload", "key": uri})
    await put_object(await storage_of(call, env), bucket, name, content, content_type)


async def put_object(storage: GcsStorage, bucket: str, name: str, content: bytes, content_type: str) -> HttpResponse:
    """The response to writing an object. Raises Failed."""
    path = f"/upload/storage/v1/b/{bucket}/o"
    return await storage.request("POST", path, content, uploadType="media", name=name, content_type=content_type)


def object_of(fields: Mapping[str, Json]) -> tuple[str, str]:
    """The bucket and the name that a task is about. Raises InvalidFields."""
    operation = fields["operation"]
    other = {"upload": "destination", "download": "source"}.get(str(operation))
    named = fields["key"] if fields.get("key") is not None else fields.get(other or "key")
    bucket, name = str(fields.get("bucket") or ""), str(named or "")
    if name.startswith("gs://"):
        bucket, _, name = name.removeprefix("gs://").partition("/")
    # The bucket goes into the path unquoted: a slash or a question mark would make it a request for something else.
    if not bucket or any(not (c.isascii() and (c.isalnum() or c in "-_.")) for c in bucket):
        raise InvalidFields("a bucket is needed, by its name")
    if not name and operation != "list":
        raise InvalidFields(f"{operation} needs key" + (f" or {other}" if other else ""))
    if not name.isprintable():
        raise InvalidFields("the object's name cannot be used")
    return bucket, name


async def storage_of(call: ToolCall, env: Env) -> GcsStorage:
    """The storage, and who is logged in there. Raises Failed, Unusable, KeyError, InvalidFields."""
    fields, limit, fence = call.fields, call.knobs.get("max_bytes"), env.fence()
    most = limit if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0 else BODY_BYTES
    seconds = limit_of(call.timeout)
    bounds = RequestLimits(SECONDS if seconds is None else seconds, most=most)
    # Google's own clients read the same variable, as tests set it.
    endpoint = str(fields.get("endpoint") or os.environ.get("STORAGE_EMULATOR_HOST") or ENDPOINT).rstrip("/")
    endpoint = endpoint if "://" in endpoint else f"http://{endpoint}"
    auth = fields["auth"] if fields.get("auth") is not None else fields.get("credential")
    if auth is None:
        return GcsStorage(endpoint, {}, bounds, fence)
    login = await login_of(auth, env)
    if (account := account_of(login)) is not None:
        request = token_request(account, {"scope": SCOPE}, int(time.time()))
        found = await exchange(request, bounds._replace(most=1 << 20), fence)
        token = field_of(_done(found, "gcs.auth"), "access_token")
    else:
        token = next((login[key] for key in ("access_token", "token", "value") if login.get(key) is not None), None)
    if not isinstance(token, str) or not token:
        raise InvalidFields("auth names a credential without a service account, and without a token")
    return GcsStorage(endpoint, {"Authorization": f"Bearer {token}"}, bounds, fence)


def path_of(bucket: str, name: str) -> str:
    """The path of an object."""
    # The name of an object is one part of the path, with its slashes quoted too.
    return f"/storage/v1/b/{bucket}/o/{quote(name, safe='')}"


def _done(found: HttpResponse | Outcome, code: str = "gcs.error") -> HttpResponse:
    """The response of a request that was done. Raises Failed."""
    if isinstance(found, Outcome):
        raise StorageFailed(found)
    if found.status < 300:
        return found
    reason = field_of(found, "error")
    reason = reason.get("message") if isinstance(reason, dict) else field_of(found, "error_description") or reason
    said = f": {reason}" if isinstance(reason, str) else ""
    code = "gcs.not_found" if found.status == 404 else code
    message = f"the storage answered with status {found.status}{said}"
    raise StorageFailed(error(code, message, http={"status": found.status}))


def field_of(response: HttpResponse, name: str) -> Json:
    """A field of a JSON response; None where it has none."""
    with suppress(ValueError):
        found = json_of(response.content)
        return found.get(name) if isinstance(found, dict) else None
    return None
