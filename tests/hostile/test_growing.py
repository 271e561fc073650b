"""A value that a playbook puts into a new one again and again is a fault, and no end of the log or of the memory."""

import pytest

from noetl_ir.evaluate import Fault, compile_template
from noetl_ir.evaluate.limits import MAX_LEVELS
from noetl_ir.expr import Json, ListTemplate, MapTemplate, Template
from noetl_ir.scopes import PlayScope
from noetlc.expr.parser import parse_template

ARGS = parse_template("{{ args }}").template


def grown(template: Template, times: int) -> Json:
    value: Json = "seed"
    render = compile_template(template)
    for _ in range(times):
        value = render(PlayScope({"args": value}))
    return value


@pytest.mark.parametrize("template", [ListTemplate((ARGS,)), MapTemplate((("a", ARGS),))])
def test_a_value_inside_itself_is_a_fault_once_it_is_too_deep(template: Template) -> None:
    grown(template, MAX_LEVELS)
    with pytest.raises(Fault, match="nests deeper than 200 levels"):
        grown(template, MAX_LEVELS + 1)


@pytest.mark.parametrize("template", [ListTemplate((ARGS, ARGS)), MapTemplate((("a", ARGS), ("b", ARGS)))])
def test_a_value_twice_inside_itself_is_a_fault_once_it_is_too_large(template: Template) -> None:
    with pytest.raises(Fault, match="more than 10,000,000 parts"):
        grown(template, 40)


def test_data_that_one_template_passes_on_may_be_large() -> None:
    rows: Json = [0] * 10_000_001
    assert compile_template(ARGS)(PlayScope({"args": rows})) is rows
