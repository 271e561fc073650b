"""`tools/corpus` on a small corpus of its own: what it counts, runs, finds wrong, and never lets out."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from corpora.files import laid_out
from corpora.migrating import comments_of, line_count
from corpora.more_sites import SITES, placeholder
from corpora.needs import lacking
from corpora.outcomes import Outcome, differences, masked, verdicts
from corpora.serving import turned
from corpora.sites import Memory, Request, echo, paginated

ROOT = Path(__file__).resolve().parent.parent
OLD = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: greet, path: a/greet}  # a greeting
workload: {who: Ada}
workflow:
- step: start
  tool: {kind: python, args: {who: "{{ who }}"}, code: "def main(who):\\n  return {'text': 'hello ' + who}"}
  next: [{step: end}]
- step: end
"""
NEW = """\
apiVersion: noetl.io/v10
kind: Playbook
metadata: {name: greet, path: a/greet}
workload: {who: Ada}
workflow:
- step: start
  tool: {kind: python, args: {who: "{{ workload.who }}"}, code: "result = {'text': 'hello ' + who}"}
  next: {arcs: [{step: end}]}
- step: end
  tool: {kind: noop}
"""


def _one(name: str, tool: str) -> str:
    return (
        f"apiVersion: noetl.io/v10\nkind: Playbook\nmetadata: {{name: {name}}}\nworkflow:\n- step: start\n"
        f"  tool: {tool}\n"
    )


FILES = {
    "2025-01-01/a/greet.yaml": OLD,
    "2026-01-01/a/greet.yaml": NEW,
    "2026-02-01/a/greet.yaml": NEW,
    "2026-01-01/a/values.yaml": "replicas: 2\n",
    "2026-01-01/a/posts.yaml": _one(
        "posts", "{kind: http, url: 'https://jsonplaceholder.typicode.com/posts?userId=3'}"
    ),
    "2026-01-01/a/sum.yaml": _one("sum", "{kind: postgres, auth: warehouse, query: SELECT 40 + 2 AS n}"),
    "2026-01-01/a/check.yaml": _one("check", "{kind: python, code: 'result = {\"passed\": False}'}"),
    "2026-01-01/a/cluster.yaml": _one("cluster", "\n    kind: shell\n    cmds: [kubectl get pods]"),
    "2026-01-01/a/nameless.yaml": "apiVersion: noetl.io/v10\nkind: Playbook\nworkflow: []\n",
}
KNOWN = """\
outcomes:
- path: a/greet.yaml
  results: {start.text: hello Ada}
- path: a/posts.yaml
  results: {start.data.9.id: 30, start.status_code: 200}
- path: a/sum.yaml
  results: {start.rows: [{n: 43}]}
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "corpus" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "known.yaml").write_text(KNOWN)
    return tmp_path / "corpus"


def _told(*argv: str | Path) -> list[str]:
    done = subprocess.run([sys.executable, ROOT / "tools" / "corpus", *argv], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_content_counts_once_under_its_last_day(corpus: Path) -> None:
    found = laid_out(corpus)
    names = [file.name for file in found.playbooks if file.path == "a/greet.yaml"]
    assert names == ["2025-01-01/a/greet.yaml", "2026-02-01/a/greet.yaml"]
    assert (len(found.playbooks), found.others) == (7, 1)


def test_compile_counts_and_names_causes(corpus: Path) -> None:
    lines = _told("compile", corpus, "--examples", "1")
    assert lines[:2] == ["7 distinct playbooks, 1 other files left out", "compile: 6 of 7 (85.7%)"]
    assert any(line.startswith("         2026-01-01/a/nameless.yaml:") for line in lines)
    assert not any(line.startswith(("broken", "slow", "internal")) for line in lines)


def test_migrate_counts_lines_and_keeps_comments(corpus: Path) -> None:
    lines = _told("migrate", corpus)
    assert lines[0] == "migrate: 6 of 7 files"
    assert lines[1].startswith("lines: ")
    assert not any(line.startswith(("wrong", "broken")) for line in lines)


def test_run_compares_with_what_is_known_and_with_other_versions(corpus: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved.json"
    lines = _told("run", corpus, "--trusted", "--known", tmp_path / "known.yaml", "--save", saved)
    assert lines[0] == "7 playbooks: 5 completed, 1 offline, 1 refused"
    assert "     1 program kubectl" in lines
    at = lines.index("known outcomes: 3 of 4 right")
    assert lines[at + 1] == "  2026-01-01/a/sum.yaml: start.rows is [{'n': 42}], not [{'n': 43}]"
    assert "  2026-01-01/a/check.yaml: start.passed = 'False'" in lines
    assert "versions of one path: 1 end as the newest, 0 do not" in lines
    rows = {(row["path"], row["day"]): row for row in json.loads(saved.read_text())}
    assert rows["a/greet.yaml", "2025-01-01"]["results"]["start"] == {"text": "hello Ada"}


def test_each_step_has_its_own_result_beside_a_branch_that_is_not_the_last(tmp_path: Path) -> None:
    fork = "next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}"
    steps = "".join(f"- {{step: {each}, tool: {{kind: noop, result: {each}}}}}\n" for each in "ab")
    head = "apiVersion: noetl.io/v10\nkind: Playbook\nmetadata: {name: f}\nworkflow:\n"
    text = f"{head}- {{step: start, {fork}}}\n{steps}"
    path = tmp_path / "corpus" / "2026-01-01" / "a" / "fork.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    saved = tmp_path / "saved.json"
    _told("run", tmp_path / "corpus", "--trusted", "--save", saved)
    [row] = json.loads(saved.read_text())
    assert row["results"] == {"start": None, "a": "a", "b": "b"}


def test_what_runs_isolated_can_write_nowhere_else_and_reach_nobody(tmp_path: Path) -> None:
    if subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True).returncode:
        pytest.skip("this machine gives no namespaces")
    outside = ROOT / "written.sqlite"  # no file of the repository
    code = f"""
    import glob
    import socket
    result = {{}}
    try:
        open({str(outside)!r}, "w").close()
    except OSError as problem:
        result["write"] = problem.strerror
    for folder in glob.glob("/var/tmp/corpus-*/shown"):
        try:
            open(folder + "/written", "w").close()
        except OSError as problem:
            result["into the corpus"] = problem.strerror
    try:
        socket.create_connection(("192.0.2.1", 80), timeout=5)
    except OSError as problem:
        result["connect"] = problem.strerror
"""
    path = tmp_path / "corpus" / "2026-01-01" / "out.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(_one("out", "\n    kind: python\n    code: |" + code.replace("\n    ", "\n      ")))
    saved = tmp_path / "saved.json"
    _told("run", tmp_path / "corpus", "--save", saved)
    (row,) = json.loads(saved.read_text())
    closed = "Read-only file system"
    assert row["results"] == {
        "start": {"write": closed, "into the corpus": closed, "connect": "Network is unreachable"}
    }
    assert not outside.exists() and not (tmp_path / "corpus" / "written").exists()


def test_a_checkout_below_tmp_can_be_read_in_the_isolation_and_not_written(tmp_path: Path) -> None:
    if subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True).returncode:
        pytest.skip("this machine gives no namespaces")
    with TemporaryDirectory(dir="/tmp") as name:
        tools = Path(name, "tools")
        shutil.copytree(ROOT / "tools", tools)
        code = f"""
    own = {str(tools / "corpus")!r}
    result = {{"reads": open(own).read().startswith("#!")}}
    try:
        open(own, "a").close()
    except OSError as problem:
        result["writes"] = problem.strerror
"""
        path = tmp_path / "corpus" / "2026-01-01" / "one.yaml"
        path.parent.mkdir(parents=True)
        path.write_text(_one("one", "\n    kind: python\n    code: |" + code.replace("\n    ", "\n      ")))
        saved = tmp_path / "saved.json"
        argv = [sys.executable, tools / "corpus", "run", tmp_path / "corpus", "--save", saved]
        done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(saved.read_text())
    assert row["results"] == {"start": {"reads": True, "writes": "Read-only file system"}}


def _get(path: str, **query: str) -> Request:
    return Request("GET", path, query, {}, b"", Memory())


def test_pages_end_where_the_things_do() -> None:
    ids, more, page = [], True, 1
    while more:
        body = paginated(_get("/api/v1/assessments", page=str(page), pageSize="10")).body
        assert isinstance(body, dict)
        ids += [thing["id"] for thing in body["data"]]  # type: ignore[index, call-overload, union-attr]
        more, page = body["paging"]["hasMore"], page + 1  # type: ignore[index, call-overload, assignment]
    assert (ids, page) == (list(range(1, 36)), 5)


def test_a_flaky_page_fails_once_a_run() -> None:
    request = _get("/api/v1/flaky", page="2", fail_on="2,3")
    assert [paginated(request).status for _ in range(3)] == [500, 200, 200]


def test_echo_and_placeholder_answer_as_published() -> None:
    assert echo(_get("/status/503")).status == 503
    assert echo(_get("/get", a="1")).body["args"] == {"a": "1"}  # type: ignore[index, call-overload]
    assert placeholder(Request("POST", "/posts", {}, {}, b'{"title": "t"}', Memory())) == (
        201,
        {"title": "t", "id": 101},
        (),
    )
    assert len(placeholder(_get("/posts", userId="3")).body) == 10  # type: ignore[arg-type]
    assert placeholder(_get("/posts/101")).status == 404


def test_addresses_of_services_are_turned_and_no_others() -> None:
    text = "a: https://httpbin.org/get\nb: http://httpbin.org.example.com/x\nc: https://{{ host }}/y\n"
    turned_text = (
        "a: http://127.0.0.1:1/r/httpbin.org/get\nb: http://httpbin.org.example.com/x\nc: https://{{ host }}/y\n"
    )
    assert turned(text, SITES, "http://127.0.0.1:1/r") == turned_text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tool: {kind: python}\n# https://nowhere.example.com\n", ""),
        ("url: https://httpbin.org/get\n", ""),
        ("url: https://nowhere.example.com/get\n", "host nowhere.example.com"),
        ("tool:\n  kind: shell\n  cmds: ['echo then use kubectl get pods']\n", ""),
        ("tool:\n  kind: shell\n  cmds:\n  - |\n    true && kubectl get pods\n", "program kubectl"),
        ("tool:\n  kind: shell\n  cmds: ['echo done']\n", ""),
        ("tool:\n  kind: snowflake\n", "kind snowflake"),
        ("command: INSTALL httpfs;\n", "duckdb extension httpfs"),
        ("code: |\n  time.sleep(9)\n  time.sleep(9)\n", "sleeps for long"),
    ],
)
def test_what_a_playbook_lacks_offline(text: str, why: str) -> None:
    assert lacking(text, SITES) == why


def test_what_differs_every_time_is_no_difference() -> None:
    one = Outcome("completed", done={"a": 1}, results={"a": {"n": 1, "created_at": "2026-01-01T10:00:00Z", "id": 5}})
    other = one._replace(results={"a": {"n": 1, "created_at": "2026-02-02T11:00:00Z", "id": 5}})
    assert list(differences(one, other)) == []
    third = other._replace(results={"a": {"n": 2, "created_at": "2026-02-02T11:00:00Z", "id": 5}})
    assert list(differences(one, third)) == ["a: .n 1 → 2"]
    assert masked({"text": "at 2026-01-01T10:00:00Z"}) == {"text": "at ~"}


def test_a_check_that_did_not_pass_is_told() -> None:
    results = {"check": {"passed": False, "n": 1}, "test": {"summary": {"status": "FAILED"}}, "good": {"passed": True}}
    assert list(verdicts(results)) == ["check.passed = 'False'", "test.summary.status = 'FAILED'"]


def test_comments_are_told_from_text() -> None:
    text = "# one\na: 'b # c'  # two\nd: |  # three\n  # text\ne: f#g\n"
    assert list(comments_of(text)) == ["one", "two"]
    assert line_count(b"# one\n\na: 1\n  # two\nb: 2\n") == 2
