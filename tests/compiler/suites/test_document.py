"""Files of tests as they are read: what is wrong is told with its place and what to write instead."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.running import HEAD
from harness.suites import FETCH
from noetl_cli.excerpts import PLAIN
from noetl_ir.suite import BadSuite, Suite, read_suite, write_suite
from noetlc.cli.suite import suite_of
from noetlc.emit.suite import schema
from noetlc.reading.kinds import kind_names

KEYCHAIN = "keychain: [{name: door, kind: postgres_credential}]"


def read(folder: Path, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[Suite | None, list[str]]:
    """The suite in a text, and the first line of each finding."""
    (folder / "t.yaml").write_text(HEAD + KEYCHAIN + FETCH)
    (folder / "t.test.yaml").write_text(text)
    suite = suite_of(str(folder / "t.test.yaml"), (), PLAIN)
    lines = [line for line in capsys.readouterr().err.splitlines() if ": error[" in line]
    return suite, [line.replace(f"{folder}/", "") for line in lines]


GOOD = "cases: [{case: a, expect: {status: completed}}]"

WRONG = [
    ("[]", "t.test.yaml:1:1: error[NL102] this is no file of tests: expected a mapping with `cases`"),
    ("cases: 3", "t.test.yaml:1:8: error[NL102] `cases`: expected a list of cases, found `3`, a number"),
    ("cases: []", "t.test.yaml:1:8: error[NL103] a case is missing"),
    ("cases: [{case: a, table: [], expect: {status: completed}}]",
     "t.test.yaml:1:26: error[NL103] a row of `table` is missing"),
    (f"{GOOD}\nplaybook: [t.yaml]", "t.test.yaml:2:11: error[NL102] `playbook`: expected text, found a list"),
    ("real: [python]", "t.test.yaml:1:1: error[NL103] `cases` is missing"),
    (f"{GOOD}\nreel: []", "t.test.yaml:2:1: error[NL101] unknown key `reel` in a file of tests"),
    (f"{GOOD}\nreal: [pythn]", "t.test.yaml:2:8: error[NL107] there is no tool kind `pythn`"),
    (f"{GOOD}\nfiles: [../a]", "t.test.yaml:2:9: error[NL104] `../a` is not beside the file of tests"),
    (f"{GOOD}\nfiles: [/etc/passwd]", "t.test.yaml:2:9: error[NL104] `/etc/passwd` is not beside the file of tests"),
    (f"{GOOD}\nlimits: {{events: 0}}", "t.test.yaml:2:18: error[NL104] `events`: 0 is below 1"),
    (f"{GOOD}\noutcomes: [{{step: strt}}]", "t.test.yaml:2:19: error[NL104] there is no step `strt` in the playbook"),
    (f"{GOOD}\noutcomes: [{{step: start, task: get}}]",
     "t.test.yaml:2:32: error[NL104] there is no task `get` in step `start`"),
    (f"{GOOD}\noutcomes: [{{step: start, outcome: {{resutl: 1}}}}]",
     "t.test.yaml:2:36: error[NL101] unknown key `resutl` in the outcome of such a task"),
    (f"{GOOD}\noutcomes: [{{step: store, outcome: {{http: {{}}}}}}]",
     "t.test.yaml:2:36: error[NL101] unknown key `http` in the outcome of such a task"),
    (f"{GOOD}\noutcomes: [{{step: start, outcome: {{status: ok, error: x}}}}]",
     "t.test.yaml:2:48: error[NL104] an outcome with an `error` is no success"),
    (f"{GOOD}\noutcomes: [{{step: start, times: 0}}]", "t.test.yaml:2:33: error[NL104] `times`: 0 is below 1"),
    (f"{GOOD}\noutcomes: [{{step: start, takes: soon}}]", "t.test.yaml:2:33: error[NL119] `takes` is no duration"),
    (f"{GOOD}\nsignals: [{{at: 1s}}]", "t.test.yaml:2:11: error[NL103] the `name` of the signal is missing"),
    (f"{GOOD}\nsignals: [{{name: a, key: ''}}]", "t.test.yaml:2:26: error[NL104] the `key` is empty"),
    (f"{GOOD}\nsignals: [{{name: a, key: [b]}}]", "t.test.yaml:2:26: error[NL104] the `key` is no text"),
    (f"{GOOD}\nsignals: [{{name: a, keep_for: 1d}}]", "t.test.yaml:2:31: error[NL104] `keep_for` goes with `key`"),
    (f"{GOOD}\nsignals: [{{name: a, key: b, keep_for: x}}]",
     "t.test.yaml:2:39: error[NL119] `keep_for` is no duration"),
    (f"{GOOD}\nsignals: [{{name: a, before: true}}]", "t.test.yaml:2:29: error[NL104] `before` goes with `key`"),
    (f"{GOOD}\nsignals: [{{name: a, key: b, at: 1s, before: true}}]",
     "t.test.yaml:2:45: error[NL104] `before` does not go with `at`"),
    (f"{GOOD}\nsignals: [{{name: a, key: b, before: 1}}]",
     "t.test.yaml:2:37: error[NL104] `before` is `true` or `false`"),
    (f"{GOOD}\nsignals: [{{name: a, kay: b}}]", "t.test.yaml:2:21: error[NL101] unknown key `kay` in a signal"),
    (f"{GOOD}\nkeychain: [a]", "t.test.yaml:2:11: error[NL102] `keychain`: expected a mapping of entries"),
    (f"{GOOD}\nkeychain: {{dor: a text of mine}}",
     "t.test.yaml:2:12: error[NL104] the playbook asks for no secret `dor`"),
    (f"{GOOD}\nkeychain: {{door: {{}}}}", "t.test.yaml:2:18: error[NL103] the fields of `door` are missing"),
    (f"{GOOD}\nkeychain: {{door: 12345678}}", "t.test.yaml:2:18: error[NL102] the secret: expected text"),
    (f"{GOOD}\nkeychain: {{door: {{user: me, password: [a]}}}}",
     "t.test.yaml:2:39: error[NL102] the secret `password`: expected text"),
    (f"{GOOD}\nkeychain: {{door: {{in: {{a: short}}}}}}",
     "t.test.yaml:2:27: error[NL104] the secret `a` has less than 8 characters"),
    ("cases: [{expect: {status: completed}}]", "t.test.yaml:1:9: error[NL103] the name of the case is missing"),
    ("cases: [{case: a}]", "t.test.yaml:1:9: error[NL103] what the case expects is missing"),
    ("cases: [{case: a, expect: {}}]", "t.test.yaml:1:27: error[NL103] what the case expects is missing"),
    *((f"cases: [{{case: a, expect: {{status: completed, {key}: {empty}}}}}]",
       f"t.test.yaml:1:{49 + len(key)}: error[NL103] an entry of `{key}` is missing")
      for key, empty in (("calls", "[]"), ("events", "[]"), ("not_run", "[]"), ("results", "{}"), ("ctx", "{}"),
                         ("duration", "{}"))),
    ("cases: [{case: a, expect: {status: done}}]",
     "t.test.yaml:1:36: error[NL104] `status`: `done` is not one of"
     " `completed`, `failed`, `blocked`, `cancelled`, `waiting`"),
    ("cases: [{case: a, expect: {steps: [stat]}}]",
     "t.test.yaml:1:36: error[NL104] there is no step `stat` in the playbook"),
    ("cases: [{case: a, expect: {results: {stat: 1}}}]",
     "t.test.yaml:1:38: error[NL104] there is no step `stat` in the playbook"),
    ("cases: [{case: a, expect: {stats: 1}}]", "t.test.yaml:1:28: error[NL101] unknown key `stats` in `expect`"),
    ("cases: [{case: a, expect: {error: {cod: x}}}]",
     "t.test.yaml:1:36: error[NL101] unknown key `cod` in `error` of `expect`"),
    ("cases: [{case: a, expect: {calls: [{fields: {}}]}}]",
     "t.test.yaml:1:36: error[NL103] `step` of the call is missing"),
    ("cases: [{case: a, expect: {events: [{event: step.fail, never: true}]}}]",
     "t.test.yaml:1:45: error[NL104] there is no event `step.fail`"),
    ("cases: [{case: a, expect: {events: [{event: step.failed}]}}]",
     "t.test.yaml:1:37: error[NL103] how often the event is expected is missing"),
    ("cases: [{case: a, expect: {events: [{event: step.failed, never: false}]}}]",
     "t.test.yaml:1:65: error[NL104] `never: false` expects nothing"),
    ("cases: [{case: a, expect: {duration: soon}}]", "t.test.yaml:1:38: error[NL119] `duration` is no duration"),
    ("cases: [{case: a, expect: {status: failed}}, {case: a, expect: {status: failed}}]",
     "t.test.yaml:1:53: error[NL104] two cases are called `a`"),
    ("cases: [{case: '{{ row.n }}', expect: {status: failed}}]",
     "t.test.yaml:1:16: error[NL104] `row.n`: this case has no `table`"),
    ("cases: [{case: '{{ row.m }}', table: [{n: 1}], expect: {status: failed}}]",
     "t.test.yaml:1:16: error[NL104] `row.m`: this row has no `m`"),
    ("cases: [{case: a, table: [{n: 1}], payload: {limit: '{{ row.n + 1 }}'}, expect: {status: failed}}]",
     "t.test.yaml:1:53: error[NL104] `{{ row.n + 1 }}` is more than the name of a value"),
    ("cases: [{case: 'a {{ row.n }}', table: [{n: [1]}], expect: {status: failed}}]",
     "t.test.yaml:1:16: error[NL104] `{{ row.n }}` is a list or a mapping, which no text can hold"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line"), WRONG)
def test_what_is_wrong_is_told_with_its_place(
    text: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite, lines = read(tmp_path, text, capsys)
    assert (suite, lines) == (None, [line])


def test_a_kind_of_another_package_may_run_for_real(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "theirs-1.0.dist-info"
    home.mkdir()
    (home / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n", "utf-8")
    (home / "entry_points.txt").write_text("[noetl.kinds]\ntheirs = theirs:KIND\n", "utf-8")
    with monkeypatch.context() as patched:
        patched.syspath_prepend(str(tmp_path))
        kind_names.cache_clear()
        suite, lines = read(tmp_path, f"{GOOD}\nreal: [theirs]", capsys)
        # A workbook's entry runs as the kind that it is of.
        other, said = read(tmp_path, f"{GOOD}\nreal: [workbook]", capsys)
    kind_names.cache_clear()  # only now: read in between, the kind would be known to all tests behind this one
    assert suite is not None, lines
    assert suite.cases[0].real == ("theirs",)
    assert (other, said) == (None, ["t.test.yaml:2:8: error[NL107] there is no tool kind `workbook`"])


FULL = {
    "playbook": "t.yaml", "payload": {"limit": 1}, "real": ["python"], "files": ["a"], "limits": {"events": 5},
    "signals": [{"at": 1, "name": "s", "data": 2, "key": "k", "keep_for": "1h"}],
    "outcomes": [{"step": "start", "task": "fetch", "run": 1, "index": [0], "visit": 1, "attempt": 1, "times": 1,
                  "takes": "1s", "outcome": {"status": "error", "http": {"status": 1}, "error": {"code": "x"}}}],
    "cases": [{"case": "a {{ row.n }}", "table": [{"n": 1}], "payload": {"limit": "{{ row.n }}"}, "expect": {
        "status": "failed", "error": {"code": "x"}, "steps": ["start"], "steps_in_any_order": ["start"],
        "not_run": ["store"], "result": 1, "result_includes": {"a": 1}, "results": {"start": 1}, "ctx": {"a": 1},
        "calls": [{"step": "start", "fields": {"url": 1}, "times": 2}],
        "events": [{"event": "step.failed", "step": "start", "at_most": 1}], "duration": {"at_most": "1s"},
    }}],
}  # fmt: skip
ODD = st.sampled_from([None, True, -1, 0, 1.5, "", "x", "{{ row.n }}", "{{ row }}", "start", [], [[]], {}, {"a": {}}])


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_stands_somewhere_in_a_file_it_is_read_or_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: st.DataObject
) -> None:
    document = json.loads(json.dumps(FULL))
    here: Any = document
    # Down some way, and something odd there.
    for _ in range(data.draw(st.integers(1, 6))):
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        if not keys:
            break
        key = data.draw(st.sampled_from(keys))
        if not isinstance(here[key], dict | list) or data.draw(st.booleans()):
            here[key] = data.draw(ODD)
            break
        here = here[key]
    suite, lines = read(tmp_path, json.dumps(document), capsys)
    assert (suite is None) == bool(lines)
    assert suite is None or read_suite(write_suite(suite)) == suite


def test_a_playbook_that_is_not_there_is_told_at_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite, lines = read(tmp_path, f"{GOOD}\nplaybook: gone.yaml", capsys)
    what = "its playbook cannot be read: gone.yaml: No such file or directory"
    assert (suite, lines) == (None, [f"t.test.yaml:2:11: error[NL026] {what}"])


def test_a_row_gives_values_of_their_type_and_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """
cases:
  - case: limit {{ row.n }}
    table: [{n: 1, rows: [1, 2]}, {n: two, rows: []}]
    payload: {limit: "{{ row.n }}", note: "n={{ row.n }}, {{ workload.other }}"}
    outcomes: [{step: start, outcome: {result: "{{ row.rows }}"}}]
    expect: {result: {n: "{{ row.n }}"}}
  - case: plain
    table: [{}, {}]
    expect: {status: completed}
"""
    suite, lines = read(tmp_path, text, capsys)
    assert suite is not None and lines == []
    first, second, third, fourth = suite.cases
    assert [first.name, second.name, third.name, fourth.name] == ["limit 1", "limit two", "plain [1]", "plain [2]"]
    assert first.payload == {"limit": 1, "note": "n=1, {{ workload.other }}"}
    assert second.payload == {"limit": "two", "note": "n=two, {{ workload.other }}"}
    assert [each.script["outcomes"] for each in (first, second)] == [
        [{"step": "start", "outcome": {"result": [1, 2]}}],
        [{"step": "start", "outcome": {"result": []}}],
    ]
    assert [(each.what, each.value) for each in first.expected] == [("result", {"n": 1})]


def test_what_all_cases_share_comes_behind_a_cases_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """
payload: {limit: 1, more: {a: 1}}
outcomes: [{step: start}]
real: [http]
cases:
  - case: own
    payload: {more: {b: 2}}
    outcomes: [{step: store}]
    real: []
    expect: {status: completed}
  - {case: shared, expect: {status: completed}}
"""
    suite, _ = read(tmp_path, text, capsys)
    assert suite is not None
    own, shared = suite.cases
    assert own.payload == {"limit": 1, "more": {"b": 2}} and shared.payload == {"limit": 1, "more": {"a": 1}}
    assert own.script["outcomes"] == [{"step": "store"}, {"step": "start"}]
    assert (own.real, shared.real) == ((), ("http",))


def test_a_suite_is_read_as_it_was_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite, _ = read(tmp_path, f"{GOOD}\noutcomes: [{{step: start, times: 2, outcome: {{result: 1}}}}]", capsys)
    assert suite is not None and read_suite(write_suite(suite)) == suite


@pytest.mark.parametrize("data", [b"", b"\0" * 8, b"\0" * 7 + b"\x01\xc0", b"\xff" * 20])
def test_bytes_that_are_no_suite_are_refused(data: bytes) -> None:
    with pytest.raises(BadSuite):
        read_suite(data)


def test_the_schema_takes_what_is_read_and_no_misspelt_key(tmp_path: Path) -> None:
    good = {"playbook": "a.yaml", "cases": [{
        "case": "a", "table": [{"n": 1}], "payload": {"x": "{{ row.n }}"},
        "outcomes": [{"step": "s", "times": "{{ row.n }}", "outcome": {"status": "error", "error": {"code": "x"}}}],
        "expect": {"status": "{{ row.s }}", "events": [{"event": "step.failed", "never": True}], "duration": "1s"},
    }]}  # fmt: skip
    check = jsonschema.Draft202012Validator(schema())
    assert [error.message for error in check.iter_errors(good)] == []
    wrong = json.loads(json.dumps(good).replace('"status": "{{ row.s }}"', '"stats": "x"'))
    assert len([*check.iter_errors(wrong)]) == 1


@pytest.mark.parametrize("text", [
    f"{GOOD}\nkeychain: {{dor: kanari 4711}}",
    f"{GOOD}\nkeychain: {{door: {{user: me, pasword: \"kanari\\t4711\", token: 3}}}}",
    f"{GOOD}\nkeychain:\n  dor: |\n    kanari 4711\n    kanari 4712\n",
    "cases: [{case: a, table: [{key: kanari 4711}], keychain: {dor: '{{ row.key }}'}, expect: {status: completed}}]",
    f"{GOOD}\nkeychain: {{door: kanari 4711",
    f"{GOOD}\nkeychain: {{door: kanari 4711}}\n---\na: b",
    f"{GOOD}\nkeychain: {{door: *kanari}}",
    f"{GOOD}\nkeychain: {{door: !kanari x}}",
    f"{GOOD}\nkeychain:\n  door:\n  kanari 4711",
    "cases: [{case: a, table: [{key: kanari 4711}], keychain: {door: '{{ row.key }}'}, "
    "expect: {status: '{{ row.key }}'}}]",
])  # fmt: skip
def test_no_finding_shows_a_secret(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.yaml").write_text(HEAD + KEYCHAIN + FETCH)
    (tmp_path / "t.test.yaml").write_text(text)
    assert suite_of(str(tmp_path / "t.test.yaml"), (), PLAIN) is None
    said = capsys.readouterr().err
    assert said and "kanari" not in said, said
