"""Changes that may not change a verdict: the order of the steps, their names, and a step that nothing leads to."""

import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.samples import some
from noetlc.pipeline import check_source
from yaml12 import Loader

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("golden/rules", "golden/analysis", "tests/compiler/rules/correct", "examples")
KEPT = frozenset(
    {"start", "end", "done", "step", "failed", "loop", "name", "kind", "all", "first", "wait", "error", "ok"}
)
"""Names of steps that are words of the language too, and so are not replaced in the text."""


def documents() -> list[tuple[Any, str]]:
    """Every playbook with a list of steps that PyYAML reads, as data, with its name."""
    found = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).glob("*.yaml")):
            if ".script." not in path.name and path.name != "confusable-name.yaml":
                rows = list(yaml.load_all(path.read_text(), Loader))
                found += [
                    (row, f"{path.stem}-{number}")
                    for number, row in enumerate(rows)
                    if isinstance(row.get("workflow"), list) and len(row["workflow"]) > 1
                ]
    return found


DOCUMENTS = documents()
SOME = pytest.mark.parametrize("document", some([row for row, _ in DOCUMENTS], 4), ids=[name for _, name in DOCUMENTS])


def verdicts(document: Any) -> Counter[str]:
    """How often each rule about data, tasks, ways and nets finds something."""
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1_000)
    return Counter(one.code for one in check_source("t.yaml", text.encode()).diagnostics if one.code[2] in "4567")


@SOME
def test_the_order_of_steps_changes_no_verdict(document: Any) -> None:
    rows = list(document["workflow"])
    random.Random(4).shuffle(rows)
    assert verdicts({**document, "workflow": rows}) == verdicts(document)
    assert verdicts({**document, "workflow": document["workflow"][::-1]}) == verdicts(document)


@SOME
def test_the_names_of_steps_change_no_verdict(document: Any) -> None:
    """A name is replaced wherever it stands: what shares it with a step is renamed too."""
    names = {str(row.get("step")) for row in document["workflow"]} - KEPT
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1_000)
    for name in names:
        text = re.sub(rf"(?<![\w-]){re.escape(name)}(?=_task\b|(?![\w-]))", f"{name}_renamed", text)
    assert verdicts(yaml.load(text, Loader)) == verdicts(document)


@SOME
def test_a_step_that_nothing_leads_to_changes_no_other_verdict(document: Any) -> None:
    more = {**document, "workflow": [*document["workflow"], {"step": "nobody_comes", "tool": {"kind": "noop"}}]}
    before, after = verdicts(document), verdicts(more)
    assert after - before == ({} if _has_errors(document) else {"NL601": 1})
    assert not before - after


def _has_errors(document: Any) -> bool:
    """Whether an arc leads nowhere or there is no entry, so that nothing is said about ways."""
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1_000)
    return any(one.code in ("NL202", "NL203") for one in check_source("t.yaml", text.encode()).diagnostics)
