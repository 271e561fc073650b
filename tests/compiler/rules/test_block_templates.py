"""Rules that read expressions look into block templates (`{% %}`), too: what is a slip in braces is one there."""

import pytest

from noetlc.pipeline import check_source

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: a, path: a/a}\n"


def found(body: str) -> list[tuple[str, str]]:
    """The findings of a playbook: code, and what stands at its place."""
    text = HEAD + body
    lines = text.split("\n")
    return [
        (one.code, lines[one.span.line - 1][one.span.column - 1 : one.span.end_column - 1])
        for one in check_source("a.yaml", text.encode()).diagnostics
    ]


TASKS = """\
workflow:
  - step: start
    tool:
      - {name: sum, kind: noop, args: {all: ONE}}
      - {name: tell, kind: noop, args: {all: "{{ sum }}"}}
"""
STEPS = """\
workflow:
  - {step: start, tool: {kind: noop, args: {all: ONE}}, next: {arcs: [{step: load}]}}
  - {step: load, tool: {kind: noop, result: 1}, next: {arcs: [{step: last, args: {x: "{{ load }}"}}]}}
  - {step: last, tool: {kind: noop, result: "{{ args.x }}"}}
"""
CTX = """\
workflow:
  - step: start
    tool: {kind: noop, result: 1, spec: {policy: {rules: [{else: {then: {do: continue, set_ctx: {total: 1}}}}]}}}
    next: {arcs: [{step: last}]}
  - {step: last, tool: {kind: noop, args: {x: "{{ ctx.total }}", all: ONE}}}
"""
ITER = """\
workflow:
  - {step: start, loop: {in: [1], iterator: one}, tool: {kind: noop, args: {x: "{{ iter.one }}", all: ONE}}}
"""
WORKLOAD = """\
workload: {cities: [1]}
workflow:
  - {step: start, tool: {kind: noop, args: {x: "{{ workload.cities }}", all: ONE}}}
"""
SHELL = """\
workflow:
  - {step: start, tool: {kind: http, url: "https://example.org", timeout: 3}, next: {arcs: [{step: last}]}}
  - {step: last, tool: {kind: shell, command: ONE}}
"""
SECRET = """\
keychain: [{name: api, kind: env}]
workflow:
  - {step: start, tool: {kind: noop, args: {all: ONE}}}
"""


@pytest.mark.parametrize(
    ("body", "code", "text", "marked"),
    [
        (TASKS, "NL405", "{% if sum %}yes{% endif %}", "sum"),
        (TASKS, "NL405", "{% for row in tell.rows %}{{ row }}{% endfor %}", "tell"),
        (STEPS, "NL405", "{% if 1 %}{{ load.rows }}{% endif %}", "load"),
        (CTX, "NL406", "{% if 1 %}{{ ctx.totl }}{% endif %}", "ctx.totl"),
        (ITER, "NL404", "{% if 1 %}{{ iter.on }}{% endif %}", "iter.on"),
        (WORKLOAD, "NL403", "{% if 1 %}{{ workload.citis }}{% endif %}", "citis"),
        (SHELL, "NL808", "{% if 1 %}rm {{ start.data }}{% endif %}", "start.data"),
        (SHELL, "NL808", "{% for f in start.data %}rm {{ f }}{% endfor %}", "start.data"),
        (SECRET, "NL317", "{% if keychain.api.value | upper %}x{% endif %}", "keychain.api.value | upper"),
    ],
)
def test_a_slip_in_a_block_template_is_found(body: str, code: str, text: str, marked: str) -> None:
    assert (code, marked) in found(body.replace("ONE", f'"{text}"'))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (TASKS, "{% for sum in [1] %}{{ sum }}{% endfor %}"),
        (TASKS, "{% set sum = 1 %}{{ sum }}"),
        (TASKS, "{% if sum is defined %}{{ sum }}{% endif %}"),
        (TASKS, "{{ sum | default(1) }}{% if 1 %}{% endif %}"),
        (CTX, "{% if ctx.totl is defined %}{{ ctx.totl }}{% endif %}"),
        (ITER, "{% for x in [1] %}{{ iter.one }}{{ loop.index }}{% endfor %}"),
        (SHELL, "{% if start.data %}ls{% endif %}"),
        (SHELL, "{% for f in ['a', 'b'] %}ls {{ f }}{% endfor %}"),
    ],
)
def test_what_the_block_binds_or_asks_for_is_no_slip(body: str, text: str) -> None:
    told = [code for code, _ in found(body.replace("ONE", f'"{text}"'))]
    assert not {"NL403", "NL404", "NL405", "NL406", "NL808"} & {*told}
