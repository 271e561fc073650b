"""The tables of codes are complete."""

import re

import pytest

from noetl_ir.span import Span
from noetlc.diag.codes import CODES, finding
from noetlc.diag.codes_form import FORM_CODES
from noetlc.diag.codes_meaning import MEANING_CODES
from noetlc.diag.diagnostic import Severity
from noetlc.rules import every_code


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_explained(code: str) -> None:
    entry = CODES[code]
    assert re.fullmatch(r"NL\d{3}", code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", entry.slug)
    assert entry.title and entry.why and entry.example and entry.instead
    assert not entry.title.endswith(".")
    assert bool(entry.ignore) is (entry.severity < Severity.ERROR)
    assert [heading for heading, _ in entry.sections] == ["Why it matters", "Example", "Instead", "When to ignore"]


@pytest.mark.parametrize("code", every_code())
def test_a_page_says_what_its_sentences_are_about(code: str) -> None:
    why = " ".join(dict(every_code()[code].sections)["Why it matters"].split())
    vague = ("It ", "They ", "Those ", "The same", "What ")
    assert [each for each in re.split(r"(?<=[.:]) ", why) if each.startswith(vague)] == []


def test_slugs_are_unique() -> None:
    slugs = [entry.slug for entry in CODES.values()]
    assert sorted(set(slugs)) == sorted(slugs)


def test_each_code_stands_in_one_table_and_in_the_order_of_its_numbers() -> None:
    assert FORM_CODES.keys().isdisjoint(MEANING_CODES)
    for table in (FORM_CODES, MEANING_CODES):
        assert [code[:3] for code in table] == sorted(code[:3] for code in table)


def test_a_finding_has_the_severity_of_its_code() -> None:
    assert finding("NL016", "m", Span(1, 1, 1, 2)).severity is Severity.WARNING
