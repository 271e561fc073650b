"""The OpenAPI document, and what is sent to the API by a program that has read it."""

from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance

from harness.serving import served
from noetl.api.openapi import document
from noetl.api.operation import Operation
from noetl.api.routes import ROUTES

HOST = {"host": "localhost"}


def test_every_operation_is_described() -> None:
    paths = document(ROUTES)["paths"]
    assert isinstance(paths, dict)
    described = [(method, path) for path, methods in paths.items() if isinstance(methods, dict) for method in methods]
    assert sorted(described) == sorted((row.method.lower(), row.path.replace(":path}", "}")) for row in ROUTES)
    for row in ROUTES:
        assert row.handler.__doc__


def test_whatever_takes_a_body_says_how_large_it_may_be() -> None:
    paths = document(ROUTES)["paths"]
    for row in ROUTES:
        described = paths[row.path.replace(":path}", "}")][row.method.lower()]  # type: ignore[index,call-overload]
        takes = row.body is not None or row.handler.__name__ in ("register", "keep_plan", "put_blob", "put_source")
        assert ("requestBody" in described) is takes
        if takes:
            assert described["requestBody"]["description"].startswith("At most ")


def test_the_schemas_of_bodies_are_schemas() -> None:
    components = document(ROUTES)["components"]
    assert isinstance(components, dict)
    for schema in components["schemas"].values():  # type: ignore[union-attr]
        Draft202012Validator.check_schema(schema)  # type: ignore[arg-type]


FITTING = [row for row in ROUTES if row.handler.__name__ not in ("stop", "get_events")]  # one ends, one may not


@pytest.mark.parametrize("row", FITTING, ids=lambda row: row.handler.__name__)
def test_nothing_that_a_reader_of_the_schema_sends_breaks_it(tmp_path: Path, row: Operation) -> None:
    with served(tmp_path) as server:
        schema = schemathesis.openapi.from_asgi("/openapi.json", server.client.app, headers=HOST)
        operation = schema[row.path.replace(":path}", "}")][row.method]

        @settings(max_examples=20, deadline=None, derandomize=True, database=None, suppress_health_check=[*HealthCheck])
        @given(operation.as_strategy())
        def send(case: schemathesis.Case) -> None:
            case.call_and_validate(headers=HOST, checks=[not_a_server_error, response_schema_conformance])

        send()
        assert server.said == []
