"""A look at a database that is opened by nobody for it: which schema it has."""

import os
import sqlite3
from contextlib import closing

from noetl.ports.maintenance import StoreSchema
from noetl.store.sqlite.failures import TRANSLATED, failure
from noetl.store.sqlite.schema import VERSION, version_of


def look(path: str) -> StoreSchema:
    """The schema of the database at a path. Raises StoreFailure."""
    if not os.path.exists(path):
        return StoreSchema(0, VERSION)
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            return StoreSchema(version_of(connection.cursor(), path), VERSION)
    except TRANSLATED as error:
        raise failure(error, path) from error
