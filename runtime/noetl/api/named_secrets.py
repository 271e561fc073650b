"""Tokens and credentials by their names: who may use a server and what its playbooks may use, and never a secret."""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from noetl.api.authorization import Authorization
from noetl.api.handlers import service_of
from noetl.api.pages import limit_of, page
from noetl_ir.expr import Json


async def list_tokens(request: Request) -> Response:
    """The tokens of this server by name, each with its role, end and scopes; of a server without tokens none."""
    # In the loop, where every request looks for its token: with a second thread that reads the file anew, a token that
    # was forgotten would be let in meanwhile.
    authorization: Authorization = request.app.state.authorization
    tokens = authorization.named()
    return _page(request, "tokens", [token.document() for token in tokens])


async def list_credentials(request: Request) -> Response:
    """The credentials that are kept beside this server, by name, each with its type and when it was stored."""
    return _page(request, "credentials", await run_in_threadpool(service_of(request).credentials))


def _page(request: Request, name: str, rows: list[dict[str, Json]]) -> Response:
    """A page of rows that are in the order of their names."""
    limit, after = limit_of(request), request.query_params.get("after", "")
    behind = [row for row in rows if str(row["name"]) > after]
    return page(name, behind[:limit], behind[limit - 1]["name"] if len(behind) > limit else None)
