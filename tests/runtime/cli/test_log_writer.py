"""The log of commands that stay: for people as it was, as JSON with level, execution and trace, and never a secret."""

import json
import logging
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from noetl.cli.library_lines import hear_libraries
from noetl.cli.log_writer import LogWriter
from noetl.host import process_secrets
from noetl.host.log_lines import LogLevel, log_line

if TYPE_CHECKING:
    from conftest import Home


def written(capsys: pytest.CaptureFixture[str], writer: LogWriter, *lines: str) -> list[str]:
    for line in lines:
        writer.write(line)
    return capsys.readouterr().err.splitlines()


def test_for_people_a_line_is_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    lines = (
        log_line("info", "listening on http://127.0.0.1:8082"),
        "a plain one\x1b[2J",
        log_line("info", "done", "7", "start", "load"),
        log_line("debug", "not told"),
    )
    assert written(capsys, LogWriter(), *lines) == [
        "listening on http://127.0.0.1:8082",
        "a plain one\\x1b[2J",
        "7 start / load: done",
    ]


def test_as_json_a_line_is_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    writer = LogWriter()
    writer.format, writer.level = "json", "debug"
    lines = written(
        capsys, writer, "plain\n", log_line("error", "gone", "7"), log_line("debug", "x", "7", "start", "load")
    )
    plain, gone, of_task = [json.loads(line) for line in lines]
    assert plain["level"] == "warning" and plain["message"] == "plain\n" and plain["time"].endswith("Z")
    assert plain.keys() == {"time", "level", "message"}
    assert (gone["level"], gone["execution_id"], len(gone["trace_id"])) == ("error", "7", 32)
    assert (of_task["trace_id"], of_task["step"], of_task["task"]) == (gone["trace_id"], "start", "load")


@pytest.mark.parametrize(("level", "count"), [("debug", 4), ("info", 3), ("warning", 2), ("error", 1)])
def test_a_level_and_above(capsys: pytest.CaptureFixture[str], level: LogLevel, count: int) -> None:
    writer = LogWriter()
    writer.level = level
    lines = (log_line("debug", "d"), log_line("info", "i"), "w", log_line("error", "e"))
    assert len(written(capsys, writer, *lines)) == count


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_secret_is_written(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setattr(process_secrets, "_known", {"hidden-12345678": "the deployment"})
    writer = LogWriter()
    writer.format = form
    (line,) = written(capsys, writer, log_line("error", "no: hidden-12345678", "7", "start", "load"))
    assert "hidden" not in line and "[[the deployment]]" in line


def test_what_libraries_say_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    writer = LogWriter()
    writer.format = "json"
    before = [*logging.getLogger().handlers]
    hear_libraries(writer.write)
    hear_libraries(writer.write)
    (handler,) = [each for each in logging.getLogger().handlers if each not in before]
    try:
        logging.getLogger("some.library").warning("lost %d", 3)
        try:
            raise ValueError("no\nway")
        except ValueError:
            logging.getLogger("some.library").exception("failed\n")
        logging.getLogger("some.library").info("not told")
    finally:
        logging.getLogger().removeHandler(handler)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["level"], line["message"]) for line in lines] == [
        ("warning", "lost 3"), ("error", "failed: ValueError: no\nway"),
    ]  # fmt: skip


def test_a_server_tells_what_becomes_of_executions(home: "Home") -> None:
    child = home.begin("server", "--port", "0", "--log-format", "json", "--log-level", "debug")
    assert child.stderr is not None
    ready = json.loads(child.stderr.readline())
    assert (ready["level"], ready["message"].split()[:2]) == ("info", ["listening", "on"])
    plan = home.plan("workflow:\n  - {step: start, tool: {kind: noop}}\n")
    done = home.run("start", plan, "--server", ready["message"].split()[-1], "--follow")
    assert done.returncode == 0, done.stderr
    address = urlsplit(ready["message"].split()[-1])
    with socket.create_connection((address.hostname or "", address.port or 0), 10) as sent:
        sent.sendall(b"\x00 no request\r\n\r\n")
        assert sent.recv(100).startswith(b"HTTP/1.1 400")
    child.terminate()
    _, said = child.communicate(timeout=60)
    lines = [json.loads(line) for line in said.splitlines()]
    assert [line["level"] for line in lines if "Invalid HTTP request" in line["message"]] == ["warning"]
    (began,) = [line for line in lines if "has begun" in line["message"]]
    (ended,) = [line for line in lines if "is completed" in line["message"]]
    assert began["execution_id"] == ended["execution_id"] and began["trace_id"] == ended["trace_id"]
