"""Names that an author binds nearer than results of steps (LANGUAGE §2): no older reader takes them for a result."""

import pytest

from noetlc.migrate.migration import migrated

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\n"


def canonical(text: str) -> str:
    """The file in canonical form."""
    made = migrated("t.yaml", (HEAD + text).encode())
    assert made.after is not None, made.problems
    return made.after.decode()


FIRST = """
- step: start
  tool: {kind: noop}%s
  next: [{step: it}]
- step: it
  %s
  next: [{step: use%s}]
- step: use
%s
"""

HTTP = "tool: {kind: http, url: 'http://localhost/x'}"
SQL = "tool: {kind: sqlite, database: a.db, query: SELECT 1 AS n}"
LOOP = "loop: {in: '{{ [1, 2] }}', iterator: x}\n  tool: {kind: python, code: result = 1}"

BINDINGS = {
    "arg": ("", "", ", args: {it: {own: [7]}}", ""),
    "passed arg": ("", "", ", args: {it: '{{ [7] }}'}", ""),
    "ctx": ("", "\n  vars: {it: {own: [7]}}", "", ""),
    "workload": ("workload: {it: {own: [7]}}\n", "", "", ""),
    "iterator": ("", "", "", "  loop: {in: '{{ [[7]] }}', iterator: it}\n"),
}
"""Where `it` is bound nearer: the root of the file, the first step, the arc, the step that reads it."""

READERS = {
    "a key of the body": (
        HTTP,
        "  tool: {kind: python, args: {n: '{{ it.paging }}'}, code: result = n}",
        "it.paging }}",
    ),
    "the rows": (
        SQL,
        "  tool: {kind: python, args: {n: '{{ it }}'}, code: 'result = n if isinstance(n, list) else 0'}",
        "n: '{{ it }}'",
    ),
    "results and counts": (
        LOOP,
        "  tool: {kind: python, args: {n: '{{ it }}'}, code: 'result = n[\"results\"]'}",
        "n: '{{ it }}'",
    ),
    "the reference": (HTTP, "  tool: {kind: python, args: {n: '{{ it._ref }}'}, code: result = n}", "it._ref }}"),
}
"""A step `it`, one that reads the name, and what is left of that as it was written."""


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("reader", READERS)
def test_a_name_that_is_bound_nearer_is_no_result(reader: str, binding: str) -> None:
    root, before, arc, own = BINDINGS[binding]
    gives, reads, left = READERS[reader]
    assert left in canonical(f"{root}workflow:{FIRST % (before, gives, arc, own + reads)}")


@pytest.mark.parametrize("arc", ["", ", args: {it: '{{ it }}'}"], ids=["nothing", "itself"])
@pytest.mark.parametrize("reader", READERS)
def test_a_name_that_nothing_else_is_bound_to_is_the_result(reader: str, arc: str) -> None:
    gives, reads, left = READERS[reader]
    assert left not in canonical(f"workflow:{FIRST % ('', gives, arc, reads)}")


def test_an_arg_hides_a_result_in_its_own_step_only() -> None:
    reads = "  tool: {kind: python, args: {n: '{{ it.paging }}'}, code: result = n}"
    text = FIRST % ("", HTTP, ", args: {it: {paging: 1}}", f"{reads}\n  next: [{{step: last}}]\n- step: last\n{reads}")
    made = canonical(f"workflow:{text}")
    assert made.count("{{ it.paging }}") == 1
    assert made.count("{{ it.data.paging }}") == 1


def test_the_default_of_an_arg_alone_is_what_a_loop_gives() -> None:
    reads = "  args: {done: '{{ it }}'}\n  tool: {kind: python, code: 'result = done[\"results\"]'}"
    text = FIRST % ("", LOOP, ", args: {done: {results: [7]}}", reads)
    assert "args.done | default({'results': it, 'stats':" in canonical(f"workflow:{text}")


WORDS = ["error", "result", "response", "status_code", "this", "output"]


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("binding", BINDINGS)
def test_an_old_word_that_is_bound_is_not_absent(word: str, binding: str) -> None:
    root, before, arc, own = (
        part.replace("it:", f"{word}:").replace("r: it", f"r: {word}") for part in BINDINGS[binding]
    )
    reads = f"  tool: {{kind: python, args: {{n: \"{{{{ {word}.own | default('none') }}}}\"}}, code: result = n}}"
    made = canonical(f"{root}workflow:{FIRST % (before, 'tool: {kind: noop}', arc, own + reads)}")
    assert f"{{{{ {word}.own | default('none') }}}}" in made


@pytest.mark.parametrize("word", WORDS)
def test_an_old_word_that_nothing_is_bound_to_is_absent(word: str) -> None:
    reads = f"  tool: {{kind: python, args: {{n: \"{{{{ {word}.own | default('none') }}}}\"}}, code: result = n}}"
    made = canonical(f"workflow:{FIRST % ('', 'tool: {kind: noop}', '', reads)}")
    assert f"{word}.own" not in made


def test_the_environment_gives_way_to_an_arg_of_its_name() -> None:
    reads = "  tool: {kind: python, args: {n: \"{{ env.HOST | default('d') }}\"}, code: result = n}"
    text = FIRST % (
        "",
        "tool: {kind: noop}",
        ", args: {env: {HOST: a}}",
        f"{reads}\n  next: [{{step: last}}]\n- step: last\n{reads}",
    )
    made = canonical(f"workflow:{text}")
    assert made.count("{{ env.HOST | default('d') }}") == 2  # that of `use`, and the one in `workload`
    assert made.count("{{ workload.HOST }}") == 1
