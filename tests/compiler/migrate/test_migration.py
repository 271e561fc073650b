"""Migration over everything there is: nothing is lost, the plan stays, and the second time nothing changes."""

import codecs
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import goldens
from harness.samples import some
from noetlc.diag.codes import CODES
from noetlc.diag.diagnostic import Severity
from noetlc.migrate import migration
from noetlc.migrate.lines import comments_in
from noetlc.migrate.migration import changes_of_file, glanced, migrated
from noetlc.migrate.same_plan import same_plan
from noetlc.older import AUTHORING
from noetlc.pipeline import compile_source
from noetlc.source.nodes import all_nodes
from noetlc.source.yaml_reader import read_yaml

REFUSED = frozenset({"lost-anchor", "merge-key", "wrong"})
STAGES = frozenset({"dialects", "lower", "migrate", "read", "run", "net", "plan", "emit", "spec"})
EXAMPLES = sorted(
    path
    for path in (goldens.ROOT / "examples").rglob("*.yaml")
    if not path.name.endswith((".script.yaml", ".test.yaml"))
)
FILES = [case.path for case in goldens.cases() if case.stage in STAGES and case.name not in REFUSED] + EXAMPLES

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/t}\nworkflow:\n"
OLD = HEAD + "  - {step: start, next: b}\n  - {step: b}\n"
NEW = HEAD + "  - {step: start, next: {arcs: [{step: b}]}}\n  - {step: b}\n"


def comments(data: bytes) -> Counter[str]:
    """The texts of the comments in a file."""
    reading = read_yaml("t.yaml", data)
    nodes = [node for root in reading.documents if root is not None for node in all_nodes(root)]
    text = reading.source.text
    return Counter(comment.text for comment in comments_in(text, 0, len(text), nodes))


@pytest.mark.parametrize("path", some(FILES, 4), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_migrated_file_means_the_same_and_stays_as_it_is(path: Path) -> None:
    data = path.read_bytes()
    before = compile_source(path.name, data)
    if before.count_of(Severity.ERROR):
        assert migrated(path.name, data).after is None
        return
    made = migrated(path.name, data)
    assert made.after is not None, made.problems
    assert (made.after == data) is (made.changes == ())
    again = migrated(path.name, made.after)
    assert (again.after, again.changes) == (made.after, ())
    after = compile_source(path.name, made.after)
    if not any(document.unknown for document in before.documents):  # their names are read from the payload
        assert len(before.plans) == len(after.plans)
        assert all(same_plan(one, other) for one, other in zip(before.plans, after.plans, strict=True))
    assert [found for found in after.diagnostics if found.code.startswith("NL9")] == []
    assert comments(data) <= comments(made.after)


@pytest.mark.parametrize("path", some(FILES, 4), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_check_tells_the_changes_of_the_migration(path: Path) -> None:
    data = path.read_bytes()
    if not compile_source(path.name, data).count_of(Severity.ERROR):
        changes = migrated(path.name, data).changes
        assert changes_of_file(path.name, data).changes == changes
        assert bool(glanced(path.name, data).places) is bool(changes)


@pytest.mark.parametrize("path", [path for path in FILES if path.parent.name in ("dialects", "migrate")], ids=str)
def test_a_comment_in_every_place_is_kept(path: Path) -> None:
    text = commented(path.read_text("utf-8"))
    made = migrated(path.name, text.encode())
    assert made.after is not None, made.problems
    assert comments(text.encode()) <= comments(made.after)


def commented(text: str) -> str:
    """A file with a comment of its own above and beside every line where one may stand."""
    reading = read_yaml("t.yaml", text.encode())
    inside: set[int] = set()
    for root in reading.documents:
        for node in all_nodes(root) if root is not None else ():
            if hasattr(node, "style") and node.start.line != node.end.line:
                inside |= set(range(node.start.line, node.end.line + (node.style not in ("|", ">"))))
    lines = []
    for number, line in enumerate(text.splitlines()):
        free = number not in inside and line.strip() and not line.startswith(("---", "..."))
        margin = line[: len(line) - len(line.lstrip())]
        lines += [f"{margin}# above {number}"] if free else []
        lines += [f"{line}  # beside {number}" if free and "#" not in line else line]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_the_mark_and_the_ends_of_lines_stay(mark: bytes, ends: str) -> None:
    made = migrated("t.yaml", mark + OLD.replace("\n", ends).encode())
    assert made.after == mark + NEW.replace("\n", ends).encode()


def test_the_encoding_stays() -> None:
    made = migrated("t.yaml", codecs.BOM_UTF16_LE + OLD.encode("utf-16-le"))
    assert made.after == codecs.BOM_UTF16_LE + NEW.encode("utf-16-le")


def test_a_file_without_a_last_break_gets_none() -> None:
    assert migrated("t.yaml", OLD.rstrip("\n").encode()).after == NEW.rstrip("\n").encode()


@pytest.mark.parametrize("odd", ["\r\n# mixed\n", "# a\x85# b\n", "# a\u2028# b\n", "# a\r# b\n"])
def test_lines_that_end_in_different_ways_are_refused(odd: str) -> None:
    made = migrated("t.yaml", (OLD + odd).encode())
    assert made.after is None
    assert [problem.code for problem in made.problems] == ["NL904"]


def test_a_file_with_errors_is_refused_for_them() -> None:
    made = migrated("t.yaml", (HEAD + "  - {step: start, next: nowhere}\n").encode())
    assert (made.after, [problem.code for problem in made.problems]) == (None, ["NL203"])


def test_a_text_that_means_something_else_is_never_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration, "rewritten_document", lambda *_: NEW.replace("- {step: b}", "- {step: b, desc: x}"))
    assert migrated("t.yaml", OLD.encode()).after is not None  # a description is no part of a plan
    monkeypatch.setattr(
        migration, "rewritten_document", lambda *_: NEW.replace("arcs:", "spec: {mode: inclusive}\n      arcs:")
    )
    made = migrated("t.yaml", OLD.encode())
    assert (made.after, made.is_broken, made.problems[0].code) == (None, True, "NL905")
    monkeypatch.setattr(migration, "rewritten_document", lambda *_: OLD)
    assert migrated("t.yaml", OLD.encode()).is_broken


def test_changes_have_their_pass_place_and_class() -> None:
    change = migrated("t.yaml", OLD.encode()).changes[0]
    line = OLD.splitlines().index("  - {step: start, next: b}") + 1
    assert (change.by, change.span.line, change.klass) == ("lower_next", line, "exact")
    assert all(code in CODES for code in ("NL904", "NL905")) and change.by not in AUTHORING


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
def test_no_bytes_raise(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    assert migrated("t.yaml", data).after in (None, data)


@pytest.mark.parametrize("older", ["retry: 3", "set: {ctx.a: 1}", "on_error: ignore", "eval: [{else: {do: continue}}]"])
def test_older_keys_inside_of_sugar_of_today_are_seen_at_a_glance(older: str) -> None:
    text = (
        f"{HEAD}  - step: start\n    tool:\n"
        f'      - choose:\n          - when: "{{{{ true }}}}"\n            then: [{{name: one, kind: noop, {older}}}]\n'
        "          - else: {then: [{name: two, kind: noop}]}\n"
    ).encode()
    assert migrated("a.yaml", text).changes
    assert glanced("a.yaml", text).places


_ASKS = "next: {arcs: [{step: b, args: {x: '{{ %s }}'}}]}}\n  - {step: b}\n"
_HTTP = "{kind: http, name: one, url: 'http://x'}"


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        (f"{HEAD}  - {{step: start, tool: {_HTTP}, {_ASKS % 'start.data.rows'}", False),
        (f"{HEAD}  - {{step: start, desc: a _ref is a key of mine, tool: {{kind: noop}}}}\n", False),
        (f"{HEAD}  - {{step: start, tool: {_HTTP}, {_ASKS % 'start.rows'}", True),
        (
            HEAD.replace("workflow", f"workbook: [{_HTTP}]\nworkflow")
            + f"  - {{step: start, tool: {{kind: workbook, task: one}}, {_ASKS % 'start.rows'}",
            True,
        ),
        (
            f"{HEAD}  - {{step: start, tool: [{{choose: [{{else: {{then: [{_HTTP}]}}}}]}}, "
            "{kind: noop, args: {x: '{{ one.rows }}'}}]}\n",
            True,
        ),
    ],
)
def test_what_only_lowering_tells_is_seen_at_a_glance_and_nothing_else(text: str, changes: bool) -> None:
    assert bool(migrated("a.yaml", text.encode()).changes) is changes
    assert bool(glanced("a.yaml", text.encode()).places) is changes


def test_names_that_nothing_declares_are_keys_of_the_payload() -> None:
    old = HEAD + "  - {step: start, tool: {kind: noop, args: {u: '{{ url }}/{{ b }}', v: '{{ url }}'}}, next: b}\n"
    old += "  - {step: b}\n"
    made = migrated("a.yaml", old.encode())
    assert made.after is not None
    assert b"args: {u: '{{ workload.url }}/{{ b }}', v: '{{ workload.url }}'}" in made.after
    line = old.splitlines()[4]
    assert [(change.span.column, change.klass) for change in made.changes] == [
        (line.index("url") + 1, "review"), (line.rindex("url") + 1, "review"), (line.index("b}") + 1, "exact"),
    ]  # fmt: skip
    assert changes_of_file("a.yaml", old.encode()).changes == made.changes


def test_names_that_nothing_declares_are_written_out_wherever_they_are_read() -> None:
    old = (
        HEAD.replace("workflow", "workload: {a: 1}\nworkflow")
        + """  - step: start
    loop: {in: "{{ é }}", iterator: x}
    tool:
      kind: noop
      args:   # the letter
        text: "{% for x in rows if a %}{{ x }}{{ total }}{% raw %}{{ total }}{% endraw %}{% endfor %}{{ x }}"
        named: "{% set n = n + 1 %}{{ n }}"
        said: 'a total of {{ total|default("a total") }}'
    retry: {max_attempts: 2, retry_when: "{{ a and again }}"}
    next: [{when: "{{ exit_code != 0 }}", then: b}]
  - {step: b}
"""
    )
    made = migrated("a.yaml", old.encode())
    assert made.after is not None, made.problems
    new = made.after.decode()
    for expected in (
        '    loop: {in: "{{ workload.é }}", iterator: x}\n',
        "      args:   # the letter\n",
        'text: "{% for x in workload.rows if a %}{{ x }}{{ workload.total }}{% raw %}{{ total }}{% endraw %}',
        '{% endraw %}{% endfor %}{{ x }}"\n',
        'named: "{% set n = workload.n %}{% set n = n + 1 %}{{ n }}"\n',
        """said: 'a total of {{ workload.total|default("a total") }}'\n""",
        'when: "{{ a and workload.again }}"',
        'when: "{{ workload.exit_code != 0 }}"',
    ):
        assert expected in new
    told = [change for change in made.changes if "which nothing declares" in change.construct]
    assert {change.construct.split("`")[1] for change in told} == {"é", "rows", "total", "n", "again", "exit_code"}
    assert {change.klass for change in told} == {"review"}
    assert changes_of_file("a.yaml", old.encode()).changes == made.changes
    assert migrated("a.yaml", made.after).after == made.after


@pytest.mark.parametrize(
    ("executor", "guard", "told"),
    [
        ('executor: {spec: {retry: {max_attempts: 2, delay: "{{ x }}"}}}', "true", "but for some of the places"),
        ("", "steps['nowhere'].a", "there is no step `nowhere`"),
        ("", "range", "`range` is a function"),
    ],
)
def test_names_that_are_no_keys_of_the_payload_are_refused_at_their_place(executor: str, guard: str, told: str) -> None:
    old = (
        HEAD.replace("workflow:\n", f"{executor}\nworkflow:\n")
        + """  - step: start
    loop: {in: [1], iterator: x}
    tool: {kind: noop}
    next: b
"""
    )
    old += f'  - {{step: b, when: "{{{{ {guard} }}}}", tool: {{kind: noop}}}}\n'
    made = migrated("a.yaml", old.encode())
    assert (made.after, [problem.code for problem in made.problems]) == (None, ["NL904"])
    assert told in made.problems[0].message
    line, column = made.problems[0].span[:2]
    assert old.splitlines()[line - 1][column - 1 :].startswith(guard if not executor else "x }}")


def test_a_file_that_would_nest_too_deep_is_refused() -> None:
    deep = HEAD + "  - {step: start, tool: python, code: result = 1, args: {x: " + "[" * 96 + "1" + "]" * 96 + "}}\n"
    made = migrated("a.yaml", deep.encode())
    assert (made.after, made.is_broken, [problem.code for problem in made.problems]) == (None, False, ["NL904"])


def test_raw_text_beside_an_old_name_stays_raw() -> None:
    text = "'{% raw %}{{ vars.x }}{% endraw %}{{ vars.x }}'"
    old = f"{HEAD}  - step: start\n    tool: {{kind: noop, args: {{a: {text}}}}}\n"
    old += "    vars: {x: 1}\n    next: b\n  - {step: b}\n"
    made = migrated("a.yaml", old.encode())
    assert made.after is not None, made.problems
    assert b"'{% raw %}{{ vars.x }}{% endraw %}{{ ctx.x }}'" in made.after
