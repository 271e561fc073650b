"""The meaning of codes of errors: of attempts at tasks (`outcome.error.code`), and of steps that fail without one.

Which kind can give which is found in the tools themselves (`tools/gen`), and stands in `schema/README.md`.
"""

from collections.abc import Mapping
from types import MappingProxyType

ERRORS: Mapping[str, str] = MappingProxyType({
    "concurrency.refused": "The child got no place under the key that it asks for (`executor.spec.concurrency`).",
    "container.engine": "The container could not be begun, or its engine did not do what it was asked.",
    "container.exit": "The container ended with an exit code other than 0; its output is in the result.",
    "content.invalid": "What is stored there is not what its type says, or is too large.",
    "credential.missing": "A credential or secret that the task uses cannot be had.",
    "duckdb.error": "DuckDB refused a statement; `outcome.duckdb.code` says why.",
    "extra.missing": "What the kind needs is not installed; the message says how to install it.",
    "fields.invalid": "A field has a value that the tool cannot use. No rule is asked: the playbook is at fault.",
    "file.refused": "A file lies outside of where tools may look, or is one of the engine's own.",
    "gcs.auth": "Google Cloud did not take the credential.",
    "gcs.error": "Google Cloud Storage refused the request.",
    "gcs.not_found": "There is no such bucket or object.",
    "http.connect": "No connection came about, or it broke.",
    "http.protocol": "The answer was no HTTP, or was cut off.",
    "http.redirects": "There were too many redirects.",
    "http.refused": "The address is none that this worker may ask, or the secrets of the task may not go there.",
    "http.request": "The request cannot be sent as it is.",
    "http.status": "The answer has a status of 400 or more: `outcome.http.status`.",
    "http.too_large": "The answer is larger than `max_response_bytes`.",
    "inputs.invalid": "The child was not started: what it was given does not fit its inputs.",
    "nats.connect": "No connection to NATS came about.",
    "nats.error": "NATS refused the request.",
    "nats.no_responders": "Nobody answers under that subject.",
    "nats.not_found": "There is no such bucket, key or stream.",
    "nats.refused": "NATS did not take the credential, or forbids the subject.",
    "nats.revision": "The value has another revision than was expected.",
    "nats.too_large": "The value is larger than may be.",
    "pg.connect": "No connection to PostgreSQL came about.",
    "pg.error": "PostgreSQL refused a statement; `outcome.pg.sqlstate` says why.",
    "playbook.blocked": "The child got stuck.",
    "playbook.cancelled": "The child was cancelled.",
    "playbook.depth": "Playbooks call each other more deeply than `limits.max_children_depth`.",
    "playbook.failed": "The child failed; `error.cause` is its error.",
    "playbook.not_found": "There is no such playbook, or it does not compile.",
    "python.died": "The interpreter ended: of memory, a signal, or `exit`.",
    "python.exception": "The code raised `error.type`, in line `error.line` of it.",
    "python.import": "A module that the code imports is not there.",
    "python.requirements": "Packages that the task asks for could not be installed.",
    "python.syntax": "The code is no Python.",
    "quantum.circuit": "The circuit cannot be read or run.",
    "quantum.job": "There is no such job, or it failed.",
    "quantum.not_done": "The job is not done yet.",
    "quantum.provider": "There is no such provider or backend.",
    "requirements.refused": "This worker installs no packages.",
    "result.size": "The result is larger than may be.",
    "result.type": "The result is no data: it holds what JSON has not. No rule is asked: the playbook is at fault.",
    "rows.too_many": "There are more rows than `max_rows`.",
    "select.missing": "The stored result has no such part.",
    "shell.exit": "The program ended with an exit code other than 0, or by a signal; its output is in the result.",
    "shell.start": "The program could not be begun.",
    "signal.mailbox_full": "Too many signals are kept under that key.",
    "signal.no_target": "There is no such execution, or it is over.",
    "snowflake.connect": "No connection to Snowflake came about.",
    "snowflake.error": "Snowflake refused a statement; `outcome.snowflake.code` says why.",
    "sqlite.error": "SQLite refused a statement; `outcome.sqlite.code` says why.",
    "transfer.rows": "Rows do not fit the table that they go to.",
    # Of any kind.
    "kind.unavailable": "Nothing runs tasks of this kind here.",
    "ref.missing": "A stored value is gone. No rule is asked: the playbook is at fault.",
    "result.refused": "The result could not be stored.",
    "result.schema": "The result does not fit the schema of `schema_hint`.",
    "schema.invalid": "The schema of `schema_hint` cannot be used.",
    "schema.missing": "There is no schema of that name.",
    "timeout": "The attempt took longer than its `timeout`.",
    "tool.broken": "The tool of this kind cannot be loaded, or gave no outcome.",
    "tool.crashed": "The tool raised an error of its own.",
    "worker.lost": "The workers that ran the attempt went away, `limits.max_lost` times.",
    # Of steps, without an attempt.
    "guard.error": "A guard could not be evaluated.",
    "loop.in": "What the loop is to go over is no list and no mapping.",
    "loop.timeout": "An iteration took longer than `loop.spec.policy.lifecycle.timeout_s`.",
    "retry.exhausted": "Every attempt that a `retry` allows failed; `error.cause` is the last outcome.",
    "step.timeout": "The run of the step took longer than `lifecycle.timeout_s`.",
    "task.failed": "A rule failed the task.",
    "task.fields": "A field has a value of another shape than its kind takes.",
    "task.timeout": "The `timeout` is no duration.",
    "template.error": "A template could not be evaluated.",
    "template.undefined": "A template reads what is not there.",
})  # fmt: skip
"""Code → what happened."""

OF_ANY_KIND = (
    "timeout", "credential.missing", "kind.unavailable", "result.refused", "result.schema", "schema.invalid",
    "schema.missing", "tool.broken", "tool.crashed", "worker.lost",
)  # fmt: skip
"""Codes that an attempt at a task of any kind may have."""

OF_STEPS = (
    "guard.error", "loop.in", "loop.timeout", "retry.exhausted", "step.timeout", "task.failed", "task.fields",
    "task.timeout", "template.error", "template.undefined",
)  # fmt: skip
"""Codes that a step may fail with besides, as arcs see them in `event.error.code`."""
