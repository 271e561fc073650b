"""gcs: objects of Google Cloud Storage over its JSON API (LANGUAGE §7).

What is read without a destination is parsed where it is JSON, else it is text, else base64 text.
Error codes: those of `noetl.clients.gcs_storage`.
"""

import mimetypes
from collections.abc import Mapping

from noetl.clients.content import bytes_of, text_of, value_of
from noetl.clients.gcs_storage import GcsStorage, field_of, object_of, outcome_of, path_of, put_object, storage_of
from noetl.clients.http import BODY_BYTES
from noetl.host.confined_files import inside, read_file, write_file
from noetl.ports import Env, InvalidFields, ToolCall
from noetl_ir.expr import Json
from noetl_ir.kinds import misfits
from noetl_ir.kinds.gcs import KIND
from noetl_ir.outcome import Outcome, error, ok

OBJECTS = 10_000
"""The most objects of a list."""


async def run(call: ToolCall, env: Env) -> Outcome:
    """Do the operation; the connection is closed when this returns or is cancelled."""
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))

    async def operate() -> Outcome:
        bucket, name = object_of(call.fields)
        storage = await storage_of(call, env)
        match call.fields["operation"]:
            case "upload":
                return await _upload(storage, bucket, name, call.fields, env.root())
            case "download":
                return await _download(storage, bucket, name, call.fields.get("destination"), env.root())
            case "list":
                return await _list(storage, bucket, name, call)
        await storage.request("DELETE", path_of(bucket, name))
        return ok({"uri": f"gs://{bucket}/{name}"})

    return await outcome_of(operate)


async def _upload(storage: GcsStorage, bucket: str, name: str, fields: Mapping[str, Json], root: str) -> Outcome:
    if (fields.get("source") is None) == ("data" not in fields):
        raise InvalidFields("upload needs source, a file, or data")
    data = fields.get("data")
    if fields.get("source") is not None:
        content = read_file(inside(root, str(fields["source"])), BODY_BYTES)
    else:
        content = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes_of(data)
    guessed = mimetypes.guess_type(name)[0] or ("application/json" if isinstance(data, dict | list) else None)
    kind = str(fields.get("content_type") or guessed or "application/octet-stream")
    size = field_of(await put_object(storage, bucket, name, content, kind), "size")
    return ok({"uri": f"gs://{bucket}/{name}", "size": int(str(size)) if size is not None else len(content)})


async def _download(storage: GcsStorage, bucket: str, name: str, destination: Json, root: str) -> Outcome:
    # Looked at before anything is fetched: a file that is refused costs no download.
    target = None if destination is None else inside(root, str(destination))
    response = await storage.request("GET", path_of(bucket, name), alt="media")
    found: dict[str, Json] = {"uri": f"gs://{bucket}/{name}", "size": len(response.content)}
    if target is not None:
        write_file(target, response.content)
        return ok(found, http={"status": response.status})
    kind = str(response.headers.get("content-type", ""))
    data = value_of(response.content)[0] if "json" in kind else text_of(response.content)[0]
    return ok({**found, "content_type": kind, "data": data}, http={"status": response.status})


async def _list(storage: GcsStorage, bucket: str, prefix: str, call: ToolCall) -> Outcome:
    limit = call.knobs.get("max_objects")
    most = limit if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0 else OBJECTS
    objects: list[Json] = []
    page: Json = ""
    while page is not None:
        response = await storage.request("GET", f"/storage/v1/b/{bucket}/o", prefix=prefix, pageToken=str(page))
        rows = field_of(response, "items")
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
        page = field_of(response, "nextPageToken")
    return ok({"objects": objects})
