"""The numbers of arguments of filters are those of Jinja2's own."""

import inspect

import jinja2.filters
import pytest

from noetl_ir.scopes.vocabulary import FILTER_ARGUMENTS, FILTERS, MANY

_PASSED = ("environment", "eval_ctx", "context", "env")
_OWN = {"b64decode", "b64encode", "fromjson"}


@pytest.mark.parametrize("name", sorted(FILTERS - _OWN))
def test_a_filter_takes_what_it_takes_in_jinja(name: str) -> None:
    parameters = [
        parameter
        for word, parameter in inspect.signature(jinja2.filters.FILTERS[name]).parameters.items()
        if word not in _PASSED
    ][1:]
    least = sum(parameter.default is parameter.empty for parameter in parameters if "*" not in str(parameter))
    variable = any(str(parameter).startswith("*") for parameter in parameters)
    assert FILTER_ARGUMENTS.get(name, (0, 0)) == (least, MANY if variable else len(parameters))


def test_only_filters_have_numbers_of_arguments() -> None:
    assert FILTER_ARGUMENTS.keys() <= FILTERS
