"""`noetl server --check-config`, and options from a file of settings."""

import json
import os
import re
import socket
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from services import nats, postgres

if TYPE_CHECKING:
    from conftest import Home


ROOT = Path(__file__).resolve().parents[3]


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def checked(home: "Home", *words: str) -> "subprocess.CompletedProcess[str]":
    """The checks of a server that would listen on a port that is free."""
    words = words if "--port" in words else ("--port", str(free_port()), *words)
    return home.run("server", "--check-config", *words)


def test_a_server_that_could_serve_is_told_so_and_nothing_is_begun(home: "Home") -> None:
    before = {*home.folder.iterdir()}
    done = checked(home)
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    assert [line[:6] for line in lines] == ["ok    "] * 3
    assert lines[1] == "ok     tokens: none: who reaches it may do all"
    assert lines[2] == "ok     store: sqlite:///.noetl/noetl.db, which is not there yet and would be made"
    assert {*home.folder.iterdir()} == before


def test_tokens_that_have_expired_are_counted(home: "Home") -> None:
    rows = [{"name": f"t{year}", "role": "viewer", "sha256": f"{year}" * 16, "expires": f"{year}-01-01T00:00:00Z"}
            for year in (2001, 2002, 2900)]  # fmt: skip
    (home.folder / "tokens").write_text(json.dumps(rows))
    assert "ok     tokens: 3 tokens in tokens, of which 2 expired" in checked(home, "--tokens", "tokens").stdout


def test_every_part_that_is_wrong_is_told(home: "Home") -> None:
    (home.folder / "cert.pem").write_text("no certificate")
    (home.folder / "file").write_text("in the way")
    words = ["--host", "0.0.0.0", "--tls-cert", "cert.pem", "--bus", "nats://127.0.0.1:1"]
    words += ["--retain", "completed=1d", "--archive", "file/below", "--tokens", "tokens"]
    done = checked(home, *words, "--store", "sqlite:///file/below/noetl.db")
    assert done.returncode == 1 and done.stderr == ""
    found = {line[7:].partition(":")[0]: line[:5] for line in done.stdout.splitlines()}
    assert found == {
        "address": "wrong", "certificate": "wrong", "tokens": "ok   ", "store": "wrong", "bus": "wrong",
        "archive": "wrong",
    }  # fmt: skip
    assert "tokens are needed" in done.stdout and "cannot be used for TLS" in done.stdout
    assert "127.0.0.1:1/noetl cannot be reached" in done.stdout and "file/below cannot be written to" in done.stdout


def test_an_address_that_somebody_has(home: "Home") -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = checked(home, "--port", str(taken.getsockname()[1]))
    assert done.returncode == 1 and "cannot be listened on: Address already in use" in done.stdout


def test_a_store_of_an_older_version_is_told_and_not_changed(home: "Home") -> None:
    import zipfile

    stores = Path(__file__).resolve().parents[2] / "older_stores"
    with zipfile.ZipFile(stores / "sqlite_0012.zip") as archive:
        archive.extract("noetl.db", home.folder)
    done = checked(home, "--store", "sqlite:///noetl.db")
    assert "whose schema 12 would be brought to " in done.stdout and done.returncode == 0
    with sqlite3.connect(home.folder / "noetl.db") as database:
        assert database.execute("SELECT max(version) FROM migrations").fetchone() == (12,)
        database.execute("INSERT INTO migrations VALUES (999, 'of a newer one')")
    database.close()
    done = checked(home, "--store", "sqlite:///noetl.db")
    assert done.returncode == 1 and "wrong  store: noetl.db: a newer noetl wrote this database" in done.stdout


def test_a_cluster_is_reached_and_nothing_is_made_there(home: "Home") -> None:
    store, bus = postgres().store_url(), nats().bus_url()
    done = checked(home, "--store", store, "--bus", bus)
    assert done.returncode == 0, done.stdout
    assert "which is not there yet and would be made" in done.stdout and f"ok     bus: {bus}" in done.stdout
    import psycopg

    with psycopg.connect(postgres().url) as database:
        schema = store.rpartition("=")[2]
        found = database.execute("SELECT count(*) FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone()
    assert found == (0,)
    done = checked(home, "--store", "postgresql://me:hidden@127.0.0.1:1/none")
    assert done.returncode == 1 and "wrong  store: " in done.stdout and "hidden" not in done.stdout


def test_a_worker_that_could_work_is_told_so_and_what_is_wrong(home: "Home") -> None:
    bus, port = nats().bus_url(), free_port()
    done = home.run("worker", "--check-config", "--bus", bus, "--metrics", f"127.0.0.1:{port}")
    assert (done.returncode, done.stdout) == (0, f"ok     bus: {bus}\nok     metrics: 127.0.0.1:{port}\n")
    with home.serving() as (_, url), socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        busy, away = taken.getsockname()[1], f"http://127.0.0.1:{port}"
        words = ["--bus", "nats://127.0.0.1:1", "--server", url, "--server", away, "--metrics", f"127.0.0.1:{busy}"]
        done = home.run("worker", "--check-config", *words)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert [line[:5] for line in lines] == ["wrong", "ok   ", "ok   ", "wrong"]
    assert lines[1].endswith("takes the token") and lines[2].endswith(f"{away} cannot be reached now")


@pytest.fixture
def settings(home: "Home") -> Callable[[str], str]:
    """Writes a file of settings."""

    def written(text: str) -> str:
        (home.folder / "noetl.toml").write_text(text)
        return "noetl.toml"

    return written


def test_options_come_from_a_file(
    home: "Home", settings: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command line comes first, then the environment, then the file; each command has its table."""
    name = settings(
        f"""
        [server]
        port = {free_port()}
        store = "sqlite:///of-file.db"
        retain = ["completed=7d", "etl/*:any=36h"]
        archive = "kept"
        allow-requirements = true
        [worker]
        bus = "nats://127.0.0.1:1"
        """
    )
    done = home.run("server", "--check-config", "--settings", name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "sqlite:///of-file.db" in done.stdout and done.stdout.endswith("archive: kept\n")
    done = home.run("server", "--check-config", "--settings", name, "--store", "sqlite:///typed.db")
    assert "sqlite:///typed.db" in done.stdout
    monkeypatch.setenv("NOETL_SETTINGS", name)
    done = home.run("server", "--check-config")
    assert "sqlite:///of-file.db" in done.stdout
    monkeypatch.setenv("NOETL_STORE", "sqlite:///said.db")
    assert "sqlite:///said.db" in home.run("server", "--check-config").stdout
    done = home.run("worker")
    assert done.returncode == 1 and "127.0.0.1:1/noetl cannot be reached" in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[server]\nprot = 1", "[server] has no `prot`; did you mean `port`?"),
        ("[server]\nsettings = 'x'", "[server] has no `settings`"),
        ("[sever]\nport = 1", "`sever` is no table of a command: write [server] or [worker]"),
        ("port = 1", "`port` is no table of a command"),
        ("[server]\nbehind-proxy = 'yes'", "`behind-proxy` is true or false"),
        ("[server]\nport = [1, 2]", "`port` is a text or a number"),
        ("[server]\nretain = [true]", "`retain` is a list of texts"),
        ("[server]\nport = 99999", "--settings noetl.toml: `port`: 99999 is not in the range"),
        ("[server]\ntls-cert = 'no.pem'", "--settings noetl.toml: `tls-cert`: File 'no.pem' does not exist"),
        ("[server]\nretain = 'never'", "--retain `never` has no age"),
        ("[server", "it cannot be read"),
    ],
)
def test_a_file_that_is_wrong(home: "Home", settings: Callable[[str], str], text: str, said: str) -> None:
    done = home.run("server", "--check-config", "--settings", settings(text))
    assert done.returncode == 2 and said in " ".join(done.stderr.split()), done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_is_not_there(home: "Home") -> None:
    done = home.run("worker", "--settings", "nowhere.toml")
    assert done.returncode == 2 and "--settings nowhere.toml: it cannot be read: No such file" in done.stderr


def test_a_password_in_a_file_is_shown_nowhere(home: "Home", settings: Callable[[str], str]) -> None:
    name = settings("[server]\nport = 0\nbus = 'nats://me:a-hidden-word@127.0.0.1:1/x'\n")
    done = home.run("server", "--check-config", "--settings", name)
    assert done.returncode == 1 and "a-hidden-word" not in done.stdout + done.stderr
    assert os.path.exists(home.folder / name)


def test_every_variable_that_is_read_is_in_the_table() -> None:
    """And no other: those that a source of the packages names in a text of its own."""
    page = (ROOT / "runtime" / "README.md").read_text().partition("| variable |")[2].partition("\n\n")[0]
    told = {name for line in page.splitlines()[2:] for name in re.findall(r"`([A-Z_]+)`", line.split("|")[1])}
    named: set[str] = set()
    for folder in ("runtime", "schema", "compiler"):
        for path in (ROOT / folder).rglob("*.py"):
            named |= {*re.findall(r"""["']((?:NOETL|XDG)_[A-Z_]*[A-Z])["']""", path.read_text())}
    named -= {"NOETL_NATS_SERVER"}  # of NATS, whose configuration `noetl bus permissions` prints
    assert named - told == set()
    others = {"AWS_ENDPOINT_URL", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}
    others |= {"OTEL_EXPORTER_OTLP_ENDPOINT", "TRACEPARENT"}
    assert told - named <= others
