"""The status of an http answer that is stored: its readers say whether it is the code or a word of the body."""

import pytest

from noetlc.migrate.migration import migrated

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t}\nworkload: {wanted: active, url: 'http://x'}\n"
TEXT = """workflow:
- step: start
  tool:
    kind: http
    url: "{{{{ workload.url }}}}"
{start}
- step: use
{use}
- step: end
  tool: {{kind: noop}}
"""

STORES = {
    "vars": ("  vars: {state: '{{ result.STATUS }}'}\n  next: [{step: use}]", "ctx.state"),
    "vars, bare": ("  vars: {state: '{{ start.STATUS }}'}\n  next: [{step: use}]", "state"),
    "set of the step": ("  set: {ctx.state: '{{ output.data.STATUS }}'}\n  next: [{step: use}]", "ctx.state"),
    "a key below": ("  vars: {job: {state: '{{ result.STATUS }}'}}\n  next: [{step: use}]", "ctx.job.state"),
    "a mapping": ("  vars: {job: \"{{ {'state': result.STATUS} }}\"}\n  next: [{step: use}]", "ctx.job.state"),
    "an arc": ("  next: [{step: use, args: {state: '{{ start.STATUS }}'}}]", "args.state"),
    "an arc, bare": ("  next: [{step: use, args: {state: '{{ start.STATUS }}'}}]", "state"),
    "get": ("  next: [{step: use, args: {state: \"{{ start.get('STATUS') }}\"}}]", "args.state"),
    "a default": ("  vars: {state: \"{{ result.STATUS | default('none') }}\"}\n  next: [{step: use}]", "ctx.state"),
    "a condition": ('  vars: {state: "{{ result.STATUS if start else 0 }}"}\n  next: [{step: use}]', "ctx.state"),
    "a policy": (
        "    spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {state: '{{ result.STATUS }}'}}}}]}}\n"
        "  next: [{step: use}]",
        "ctx.state",
    ),
    "handed on": (
        "  vars: {first: '{{ result.STATUS }}'}\n  next: [{step: use, args: {state: '{{ ctx.first }}'}}]",
        "args.state",
    ),
}
"""How a status is stored, and how that is read."""

GUARD = '  tool: {{kind: noop}}\n  next: [{{when: "{{{{ {} }}}}", then: [{{step: end}}]}}]'
CODE = "  tool: {{kind: python, args: {{given: '{{{{ {read} }}}}'}}, code: \"{code}\"}}\n  next: [{{step: end}}]"
FIELD = '  tool: {{kind: shell, command: "{}"}}\n  next: [{{step: end}}]'

WORD, NUMBER, ENDED = "status", "status_code", "status_code < 400"

READERS = {
    "a word": (GUARD, "{read} == 'active'", WORD),
    "a word on the left": (GUARD, "'active' != {read}", WORD),
    "a word of the workload": (GUARD, "{read} == workload.wanted", WORD),
    "words": (GUARD, "{read} in ['active', 'ready']", WORD),
    "words, one of an end": (GUARD, "{read} in ['active', 'failed']", WORD),
    "a filter of text": (GUARD, "{read} | upper == 'ACTIVE'", WORD),
    "a method of text": (GUARD, "{read}.startswith('act')", WORD),
    "a key below": (GUARD, "{read}.text == 1", WORD),
    "a block": (FIELD, "{{% if {read} == 'active' %}}a{{% endif %}}", WORD),
    "code": (CODE, "result = given == 'active'", WORD),
    "code with a method": (CODE, "result = given.lower()", WORD),
    "code with a mapping": (CODE, "result = args.get('given') in ('active', 'ready')", WORD),
    "code with a name": (CODE, "s = input_data['given']; result = s != 'active'", WORD),
    "a number": (GUARD, "{read} == 200", NUMBER),
    "numbers": (GUARD, "200 <= {read} < 300", NUMBER),
    "a filter of numbers": (GUARD, "{read} | int == 200", NUMBER),
    "code with a number": (CODE, "result = given >= 400", NUMBER),
    "how it ended": (GUARD, "{read} == 'success'", ENDED),
    "how it failed": (GUARD, "{read} != 'error'", ENDED),
    "both": (GUARD, "{read} == 200 or {read} == 'active'", NUMBER),
    "nobody": (FIELD, "x {{{{ {read} }}}}", NUMBER),
}
"""Who reads it: the step, what it asks, and what the stored value is then."""


def compiled(store: str, reader: str, key: str = "status") -> tuple[str, list[str]]:
    """The canonical text, and the classes of what was said about a status."""
    start, read = STORES[store]
    form, asked, _ = READERS[reader]
    asked = asked.format(read=read)
    use = form.format(read=read, code=asked) if form is CODE else form.format(asked)
    text = HEAD + TEXT.format(start=start.replace("STATUS", key), use=use)
    made = migrated("t.yaml", text.encode())
    assert made.after is not None, (text, made.problems)
    said = [change.klass for change in made.changes if change.construct == "`status` of an http result"]
    return made.after.decode(), said


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("store", STORES)
def test_readers_say_what_a_stored_status_is(store: str, reader: str) -> None:
    text, said = compiled(store, reader)
    wanted = READERS[reader][2]
    stored = text[text.index("- step: start") : text.index("\n- step: use")]
    assert ("status_code" in stored) == (wanted != WORD), text
    assert ("status_code < 400" in stored) == (wanted == ENDED), text
    assert (".data" in stored) == (wanted == WORD), text
    decided = "safe" if reader.startswith(("a number", "numbers", "a filter of numbers", "code with a number")) else ""
    assert said[:1] == [decided or "review"], said


def test_a_name_that_another_step_binds_says_nothing() -> None:
    """The word is compared with an arg of another step: what is stored here stays the code, told for review."""
    start, _ = STORES["an arc"]
    more = "- step: other\n  args: {state: x}\n  tool: {kind: noop}\n  next: [{when: \"{{ args.state == 'a' }}\", "
    use = "  tool: {kind: noop}\n  next: [{step: other}]\n" + more + "then: [{step: end}]}]"
    text = HEAD + TEXT.format(start=start.replace("STATUS", "status"), use=use)
    made = migrated("t.yaml", text.encode())
    assert made.after is not None and b"start.status_code" in made.after


CALLS = {
    "a word": ("result = q == 'active'", "data.status"),
    "a number": ("result = q == 200", "status_code"),
}


@pytest.mark.parametrize("reader", CALLS)
def test_entries_of_the_workbook_read_what_their_calls_give(reader: str) -> None:
    code, wanted = CALLS[reader]
    book = f'workbook:\n- {{name: judge, tool: {{kind: python, code: "{code}"}}}}\n'
    use = "  tool: {kind: workbook, task: judge, args: {q: '{{ start.status }}'}}\n  next: [{step: end}]"
    made = migrated("t.yaml", (HEAD + book + TEXT.format(start="  next: [{step: use}]", use=use)).encode())
    assert made.after is not None, made.problems
    assert f"start.{wanted}" in made.after.decode()


def test_block_templates_have_complete_paths() -> None:
    """`{% if %}` reads the body as `{{ }}` does; a name that the template binds itself is no result."""
    command = "{% if start.more %}{{ start.rows[0].n }}{% endif %}{% for start in [1] %}{{ start.more }}{% endfor %}"
    use = FIELD.format(command)
    made = migrated("t.yaml", (HEAD + TEXT.format(start="  next: [{step: use}]", use=use)).encode())
    assert made.after is not None, made.problems
    text = made.after.decode()
    assert "{% if start.data.more %}{{ start.data.rows[0].n }}{% endif %}" in text
    assert "{% for start in [1] %}{{ start.more }}{% endfor %}" in text
