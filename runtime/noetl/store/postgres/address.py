"""Where a store is: the URL of a database, and how to name it without its secrets."""

from urllib.parse import parse_qsl, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict

from noetl.ports import StoreFailure
from noetl_ir.records import NamedTuple

SCHEMA = "noetl"
"""The namespace of a store whose URL names none."""

_SECRET = ("password", "sslpassword", "oauth_client_secret")


class Address(NamedTuple):
    """`parameters` are those of the driver; `shown` names the place in messages; `secrets` must not be in one."""

    parameters: dict[str, str]
    schema: str
    shown: str
    secrets: tuple[str, ...]

    @property
    def namespace(self) -> str:
        """The schema as SQL names it."""
        return f'"{self.schema}"'


def address_of(url: str) -> Address:
    """The address that a URL is. Raises StoreFailure, which does not quote it."""
    scheme, _, rest = url.partition("://")
    if scheme not in ("postgresql", "postgres") or not rest:
        raise StoreFailure("a PostgreSQL store is written postgresql://USER:PASSWORD@HOST:PORT/DATABASE")
    place, _, query = rest.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    # The driver does not know this parameter and would refuse the URL, so it is taken out.
    schema = next((value for name, value in pairs if name == "schema"), SCHEMA)
    if not (schema.isascii() and schema.isidentifier() and schema == schema.lower() and len(schema) < 64):
        raise StoreFailure("the schema of a PostgreSQL store is a name of small letters, digits and _")
    others = urlencode([pair for pair in pairs if pair[0] != "schema"])
    unread = "the URL of the PostgreSQL store cannot be read; are special characters %-encoded?"
    if "@" in place.partition("/")[2]:  # else part of a password would be taken for the host
        raise StoreFailure(unread)
    try:
        settings = conninfo_to_dict(f"postgresql://{place}" + (f"?{others}" if others else ""))
    except psycopg.Error:
        # The driver's words may quote the URL with its password.
        raise StoreFailure(unread) from None
    parameters = {name: str(value) for name, value in settings.items() if value is not None}
    secrets = tuple(parameters[name] for name in _SECRET if parameters.get(name))
    return Address(parameters, schema, _shown(parameters, schema), secrets)


def _shown(parameters: dict[str, str], schema: str) -> str:
    host, port = parameters.get("host", "localhost"), parameters.get("port", "")
    text = f"postgresql://{host}{f':{port}' if port else ''}/{parameters.get('dbname', '')}"
    return text if schema == SCHEMA else f"{text}?schema={schema}"
