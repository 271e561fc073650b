"""Bundles in object storage, against a local server that speaks S3."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from harness.running import HEAD
from noetl.app.bundles import Archive
from noetl.app.clock import WallClock
from noetl.app.retention import ANY, Purger, Retention, RetentionRule
from noetl.app.runtime import Settings, open_runtime
from noetl.clients.object_storage import fetch, put
from noetl.host import process_secrets
from noetl.ports import StoreFailure

SECRET = "a-secret-of-the-cloud"
# Over a part of an upload, and nothing that a ZIP makes small.
PLAYBOOK = (
    HEAD
    + """
executor: {spec: {policy: {limits: {max_payload_bytes: 600}}}}
workflow:
  - step: start
    tool: {kind: python, code: "import random; result = {'text': random.Random(1).randbytes(6_000_000).hex()}"}
"""
)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """The address of a server of object storage that has the bucket `kept`."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    assert httpx.put(f"{url}/kept").status_code == 200
    yield url
    server.stop()


@pytest.fixture(autouse=True)
def cloud(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables that say where it is, also for processes."""
    for name, value in {
        "AWS_ENDPOINT_URL": endpoint, "AWS_REGION": "eu-1", "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": SECRET,
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)


def noetl(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "noetl.cli", *words], cwd=folder, capture_output=True, text=True, check=False
    )


def test_a_bundle_goes_there_is_looked_at_and_comes_back(tmp_path: Path) -> None:
    (tmp_path / "t.yaml").write_text(PLAYBOOK)
    assert noetl(tmp_path, "run", "t.yaml", "--quiet").returncode == 0
    name = json.loads(noetl(tmp_path, "list", "--json").stdout)[0]["execution_id"]
    before = noetl(tmp_path, "result", name).stdout
    done = noetl(tmp_path, "purge", name, "--archive", "s3://kept/etl/")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert noetl(tmp_path, "list", "--json").stdout == "[]\n"
    url = f"s3://kept/etl/{name}.noetl"
    assert noetl(tmp_path, "result", name, "--store", url).stdout == before
    assert noetl(tmp_path, "replay", name, "--store", url).returncode == 0
    assert noetl(tmp_path, "restore", url).stdout == "restored 1 execution\n"
    assert noetl(tmp_path, "result", name).stdout == before
    assert noetl(tmp_path, "store", "check", "--replay").returncode == 0
    written = noetl(tmp_path, "archive", name, "--to", "s3://kept")
    assert written.stdout == f"s3://kept/{name}.noetl\n"


def test_a_file_comes_back_as_it_was(tmp_path: Path) -> None:
    """Also one of several parts, and an empty one; the newest of a name counts."""
    for data in (b"", b"one", bytes(range(256)) * 80_000):
        (tmp_path / "file").write_bytes(data)
        put("s3://kept/deep/er/file", str(tmp_path / "file"))
        fetch("s3://kept/deep/er/file", str(tmp_path / "back"))
        assert (tmp_path / "back").read_bytes() == data
    assert SECRET not in process_secrets.masked(f"a tool printed {SECRET}")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("s3://kept/nothing.noetl", "The specified key does not exist. [NoSuchKey]"),
        ("s3://nowhere/x.noetl", "The specified bucket does not exist [NoSuchBucket]"),
        ("s3:///x.noetl", "Unable to recognise URL"),
    ],
)
def test_what_is_not_there_is_told_in_a_sentence(tmp_path: Path, url: str, said: str) -> None:
    with pytest.raises(StoreFailure) as failed:
        fetch(url, str(tmp_path / "back"))
    text = str(failed.value)
    assert text.startswith(f"{url}: ") and said in text and "\n" not in text and SECRET not in text
    done = noetl(tmp_path, "status", "last", "--store", url)
    assert done.returncode == 1 and done.stderr.startswith("error: ") and "Traceback" not in done.stderr


def test_storage_that_is_away_purges_nothing_and_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.yaml").write_text(PLAYBOOK.replace("6_000_000", "6"))
    assert noetl(tmp_path, "run", "t.yaml", "--quiet").returncode == 0
    with open_runtime(f"sqlite:///{tmp_path}/.noetl/noetl.db", Settings(), lambda path: (b"", {})) as runtime:
        (row,) = runtime.store.executions()
        purger = Purger(runtime, Archive(runtime, "s3://nowhere"))
        retention = Retention(purger, [RetentionRule("*", ANY, 0)], WallClock())
        said = [retention.keep_up(lambda: True) for _ in range(2)]
        assert said[0].startswith("nothing is purged: s3://nowhere/") and "NoSuchBucket" in said[0]
        assert said[1] == ""
        assert runtime.store.executions() == (row,)
        retention.purger = Purger(runtime, Archive(runtime, "s3://kept"))
        assert retention.keep_up(lambda: True).startswith("purged 1 executions")


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(StoreFailure, match=r"pip install 'noetlc\[s3\]'"):
        fetch("s3://kept/x", str(tmp_path / "back"))
