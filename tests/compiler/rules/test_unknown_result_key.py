"""Keys of results that are written out: what none of their runs has is told, and nothing else."""

import pytest

from playbooks import HEAD, linted

CODE = "result = {'rows': [1, 2], 'sum': 3}"


def told(read: str, *, code: str = CODE, step: str = "", head: str = HEAD) -> list[str]:
    """The findings of the rule in a playbook whose second step reads something."""
    text = head + (
        "workflow:\n"
        f'  - {{step: start, tool: {{kind: python, code: "{code}"}}, {step} next: {{arcs: [{{step: report}}]}}}}\n'
        f'  - {{step: report, tool: {{name: b, kind: noop, result: "{read}"}}}}\n'
    )
    return [found.message for found in linted(text) if found.code == "NL424"]


@pytest.mark.parametrize(
    ("read", "key"),
    [
        ("{{ start.som }}", "som"), ("{{ steps.start.som }}", "som"), ("{{ start['som'] }}", "som"),
        ("a {{ start.som }}", "som"), ("{{ start.data.som }}", "som"), ("{{ start.som.more | upper }}", "som"),
        ("{{ start.rows + start.rws }}", "rws"),
    ],
)  # fmt: skip
def test_a_key_that_no_run_has_is_told(read: str, key: str) -> None:
    assert told(read) == [f"the result of step `start` has no `{key}`"]


@pytest.mark.parametrize(
    "read",
    [
        "{{ start.sum }}", "{{ start.rows.som }}", "{{ start.som | default(1) }}",
        "{{ 1 if start.som is defined else 2 }}",
        "{{ start.items() }}", "{{ start.data }}", "{{ start[args.key] }}", "{{ start }}", "{{ start.get('som') }}",
    ],
)  # fmt: skip
def test_what_may_be_there_or_is_asked_for_is_not_told(read: str) -> None:
    assert told(read) == []


@pytest.mark.parametrize(
    "code",
    [
        "result = {'sum': 1}; result['som'] = 2", "result = dict(sum=1)", "result = {**args, 'sum': 1}", "result = [1]",
        "result = {'sum': 1} if x else {'som': 2}", "import x; result = x.of()",
    ],
)  # fmt: skip
def test_of_results_that_the_run_decides_nothing_is_told(code: str) -> None:
    assert told("{{ start.som }}", code=code) == []


def test_a_loop_gives_a_list_and_other_names_hide_the_step() -> None:
    loop = 'loop: {in: "{{ [1, 2] }}", iterator: x},'
    assert told("{{ start[0].som }}", step=loop) == []
    assert told("{{ start.som }}", head=HEAD + "workload: {start: {som: 1}}\n") == []


def test_in_a_pipeline_the_task_of_the_name_is_read() -> None:
    text = HEAD + (
        "workflow:\n  - step: start\n    tool:\n"
        "      - {name: a, kind: noop, result: {x: 1}}\n"
        "      - {name: b, kind: noop, result: '{{ a.y }} {{ a.x }}'}\n"
    )
    assert [found.message for found in linted(text)] == ["the result of task `a` has no `y`"]


@pytest.mark.parametrize(
    "code",
    [
        r"result = {'u': 1}\ndef put(key):\n    result[key] = 1\nput('som')",
        r"result = {'u': 1}\n(lambda: result.update(som=1))()",
        r"def put():\n    global result\n    result = {'som': 1}\nresult = {'u': 1}\nput()",
        r"result = {'u': 1}\nclass Late:\n    result['som'] = 1",
        r"result = {'u': 1}\nglobals()['result']['som'] = 1",
    ],
)
def test_a_key_that_a_function_may_add_is_not_told(code: str) -> None:
    assert told("{{ start.som }}", code=code) == []


def test_a_function_with_a_result_of_its_own_adds_none() -> None:
    code = r"def put():\n    result = [1]\n    return result\nresult = {'u': 1}\nput()"
    assert told("{{ start.som }}", code=code) == ["the result of step `start` has no `som`"]
