"""Laws that hold for every rule."""

import re

import pytest

from goldens import GOLDEN
from harness.samples import SHARES, first
from noetlc import rules
from noetlc.diag.codes import CODES
from noetlc.diag.diagnostic import Severity
from noetlc.pipeline import check_source, compile_source
from noetlc.rules import Unit, all_rules, check_playbook, every_code, page_of, rules_for, slug_of
from noetlc.source.yaml_reader import read_yaml
from playbooks import HEAD, linted, read

HEADINGS = ("Why it matters", "Example", "Instead", "When to ignore")


def test_codes_are_unique_and_no_code_of_a_table() -> None:
    found = [rule.code for _, rule in all_rules()]
    assert len(found) == len(set(found))
    assert not set(found) & CODES.keys()


@pytest.mark.parametrize("code", every_code())
def test_every_code_has_a_page_of_one_form_under_number_and_slug(code: str) -> None:
    entry = every_code()[code]
    page = page_of(code)
    assert page == page_of(code.lower()) == page_of(entry.slug) == page_of(f" {entry.slug.title()} ")
    body = r"((    .*|)\n)+"
    form = rf"{code} {entry.slug} \({entry.severity}\)\n\n[A-Z`].*\.\n"
    form += "".join(rf"\n{heading}\n{body}" for heading in HEADINGS)
    assert re.fullmatch(form, page), page
    assert f"{entry.slug}:" not in page.splitlines()[2] and "\n\n\n" not in page
    assert slug_of(code) == entry.slug


def test_there_is_no_page_for_what_is_no_code() -> None:
    assert page_of("no-such-rule") == page_of("NL099") == page_of("") == slug_of("NL099") == ""


def test_rules_take_a_partial_playbook() -> None:
    text = (
        HEAD
        + "workflow: [{step: a, next: {arcs: [{step: gone}]}, tool: {kind: noop, spec: {policy: {rules: [{}]}}}}]\n"
    )
    playbook, _ = read(text)
    assert playbook is not None
    check_playbook(read_yaml("t.yaml", text.encode()).source, playbook, Severity.NOTE)


@pytest.mark.parametrize("share", first(1, range(SHARES)))
def test_compile_and_lint_agree_about_errors_wherever_no_net_is_asked(share: int) -> None:
    known = {rule.code: rule for _, rule in all_rules()}
    for path in sorted(GOLDEN.rglob("*.yaml"))[share::SHARES]:
        told = check_source(path.name, path.read_bytes()).diagnostics
        assert all(one.severity <= known[one.code].severity for one in told if one.code in known)
        errors = [one for one in told if one.severity is Severity.ERROR]
        compiled = compile_source(path.name, path.read_bytes()).diagnostics
        assert [one for one in compiled if one.severity is Severity.ERROR] == [
            one for one in errors if one.code not in known or known[one.code].level == "ast"
        ]


def test_compile_asks_the_rules_that_can_fail_it() -> None:
    text = HEAD + "workflow: [{step: start}, {step: lost}]\n"
    assert not compile_source("t.yaml", text.encode()).diagnostics
    strict = compile_source("t.yaml", text.encode(), at_least=Severity.WARNING).diagnostics
    assert [one.code for one in strict] == ["NL601"]


def test_a_rule_finds_nothing_in_playbooks_without_what_it_is_about(monkeypatch: pytest.MonkeyPatch) -> None:
    files = [
        path
        for folder in ("rules", "lint", "diag", "analysis", "dialects")
        for path in (GOLDEN / folder).rglob("*.yaml")
    ]
    told = {path: check_source(path.name, path.read_bytes()).diagnostics for path in files}
    always = tuple(row._replace(about=(), words=()) for row in rules.rows())
    monkeypatch.setattr(rules, "rows", lambda: always)
    assert told == {path: check_source(path.name, path.read_bytes()).diagnostics for path in files}


def test_a_rule_is_asked_only_where_there_is_what_it_is_about() -> None:
    wait = "{kind: wait, events: [{signal: paid}]}"
    asked = {text: _asked(text) for text in ("{kind: noop}", "{kind: shell, command: ls}", wait)}
    assert {"unread-ctx-key", "confusable-name"} <= set.intersection(*asked.values())
    about = {"shell-template": "{kind: shell, command: ls}", "strange-wait-name": wait}
    assert {slug: [text for text in asked if slug in asked[text]] for slug in about} == {
        slug: [text] for slug, text in about.items()
    }


def _asked(task: str) -> set[str]:
    """The rules on trees that lint asks about a playbook of one task."""
    text = HEAD + f"workflow: [{{step: start, tool: {task}}}]\n"
    playbook, _ = read(text)
    assert playbook is not None
    unit = Unit(read_yaml("t.yaml", text.encode()).source, playbook)
    return {slug for slug, _ in rules_for(unit, "ast", Severity.NOTE, partial=False)}


def test_forks_one_after_the_other_are_looked_at_in_linear_time() -> None:
    rows = []
    for i in range(400):
        rows.append(
            f"  - {{step: f{i}, next: {{spec: {{mode: inclusive}}, arcs: [{{step: a{i}}}, {{step: b{i}}}]}}}}\n"
        )
        rows.append(f"  - {{step: a{i}, next: {{arcs: [{{step: f{i + 1}}}]}}}}\n  - {{step: b{i}}}\n")
    text = HEAD + "executor: {spec: {entry_step: f0}}\nworkflow:\n" + "".join(rows) + "  - {step: f400}\n"
    assert linted(text) == []
