"""Needs of a playbook that cannot be met offline, told from its text before anything runs."""

import re
from collections.abc import Container, Iterator

from corpora.serving import hosts_in

_KINDS = (
    "snowflake|gcs|container|secrets|oauth|oauth2|google_id_token|google_oauth|secret_manager|ducklake|rhai|gateway|nats"
    "|client_credentials|s3|gcp_secret_manager|quantum"
)
_KIND = re.compile(rf"(?m)^[\s-]*[\"']?(?:kind|type|tool)[\"']?\s*:\s*[\"']?({_KINDS})[\"']?\s*(?:#.*)?$")
_PROGRAMS = re.compile(
    r"(?m)(?:^[\s-]*|[;&|(`\[,:]\s*|\b(?:then|do|else|if|sudo)\s+)[\"']?(kubectl|docker|helm|gcloud|gsutil|terraform|make"
    r"|brew|apt|apt-get|git|ssh|cargo|npm|psql|curl|wget|(?:\./|bin/|\./bin/)noetl"
    r"|kind(?= (?:create|get|delete|load|export|version)))\s+[-\w./\"$<{\\]"
)
_INTERNALS = re.compile(r"(?m)^\s*(?:from|import)\s+noetl\b")
_EXTENSION = re.compile(
    r"(?i)\b(?:INSTALL|LOAD)\s+(httpfs|postgres|postgres_scanner|sqlite|mysql|excel|spatial|ducklake)\b"
)
_ATTACHED = re.compile(r"(?i)\bTYPE\s+(postgres|mysql|sqlite)\b|\b(postgres|sqlite)_(?:scan|attach)\b")
_BUCKET = re.compile(r"\b(gs|s3)://")
_OLD_TABLE = re.compile(
    r"(?i)\bnoetl\.(event|event_log|execution|catalog|credential|keychain|workload|queue|runtime|transient|result_ref)\b"
)
_COMMENT = re.compile(r"(?m)^\s*#.*$")
_SLEEP = re.compile(r"\b(?:sleep\(|sleep |pg_sleep\()\s*(\d+(?:\.\d+)?)")
_LONGEST = 12.0
"""Seconds of sleep in all that a run has time for."""
_SHELL = re.compile(r"(?m)^[\s-]*(?:kind|type|tool)\s*:\s*[\"']?shell\b")


def lacking(text: str, hosts: Container[str]) -> str:
    """Why a playbook cannot run offline where `hosts` are served; "" where nothing speaks against it."""
    # What stands in a comment is not needed.
    return next(_reasons(_COMMENT.sub("", text), hosts), "")


def _reasons(text: str, hosts: Container[str]) -> Iterator[str]:
    for found in _KIND.finditer(text):
        yield f"kind {found[1]}"
    if _SHELL.search(text) and (found_program := _PROGRAMS.search(text)):
        yield f"program {found_program[1]}"
    for found in _EXTENSION.finditer(text):
        yield f"duckdb extension {found[1].lower()}"
    for found in _ATTACHED.finditer(text):
        yield f"duckdb extension {(found[1] or found[2]).lower()}"
    for found in _BUCKET.finditer(text):
        yield f"bucket {found[1]}://"
    if _OLD_TABLE.search(text):
        yield "tables of another server"
    if _INTERNALS.search(text):
        yield "imports of another program"
    # Sorted, so that the reason is the same each time.
    for host in sorted(hosts_in(text)):
        if host not in hosts:
            yield f"host {host}"
    if sum(float(found[1]) for found in _SLEEP.finditer(text)) > _LONGEST:
        yield "sleeps for long"


_OFFLINE = re.compile(
    r"(?i)name or service not known|temporary failure in name resolution|network is unreachable|could not resolve"
    r"|nodename nor servname|failed to download extension|connection refused|could not translate host name"
    r"|no address associated|extension .* not found"
)


def is_offline(message: str) -> bool:
    """Whether a failure says that something was out of reach."""
    return bool(_OFFLINE.search(message))
