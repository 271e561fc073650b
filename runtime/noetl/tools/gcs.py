"""gcs: objects of Google Cloud Storage over its JSON API (LANGUAGE §7).

A service account signs for an access token, which is asked for by each task; a credential with a token is used as it
is. What is read without a destination is parsed where it is JSON, else it is text, else base64 text.
Error codes: `gcs.error` (with `outcome.http.status`), `gcs.not_found`, `gcs.auth`, those of `noetl.clients.http`,
`file.refused`, `fields.invalid`, `credential.missing`, `extra.missing`.
"""

import mimetypes
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import quote

from noetl.clients.auth import login_of
from noetl.clients.content import bytes_of, json_of, text_of, value_of
from noetl.clients.google import Unusable, account_of, token_request
from noetl.clients.http import BODY_BYTES, SECONDS, Request, RequestLimits, Response, exchange, is_there
from noetl.host.confined_files import FileRefused, inside, read_file, write_file
from noetl.ports import Call, Env, Fence, InvalidFields
from noetl_ir.expr import Json
from noetl_ir.kinds import limit_of, misfits
from noetl_ir.kinds.gcs import KIND
from noetl_ir.outcome import Outcome, error, ok
from noetl_ir.records import NamedTuple

ENDPOINT = "https://storage.googleapis.com"
SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
OBJECTS = 10_000


class Failed(Exception):
    """The storage did not do it; `outcome` says so."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome


class _Storage(NamedTuple):
    """Where the storage is, and how it is spoken to."""

    endpoint: str
    headers: dict[str, str]
    bounds: RequestLimits
    fence: Fence | None

    async def request(self, method: str, path: str, content: bytes | None = None, **more: str) -> Response:
        """Its response to a request, which says that it was done. Raises Failed."""
        headers = dict(self.headers)
        if (kind := more.pop("content_type", None)) is not None:
            headers["Content-Type"] = kind
        request = Request(method, f"{self.endpoint}{path}", headers, list(more.items()), content)
        return _done(await exchange(request, self.bounds, self.fence))


async def run(call: Call, env: Env) -> Outcome:
    """Do the operation; the connection is closed when this returns or is cancelled."""
    if not is_there():
        return error("extra.missing", "the gcs tool needs the extra: pip install 'noetlc[gcs]'")
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))
    try:
        bucket, name = _object(call.fields)
        storage = await _storage(call, env)
        match call.fields["operation"]:
            case "upload":
                return await _upload(storage, bucket, name, call.fields, env.root())
            case "download":
                return await _download(storage, bucket, name, call.fields.get("destination"), env.root())
            case "list":
                return await _list(storage, bucket, name, call)
        await storage.request("DELETE", _path(bucket, name))
        return ok({"uri": f"gs://{bucket}/{name}"})
    except Failed as problem:
        return problem.outcome
    except (InvalidFields, Unusable) as problem:
        return error("fields.invalid" if isinstance(problem, InvalidFields) else "gcs.auth", str(problem))
    except FileRefused as problem:
        return error("file.refused", str(problem))
    except KeyError as problem:
        return error("credential.missing", str(problem.args[0] if problem.args else problem))


def _object(fields: Mapping[str, Json]) -> tuple[str, str]:
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


async def _storage(call: Call, env: Env) -> _Storage:
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
        return _Storage(endpoint, {}, bounds, fence)
    login = await login_of(auth, env)
    if (account := account_of(login)) is not None:
        request = token_request(account, {"scope": SCOPE}, int(time.time()))
        found = await exchange(request, bounds._replace(most=1 << 20), fence)
        token = _field(_done(found, "gcs.auth"), "access_token")
    else:
        token = next((login[key] for key in ("access_token", "token", "value") if login.get(key) is not None), None)
    if not isinstance(token, str) or not token:
        raise InvalidFields("auth names a credential without a service account, and without a token")
    return _Storage(endpoint, {"Authorization": f"Bearer {token}"}, bounds, fence)


async def _upload(storage: _Storage, bucket: str, name: str, fields: Mapping[str, Json], root: str) -> Outcome:
    if (fields.get("source") is None) == ("data" not in fields):
        raise InvalidFields("upload needs source, a file, or data")
    data = fields.get("data")
    if fields.get("source") is not None:
        content = read_file(inside(root, str(fields["source"])), BODY_BYTES)
    else:
        content = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes_of(data)
    guessed = mimetypes.guess_type(name)[0] or ("application/json" if isinstance(data, dict | list) else None)
    kind = str(fields.get("content_type") or guessed or "application/octet-stream")
    path = f"/upload/storage/v1/b/{bucket}/o"
    done = await storage.request("POST", path, content, uploadType="media", name=name, content_type=kind)
    size = _field(done, "size")
    return ok({"uri": f"gs://{bucket}/{name}", "size": int(str(size)) if size is not None else len(content)})


async def _download(storage: _Storage, bucket: str, name: str, destination: Json, root: str) -> Outcome:
    # Looked at before anything is fetched: a file that is refused costs no download.
    target = None if destination is None else inside(root, str(destination))
    response = await storage.request("GET", _path(bucket, name), alt="media")
    found: dict[str, Json] = {"uri": f"gs://{bucket}/{name}", "size": len(response.content)}
    if target is not None:
        write_file(target, response.content)
        return ok(found, http={"status": response.status})
    kind = str(response.headers.get("content-type", ""))
    data = value_of(response.content)[0] if "json" in kind else text_of(response.content)[0]
    return ok({**found, "content_type": kind, "data": data}, http={"status": response.status})


async def _list(storage: _Storage, bucket: str, prefix: str, call: Call) -> Outcome:
    limit = call.knobs.get("max_objects")
    most = limit if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0 else OBJECTS
    objects: list[Json] = []
    page: Json = ""
    while page is not None:
        response = await storage.request("GET", f"/storage/v1/b/{bucket}/o", prefix=prefix, pageToken=str(page))
        rows = _field(response, "items")
        for row in rows if isinstance(rows, list) else []:
            if isinstance(row, dict):
                size = row.get("size")
                objects.append({
                    "name": row.get("name"), "size": int(str(size)) if str(size).isdigit() else None,
                    "content_type": row.get("contentType"), "updated": row.get("updated"),
                })  # fmt: skip
        # Looked at after each page: a bucket may have a billion objects.
        if len(objects) > most:
            return error("gcs.error", f"there are more than {most} objects; say what their names begin with in key")
        page = _field(response, "nextPageToken")
    return ok({"objects": objects})


def _path(bucket: str, name: str) -> str:
    # The name of an object is one part of the path, with its slashes quoted too.
    return f"/storage/v1/b/{bucket}/o/{quote(name, safe='')}"


def _done(found: Response | Outcome, code: str = "gcs.error") -> Response:
    """The response of a request that was done. Raises Failed."""
    if isinstance(found, Outcome):
        raise Failed(found)
    if found.status < 300:
        return found
    reason = _field(found, "error")
    reason = reason.get("message") if isinstance(reason, dict) else _field(found, "error_description") or reason
    said = f": {reason}" if isinstance(reason, str) else ""
    code = "gcs.not_found" if found.status == 404 else code
    again = found.status in (408, 429) or found.status >= 500
    message = f"the storage answered with status {found.status}{said}"
    raise Failed(error(code, message, retryable=again, http={"status": found.status}))


def _field(response: Response, name: str) -> Json:
    """A field of a JSON response; None where it has none."""
    with suppress(ValueError):
        found = json_of(response.content)
        return found.get(name) if isinstance(found, dict) else None
    return None
