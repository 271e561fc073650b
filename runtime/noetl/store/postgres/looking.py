"""A look at a database that is changed by nobody for it: which schema it has."""

from noetl.ports.maintenance import StoreSchema
from noetl.store.postgres.address import address_of
from noetl.store.postgres.pool import ConnectionPool
from noetl.store.postgres.schema import VERSION, version_of


def look(url: str) -> StoreSchema:
    """The schema of the store at a URL. Raises StoreFailure."""
    address = address_of(url)
    pool = ConnectionPool(address)
    try:
        return StoreSchema(pool.once(lambda connection: version_of(connection, address)), VERSION)
    finally:
        pool.close()
