"""The PostgreSQL server that a task means by its `auth`, `credential` or `dsn`, as `postgres` and `ducklake` ask it."""

from collections.abc import Mapping

from noetl.clients.auth import login_of
from noetl.ports import Env, InvalidFields
from noetl_ir.expr import Json

CONNECT_SECONDS = 30
"""How long a connection may take to be made."""

_NAMES = {
    "host": "host",
    "db_host": "host",
    "hostaddr": "hostaddr",
    "port": "port",
    "db_port": "port",
    "user": "user",
    "username": "user",
    "db_user": "user",
    "password": "password",
    "db_password": "password",
    "database": "dbname",
    "dbname": "dbname",
    "db_name": "dbname",
    "sslmode": "sslmode",
    "options": "options",
}
"""A credential's field → the connection parameter it is."""


async def server_of(fields: Mapping[str, Json], env: Env) -> tuple[str, dict[str, str]]:
    """The connection string and the parameters over it. Raises KeyError, InvalidFields."""
    auth = fields["auth"] if fields.get("auth") is not None else fields.get("credential")
    login = await login_of(auth, env)
    string = login.get("dsn", login.get("url", login.get("value", fields.get("dsn"))))
    target = {name: str(login[key]) for key, name in _NAMES.items() if login.get(key) is not None}
    if fields.get("database") is not None:
        target["dbname"] = str(fields["database"])
    if string is None and not target:
        raise InvalidFields("nothing says which server: give auth, or dsn")
    return str(string or ""), target
