"""Every YAML example of the specifications is a golden `golden/spec/<document>-<section>-<n>`, or is said to be none.

Where its indentation was lost it is restored; a part of a playbook stands in the smallest playbook around it; ellipses
are filled in, and placeholders replaced by one of their alternatives.
"""

import pytest

import goldens
from noetlc.pipeline import understood
from noetlc.source.yaml_reader import read_yaml

EXAMPLES: dict[str, dict[str, int]] = {
    # document → section → how many examples it has
    "case": {
        "1.1": 2, "1.2": 1, "1.3": 1, "2.2": 2, "2.4": 4, "3.1": 1, "4.1": 2, "4.3": 1, "7": 1, "9": 2,
    },
    "extended": {"5.2": 1, "6.1": 1, "7.1": 1, "8.1": 1, "11": 1},
    "formal": {
        "4": 1, "5": 1, "6.3": 1, "7.1": 1, "8.1": 1, "8.4": 1, "9.1": 3, "9.2": 2, "10": 1, "11.1": 1, "11.3": 1,
        "A": 1,
    },
    "canonical": {"1.2": 1, "4.1": 1, "5.1": 1, "6.2": 1, "7.1": 1, "13": 1},
    "v10": {"2.1": 1, "5.2": 1, "5.4": 1, "5.5": 1, "7.1": 1, "7.2": 1, "7.3": 1, "12": 1},
}  # fmt: skip

METASYNTAX = {
    # document and section → what stands there instead of an example
    "extended A": "a grammar in EBNF",
    "formal 4.1": "`kind: a|b|…`, the tool of §4",
    "formal 5": "the schema of the entry whose example follows",
    "formal 6.1": "the schema of the loop whose example is §6.3",
    "canonical 10.1": "the shape of a reference, in JSON",
    "v10 3.1": "`merge(…)` in pseudo code",
    "v10 7.4": "the normal form with placeholders; what it says is shown by §7.1 to §7.3",
    "case 4.4": "a hash in pseudo code, and event names",
    "case 5": "events in JSON, and their layers as a picture",
    "case 6": "a session in JSON",
}


def test_every_example_is_a_golden() -> None:
    listed = {
        f"{document}-{section}-{number}"
        for document, sections in EXAMPLES.items()
        for section, count in sections.items()
        for number in range(1, count + 1)
    }
    assert {case.name for case in goldens.cases() if case.stage == "spec"} == listed
    assert not {f"{name.replace(' ', '-')}-1" for name in METASYNTAX if name != "formal 5"} & listed


@pytest.mark.parametrize("case", [c for c in goldens.cases() if c.stage == "spec"], ids=lambda case: case.name)
def test_its_canonical_source_needs_no_lowering(case: goldens.Case) -> None:
    reading = read_yaml("t.yaml", case.beside("canon").read_bytes())
    assert understood(reading.source, reading.documents[0]).changes == ()
