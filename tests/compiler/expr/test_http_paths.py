"""Paths into http results: each row is what a person wrote and what it reads (REAL.md, "http results")."""

import pytest

import goldens
from noetl_ir.expr import Expr, Name
from noetlc.expr.parser import parse_expression
from noetlc.expr.rewrite import rewritten
from noetlc.expr.unparse import unparse
from noetlc.migrate.migration import migrated
from noetlc.older import http_paths
from noetlc.older.http_keys import BY, completed
from noetlc.pipeline import check_source, compile_source

ROWS = {
    # the result's own keys stay
    "r.status_code": "r.status_code",
    "r.headers['x-id']": "r.headers['x-id']",
    "r.data.paging": "r.data.paging",
    "r.body": "r.body",
    "r.url ~ r.elapsed": "r.url ~ r.elapsed",
    "r": "r",
    # all others are the body's
    "r.paging.more": "r.data.paging.more",
    "r['paging']['more']": "r.data['paging']['more']",
    "r[0]": "r.data[0]",
    "r[0].id": "r.data[0].id",
    "r.get('rows', [])": "r.data.get('rows', [])",
    "r.get('headers')": "r.get('headers')",
    "r.get(key)": "r.get(key)",
    "r.rows[r.n]": "r.data.rows[r.data.n]",
    "(r.rows | length) > 0": "r.data.rows | length > 0",
    # words beside the keys
    "r.result": "r.data",
    "r.result.rows": "r.data.rows",
    "r.metadata.status_code == 200": "r.status_code == 200",
    "r.ok": "r.status_code < 400",
    # status: a number or bare is the code, a word for an ending asks for it, any other text is the body's
    "r.status": "r.status_code",
    "r.status == 200": "r.status_code == 200",
    "r.status >= 500": "r.status_code >= 500",
    "r.status in [200, 201]": "r.status_code in [200, 201]",
    "r.status == 'ok'": "r.status_code < 400",
    "r.status == 'success'": "r.status_code < 400",
    "r.status != 'error'": "r.status_code < 400",
    "r.status == 'failed'": "not r.status_code < 400",
    "r.status in ['ok', 'error']": "true",
    "r.status == 'ready'": "r.data.status == 'ready'",
    "r.status not in ['ready', 'done']": "r.data.status not in ['ready', 'done']",
    "r.status.text": "r.data.status.text",
    # what stands between the name and what it is compared with changes nothing
    "'ready' == r.status": "'ready' == r.data.status",
    "'rea' in r.status": "'rea' in r.data.status",
    "r.status | lower == 'ready'": "r.data.status | lower == 'ready'",
    "r.status.lower() == 'ready'": "r.data.status.lower() == 'ready'",
    "r.status | upper": "r.data.status | upper",
    "r.status.startswith('re')": "r.data.status.startswith('re')",
    "r.status | default('none') == 'ready'": "r.data.status | default('none') == 'ready'",
    "r.status is string": "r.data.status is string",
    "r.get('status') == 'ready'": "r.data.status == 'ready'",
    "r.get('status', '') == 'ready'": "r.data.status | default('') == 'ready'",
    "'ok' == r.status": "r.status_code < 400",
    "r.status | upper == 'OK'": "r.status_code < 400",
    "r.status | default('none') == 'ok'": (
        "(('ok' if r.status_code < 400 else 'error') if r.status_code is defined) | default('none') == 'ok'"
    ),
    "r.get('status') == 200": "r.status_code == 200",
    "r.get('status', 0) >= 500": "r.status_code | default(0) >= 500",
    "r.get('status')": "r.status_code",
    "r.get('ok')": "r.status_code < 400",
    "200 <= r.status < 300": "200 <= r.status_code < 300",
    "r.status | int == 200": "r.status_code | int == 200",
    "r.status | trim == '200'": "r.status_code | trim == '200'",
    "r.status == workload.wanted": "r.data.status == workload.wanted",
    "r.status in [workload.wanted, 'x']": "r.data.status in [workload.wanted, 'x']",
    # other names are not touched
    "s.paging.more": "s.paging.more",
}


def _is_r(expr: Expr) -> bool:
    return expr == Name("r")


@pytest.mark.parametrize(("written", "read"), list(ROWS.items()))
def test_a_key_that_the_result_lacks_is_one_of_the_body(written: str, read: str) -> None:
    made = rewritten(parse_expression(written), completed(_is_r, texts={("workload", "wanted"): "ready"}))
    assert unparse(made) == read
    assert rewritten(made, completed(_is_r, texts={("workload", "wanted"): "ready"})) == made, (
        "what is complete stays as it is"
    )


def test_playbooks_that_the_pass_leaves_alone_have_nothing_to_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each expression is looked at once, whatever the names in it mean: the pass itself finds nothing more."""
    sources = [(case.path.name, case.path.read_bytes()) for case in goldens.cases()]
    asked: list[bool] = []

    def remembered(*of: object) -> bool:
        asked.append(is_asked(*of))  # type: ignore[arg-type]
        return asked[-1]

    is_asked = http_paths._is_asked
    monkeypatch.setattr(http_paths, "_is_asked", remembered)
    quick = [compile_source(name, data) for name, data in sources]
    monkeypatch.setattr(http_paths, "_is_asked", lambda *of: True)
    for (name, data), compiled in zip(sources, quick, strict=True):
        whole = compile_source(name, data)
        assert compiled.diagnostics == whole.diagnostics, name
        for one, other in zip(compiled.documents, whole.documents, strict=True):
            assert (one.plan, one.changes) == (other.plan, other.changes), name
    assert asked.count(False) > 20 and asked.count(True) > 20


SEEN = [
    'next: {arcs: [{step: end, when: "{{ event.result.paging }}"}]}',
    'next: {arcs: [{step: end, when: "{{ steps.start.paging }}"}]}',
    'next: {arcs: [{step: end, args: {a: ["x{{ start.status == 200 }}"]}}]}',
    'next: {arcs: [{step: end}]}}\n- {step: s, tool: {kind: noop}, loop: {in: "{{ start }}", iterator: x}',
    'next: {arcs: [{step: end}]}}\n- {step: s, tool: {kind: noop, result: "{{ [start.a] }}"}',
]


@pytest.mark.parametrize("more", SEEN)
def test_a_path_to_complete_is_seen_wherever_it_stands(more: str) -> None:
    text = f"- {{step: start, tool: {{kind: http, url: 'http://x'}}, {more}}}\n- {{step: end, tool: {{kind: noop}}}}\n"
    head = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\nworkflow:\n"
    document = check_source("t.yaml", (head + text).encode()).documents[0]
    assert any(change.by == BY for change in document.changes)


def test_a_declared_result_has_whole_paths_and_reads_what_is_nearer() -> None:
    text = """apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: t}
executor: {spec: {result: {a: "{{ start.paging | default(0) }}", b: "{{ near.paging }}", c: "{{ steps.near.paging }}"}}}
workload: {near: {paging: 1}}
workflow:
  - {step: start, tool: {kind: http, url: "http://x"}, next: {arcs: [{step: near}]}}
  - {step: near, tool: {kind: http, url: "http://x"}}
"""
    made = migrated("t.yaml", text.encode()).after
    assert made is not None
    # A key of `workload` comes before the step of its name (LANGUAGE §2).
    for read in ("start.data.paging | default(0)", "near.paging", "steps.near.data.paging"):
        assert f"{{{{ {read} }}}}" in made.decode()
