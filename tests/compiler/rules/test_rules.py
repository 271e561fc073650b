"""What holds for every rule."""

from noetlc.diag.codes import CODES
from noetlc.rules import all_rules, check_playbook, page_of
from noetlc.source.yaml_reader import read_yaml
from playbooks import HEAD, linted, read

HEADINGS = ("Why it matters", "Example", "Instead")


def test_codes_are_unique_and_no_code_of_a_table() -> None:
    found = [rule.code for _, rule in all_rules()]
    assert len(found) == len(set(found))
    assert not set(found) & CODES.keys()


def test_every_rule_has_its_page_under_code_and_slug() -> None:
    for slug, rule in all_rules():
        page = page_of(slug)
        assert page == page_of(rule.code.lower())
        assert page.startswith(f"{rule.code} {slug} (")
        assert all(f"\n{heading}\n" in page for heading in HEADINGS), slug
    assert page_of("no-such-rule") == ""


def test_rules_take_a_partial_playbook() -> None:
    text = (
        HEAD
        + "workflow: [{step: a, next: {arcs: [{step: gone}]}, tool: {kind: noop, spec: {policy: {rules: [{}]}}}}]\n"
    )
    playbook, _ = read(text)
    assert playbook is not None
    check_playbook(read_yaml("t.yaml", text.encode()).source, playbook)


def test_forks_one_after_the_other_are_looked_at_in_linear_time() -> None:
    rows = []
    for i in range(400):
        rows.append(
            f"  - {{step: f{i}, next: {{spec: {{mode: inclusive}}, arcs: [{{step: a{i}}}, {{step: b{i}}}]}}}}\n"
        )
        rows.append(f"  - {{step: a{i}, next: {{arcs: [{{step: f{i + 1}}}]}}}}\n  - {{step: b{i}}}\n")
    text = HEAD + "executor: {spec: {entry_step: f0}}\nworkflow:\n" + "".join(rows) + "  - {step: f400}\n"
    assert linted(text) == []
