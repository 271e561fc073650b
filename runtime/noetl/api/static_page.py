"""The page at `/`: files of `noetl/page`, as they stand there, under a policy that lets nothing else be loaded or run.

There is no build step: the modules that a browser loads are the files of the repository. All addresses in them are
relative, so the page works behind any prefix that a proxy takes off.
"""

from __future__ import annotations

import gzip
from functools import cache
from hashlib import sha256
from pkgutil import get_data

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from noetl_ir.records import NamedTuple

_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
FILES = (
    "index.html", "app.css", "icon.svg",
    "actions.js", "app.js", "audit.js", "children.js", "counts.js", "differences.js", "dom.js", "execution.js",
    "executions.js", "failures.js", "findings.js", "forms.js", "frames.js", "items.js", "lists.js", "log.js",
    "moves.js", "notifications.js", "numbers.js", "output.js", "picture.js", "playbooks.js", "reruns.js",
    "schedules.js", "scopes.js", "server.js", "signals.js", "signing.js", "source.js", "starting.js", "step.js",
    "timeline.js", "times.js", "triggers.js", "viewport.js", "workers.js",
)  # fmt: skip
"""What of the folder is served: a name that came in a request opens no file."""

POLICY = "; ".join(
    (
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
        "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        # No text of a playbook can become markup, even where the page had a mistake: no script may make any.
        "require-trusted-types-for 'script'", "trusted-types 'none'",
    )
)  # fmt: skip
"""Content Security Policy Level 3, and Trusted Types."""

_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    # Asked again each time, and answered by its hash: after an upgrade no browser mixes files of two versions.
    "Cache-Control": "no-cache",
    "Vary": "Accept-Encoding",
}


class _File(NamedTuple):
    """A file as it is sent: its bytes, the same compressed, its media type, and its hash."""

    plain: bytes
    packed: bytes
    kind: str
    tag: str


def page_routes() -> list[Route]:
    """The routes of the page: its frame at `/`, its parts under `/page/`."""
    return [Route("/", _frame, name="page"), Route("/page/{name}", _part, name="page_part")]


@cache
def file_of(name: str) -> _File:
    """A file of the page. Raises KeyError where the page has none of that name."""
    if name not in FILES:
        raise KeyError(name)
    data = get_data("noetl", f"page/{name}")
    assert data is not None, name
    kind = _TYPES[name.rpartition(".")[2]]
    # Without the time of day in it, the same file has the same bytes in every process.
    return _File(data, gzip.compress(data, mtime=0), f"{kind}; charset=utf-8", f'"{sha256(data).hexdigest()[:32]}"')


async def _frame(request: Request) -> Response:
    return _sent(request, "index.html")


async def _part(request: Request) -> Response:
    return _sent(request, request.path_params["name"])


def _sent(request: Request, name: str) -> Response:
    try:
        file = file_of(name)
    except KeyError:
        raise HTTPException(404, "the page has no such part") from None
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers={**_HEADERS, "ETag": file.tag})
    takes = {part.partition(";")[0].strip() for part in request.headers.get("accept-encoding", "").split(",")}
    packed = {"Content-Encoding": "gzip"} if "gzip" in takes else {}
    return Response(
        file.packed if packed else file.plain,
        headers={**_HEADERS, **packed, "ETag": file.tag},
        media_type=file.kind,
    )
