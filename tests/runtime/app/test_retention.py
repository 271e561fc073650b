"""Retention, archives and bundles: what is kept no longer goes whole, and comes back as it was."""

import json
import os
import shutil
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.processes import noetl
from harness.running import HEAD
from noetl.app.bundles import Archive, BadBundle, read_bundle
from noetl.app.clock import WallClock
from noetl.app.documents import replay_document, verdict_of
from noetl.app.retention import ANY, Purger, Retention, RetentionRule, age_of, rule_of
from noetl.app.runtime import Runtime, Settings, open_runtime
from noetl.app.snapshots import result_of
from noetl.ports import ExecutionRow, StoreFailure
from noetl.ports.queries import ExecutionAttribute
from noetl_ir.plan_format import digests_in

DAY = 86_400_000_000
# A child, values outside of the log of both, and output.
PLAYBOOK = (
    HEAD.replace("path: t/t", "path: t/t, labels: {team: data}")
    + """
executor:
  spec: {policy: {limits: {max_payload_bytes: 600}}, search: {n: {value: "{{ workload.n }}", type: number}}}
workload: {n: 7}
workflow:
  - step: start
    tool: {kind: python, code: "print('hello'); result = {'text': 'x' * 5000}"}
    next: {arcs: [{step: call}]}
  - step: call
    tool: {kind: playbook, path: ./child.yaml, args: {text: "{{ start.text }}"}}
"""
)
CHILD = (
    HEAD.replace("t/t", "t/child")
    + """
executor: {spec: {policy: {limits: {max_payload_bytes: 600}}}}
workload: {text: ""}
workflow:
  - step: start
    tool: {kind: python, args: {text: "{{ workload.text }}"}, code: "print('there'); result = {'back': text * 2}"}
"""
)
FOUND_BY = (
    ExecutionAttribute("label.team", "string", "data"), ExecutionAttribute("search.n", "number", "7", 7.0)
)  # fmt: skip
RESULT = {"back": "x" * 10_000}


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the playbook ran."""
    folder = tmp_path_factory.mktemp("once")
    (folder / "t.yaml").write_text(PLAYBOOK)
    (folder / "child.yaml").write_text(CHILD)
    done = noetl(folder, "run", "t.yaml", "--quiet", "--path", ".")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def ran(once: Path, tmp_path: Path) -> Path:
    """Such a folder, of its own."""
    return shutil.copytree(once, tmp_path / "ran")


@contextmanager
def opened(folder: Path) -> Iterator[Runtime]:
    with open_runtime(f"sqlite:///{folder}/.noetl/noetl.db", Settings(root=folder), lambda path: (b"", {})) as runtime:
        yield runtime


def root_of(runtime: Runtime) -> ExecutionRow:
    (row,) = (row for row in runtime.store.executions() if row.parent_execution_id is None)
    return row


def beside(folder: Path) -> list[str]:
    """The values and output files that are there."""
    names = (folder / ".noetl" / "noetl.db.blobs", folder / ".noetl" / "noetl.db.output")
    return [path.name for name in names for path in sorted(name.rglob("*")) if path.is_file()]


def check_whole(runtime: Runtime, row: ExecutionRow) -> None:
    """An execution and its child are there, and legal; so are values and output."""
    rows = Purger(runtime).family(row)
    assert len(rows) == 2
    for each in rows:
        assert replay_document(*verdict_of(runtime, each))["legal"] is True
    assert result_of(runtime, row, None) == RESULT
    assert [one.chunk.text for each in rows for one in runtime.outputs.read(each.execution_id)] == [
        "hello\n",
        "there\n",
    ]


def test_a_purge_takes_the_children_values_and_output(ran: Path) -> None:
    with opened(ran) as runtime:
        assert len(beside(ran)) >= 5
        done = Purger(runtime).purge([root_of(runtime)])
        assert (done.families, done.executions, done.kept) == (1, 2, ())
        assert done.size > 15_000
        assert runtime.store.executions() == ()
        assert runtime.store.purges.purged() == ()
    assert beside(ran) == []


@pytest.mark.parametrize("point", ["sweep", "remove", "forget"])
def test_a_purge_that_ended_in_its_middle_is_finished_by_the_next_one(
    ran: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    with opened(ran) as runtime:
        row = root_of(runtime)
        with monkeypatch.context() as broken:
            target = runtime.blobs if point == "remove" else runtime.store.purges
            broken.setattr(target, point, _failing)
            with pytest.raises(StoreFailure):
                Purger(runtime).purge([row])
        assert runtime.store.execution(row.execution_id) is None
    with opened(ran) as runtime:
        assert len(runtime.store.purges.purged()) == 2
        Purger(runtime).purge([])
        assert runtime.store.purges.purged() == ()
    assert beside(ran) == []


def _failing(*_: object) -> bool:
    raise StoreFailure("broken")


def test_what_is_restored_behind_a_purge_that_was_cut_off_stays(
    ran: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next purge finishes the one before, and finds nothing of it."""
    with opened(ran) as runtime:
        row = root_of(runtime)
        with monkeypatch.context() as broken:
            broken.setattr(runtime.store.purges, "sweep", _failing)
            with pytest.raises(StoreFailure):
                Purger(runtime, Archive(runtime, str(tmp_path))).purge([row])
    with opened(ran) as runtime:
        read_bundle(runtime, str(tmp_path / f"{row.execution_id}.noetl"))
        assert Purger(runtime).purge([]).size == 0
        check_whole(runtime, row)
        assert runtime.store.purges.purged() == ()


def test_a_restore_waits_for_nobody_who_is_at_work(ran: Path, tmp_path: Path) -> None:
    with opened(ran) as runtime, opened(ran) as other:
        row = root_of(runtime)
        path = Archive(runtime, str(tmp_path))(Purger(runtime).family(row))
        with other.store.own(row.execution_id), pytest.raises(BadBundle, match="somebody is at work on execution"):
            read_bundle(runtime, path)


def test_who_drives_one_keeps_it(ran: Path) -> None:
    with opened(ran) as runtime, opened(ran) as other:
        row = root_of(runtime)
        with other.store.own(row.execution_id):
            done = Purger(runtime).purge([row])
        assert (done.families, [each.execution_id for each in done.kept]) == (0, [row.execution_id])
        check_whole(runtime, row)


def test_one_whose_child_is_not_over_stays(ran: Path) -> None:
    with opened(ran) as runtime:
        row = root_of(runtime)
        runtime.store.create(row._replace(execution_id="on", parent_execution_id=row.execution_id, ended=None))
        done = Purger(runtime).purge([row])
        assert [(each.execution_id, each.why) for each in done.kept] == [
            (row.execution_id, "not all that it called is over")
        ]
        assert runtime.store.execution(row.execution_id) == row


def test_the_first_rule_that_fits_counts(ran: Path) -> None:
    with opened(ran) as runtime:
        purger, ended = Purger(runtime), root_of(runtime).ended or 0

        def gone(rules: list[RetentionRule], now: int) -> bool:
            return bool([*purger.expired(rules, now)])

        week, day = rule_of("completed=7d"), rule_of("t/*:any=1d")
        assert not gone([week], ended + 7 * DAY - 1)
        assert gone([week], ended + 7 * DAY)
        assert gone([day], ended + DAY)
        assert not gone([week, day], ended + 2 * DAY)
        assert gone([week, day], ended + 7 * DAY)
        assert gone([rule_of("failed=1d"), week], ended + 7 * DAY)
        assert not gone([rule_of("failed=1d"), rule_of("other/*:any=1d")], ended + 99 * DAY)
        assert not gone([], ended + 99 * DAY)


def test_many_pages_of_executions_go(ran: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last row of a page goes before the next page is asked for; every third one stays, and is passed over."""
    monkeypatch.setattr("noetl.app.retention._PAGE", 3)
    with opened(ran) as runtime:
        store = runtime.store
        for number in range(20):
            status = "completed" if number % 3 else "failed"
            store.create(ExecutionRow(f"e{number:02}", "many/one", "d", status, None, 10 + number, 100 + number))
        done = Purger(runtime).purge(Purger(runtime).expired([rule_of("many/*:completed=0")], 1_000))
        assert done.executions == 13
        assert {row.execution_id for row in store.executions() if row.playbook == "many/one"} == {
            f"e{number:02}" for number in range(0, 20, 3)
        }


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("completed=7d", RetentionRule("*", "completed", 7 * DAY)),
        ("etl/*:any=36h", RetentionRule("etl/*", ANY, DAY * 3 // 2)),
        ("a:b/*:failed=0", RetentionRule("a:b/*", "failed", 0)),
        ("blocked=90m", RetentionRule("*", "blocked", 90 * 60_000_000)),
    ],
)
def test_rules_as_they_are_written(text: str, rule: RetentionRule) -> None:
    assert rule_of(text) == rule


@pytest.mark.parametrize(
    "text", ["", "completed", "completed=", "completed=d", "running=7d", "=7d", "any=-1d", "x=7d", "any=1e999d"]
)
def test_no_rules(text: str) -> None:
    with pytest.raises(ValueError, match="write"):
        rule_of(text)


def test_ages() -> None:
    assert [age_of(text) for text in ("1d", "24h", "1440m", "86400s")] == [DAY] * 4
    assert [age_of(text) for text in ("", "d", "-1d", "²d", "9" * 30 + "d", "7", "86400")] == [None] * 7


def test_a_bundle_brings_all_back_as_it_was(ran: Path, tmp_path: Path) -> None:
    with opened(ran) as runtime:
        row = root_of(runtime)
        logs = {each.execution_id: [*runtime.store.read(each.execution_id)] for each in runtime.store.executions()}
        purger = Purger(runtime, Archive(runtime, str(tmp_path / "kept")))
        assert purger.purge([row]).executions == 2
    bundle = tmp_path / "kept" / f"{row.execution_id}.noetl"
    assert [path.name for path in bundle.parent.iterdir()] == [bundle.name]
    for folder in (tmp_path / "elsewhere", ran):
        folder.mkdir(exist_ok=True)
        with opened(folder) as runtime:
            for _ in range(2):  # what is there stays
                assert read_bundle(runtime, str(bundle)).executions[0] == row.execution_id
            assert root_of(runtime) == row
            assert runtime.store.attributes([row.execution_id]) == {row.execution_id: FOUND_BY}
            assert {name: [*runtime.store.read(name)] for name in logs} == logs
            check_whole(runtime, row)
            assert runtime.store.source(row.plan_digest) == PLAYBOOK.encode()
            assert [plan.version for plan in runtime.store.plans()] == [1, 1]


def test_a_bundle_brings_the_sources_of_children_back_too(tmp_path: Path) -> None:
    """Also of one that did not run: a rerun may come to it."""
    (tmp_path / "t.yaml").write_text(PLAYBOOK.replace("\"print('hello')", '"print(1 / 0)'))
    (tmp_path / "child.yaml").write_text(CHILD)
    assert noetl(tmp_path, "run", "t.yaml", "--quiet", "--path", ".").returncode == 1
    with opened(tmp_path) as runtime:
        row = root_of(runtime)
        data = runtime.store.plan_bytes(row.plan_digest)
        assert data is not None
        _, child = digests_in(data)
        path = Archive(runtime, str(tmp_path / "kept"))([row])
    with opened(tmp_path / "elsewhere") as runtime:
        read_bundle(runtime, path)
        assert runtime.store.source(child) == CHILD.encode()
        # A source of a plan that is none of the family is nobody's.
        other = _rewritten(path, "no such member", None)
    with zipfile.ZipFile(other, "a") as archive:
        archive.writestr(f"sources/{'e' * 64}", b"of no plan")
    with opened(tmp_path / "again") as runtime:
        read_bundle(runtime, other)
        assert runtime.store.source("e" * 64) is None


def test_what_is_in_a_bundle_is_found_in_it(ran: Path, tmp_path: Path) -> None:
    with opened(ran) as runtime:
        path = Archive(runtime, str(tmp_path))(Purger(runtime).family(root_of(runtime)))
    words = ["list", "--store", f"bundle:///{path}", "--json", "--query"]
    for query, count in (("label.team:data search.n:>6", 1), ("label.team:ops", 0), ("is:over", 2)):
        done = noetl(tmp_path, *words, query)
        assert (done.returncode, len(json.loads(done.stdout))) == (0, count), query


def test_a_bundle_of_before_says_the_code_of_a_failure_too(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text(HEAD + "workflow: [{step: start, tool: {name: f, kind: fail, code: no.luck}}]\n")
    assert noetl(tmp_path, "run", "f.yaml", "--quiet").returncode == 1
    with opened(tmp_path) as runtime:
        row = root_of(runtime)
        path = Archive(runtime, str(tmp_path))([row])
    older = _rewritten(path, "bundle.json", lambda data: data.replace(b'"error"', b'"x-error"'))
    (tmp_path / "other").mkdir()
    with opened(tmp_path / "other") as runtime:
        read_bundle(runtime, older)
        assert row.error == "no.luck" and root_of(runtime) == row


def test_an_old_plan_does_not_become_the_newest_version(ran: Path, tmp_path: Path) -> None:
    """A start afterwards runs the plan that a start before would have run."""
    with opened(ran) as runtime:
        row = root_of(runtime)
        path = Archive(runtime, str(tmp_path))(Purger(runtime).family(row))
        newest = b"another plan"
    with opened(tmp_path / "fresh") as runtime:
        runtime.store.put_plan("e" * 64, row.playbook, newest)
        read_bundle(runtime, path)
        found = runtime.store.plan_at(row.playbook)
        assert found == ("e" * 64, newest)
        check_whole(runtime, row)


def test_another_execution_of_that_id_is_left_alone(ran: Path, tmp_path: Path) -> None:
    with opened(ran) as runtime:
        row = root_of(runtime)
        path = Archive(runtime, str(tmp_path))(Purger(runtime).family(row))
    (tmp_path / "new").mkdir()
    with opened(tmp_path / "new") as runtime:
        runtime.store.create(row._replace(status="running", ended=None), [("v0", b"other")])
        with pytest.raises(BadBundle, match="is there already, and is another one"):
            read_bundle(runtime, path)
        assert [record.body for record in runtime.store.read(row.execution_id)] == [b"other"]


def test_an_archive_that_cannot_be_written_purges_nothing(ran: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with opened(ran) as runtime:
        row = root_of(runtime)
        with pytest.raises(StoreFailure, match="the bundle cannot be written"):
            Purger(runtime, Archive(runtime, str(tmp_path / "file"))).purge([row])
        check_whole(runtime, row)


def damage(folder: Path, name: str) -> None:
    """Change an event in the middle of a log by hand."""
    with sqlite3.connect(folder / ".noetl" / "noetl.db") as database:
        database.execute("DROP TRIGGER events_never_change")
        number = f"(SELECT number FROM executions WHERE execution_id = '{name}')"
        database.execute(f"UPDATE events SET body = x'00' WHERE key >> 32 = {number} AND key % 4294967296 = 5")
    database.close()


def test_a_damaged_execution_stays_with_its_reason_and_all_others_are_archived(ran: Path) -> None:
    """Also those that come behind it: the damaged one is the newest."""
    assert noetl(ran, "run", "t.yaml", "--quiet", "--path", ".").returncode == 0
    names = [row["execution_id"] for row in json.loads(noetl(ran, "list", "--json").stdout) if not row["parent"]]
    damage(ran, names[0])
    done = noetl(ran, "purge", "--status", "completed", "--archive", "kept")
    assert done.returncode == 1
    assert f"kept {names[0]}: event 5 of '{names[0]}' is damaged or missing, so no bundle" in done.stderr
    assert done.stdout.startswith("removed 2 executions")
    assert [path.name for path in (ran / "kept").iterdir()] == [f"{names[1]}.noetl"]
    # By its name, and without a bundle, it goes.
    assert noetl(ran, "purge", names[0]).stdout.startswith("removed 2 executions")
    assert noetl(ran, "list", "--json").stdout == "[]\n"
    assert beside(ran) == []


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("UPDATE executions SET status = 'failed'", "does not say that it is failed"),
        ("", "was altered"),
    ],
)
def test_what_nobody_could_restore_is_not_purged(ran: Path, statement: str, why: str) -> None:
    with sqlite3.connect(ran / ".noetl" / "noetl.db") as database:
        database.execute(statement)
    database.close()
    if not statement:
        value = next(path for path in (ran / ".noetl" / "noetl.db.blobs").rglob("*") if len(path.name) == 64)
        value.write_bytes(b"other")
    with opened(ran) as runtime:
        row = root_of(runtime)
        done = Purger(runtime, Archive(runtime, str(ran / "kept"))).purge([row])
        assert [(each.execution_id, each.is_damaged) for each in done.kept] == [(row.execution_id, True)]
        assert why in done.kept[0].why
        assert runtime.store.execution(row.execution_id) == row
    assert [*(ran / "kept").iterdir()] == []


def test_a_server_says_once_that_it_keeps_a_damaged_execution(ran: Path) -> None:
    with opened(ran) as runtime:
        row = root_of(runtime)
    damage(ran, row.execution_id)
    with opened(ran) as runtime:
        purger = Purger(runtime, Archive(runtime, str(ran / "kept")))
        retention = Retention(purger, [RetentionRule("*", ANY, 0)], WallClock())
        said = [retention.keep_up(lambda: True) for _ in range(2)]
    assert said[0].startswith(f"kept {row.execution_id}: event 5 of ") and said[1] == ""


def test_restore_says_what_was_there_already(ran: Path) -> None:
    """One whose restore was cut off is no such one."""
    name = json.loads(noetl(ran, "status", "last", "--json").stdout)["execution_id"]
    assert noetl(ran, "purge", name, "--archive", "kept").returncode == 0
    bundle = f"kept/{name}.noetl"
    assert noetl(ran, "restore", bundle).stdout == "restored 2 executions\n"
    assert noetl(ran, "restore", bundle).stdout == "restored 0 executions; 2 executions were there already\n"
    assert len(json.loads(noetl(ran, "restore", bundle, "--json").stdout)["already"]) == 2
    with opened(ran) as runtime:
        first = [(record.event_id, record.body) for record in runtime.store.read(name)][:3]
        row = root_of(runtime)
    assert noetl(ran, "purge", name).returncode == 0
    with opened(ran) as runtime:
        runtime.store.create(row)
        runtime.store.append(name, 0, first, status=row.status, ended=row.ended)
    assert noetl(ran, "restore", bundle).stdout == "restored 2 executions\n"


def test_what_killed_archives_left_goes_with_the_next_one(ran: Path) -> None:
    """Not what another process may be writing."""
    kept = ran / "kept"
    kept.mkdir()
    for name in ("1.noetl.77-abcd.part", "2.noetl.78-abcd.part", "other.part"):
        (kept / name).write_text("x")
    for name in ("1.noetl.77-abcd.part", "other.part"):
        os.utime(kept / name, (0, 0))
    done = noetl(ran, "archive", "last", "--to", "kept")
    left = {path.name for path in kept.iterdir()}
    assert left == {Path(done.stdout.strip()).name, "2.noetl.78-abcd.part", "other.part"}


def test_beside_a_bundle_the_way_on_is_its_restore(tmp_path: Path) -> None:
    """Commands that go on from there refuse it."""
    (tmp_path / "f.yaml").write_text(
        HEAD + "workflow: [{step: start, tool: {kind: fail, code: x.y, message: broken}}]\n"
    )
    assert noetl(tmp_path, "run", "f.yaml", "--quiet").returncode == 1
    bundle = noetl(tmp_path, "archive", "last").stdout.strip()
    said = noetl(tmp_path, "status", "last", "--store", f"bundle:///{bundle}")
    shown = said.stdout + said.stderr
    assert f"bring it back into a store: noetl restore {bundle}" in shown
    assert "noetl rerun" not in shown and "noetl run" not in shown


def _with(data: bytes, number: int, **changes: object) -> bytes:
    """A manifest in which something else is said of an execution."""
    manifest = json.loads(data)
    manifest["executions"][number].update(changes)
    return json.dumps(manifest).encode()


def _rewritten(path: str, name: str, change: object) -> str:
    """A copy of a bundle in which a member, or what ends so, has other bytes; None leaves it out."""
    other = f"{path}.other"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for member in old.namelist():
            data = old.read(member)
            if member.endswith(name) or name in member:
                data = change(data) if callable(change) else change  # type: ignore[assignment]
            if data is not None:
                new.writestr(member, data)
    return other


@pytest.mark.parametrize(
    ("member", "change"),
    [
        ("bundle.json", None),
        ("bundle.json", b"{}"),
        ("bundle.json", b"[1]"),
        ("bundle.json", b"{" * 100_000),
        ("bundle.json", lambda data: data.replace(b'"version": 1', b'"version": 99')),
        ("bundle.json", lambda data: data.replace(b'"completed"', b'"running"')),
        (
            "bundle.json",
            lambda data: data.replace(b'"ended": 1', b'"ended": "1').replace(b',\n   "events', b'",\n "events'),
        ),
        ("bundle.json", lambda data: data.replace(b'"events": ', b'"events": 9')),
        ("bundle.json", lambda data: data.replace(b'"values": [', b'"values": ["../../x", ')),
        ("bundle.json", lambda data: data.replace(b'"events": ', b'"events": -')),
        ("bundle.json", lambda data: data.replace(b'"completed"', b'"failed"')),
        ("bundle.json", lambda data: _with(data, 0, execution_id="")),
        ("bundle.json", lambda data: _with(data, 0, parent_execution_id="nobody")),
        ("bundle.json", lambda data: _with(data, 1, parent_execution_id="nobody")),
        ("bundle.json", lambda data: _with(data, 1, parent_execution_id=None)),
        ("bundle.json", lambda data: _with(data, 1, execution_id=json.loads(data)["executions"][0]["execution_id"])),
        ("bundle.json", lambda data: _with(data, 0, error=7)),
        ("bundle.json", lambda data: _with(data, 0, attributes={})),
        ("bundle.json", lambda data: _with(data, 0, attributes=[["label.a b", "string", "x", None]])),
        ("bundle.json", lambda data: _with(data, 0, attributes=[["label.a", "string", "x" * 256, None]])),
        ("bundle.json", lambda data: _with(data, 0, attributes=[["label.a", "string", "x", None]] * 2)),
        ("bundle.json", lambda data: _with(data, 0, attributes=[["search.a", "number", "1", "1"]])),
        ("plans/", b"no plan"),
        ("log-0", None),
        ("log-0", b"\xc1"),
        ("log-0", b"\x91\x93\x02\xa1a\xa0"),
        ("values/", b"altered"),
        ("values/", None),
        ("output.jsonl", b"no json\n"),
        ("output.jsonl", b'{"step": 1}\n'),
    ],
)
def test_a_bundle_that_was_altered_is_refused_in_a_sentence(
    ran: Path, tmp_path: Path, member: str, change: object
) -> None:
    with opened(ran) as runtime:
        path = Archive(runtime, str(tmp_path))(Purger(runtime).family(root_of(runtime)))
    done = noetl(tmp_path, "restore", _rewritten(path, member, change))
    assert done.returncode == 1
    assert done.stderr.startswith("error: ") and "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("data", [b"", b"no zip", b"PK\x03\x04" + os.urandom(200)])
def test_what_is_no_bundle_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.noetl").write_bytes(data)
    with opened(tmp_path) as runtime, pytest.raises(BadBundle, match="cannot be read"):
        read_bundle(runtime, str(tmp_path / "x.noetl"))


def test_the_commands(ran: Path) -> None:
    with opened(ran) as runtime:
        name = root_of(runtime).execution_id
    assert "name executions by ID, or say which" in noetl(ran, "purge").stderr
    assert noetl(ran, "purge", "--older-than", "soon").returncode == 2
    assert noetl(ran, "purge", "--older-than", "1d").stdout == "removed 0 executions, 0 bytes of values and output\n"
    dry = noetl(ran, "purge", "--status", "completed", "--dry-run")
    assert name in dry.stdout and dry.stdout.endswith("would remove 2 executions\n")
    assert noetl(ran, "archive", "last", "--to", "kept").stdout == f"kept/{name}.noetl\n"
    bundle = f"bundle:///kept/{name}.noetl"
    done = noetl(ran, "purge", "last", "--json")
    assert json.loads(done.stdout)["executions"] == 2 and json.loads(done.stdout)["kept"] == []
    assert noetl(ran, "status", name).returncode == 1
    assert noetl(ran, "list").stderr == "no executions\n"
    for words in (("status", "last"), ("replay", name), ("result", name), ("logs", name), ("events", name), ("list",)):
        looked = noetl(ran, *words, "--store", bundle)
        assert looked.returncode == 0, looked.stderr
    assert "hello" in noetl(ran, "logs", name, "--store", bundle).stdout
    for words in (
        ("run", "t.yaml", "--path", "."), ("purge", name), ("collect",), ("store", "vacuum"), ("store", "backup", "b"),
        ("schedules", "pause", "x"), ("signal", "--key", "k", "--name", "n"),
    ):  # fmt: skip
        changed = noetl(ran, *words, "--store", bundle)
        assert (changed.returncode, "is only looked at" in changed.stderr) == (1, True), words
    assert noetl(ran, "restore", f"kept/{name}.noetl").stdout == "restored 2 executions\n"
    assert noetl(ran, "replay", name).returncode == 0
    child = next(iter(json.loads(noetl(ran, "list", "--json").stdout)))
    assert "purge that one, and it goes with it" in noetl(ran, "purge", child["execution_id"]).stderr
