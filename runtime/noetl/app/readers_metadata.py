"""The metadata of a playbook that is for readers: what it is for, who owns it. No plan has it."""

from noetl.clients.compiler import plain_document
from noetl.clients.content import json_of
from noetl_ir.expr import Json

MOST, LONGEST = 20, 2_000
"""Entries that are told, and characters of each."""

_TOLD_ELSEWHERE = ("name", "path", "version", "labels")


def readers_metadata(source: bytes) -> dict[str, str]:
    """The texts and numbers of `metadata` in the source of a playbook, the description first. Raises CompileError."""
    try:
        document = json_of(plain_document("playbook.yaml", source))
    except ValueError:  # what no log could hold is shown by nobody
        return {}
    if not isinstance(document, dict):
        return {}
    metadata = document.get("metadata")
    # `description` stands at the root of old playbooks.
    entries: dict[str, Json] = {"description": document.get("description")}
    entries |= metadata if isinstance(metadata, dict) else {}
    told = {
        name[:LONGEST]: (value if isinstance(value, str) else str(value))[:LONGEST]
        for name, value in entries.items()
        if name not in _TOLD_ELSEWHERE and isinstance(value, str | int | float) and not isinstance(value, bool)
    }
    return dict([*told.items()][:MOST])
