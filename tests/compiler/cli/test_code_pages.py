"""Pages of codes tell the truth: the example has the finding, and what to write instead has neither it nor errors.

Rules have goldens of their own (`golden/rules/`); the codes here stand in tables, each with a page of fragments. A case
says in which file a page's fragments stand.
"""

import re
from typing import NamedTuple

import pytest

from command_line import Run, put
from noetlc.diag.codes import CODES

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: t/t}\n"
START = "workflow:\n- step: start\n"
WHOLE = "§\n"
ROOT = f"§\n{START}"
WORKLOAD = f"workload:\n  §\n{START}"
SETS = (
    f"workload: {{total: 1}}\n{START}  tool: {{kind: noop, spec: {{policy: {{rules: "
    "[{else: {then: {do: continue, set_ctx: {total: 1}}}}]}}}\n"
)
OTHERS = "- step: a\n- step: b\n- step: c\n- step: cleanup\n"
STEP = f"workload: {{items: [1], groups: [[1]], urls: [x], job: x}}\n{START}  §\n{OTHERS}"
SECOND = f"{START}§\n"
TASK = f"workload: {{total: 1}}\n{START}  tool:\n  - name: fetch\n    kind: noop\n    §\n"
RULES = TASK.replace("§", "spec:\n      policy:\n        rules:\n        §")
THEN = RULES.replace("§", "- else:\n            §")
LOOP = f'{START}  loop:\n    in: "{{{{ [1, 2] }}}}"\n    iterator: n\n    §\n  tool: {{kind: noop}}\n'
ARC = f"{START}  next:\n    arcs:\n    - step: a\n      §\n    - step: b\n- step: a\n- step: b\n"
HTTP = f"{START}  tool:\n    kind: http\n    method: GET\n    §\n"
CALLED = HTTP.replace("§", 'url: "{{ api_url }}"')
JOINED = "- step: a\n  next: {arcs: [{step: j}]}\n- step: b\n  next: {arcs: [{step: j}]}\n- step: j\n"
FORK = "  next: {spec: {mode: inclusive}, arcs: [{step: a}, {step: b}]}\n"

CHILDREN = {
    "load": START,
    "broken": "workflow: []\n",
    "b": f"{START}  tool: {{kind: playbook, path: t/t}}\n",
    "sum": f"workload: {{qty: 0}}\n{START}  tool: {{kind: noop, result: '{{{{ workload.qty }}}}'}}\n",
    "report": f"executor: {{spec: {{inputs: {{day: {{type: string}}}}}}}}\nworkload: {{day: x}}\n{START}",
}
"""Children in the catalogue, by the end of their path."""


class Case(NamedTuple):
    """The frame in which a page's fragments stand (§); what to write instead, where the page says it in words, and the
    frame for that where it belongs elsewhere.
    """

    frame: str
    instead: str | None = None
    mended: str = ""
    head: str = HEAD


CASES = {
    "NL003": Case(f"{START}  §\n- step: b\n"),
    "NL004": Case(
        "executor: {spec: {entry_step: pay}}\nworkflow:\n- §\n- step: approve\n- step: reject\n",
        "step: pay\nnext: {arcs: [{step: approve}, {step: reject}]}",
    ),
    "NL008": Case(THEN, "x-retry: &retry {do: retry, attempts: 3}", f"§\n{THEN.replace('§', 'then: *retry')}"),
    "NL009": Case(WORKLOAD, "a: {again: {}}"),
    "NL010": Case(WORKLOAD),
    "NL011": Case(WORKLOAD),
    "NL012": Case(WORKLOAD),
    "NL013": Case(f"x-defaults: &defaults {{delay: 1s}}\nworkload:\n  §\n{START}"),
    "NL014": Case(WORKLOAD, 'limit: ".inf"'),
    "NL016": Case(WORKLOAD),
    "NL017": Case(WORKLOAD),
    "NL018": Case(WHOLE),
    "NL019": Case(WHOLE, mended=ROOT, head=""),
    "NL020": Case(f"workload: {{base: x}}\n{HTTP}"),
    "NL021": Case("workflow:\n- step: start\n- §\n"),
    "NL022": Case("workflow:\n§\n", "- step: start"),
    "NL023": Case(SECOND),
    "NL024": Case(f"{START}§\n- step: repair\n"),
    "NL101": Case(STEP, 'loop: {in: "{{ workload.items }}", iterator: item}'),
    "NL102": Case(STEP),
    "NL103": Case(STEP),
    "NL104": Case(STEP),
    "NL105": Case(f"kind: Playbook\nmetadata: {{name: t}}\n§\n{START}", head=""),
    "NL106": Case(f"apiVersion: noetl.io/v2\nmetadata: {{name: t}}\n§\n{START}", head=""),
    "NL107": Case(STEP),
    "NL108": Case(STEP),
    "NL109": Case(RULES, '- {when: "{{ ctx.a is defined }}", then: {do: continue}}\n- {else: {then: {do: fail}}}'),
    "NL110": Case(STEP, ""),
    "NL111": Case(ROOT, head="apiVersion: noetl.io/v2\nkind: Playbook\n"),
    "NL112": Case(RULES),
    "NL114": Case(TASK.replace("§", "spec:\n      §"), ""),
    "NL115": Case(STEP, "tool: {kind: noop}"),
    "NL117": Case(SECOND),
    "NL118": Case(THEN),
    "NL119": Case(THEN),
    "NL120": Case(SECOND),
    "NL121": Case(ROOT),
    "NL122": Case(ROOT),
    "NL201": Case(WHOLE, "workflow: [{step: start}, {step: load}, {step: load_more}]"),
    "NL202": Case(WHOLE),
    "NL203": Case(STEP),
    "NL204": Case(STEP, "tool: [{name: a, kind: noop}, {name: b, kind: noop}]"),
    "NL205": Case(RULES.replace("§", '- when: "{{ ctx.a is defined and ctx.a < 3 }}"\n          §')),
    "NL206": Case(f"{THEN}- step: b\n  tool: [{{name: task_of_another_step, kind: noop}}]\n", "then: {do: continue}"),
    "NL207": Case(f"workbook: [{{name: load_data, tool: {{kind: noop}}}}]\n{STEP}"),
    "NL208": Case(ROOT, "workbook: [{name: a, kind: workbook, task: b}, {name: b, kind: noop}]"),
    "NL209": Case(f"{START}{FORK}{JOINED}  §\n", "spec: {policy: {join: 2}}"),
    "NL210": Case(
        STEP.replace("§", "tool: [{name: load, kind: noop}]\n  §"), 'loop: {in: "{{ [1] }}", iterator: item}'
    ),
    "NL211": Case(ROOT, "keychain: [{name: pg, kind: env}, {name: pg_file, kind: file}]"),
    "NL212": Case(SECOND),
    "NL213": Case(
        f"{HTTP}    url: x\n",
        mended=f"§\n{HTTP}    url: x\n".replace("    §", "    params: {a: '{{ keychain.api_token }}'}"),
    ),
    "NL218": Case(f"{ROOT}- step: cleanup\n"),
    "NL219": Case(WHOLE, "executor: {spec: {finally: release}}\nworkflow: [{step: start}, {step: release}]"),
    "NL220": Case(f"{ROOT}- step: release\n"),
    "NL221": Case(WHOLE, "executor: {spec: {finally: release}}\nworkflow: [{step: start}, {step: release}]"),
    "NL222": Case(WHOLE),
    "NL223": Case(WHOLE),
    "NL301": Case(f"workload: {{api_url: x}}\n{HTTP}"),
    "NL302": Case(ARC),
    "NL303": Case(HTTP, mended=f"§\n{CALLED}"),
    "NL304": Case(STEP),
    "NL305": Case(ROOT),
    "NL306": Case(STEP),
    "NL308": Case(ROOT, 'workload: {a: "{{ workload.b }}", b: 1}'),
    "NL309": Case(f"{START}  tool:\n    kind: shell\n    §\n", "command: docker inspect -f '{{.Id}}' app"),
    "NL310": Case(STEP),
    "NL311": Case(ARC),
    "NL313": Case(f"{SETS}  next: {{arcs: [{{step: b}}]}}\n- step: b\n  tool:\n    kind: noop\n    args:\n      §\n"),
    "NL416": Case(WHOLE.replace("§", f"§\n{START}")),
    "NL501": Case(THEN),
    "NL502": Case(
        TASK.replace("§", "spec:\n      policy:\n        §"),
        'rules: [{when: "{{ iter.bad }}", then: {do: fail}}, {else: {then: {do: continue}}}]',
    ),
    "NL503": Case(TASK, ""),
    "NL504": Case(THEN),
    "NL505": Case(LOOP),
    "NL513": Case(LOOP, "spec: {policy: {enough: 3}}"),
    "NL516": Case(LOOP),
    "NL517": Case(STEP),
    "NL518": Case(LOOP, "spec: {more: {events: [order]}, close: {events: [last_order]}}"),
    "NL519": Case(LOOP),
    "NL607": Case(STEP, ""),
    "NL608": Case(STEP, ""),
    "NL650": Case(f"{START}  §\n{JOINED}  spec: {{policy: {{join: taken}}}}\n"),
    "NL653": Case(
        f"{START}{FORK.replace('a}', 'fork}').replace('b}', 'stop}')}- step: fork\n{FORK}{JOINED}"
        "  spec: {policy: {join: taken}}\n§\n"
    ),
    "NL654": Case(
        f"{START}{FORK.replace('a}', 'check}').replace('b}', 'mend}')}§\n- step: book\n",
        "- {step: check, spec: {policy: {lock: {name: account, through: [book]}}}, next: {arcs: [{step: book}]}}\n"
        "- {step: mend, next: {arcs: [{step: check}]}}",
    ),
    "NL690": Case(STEP),
    "NL691": Case(STEP, "tool: {kind: playbook, path: jobs/load}"),
    "NL692": Case(STEP, "tool: {kind: playbook, path: jobs/load}"),
    "NL693": Case(STEP),
    "NL695": Case(STEP),
    "NL696": Case(STEP),
    "NL901": Case(STEP),
    "NL903": Case(STEP, "tool: {kind: noop}"),
    "NL910": Case(STEP),
    "NL911": Case(STEP),
    "NL912": Case(STEP),
}


def laid(frame: str, text: str) -> str:
    """A file with a fragment where its frame says, each line of it as far to the right."""
    lines = list[str]()
    for line in frame.splitlines():
        before, spot, behind = line.partition("§")
        parts = text.replace("<tab>", "\t").split("\n") if spot else [""]
        lines += [f"{before if n == 0 else ' ' * len(before)}{part}{behind}" for n, part in enumerate(parts)]
    return "\n".join(lines) + "\n"


def found(run: Run, text: str) -> list[tuple[str, str]]:
    """The findings of a file as severity and code."""
    put("t.yaml", text)
    out = run("lint", "--format", "text", "--path", "jobs", "t.yaml").out
    return re.findall(r"(error|warning|note)\[(NL\d+)\]", out)


@pytest.mark.parametrize("code", CASES)
def test_the_example_has_the_finding_and_what_to_write_instead_has_not(code: str, run: Run) -> None:
    for name, rest in CHILDREN.items():
        put(
            f"jobs/{name}.yaml",
            f"apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: c, path: jobs/{name}}}\n{rest}",
        )
    case, page = CASES[code], CODES[code]
    example = laid(case.head + case.frame, page.example)
    assert code in [each for _, each in found(run, example)], example
    instead = laid(case.head + (case.mended or case.frame), page.instead if case.instead is None else case.instead)
    after = found(run, instead)
    assert code not in [each for _, each in after] and "error" not in [bad for bad, _ in after], (instead, after)


def test_every_page_with_fragments_is_tried() -> None:
    # The mistakes of `noetlc` itself, bytes that no text holds, sizes of megabytes, and what other files say: each has
    # tests of its own, and its page tells of it in words.
    in_words = "NL000 NL001 NL002 NL005 NL006 NL007 NL015 NL025 NL026 NL651 NL694 NL904 NL905"
    assert CASES.keys() | set(in_words.split()) == CODES.keys()
