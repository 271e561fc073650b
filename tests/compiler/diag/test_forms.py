"""The forms that the help of a finding tells authors to write are canonical themselves."""

import re

import pytest

from noetlc.cli import COMMANDS
from noetlc.diag.forms import CONSTRUCTS, LEGACY_KEYS, SHAPES, form_of, rewriting
from noetlc.older import combined
from noetlc.rules import every_code, page_of
from noetlc.source.yaml_reader import read_yaml

FORMS = sorted({*CONSTRUCTS.values(), *(form for keys in LEGACY_KEYS.values() for form in keys.values())})


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_yaml(form: str) -> None:
    assert read_yaml("t.yaml", form.encode()).diagnostics == ()


def test_every_key_of_an_older_dialect_that_is_refused_has_a_help() -> None:
    for scope, keys in combined()[1].items():
        assert all(form_of(scope, key).startswith(("write `", "`noetlc explain")) for key in keys)


def test_no_help_and_no_page_names_a_command_that_there_is_not() -> None:
    texts = [*SHAPES.values(), rewriting("`next`", "arcs"), form_of("", ""), *(page_of(code) for code in every_code())]
    assert {found for text in texts for found in re.findall(r"noetlc ([a-z]+)", text)} <= COMMANDS.keys()
