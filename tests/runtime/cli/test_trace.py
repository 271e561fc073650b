"""Traces on the command line: what `noetl run` tells, `noetl trace` prints, and a killed server leaves."""

import json
import signal
from typing import TYPE_CHECKING

import pytest

from harness.collectors import attributes_of, collecting
from harness.serving import until

if TYPE_CHECKING:
    from conftest import Home

STEPS = "workflow:\n  - {step: start, tool: {kind: python, code: 'result = 1'}}\n"
ABOVE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_a_run_tells_its_trace_and_belongs_to_that_of_its_caller(home: "Home") -> None:
    with collecting() as collector:
        home.env |= {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "TRACEPARENT": ABOVE, "OTEL_SERVICE_NAME": "mine"}
        done = home.run("run", home.plan(STEPS))
        assert done.returncode == 0, done.stderr
        (root,) = [span for span in collector.spans if "noetl.execution_id" in attributes_of(span)]
        assert (root.trace_id.hex(), root.parent_span_id.hex()) == tuple(ABOVE.split("-")[1:3])
        assert attributes_of(root)["noetl.execution_id"] == home.only()
        assert set(collector.services) == {"mine"} and len(collector.spans) == 4
        assert f"part of the trace {ABOVE.split('-')[1]}\n" in home.run("status", "last").stdout


def test_a_collector_that_is_away_fails_no_run(home: "Home") -> None:
    home.env |= {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    done = home.run("run", home.plan(STEPS))
    assert done.returncode == 0 and "warning: the trace was not told" in done.stderr
    assert "Traceback" not in done.stderr and "Failed to export" not in done.stderr


def test_nothing_is_sent_where_no_variable_names_a_collector(home: "Home") -> None:
    assert home.run("run", home.plan(STEPS)).returncode == 0
    done = home.run("trace", "last", "--send")
    assert done.returncode == 2 and "OTEL_EXPORTER_OTLP_ENDPOINT names no collector" in done.stderr


def test_a_wrong_variable_is_told(home: "Home") -> None:
    home.env |= {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_TRACES_SAMPLER": "often"}
    done = home.run("run", home.plan(STEPS))
    assert done.returncode == 2 and "OTEL_TRACES_SAMPLER is `often`" in done.stderr


def test_the_trace_of_what_is_over_is_printed(home: "Home") -> None:
    home.run("run", home.plan(STEPS))
    shown = home.run("trace", "last")
    (resource,) = json.loads(shown.stdout)["resourceSpans"]
    spans = resource["scopeSpans"][0]["spans"]
    assert [span["name"] for span in spans] == ["start_task #1", "start_task", "start", "tests/tried"]
    assert len({span["traceId"] for span in spans}) == 1 and len({span["spanId"] for span in spans}) == 4
    assert home.run("trace", "last").stdout == shown.stdout, "ids are the same each time"


@pytest.mark.long  # it waits for two minutes until nobody has what was to be told
def test_a_killed_server_leaves_no_trace_untold(home: "Home") -> None:
    with collecting() as collector:
        home.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url
        collector.refusals[0] = 1_000  # nothing is told before the kill
        with home.serving() as (child, url):
            home.run("start", home.plan(STEPS), "--server", url, "--follow")
            until(lambda: collector.refusals[0] < 1_000)
            child.send_signal(signal.SIGKILL)
            child.wait(60)
        assert collector.spans == []
        collector.refusals[0] = 0
        with home.serving():
            # Whoever had it has it for a while yet.
            until(lambda: len(collector.unique()) == 4, 150)
        assert {len(span.trace_id) for span in collector.spans} == {16}
