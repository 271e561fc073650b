"""Secrets that a process was given for itself are nowhere to be seen: in no record, no output, and not in /proc."""

import os
import subprocess
import sys
import time
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from noetl.host import process_secrets
from noetl.host.environment import Environment

if TYPE_CHECKING:
    from conftest import Home

TOKEN = "shop-token-0001+x/y"
PASSWORD = "bus-pass-0001"
LATER = "database pass 0001"
KEYS = (TOKEN, PASSWORD, LATER)
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: keys, path: tests/keys}\n"
LOOKING = r"""
import os
found = []
for name in filter(str.isdigit, os.listdir('/proc')):
    for part in ('environ', 'cmdline'):
        try:
            text = open(f'/proc/{name}/{part}', 'rb').read()
        except OSError:
            continue
        found += [f'{part} ' + key[::-1] for key in KEYS if key[::-1].encode() in text]
print('looked', sorted(set(found)))
"""
"""Looks through all processes, watchdogs and warm subprocesses too; it has the keys backwards itself."""


def run(folder: Path, text: str, *words: str, **variables: str) -> str:
    """All that a run of a playbook printed and kept, its values too."""
    (folder / "keys.yaml").write_text(HEAD + text)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("NOETL_", "PG"))}
    done = subprocess.run(
        [sys.executable, "-m", "noetl.cli", "run", "keys.yaml", *words], cwd=folder, env={**environ, **variables},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    shown = subprocess.run(
        [sys.executable, "-m", "noetl.cli", "events", "last", "--json"], cwd=folder, env=environ,
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    return done.stdout + done.stderr + shown.stdout + str(done.returncode)


def all_forms(text: str) -> list[str]:
    data = text.encode()
    return [text, b64encode(data).decode(), data.hex()]


def environment() -> dict[str, str]:
    return {
        "NOETL_TOKEN": TOKEN, "NOETL_BUS": f"nats://shop:{PASSWORD}@127.0.0.1:4222",
        "NOETL_SERVER_STORE": "postgresql://shop:database%20pass%200001@127.0.0.1/shop", "PGPASSWORD": "",
    }  # fmt: skip


def test_what_a_tool_says_of_it_is_masked_in_all_that_is_kept_and_shown(tmp_path: Path) -> None:
    (tmp_path / "stolen").write_text("\n".join(form for key in KEYS for form in all_forms(key)))
    said = run(
        tmp_path,
        "workflow:\n"
        "  - {step: start, tool: {kind: shell, command: 'cat stolen; cat stolen >&2; echo END'},"
        " next: {arcs: [{step: more}]}}\n"
        '  - {step: more, tool: {kind: python, code: \'print(open("stolen").read()); result = open("stolen").read()\'},'
        " next: {arcs: [{step: bad}]}}\n"
        "  - {step: bad, tool: {kind: python, code: 'raise ValueError(open(\"stolen\").read())'}}\n",
        **environment(),
    )
    assert "END" in said and said.endswith("1") and "the%20deployment" in said, said
    kept = b"".join(path.read_bytes() for path in (tmp_path / ".noetl").rglob("*") if path.is_file()).decode("latin-1")
    for key in KEYS:
        for form in all_forms(key):
            assert form not in said and form not in kept, form


def test_what_was_masked_is_not_given_to_a_tool_again(tmp_path: Path) -> None:
    (tmp_path / "stolen").write_text(TOKEN)
    said = run(
        tmp_path,
        "workflow:\n"
        "  - {step: start, tool: {kind: shell, command: cat stolen}, next: {arcs: [{step: next}]}}\n"
        "  - {step: next, tool: {kind: shell, command: 'echo $A', env: {A: '{{ start.stdout }}'}}}\n",
        **environment(),
    )
    assert "credential.missing" in said and "NOETL_TOKEN is what this deployment was given for itself" in said, said


@pytest.mark.parametrize("variable", ["NOETL_TOKEN", "PGPASSWORD"])
def test_no_playbook_reads_a_variable_of_the_engine(tmp_path: Path, variable: str) -> None:
    said = run(
        tmp_path,
        f"keychain: [{{name: t, kind: env, var: {variable}}}]\n"
        "workflow:\n  - {step: start, tool: {kind: shell, command: 'echo $A', env: {A: '{{ keychain.t.value }}'}}}\n",
        **{**environment(), variable: TOKEN},
    )
    assert "nothing was started" in said and "the engine's own variable" in said, said
    assert Environment(("*", variable), {variable: TOKEN})._may_read(variable) is False


def looking(folder: Path) -> tuple[str, dict[str, str], list[str]]:
    """A playbook that looks through /proc, variables with keys that no other test has, and the keys."""
    keys = [f"{name}-{os.urandom(6).hex()}" for name in ("token", "bus-pass", "store-pass", "libpq")]
    (folder / "look.py").write_text(LOOKING.replace("KEYS", repr([key[::-1] for key in keys])))
    text = (
        "workflow:\n"
        "  - {step: start, tool: {kind: python, code: 'result = 1'}, next: {arcs: [{step: look}]}}\n"
        f"  - {{step: look, tool: {{kind: shell, command: '{sys.executable} look.py; cat stolen'}}}}\n"
    )
    (folder / "stolen").write_text(" ".join(keys))
    return text, {
        "NOETL_TOKEN": keys[0], "NOETL_BUS_OTHER": f"nats://shop:{keys[1]}@127.0.0.1:1",
        "NOETL_STORE_OTHER": f"postgresql://shop:{keys[2]}@127.0.0.1/shop", "PGPASSWORD": keys[3],
    }, keys  # fmt: skip


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no /proc")
def test_proc_shows_none_of_it(tmp_path: Path) -> None:
    text, variables, keys = looking(tmp_path)
    said = run(tmp_path, text, **variables)
    assert "looked []" in said and not [key for key in keys if key in said], said


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no /proc")
def test_a_server_shows_none_of_it_either(home: "Home") -> None:
    text, variables, keys = looking(home.folder)
    (home.folder / "keys.yaml").write_text(HEAD + text)
    home.env |= variables
    with home.serving() as (_, url):
        started = home.json("start", "keys.yaml", "--server", url)
        assert isinstance(started, dict)
        execution = str(started["execution_id"])
        said = home.run("events", execution, "--follow", "--json", "--server", url).stdout
        said += home.run("status", execution, "--json", "--server", url).stdout
    assert "looked []" in said and "the%20deployment" in said, said
    kept = b"".join(path.read_bytes() for path in (home.folder / ".noetl").rglob("*") if path.is_file())
    assert not [key for key in keys if key in said or key.encode() in kept]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no /proc")
def test_a_worker_shows_none_of_it_either(tmp_path: Path) -> None:
    """While it still looks for a bus that is not there: it is wiped before anything else is done."""
    _, variables, keys = looking(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-m", "noetl.cli", "worker", "--bus", variables["NOETL_BUS_OTHER"], "--server", "http://[::1]:1"],
        cwd=tmp_path, env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as worker:  # fmt: skip
        shown = f"{keys[1]}"
        for _ in range(6_000):
            if "*" * len(keys[1]) in (shown := proc_of(worker.pid)) or worker.poll() is not None:
                break
            time.sleep(0.01)
        worker.kill()
        said = worker.communicate()[0]
    assert "worker" in shown and not [key for key in keys if key in shown or key in said], (shown, said)


def proc_of(number: int) -> str:
    """The command line and environment that other processes see of a process."""
    return "".join(Path(f"/proc/{number}/{part}").read_bytes().decode() for part in ("cmdline", "environ"))


def test_words_of_the_command_line_are_wiped_too(tmp_path: Path) -> None:
    code = (
        "import os, sys; from noetl.host import process_secrets as s; s.learn_process(sys.argv[1:], os.environ);"
        "print(open('/proc/self/cmdline').read().replace(chr(0), ' '), sys.argv[1:], os.environ['PGPASSWORD'])"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, "--bus", f"nats://shop:{PASSWORD}@h", f"--store=postgresql://a:{TOKEN}@h/d"],
        env={**os.environ, "PGPASSWORD": TOKEN}, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    line, _, rest = said.partition(" [")
    assert PASSWORD not in line and TOKEN not in line and "nats://shop:*" in line
    assert PASSWORD in rest and said.rstrip().endswith(TOKEN)


def test_a_library_in_c_still_reads_its_variable(tmp_path: Path) -> None:
    code = (
        "import ctypes, os, sys; from noetl.host import process_secrets; process_secrets.learn_process([], os.environ);"
        "get = ctypes.CDLL(None).getenv; get.restype = ctypes.c_char_p; print(get(b'PGPASSWORD').decode())"
    )
    environment = {**os.environ, "PGPASSWORD": TOKEN}
    said = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert said.strip() == TOKEN


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="prctl is Linux's")
def test_a_process_that_has_keys_cannot_be_traced_by_others_of_its_user() -> None:
    code = (
        "import ctypes, os; from noetl.host import process_secrets as s; get = ctypes.CDLL(None).prctl; "
        "before = get(3, 0, 0, 0, 0); s.learn_process([], os.environ); print(before, get(3, 0, 0, 0, 0))"
    )
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("NOETL_", "PG"))}
    for environment, said in ((bare, "1 1"), ({**bare, "NOETL_TOKEN": TOKEN}, "1 0")):
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == said


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("NOETL_TOKEN_OPERATOR", "operator-0001", {"operator-0001"}),
        ("NOETL_CREDENTIAL_KEY", "key-of-32-bytes", {"key-of-32-bytes"}),
        ("NOETL_NATS_WORKER_A", "worker-0001", {"worker-0001"}),
        ("NOETL_STORE", "postgresql://u:p%40ss-word@h/d", {"p%40ss-word", "p@ss-word"}),
        ("NOETL_STORE", "postgresql://h/d?password=query-0001", {"query-0001"}),
        ("NOETL_BUS", "nats://token-alone-1@h:1", {"token-alone-1"}),
        ("NOETL_SERVER", "https://a:first-0001@h https://b:second-0001@h", {"first-0001", "second-0001"}),
        ("PGPASSWORD", "libpq-0001", {"libpq-0001"}),
        ("PGHOST", "database.example", set()),
        ("NOETL_STORE", "sqlite:///longer/than/eight.db", set()),
        ("NOETL_ENV", "APPLICATION_*", set()),
    ],
)
def test_what_counts_as_a_key(monkeypatch: pytest.MonkeyPatch, name: str, value: str, found: set[str]) -> None:
    monkeypatch.setattr(process_secrets, "_known", known := {})
    monkeypatch.setattr(process_secrets, "_wipe", lambda environ: None)
    process_secrets.learn_process([], {name: value})
    assert set(known) == found


def test_files_that_a_process_was_given_count_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_secrets, "_known", known := {})
    monkeypatch.setattr(process_secrets, "_wipe", lambda environ: None)
    seed = "SUAMLK2ZNL35WSMW37E7UD4VZ7ELPKW7DHC3BWBSD2GCZ7IUQQXZIORRBU"
    (tmp_path / "c.creds").write_text(f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n")
    (tmp_path / "pass").write_text("h:5432:*:u:a\\:long\\\\one\n")
    process_secrets.learn_process(
        ["--bus", f"nats://h/p?creds={tmp_path}/c.creds"], {"PGPASSFILE": str(tmp_path / "pass")}
    )
    assert set(known) == {seed, "a:long\\one"}
