"""Text as PostgreSQL can keep it: without NUL. `\\0` stands for one and `\\\\` for a backslash, so nothing is lost.

Queries that other stores have too are written with `:name`, and get here what psycopg writes.
"""

import re
from collections.abc import Mapping
from typing import Any


def written(text: str) -> str:
    """The stored form of a text; equal texts, and no others, have equal forms."""
    if "\\" in text or "\0" in text:
        return text.replace("\\", "\\\\").replace("\0", "\\0")
    return text


def read(stored: str) -> str:
    """The text of a stored form."""
    if "\\" in stored:
        return "\\".join(part.replace("\\0", "\0") for part in stored.split("\\\\"))
    return stored


def named_query(query: str) -> str:
    """A query with parameters `:name` as psycopg takes it."""
    return re.sub(r":(\w+)", r"%(\1)s", query)


def written_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of such a query, texts in their stored form."""
    return {name: written(value) if isinstance(value, str) else value for name, value in values.items()}


def read_row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row that was found, with its texts."""
    return tuple([read(value) if isinstance(value, str) else value for value in row])
