"""trace: the trace of an execution, as OTLP has it."""

from __future__ import annotations

import os

import click

from noetl.app.snapshots import UnreadableExecution
from noetl.app.tracing.otlp_json import trace_document
from noetl.app.tracing.reading import spans_of
from noetl.cli.stores import existing_runtime, row_of, server_option, store_option
from noetl.cli.text import Problem, amount, json_text
from noetl.cli.tracing import needs_extra, tracing_here


@click.command("trace", short_help="Print the trace of an execution, or send it to a collector.")
@click.argument("execution", metavar="ID")
@click.option("--send", is_flag=True, help="Send it to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names.")
@server_option
@store_option
def trace(execution: str, send: bool, url: str) -> int:
    """Print the trace of an execution: the JSON of OTLP, with a span for each step run, task and attempt.

    It is made of the log, with the same ids each time. Of one that is not over it has what has ended. ID may be the
    beginning of an id, or `last`.
    """
    if send and tracing_here() is None:
        raise click.UsageError("--send: OTEL_EXPORTER_OTLP_ENDPOINT names no collector; it is http://HOST:4318, say")
    with existing_runtime(url) as runtime:
        row = row_of(runtime, execution)
        try:
            spans = [*spans_of(runtime, row)]
        except UnreadableExecution as problem:
            raise Problem(str(problem)) from None
    if not send:
        click.echo(json_text(trace_document(spans, os.environ.get("OTEL_SERVICE_NAME", "noetl"))))
        return 0
    try:
        from noetl.app.tracing.exporting import NotExported, SpanExporter
    except ImportError as missing:
        raise needs_extra(missing) from None
    exporter = SpanExporter()
    try:
        exporter.export(spans)
    except NotExported as problem:
        raise Problem(str(problem)) from None
    finally:
        exporter.close()
    click.echo(f"sent {amount(len(spans), 'span')}", err=True)
    return 0


COMMAND = trace
