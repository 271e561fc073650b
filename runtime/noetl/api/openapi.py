"""The OpenAPI 3.1 document, made from the table of routes and the models of the bodies."""

import re
from collections.abc import Sequence

from pydantic.json_schema import models_json_schema

from noetl.api.bodies import BLOB_BYTES, BODY_BYTES, LAST_VERSION, SOURCE_BYTES, Body
from noetl.api.operation import Operation
from noetl.api.pages import LAST_POSITION, LONGEST_PAGE, PAGE, Paged
from noetl.api.problems import TYPE
from noetl.ports.idempotency import LONGEST
from noetl_ir.expr import Json

_FLAG: Json = {"type": "string", "enum": ["true", "false"]}
_QUERY: dict[str, Json] = {
    "version": {"type": "integer", "minimum": 1, "maximum": LAST_VERSION},
    "open": _FLAG,
    "top": _FLAG,
    "after": {"type": "integer", "minimum": 0, "maximum": LAST_POSITION},
    "position": {"type": "integer", "minimum": 0, "maximum": LAST_POSITION},
    "attempt": {"type": "integer", "minimum": 0, "maximum": LAST_POSITION},
    "output": _FLAG,
    "now": _FLAG,
    "newest": _FLAG,
}
"""The schemas of parameters that are not any text."""

VERSION = "1.0"
"""Of the API: rises with its first part when something that worked no longer does."""

BYTES = "application/octet-stream"
_BYTES_OUT = ("get_plan", "get_plan_at", "get_log", "get_blob")
_BYTES_IN = {
    "register": ((BYTES, "application/yaml"), SOURCE_BYTES),
    "keep_plan": ((BYTES, "application/yaml"), SOURCE_BYTES),
    "put_blob": ((BYTES,), BLOB_BYTES),
    "put_source": ((BYTES, "application/yaml"), SOURCE_BYTES),
}
_TEXT_OUT = {
    "metrics": "text/plain",
    "get_picture": "image/svg+xml",
    "get_source": "text/plain",
    "get_explanation": "text/plain",
}


def document(operations: Sequence[Operation]) -> dict[str, Json]:
    """The whole document."""
    models: list[type[Body]] = [row.body for row in operations if row.body is not None]
    _, defined = models_json_schema(
        [(model, "validation") for model in models], ref_template="#/components/schemas/{model}"
    )
    schemas: dict[str, Json] = {**defined["$defs"], "Problem": _problem()}
    paths: dict[str, dict[str, Json]] = {}
    for row in operations:
        # `:path` is Starlette's mark for a parameter with slashes, which OpenAPI has no word for.
        paths.setdefault(row.path.replace(":path}", "}"), {})[row.method.lower()] = _operation(row)
    return {
        "openapi": "3.1.0",
        "info": {"title": "noetl", "version": VERSION, "summary": "Starts, watches and steers executions."},
        "paths": dict(paths),
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(row: Operation) -> dict[str, Json]:
    name = row.handler.__name__
    media = BYTES if name in _BYTES_OUT else _TEXT_OUT.get(name, "application/json")
    schema: Json = _page(row.pages) if row.pages is not None and row.pages.rows else {}
    response: dict[str, Json] = {"description": "As asked.", "content": {media: {"schema": schema}}}
    wrong: Json = {"description": "Why not.", "content": {TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    operation: dict[str, Json] = {
        "operationId": name,
        "summary": (row.handler.__doc__ or "").strip(),
        "parameters": [*_in_path(row), *(_in_query(name) for name in row.query), *_of_pages(row.pages)]
        + [_in_header(name) for name in row.headers],
        "responses": {str(row.status): response, "default": wrong},
    }
    if row.role:
        operation["security"] = [{"token": []}]
        closed = "" if row.scope else " Closed to tokens for some playbooks or pools only."
        operation["description"] = f"Needs the role `{row.role}`.{closed}"
    if row.body is not None:
        body: Json = {"$ref": f"#/components/schemas/{row.body.__name__}"}
        operation["requestBody"] = {
            "required": True,
            "description": f"At most {BODY_BYTES:,} bytes.",
            "content": {"application/json": {"schema": body}},
        }
    if name in _BYTES_IN:
        kinds, most = _BYTES_IN[name]
        content: dict[str, Json] = {kind: {"schema": {}} for kind in kinds}
        operation["requestBody"] = {"required": True, "description": f"At most {most:,} bytes.", "content": content}
    return operation


def _in_path(row: Operation) -> list[Json]:
    names = re.findall(r"{(\w+)", row.path)
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


def _in_query(name: str) -> Json:
    return {"name": name, "in": "query", "required": False, "schema": _QUERY.get(name, {"type": "string"})}


def _in_header(name: str) -> Json:
    return {"name": name, "in": "header", "required": False, "schema": {"type": "string", "maxLength": LONGEST}}


def _of_pages(pages: Paged | None) -> list[Json]:
    """The parameters of a list."""
    if pages is None:
        return []
    count: Json = {"type": "integer", "minimum": 1, "maximum": LONGEST_PAGE, "default": PAGE}
    place: Json = {"type": "integer", "minimum": 0, "maximum": LAST_POSITION} if pages.counts else {"type": "string"}
    return [
        {"name": pages.cursor, "in": "query", "required": False, "schema": place, "description": pages.meaning},
        {"name": "limit", "in": "query", "required": False, "schema": count, "description": "how many rows at most"},
    ]


def _page(pages: Paged) -> Json:
    """The schema of a page of a list."""
    behind: Json = {
        "type": ["integer" if pages.counts else "string", "null"],
        "description": f"What to give as `{pages.cursor}` for the next page; null when there is none.",
    }
    rows: Json = {"type": "array", "maxItems": LONGEST_PAGE}
    return {"type": "object", "properties": {pages.rows: rows, "next": behind}, "required": [pages.rows, "next"]}


def _problem() -> Json:
    text: Json = {"type": "string"}
    properties: Json = {"type": text, "title": text, "status": {"type": "integer"}, "detail": text}
    return {"type": "object", "properties": properties, "required": ["type", "title", "status", "detail"]}
